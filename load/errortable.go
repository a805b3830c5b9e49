package load

import (
	"errors"
	"strings"
	"unicode"

	"bakeoff/record"
)

// errorTable counts errors that are alike, with the first one's text.
type errorTable struct {
	kinds []record.ErrorKind
	index map[string]int
}

// maxErrorKinds bounds the table; what comes after is counted as "other".
const maxErrorKinds = 32

// add counts n operations of a kind that ended without success. An engine need
// not repeat an error it has given before.
func (t *errorTable) add(kind string, status OpStatus, err error, n uint64) {
	what, text := "failed", ""
	switch {
	case status == TimedOut:
		what, text = "timed out", "no answer within the operation's timeout"
	case status == Dropped:
		what = "dropped"
	case err != nil:
		what = errorClass(err)
	}
	if err != nil {
		text = err.Error()
	}
	t.count(record.ErrorKind{Kind: kind + ": " + what, Count: n, First: text})
}

func (t *errorTable) count(e record.ErrorKind) {
	if t.index == nil {
		t.index = map[string]int{}
	}
	i, known := t.index[e.Kind]
	if !known && len(t.kinds) >= maxErrorKinds {
		e.Kind = "other"
		i, known = t.index[e.Kind]
	}
	if !known {
		t.index[e.Kind] = len(t.kinds)
		t.kinds = append(t.kinds, e)
		return
	}
	t.kinds[i].Count += e.Count
	if t.kinds[i].First == "" {
		t.kinds[i].First = e.First
	}
}

func (t *errorTable) merge(o *errorTable) {
	for _, e := range o.kinds {
		t.count(e)
	}
}

// A Classed error names its own class, by which it is counted.
type Classed interface{ ErrorClass() string }

// errorClass is the name under which errors are counted: their own, or their
// text without its numbers.
func errorClass(err error) string {
	var c Classed
	if errors.As(err, &c) {
		return c.ErrorClass()
	}
	const most = 60
	var b strings.Builder
	number := false
	for _, r := range err.Error() {
		if b.Len() >= most {
			break
		}
		if unicode.IsDigit(r) {
			if !number {
				b.WriteByte('#')
			}
			number = true
			continue
		}
		number = false
		b.WriteRune(r)
	}
	return b.String()
}
