package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"bakeoff/analysis"
)

// TextOptions say how the summary for a terminal is written.
type TextOptions struct {
	Color bool // with ANSI colours; the caller asks the terminal and NO_COLOR
	Width int  // of the terminal in characters; 80 where 0
}

// Text writes a short summary for a terminal: the answer, a line for each verdict,
// and what a reader must know before trusting them.
func Text(w io.Writer, r *analysis.Result, o TextOptions) error {
	if o.Width <= 0 {
		o.Width = 80
	}
	o.Width = max(o.Width, 40)
	t := &terminal{TextOptions: o}
	t.summary(cleaned(r))
	if _, err := w.Write(t.buf.Bytes()); err != nil {
		return fmt.Errorf("writing the summary: %w", err)
	}
	return nil
}

type terminal struct {
	TextOptions
	buf bytes.Buffer
}

func (t *terminal) summary(r *analysis.Result) {
	t.lines("", t.bold, orElse(r.Title, "Comparison"))
	if r.Question != "" {
		t.lines("", plain, r.Question)
	}
	for _, s := range stamps(r) {
		t.lines("! ", t.red, s.Head()+". "+s.Text)
	}
	t.buf.WriteString("\n")
	t.lines("", t.bold, orElse(r.Answer, "No comparison could be judged; the report says why."))
	t.buf.WriteString("\n")
	n := namesOf(r)
	primary, _ := primaries(r)
	for _, f := range primary {
		t.finding(f, n)
	}
	if len(primary) > 0 {
		t.buf.WriteString("\n")
	}
	for _, f := range r.Noise {
		t.lines("  ", plain, "Noise floor: "+f.Sentence)
	}
	t.objections(r)
}

func (t *terminal) finding(f analysis.Finding, n names) {
	effect, interval := effectText(f)
	base, against := n.valuesText(f)
	word := string(f.Verdict)
	head := t.paint(f.Verdict, fmt.Sprintf("%s %-12s", sign(f.Verdict), word))
	t.buf.WriteString(head + " " + n.title(n.measure(f.Measure, f.Workload)) + ", " + compared(f) + "\n")
	text := fmt.Sprintf("%s %s", effect, interval)
	if c := confidence(f); c != "" {
		text += " (" + c + ")"
	}
	t.lines(strings.Repeat(" ", 15), plain, fmt.Sprintf("%s; %s against %s; n = %d", text, against, base, f.N))
}

// objections says which gates objected and how many trials do not count.
func (t *terminal) objections(r *analysis.Result) {
	for _, g := range r.Gates {
		if g.Objected > 0 {
			t.lines("  ", plain, fmt.Sprintf("%s objected to %d of %d (%s; threshold %s)", orElse(g.Title, g.Gate), g.Objected, g.Checked, g.Severity, g.Threshold))
		}
	}
	undeclared := 0
	for _, d := range r.Differs {
		if !d.Declared {
			undeclared++
		}
	}
	if undeclared > 0 {
		t.lines("  ", plain, fmt.Sprintf("Facts that differ between the levels and are not declared by the plan: %d", undeclared))
	}
	if r.Run.RootHash != "" {
		t.lines("  ", plain, "Root hash "+r.Run.RootHash)
	}
}

// sign tells a verdict without colour.
func sign(v analysis.Verdict) string {
	switch v {
	case analysis.Better:
		return "▲"
	case analysis.Worse:
		return "▼"
	case analysis.Equivalent:
		return "◆"
	case analysis.Invalid:
		return "✕"
	}
	return "○"
}

func (t *terminal) paint(v analysis.Verdict, s string) string {
	code := map[analysis.Verdict]string{analysis.Better: "32", analysis.Worse: "31", analysis.Equivalent: "36", analysis.Inconclusive: "33", analysis.Invalid: "35"}[v]
	return t.ansi(code, s)
}

func (t *terminal) bold(s string) string { return t.ansi("1", s) }
func (t *terminal) red(s string) string  { return t.ansi("31", s) }

func plain(s string) string { return s }

func (t *terminal) ansi(code, s string) string {
	if !t.Color || code == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// lines writes a text broken at spaces, every line with the indent.
func (t *terminal) lines(indent string, style func(string) string, text string) {
	t.hanging(indent, indent, style, text)
}

// item writes a text behind a mark; the lines that follow the first are set under
// the text.
func (t *terminal) item(mark, text string) {
	t.hanging(mark, strings.Repeat(" ", utf8.RuneCountInString(mark)), plain, text)
}

// hanging writes a text broken at spaces, its first line and the others behind
// indents of their own.
func (t *terminal) hanging(first, rest string, style func(string) string, text string) {
	line, indent := "", first
	flush := func() {
		t.buf.WriteString(indent + style(line) + "\n")
		line, indent = "", rest
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\n' || r == '\t' }) {
		if line != "" && utf8.RuneCountInString(indent+line)+1+utf8.RuneCountInString(word) > t.Width {
			flush()
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		flush()
	}
}
