package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"bakeoff/analysis"
)

// Markdown writes the report as GitHub flavoured Markdown. Charts are replaced by
// their text alternatives and their data.
func Markdown(w io.Writer, r *analysis.Result) error {
	m := &markdown{}
	m.page(pageOf(cleaned(r)))
	if _, err := w.Write(m.buf.Bytes()); err != nil {
		return fmt.Errorf("writing the Markdown report: %w", err)
	}
	return nil
}

type markdown struct{ buf bytes.Buffer }

func (m *markdown) page(p *page) {
	r := p.Result
	m.heading(1, orElse(r.Title, "Comparison"))
	if r.Question != "" {
		m.paragraph("*" + inline(r.Question) + "*")
	}
	for _, s := range p.Stamps {
		m.paragraph("> **" + inline(s.Head()) + ".** " + inline(s.Text))
	}
	m.heading(2, "Answer")
	m.paragraph(inline(orElse(r.Answer, "No comparison could be judged; the sections below say why.")))
	m.verdicts(p)
	m.figures(p)
	values := p.Values
	if p.Rest != nil {
		values = append(slices.Clone(values), *p.Rest)
	}
	m.section(p.ValuesTitle(), values...)
	m.heading(2, "Validity")
	m.tableOr(p.Gates, "No validity gate looked at these figures.")
	m.tableOr(p.Warnings, "No gate left a warning.")
	m.heading(2, "Noise floor")
	otherwise := "Not measured: `bakeoff run --aa` does."
	if r.Printed {
		otherwise = "Not known: printed figures carry none."
	}
	m.tableOr(p.Noise, otherwise)
	m.configuration(p)
	m.section("Efficiency, money, energy", p.Economics...)
	m.section("Further tables", p.Further...)
	m.heading(2, "Method")
	for _, text := range r.Method {
		m.paragraph(inline(text))
	}
	if len(r.Commands) > 0 {
		m.code(strings.Join(r.Commands, "\n"))
	}
	m.section("Every trial", p.Raw...)
	m.section("Invalid and excluded trials", p.Losses...)
	m.provenance(p)
}

func (m *markdown) verdicts(p *page) {
	m.heading(2, "Verdicts")
	primary, _ := primaries(p.Result)
	if len(primary) == 0 {
		m.paragraph("No primary measure was judged.")
	} else {
		t := verdictTable(primary, namesOf(p.Result))
		t.Title = ""
		m.table(t)
		if p.Common != "" {
			m.paragraph(inline(p.Common))
		}
		for i, v := range p.Verdicts {
			text := fmt.Sprintf("%d. **%s**: %s", i+1, inline(v.Word), inline(orElse(v.Finding.Sentence, v.Comparison)))
			if v.Details != "" {
				text += " " + inline(v.Details)
			}
			for _, w := range v.Warnings {
				text += "\n   - " + inline(w)
			}
			m.buf.WriteString(text + "\n")
		}
		m.buf.WriteString("\n")
	}
}

func (m *markdown) figures(p *page) {
	if len(p.Figures) == 0 {
		return
	}
	m.heading(2, "Figures")
	n := 0
	for _, group := range p.Figures {
		for _, f := range group.Figures {
			m.heading(3, fmt.Sprintf("Figure %d: %s", f.Number, f.Title))
			if f.Caption != "" {
				m.paragraph(inline(f.Caption))
			}
			if alt := p.Result.Charts[n].Alt; alt != "" {
				m.paragraph(inline(alt))
			}
			n++
			if len(f.Data.Rows) > 0 {
				t := f.Data
				t.Title = ""
				m.table(t)
			}
		}
	}
}

func (m *markdown) configuration(p *page) {
	m.heading(2, "Configuration")
	if len(p.Differs.Rows) > 0 {
		m.table(p.Differs)
	}
	if len(p.Settings.Rows) > 0 {
		m.table(p.Settings)
	}
	for _, s := range p.Services {
		m.heading(3, "Server under test: "+strings.TrimSpace(s.Name+" "+s.Version))
		if s.Line == "" {
			m.paragraph("Not started by the plan: it ran already.")
		} else {
			m.code(s.Line)
		}
		for _, pair := range [][2]string{{"Host", s.Host}, {"Cores", s.CPUs}, {"Settings", s.Facts}, {"Where", s.Where}} {
			if pair[1] != "" {
				m.buf.WriteString("- " + pair[0] + ": " + inline(pair[1]) + "\n")
			}
		}
		if s.Endpoint != "" {
			m.buf.WriteString("- Endpoint: " + codeSpan(s.Endpoint) + "\n")
		}
		m.buf.WriteString("\n")
	}
	for _, t := range p.Shared {
		m.table(t)
	}
	if len(p.Differs.Rows)+len(p.Settings.Rows)+len(p.Services)+len(p.Shared) == 0 {
		m.paragraph("No configuration was recorded.")
	}
}

func (m *markdown) provenance(p *page) {
	m.heading(2, "Provenance")
	run := p.Result.Run
	for _, pair := range [][2]string{{"Run", run.ID}, {"Root hash", run.RootHash}, {"Plan hash", run.PlanHash}, {"Build", run.Build}, {"Started", p.Started}, {"Ended", p.Ended}, {"Replicated", run.Replicated}} {
		if pair[1] != "" {
			m.buf.WriteString("- " + pair[0] + ": " + inline(pair[1]) + "\n")
		}
	}
	if p.Result.Printed {
		m.paragraph("\nFrom printed figures, not measured.")
		return
	}
	m.paragraph("\nThis works every number out again from the raw record and compares the hash of every file; the root hash above must be the one that it prints:")
	m.code(p.VerifyLine)
}

func (m *markdown) section(title string, tables ...table) {
	if len(tables) == 0 {
		return
	}
	m.heading(2, title)
	for _, t := range tables {
		m.table(t)
	}
}

func (m *markdown) heading(level int, title string) {
	m.buf.WriteString(strings.Repeat("#", level) + " " + inline(title) + "\n\n")
}

func (m *markdown) paragraph(markup string) { m.buf.WriteString(markup + "\n\n") }

// code writes a fenced block; the fence is longer than any run of backticks in it.
func (m *markdown) code(text string) {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	m.buf.WriteString(fence + "\n" + text + "\n" + fence + "\n\n")
}

func (m *markdown) tableOr(t table, otherwise string) {
	if len(t.Rows) == 0 {
		m.paragraph(otherwise)
		return
	}
	m.table(t)
}

// table writes a table with its columns padded, so that its source reads well too.
func (m *markdown) table(t table) {
	if t.Title != "" {
		m.heading(3, t.Title)
	}
	if t.Caption != "" {
		m.paragraph(inline(t.Caption))
	}
	rows := [][]string{make([]string, len(t.Columns))}
	for i, c := range t.Columns {
		rows[0][i] = inline(c.Name)
	}
	for _, r := range t.Rows {
		line := make([]string, len(r.Cells))
		for i, text := range r.Cells {
			line[i] = strings.ReplaceAll(inline(strings.ReplaceAll(text, "\n", "\x00")), "\x00", "<br>")
		}
		rows = append(rows, line)
	}
	widths := columnWidths(rows)
	for i, line := range rows {
		m.row(line, t.Columns, widths)
		if i == 0 {
			m.rule(t.Columns, widths)
		}
	}
	m.buf.WriteString("\n")
	for _, n := range t.Notes {
		m.paragraph(inline(n))
	}
}

// columnWidths returns the columns' widths in characters, at most 60: longer texts
// stand out rather than blow up every row.
func columnWidths(rows [][]string) []int {
	widths := make([]int, len(rows[0]))
	for _, line := range rows {
		for i, text := range line {
			widths[i] = max(widths[i], min(utf8.RuneCountInString(text), 60), 3)
		}
	}
	return widths
}

func (m *markdown) row(line []string, columns []column, widths []int) {
	for i, text := range line {
		space := strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(text)))
		if columns[i].Numeric {
			m.buf.WriteString("| " + space + text + " ")
		} else {
			m.buf.WriteString("| " + text + space + " ")
		}
	}
	m.buf.WriteString("|\n")
}

func (m *markdown) rule(columns []column, widths []int) {
	for i, c := range columns {
		if c.Numeric {
			m.buf.WriteString("| " + strings.Repeat("-", widths[i]-1) + ": ")
		} else {
			m.buf.WriteString("| " + strings.Repeat("-", widths[i]) + " ")
		}
	}
	m.buf.WriteString("|\n")
}

// inline makes a text safe inside a line of Markdown: no markup, no HTML, no
// links, no table borders.
func inline(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '\n' || r == '\t':
			b.WriteByte(' ')
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '_' && inWord(s, i):
			b.WriteByte('_')
		case r == ']' && (i+1 == len(s) || !strings.ContainsRune("([:", rune(s[i+1]))): // no link can follow
			b.WriteByte(']')
		case strings.ContainsRune("\\`*_]|~$", r):
			b.WriteString("\\" + string(r))
		case r == '@': // no mention of somebody
			b.WriteString("&#64;")
		default:
			b.WriteRune(r)
		}
	}
	return startSafe(unlinked(b.String()))
}

// unlinked escapes what GitHub makes a link of by itself: the addresses of three
// schemes, and names of the web.
func unlinked(s string) string {
	for _, link := range []string{"http://", "https://", "ftp://", "www."} {
		for at := 0; ; {
			i := strings.Index(lowerASCII(s[at:]), link)
			if i < 0 {
				break
			}
			at += i + strings.IndexAny(link, ":.")
			if s[at] == ':' {
				s = s[:at] + `:\/\/` + s[at+len("://"):]
			} else {
				s = s[:at] + `\.` + s[at+1:]
			}
		}
	}
	return s
}

// lowerASCII lowers letters and keeps every byte's place.
func lowerASCII(s string) string {
	out := []byte(s)
	for i, c := range out {
		if c >= 'A' && c <= 'Z' {
			out[i] = c + 'a' - 'A'
		}
	}
	return string(out)
}

// codeSpan sets a text as code, where it needs no escapes.
func codeSpan(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return fence + s + fence
}

// inWord reports whether the byte at i stands between letters or digits, where an
// underscore marks nothing up.
func inWord(s string, i int) bool {
	plain := func(c byte) bool {
		return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
	}
	return i > 0 && i+1 < len(s) && plain(s[i-1]) && plain(s[i+1])
}

// startSafe escapes what would make a list, a rule or a heading at a line's start.
func startSafe(s string) string {
	if s != "" && strings.ContainsRune("-+=#", rune(s[0])) {
		return "\\" + s
	}
	if digits := strings.TrimLeft(s, "0123456789"); len(digits) < len(s) && digits != "" && strings.ContainsRune(".)", rune(digits[0])) && (len(digits) == 1 || digits[1] == ' ') {
		return s[:len(s)-len(digits)] + "\\" + digits
	}
	return s
}
