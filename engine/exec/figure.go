package exec

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"bakeoff/record"
)

// Pick says which match counts where a figure's pattern matches several times.
type pick string

const (
	pickOnly  pick = "only" // several matches are an error
	pickFirst pick = "first"
	pickLast  pick = "last"
	pickSum   pick = "sum"
	pickMax   pick = "max"
	pickMin   pick = "min"
)

func picks() []pick { return []pick{pickOnly, pickFirst, pickLast, pickSum, pickMax, pickMin} }

// figure is one value to be picked from a command's output.
type figure struct {
	name    string
	unit    string
	from    string // stdout or stderr
	pick    pick
	pattern *regexp.Regexp
}

// parseFigures reads the "figures" parameter: name -> {pattern, unit, from, pick}.
func parseFigures(value map[string]any) ([]figure, error) {
	names := make([]string, 0, len(value))
	for name := range value {
		names = append(names, name)
	}
	slices.Sort(names)
	figures := make([]figure, 0, len(names))
	for _, name := range names {
		f, err := parseFigure(name, value[name])
		if err != nil {
			return nil, fmt.Errorf("figures: %s: %w", name, err)
		}
		figures = append(figures, f)
	}
	return figures, nil
}

func parseFigure(name string, value any) (figure, error) {
	keys, ok := value.(map[string]any)
	if !ok {
		return figure{}, fmt.Errorf("found %v, expected a map such as {pattern: 'ops: ([0-9.]+)', unit: ops/s}", value)
	}
	f := figure{name: name, from: "stdout", pick: pickOnly}
	for key, v := range keys {
		text, ok := v.(string)
		if !ok {
			return figure{}, fmt.Errorf("%s: found %v, expected text", key, v)
		}
		if err := f.set(key, text); err != nil {
			return figure{}, err
		}
	}
	switch {
	case f.pattern == nil:
		return figure{}, fmt.Errorf("no pattern; give a regular expression with the number in parentheses")
	case f.unit == "":
		return figure{}, fmt.Errorf("no unit; write what the number is in, as ops/s, B/s, s, or 1 for a plain ratio")
	}
	return f, nil
}

func (f *figure) set(key, text string) error {
	switch key {
	case "pattern":
		re, err := regexp.Compile("(?m)" + text)
		if err != nil {
			return fmt.Errorf("pattern: %w (RE2 syntax)", err)
		}
		if re.NumSubexp() != 1 {
			return fmt.Errorf("pattern %q has %d groups, expected exactly one, around the number; write (?:...) for the others", text, re.NumSubexp())
		}
		f.pattern = re
	case "unit":
		f.unit = text
	case "from":
		if text != "stdout" && text != "stderr" {
			return fmt.Errorf("from: found %q, expected stdout or stderr", text)
		}
		f.from = text
	case "pick":
		if !slices.Contains(picks(), pick(text)) {
			return fmt.Errorf("pick: found %q, expected one of %v", text, picks())
		}
		f.pick = pick(text)
	default:
		return fmt.Errorf("unknown key %q; expected pattern, unit, from or pick", key)
	}
	return nil
}

// extract finds the figure in a command's output.
func (f figure) extract(output string) (record.Figure, error) {
	matches := f.pattern.FindAllStringSubmatch(output, -1)
	switch {
	case len(matches) == 0:
		return record.Figure{}, fmt.Errorf("figure %s: the pattern %q matches nothing in %s, which ends with %q",
			f.name, f.pattern, f.from, tail(output, 200))
	case len(matches) > 1 && f.pick == pickOnly:
		return record.Figure{}, fmt.Errorf("figure %s: the pattern %q matches %d times in %s; sharpen it, or say pick: first, last, sum, max or min",
			f.name, f.pattern, len(matches), f.from)
	}
	values := make([]float64, len(matches))
	for i, m := range matches {
		v, err := number(m[1])
		if err != nil {
			return record.Figure{}, fmt.Errorf("figure %s: %w", f.name, err)
		}
		values[i] = v
	}
	i, value := choose(f.pick, values)
	text := ""
	if i >= 0 {
		text = matches[i][1]
	}
	return record.Figure{Name: f.name, Unit: f.unit, Value: value, Text: text}, nil
}

// choose returns the value that the pick names, and its index, -1 for a sum.
func choose(p pick, values []float64) (int, float64) {
	switch p {
	case pickLast:
		return len(values) - 1, values[len(values)-1]
	case pickSum:
		sum := 0.0
		for _, v := range values {
			sum += v
		}
		return -1, sum
	case pickMax:
		v := slices.Max(values)
		return slices.Index(values, v), v
	case pickMin:
		v := slices.Min(values)
		return slices.Index(values, v), v
	}
	return 0, values[0]
}

// number reads a printed number; commas are taken only as separators of
// thousands in groups of three, so that 1,5 is refused rather than read as 15.
func number(text string) (float64, error) {
	plain := strings.TrimSpace(text)
	if thousands().MatchString(plain) {
		plain = strings.ReplaceAll(plain, ",", "")
	}
	v, err := strconv.ParseFloat(plain, 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) || strings.ContainsAny(plain, "xX_") {
		if len(text) > 80 {
			text = text[:77] + "..."
		}
		return 0, fmt.Errorf("the pattern's group holds %q, expected a finite decimal number without a unit", text)
	}
	return v, nil
}

func thousands() *regexp.Regexp { return regexp.MustCompile(`^[+-]?\d{1,3}(,\d{3})+(\.\d+)?$`) }

// tail is the end of s, at most n bytes.
func tail(s string, n int) string {
	s = strings.TrimSpace(s)
	if len(s) <= n {
		return s
	}
	return "..." + s[len(s)-n:]
}
