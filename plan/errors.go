package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"bakeoff/internal/spelling"
)

// An Error is one thing wrong with a plan file, and how to mend it.
type Error struct {
	File     string
	Line     int    // 0 where it is about the file as a whole
	Key      string // path of the key, as "workloads.get.window"
	Found    string
	Expected string
	Mend     string // what to write instead; may be empty
}

// Error puts everything in one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": ")
	if e.Key != "" {
		b.WriteString(shownKey(e.Key) + ": ")
	}
	fmt.Fprintf(&b, "found %s, expected %s", e.Found, e.Expected)
	if e.Mend != "" {
		b.WriteString("; " + e.Mend)
	}
	return b.String()
}

// maxErrors bounds how many errors Parse collects: a file that is no plan at
// all would give one for every line.
const maxErrors = 20

// Errors are all the errors of a plan file, by line.
type Errors []*Error

// Error lists them, one on each line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	if len(e) == maxErrors {
		lines = append(lines, fmt.Sprintf("%s: only the first %d errors are shown; mend these first", e[0].File, maxErrors))
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives errors.As the single errors.
func (e Errors) Unwrap() []error {
	out := make([]error, len(e))
	for i, one := range e {
		out[i] = one
	}
	return out
}

// faults collects errors, each once.
type faults struct {
	file string
	all  Errors
	seen map[Error]bool
	// noted counts what was added, repeats included.
	noted int
	// keys gives what a workload of the description may have, nil where that
	// is not known before the cells are.
	keys func(workload *node) []string
	// lenient leaves keys unnoted that must be there: levels may set them.
	lenient bool
}

// add notes a fault at a line.
func (f *faults) add(line int, key, found, expected, mend string) {
	f.noted++
	e := Error{f.file, line, key, found, expected, mend}
	if f.seen[e] || f.full() {
		return
	}
	if f.seen == nil {
		f.seen = map[Error]bool{}
	}
	f.seen[e] = true
	f.all = append(f.all, &e)
}

func (f *faults) full() bool { return len(f.all) >= maxErrors }

// err returns what was collected, nil where that is nothing.
func (f *faults) err() error {
	if len(f.all) == 0 {
		return nil
	}
	slices.SortStableFunc(f.all, func(a, b *Error) int { return cmp.Compare(a.Line, b.Line) })
	return f.all
}

// shownKey is a key's path on one line: names are as the file has them, and a
// wrong one may be anything.
func shownKey(key string) string {
	if r := []rune(key); len(r) > 200 {
		key = string(r[:197]) + "..."
	}
	return strings.Map(func(r rune) rune {
		if unprintable(r) || r == '\n' || r == '\t' {
			return '\uFFFD'
		}
		return r
	}, key)
}

// quote shows text that was found, cut where it is long.
func quote(s string) string {
	if r := []rune(s); len(r) > 80 {
		s = string(r[:77]) + "..."
	}
	return fmt.Sprintf("%q", s)
}

// oneOf lists names as a choice: "a, b or c".
func oneOf(names []string) string {
	switch len(names) {
	case 0:
		return "nothing (there is none)"
	case 1:
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// maxNames bounds how many names a choice lists.
const maxNames = 8

// someOf lists what s may have been meant to be, the nearest first.
func someOf(s string, names []string) string {
	if near := spelling.Nearest(s, names); near != "" {
		rest := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == near })
		if len(names) > maxNames {
			slices.SortStableFunc(rest, func(a, b string) int {
				return cmp.Compare(spelling.Distance(strings.ToLower(s), strings.ToLower(a)), spelling.Distance(strings.ToLower(s), strings.ToLower(b)))
			})
		}
		names = append([]string{near}, rest...)
	}
	return few(names)
}

// few lists names as a choice, the first of many.
func few(names []string) string {
	if len(names) <= maxNames {
		return oneOf(names)
	}
	return strings.Join(names[:maxNames], ", ") + fmt.Sprintf(" or one of %d more", len(names)-maxNames)
}

// meant suggests the nearest name, or nothing.
func meant(s string, names []string) string {
	if n := spelling.Nearest(s, names); n != "" {
		return "did you mean " + n + "?"
	}
	return ""
}
