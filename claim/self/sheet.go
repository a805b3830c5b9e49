package self

import (
	"fmt"
	"strconv"
	"strings"

	"bakeoff/claim"
)

// A sheet audits one claim of a report, or the figures of one row together.
type sheet struct {
	outcome claim.Outcome
	numbers int // looked at
	faults  []string
	wrong   bool // printed and derived are those of the first fault
}

func newSheet(id string, n *node) *sheet {
	s := &sheet{outcome: claim.Outcome{ID: id}}
	if n != nil {
		s.outcome.Line = n.line
	}
	return s
}

// number audits a number that the report keeps to reportDigits.
func (s *sheet) number(n *node, what string, want truth) {
	s.numbers++
	if n == nil {
		s.fault("%s is not printed; the record gives %s", what, want)
		return
	}
	n.told = true
	right := want.printsAs(n)
	s.show(n.text, want, right)
	if !right {
		s.fault("%s is printed as %s; the record gives %s", what, n.text, want)
	}
}

// show keeps what is printed and what the record gives: of the first number, or
// of the first that does not follow.
func (s *sheet) show(printed string, want truth, right bool) {
	if s.outcome.Printed != "" && (right || s.wrong) {
		return
	}
	s.wrong = !right
	s.outcome.Printed, s.outcome.Unit = printed, strings.TrimPrefix(want.unit, ofCount)
	s.outcome.Derived = truth{value: want.value}.String()
}

// showText keeps a text that does not follow, unless another figure did not.
func (s *sheet) showText(printed, derived string) {
	if !s.wrong {
		s.wrong = true
		s.outcome.Printed, s.outcome.Derived, s.outcome.Unit = shortened(printed), shortened(derived), ""
	}
}

// count audits a whole number.
func (s *sheet) count(n *node, what string, want int) {
	s.countIn(n, what, want, want)
}

// countIn audits a whole number that may be rounded either way.
func (s *sheet) countIn(n *node, what string, least, most int) {
	s.numbers++
	if n == nil {
		s.fault("%s is not printed; the record gives %d", what, least)
		return
	}
	n.told = true
	got, err := strconv.Atoi(n.text)
	right := err == nil && n.kind == numberNode && got >= least && got <= most
	s.show(n.text, countTruth(most), right)
	if !right {
		s.fault("%s is printed as %s; the record gives %d", what, n.text, most)
	}
}

// same audits a text that must be what the record says, letter by letter.
func (s *sheet) same(n *node, what, want string) {
	s.numbers += len(numbersIn(want))
	switch {
	case n == nil && want == "":
	case n == nil:
		s.fault("%s is not printed; the record says %q", what, shortened(want))
	default:
		n.told = true
		if n.kind != stringNode || n.text != want {
			s.showText(n.text, want)
			s.fault("%s is printed as %q; the record says %q", what, shortened(n.text), shortened(want))
		}
	}
}

// flag audits a truth value.
func (s *sheet) flag(n *node, what string, want bool) {
	if n == nil && !want {
		return
	}
	if n == nil || n.kind != boolNode || n.text != strconv.FormatBool(want) {
		s.fault("%s is not %t, as the record gives it", what, want)
	}
}

// speaks audits the numbers of a text.
func (s *sheet) speaks(n *node, what string, pieces ...piece) {
	if n == nil {
		return
	}
	n.told = true
	faults, checked := misfits(n.text, pieces)
	s.numbers += checked
	for _, f := range faults {
		s.showText(n.text, "")
		s.fault("%s: %s", what, f)
	}
}

// says audits that a text contains words, as a verdict or a direction.
func (s *sheet) says(n *node, what, words string) {
	if n == nil || !strings.Contains(n.text, words) {
		s.fault("%s does not say %q, as the record gives it", what, words)
	}
}

// series audits a list of numbers.
func (s *sheet) series(n *node, what string, want []truth) {
	if got := len(n.list()); got != len(want) {
		s.fault("%s has %d values; the record gives %d", what, got, len(want))
	}
	for i, item := range n.list() {
		if i < len(want) {
			s.number(item, fmt.Sprintf("%s[%d]", what, i), want[i])
		}
	}
}

// names audits a list of texts.
func (s *sheet) names(n *node, what string, want []string) {
	if got := len(n.list()); got != len(want) {
		s.fault("%s has %d entries; the record gives %d", what, got, len(want))
	}
	for i, item := range n.list() {
		if i < len(want) {
			s.same(item, fmt.Sprintf("%s[%d]", what, i), want[i])
		}
	}
}

func (s *sheet) fault(format string, args ...any) {
	s.faults = append(s.faults, fmt.Sprintf(format, args...))
}

// done returns the outcome of the sheet.
func (s *sheet) done() claim.Outcome {
	o := s.outcome
	o.Verdict = claim.Follows
	if s.numbers != 1 && !s.wrong {
		o.Printed, o.Derived, o.Unit = "", "", "" // of many, none stands for all
	}
	switch {
	case len(s.faults) == 1:
		o.Verdict, o.Text = claim.DoesNot, s.faults[0]
	case len(s.faults) > 1:
		o.Verdict, o.Rows = claim.DoesNot, s.faults
		o.Text = fmt.Sprintf("%d figures do not follow from the record, the first: %s", len(s.faults), s.faults[0])
	case s.numbers == 1:
		o.Text = "the record gives it"
	default:
		o.Text = fmt.Sprintf("the record gives all %d figures", s.numbers)
	}
	return o
}
