package report

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"bakeoff/claim"
	"bakeoff/report/figure"
)

// AuditText writes an audit for a terminal: what objects first, each claim
// with what the figures give and why.
func AuditText(w io.Writer, a claim.Audit, o TextOptions) error {
	if o.Width <= 0 {
		o.Width = 80
	}
	t := &terminal{TextOptions: o}
	t.lines("", t.bold, a.Title)
	if a.Source != "" {
		t.lines("", plain, a.Source)
	}
	t.buf.WriteString("\n")
	t.lines("", t.bold, auditSummary(a))
	for _, v := range auditOrder() {
		for _, c := range a.Outcomes {
			if c.Verdict == v {
				t.outcome(a.File, c)
			}
		}
	}
	if len(a.Undeclared) > 0 {
		t.buf.WriteString("\nDisclosed, and not what is compared:\n")
	}
	for _, u := range a.Undeclared {
		t.lines("  ", t.red, u)
	}
	if _, err := w.Write(t.buf.Bytes()); err != nil {
		return fmt.Errorf("writing the audit: %w", err)
	}
	return nil
}

// auditOrder lists the verdicts, those that object first.
func auditOrder() []claim.Verdict {
	return []claim.Verdict{claim.DoesNot, claim.Contradicts, claim.CannotTell, claim.OnlyCut, claim.NotDerivable, claim.Follows}
}

func auditSummary(a claim.Audit) string {
	if len(a.Outcomes) == 0 {
		return "The file states no claims: there is nothing to audit."
	}
	parts := make([]string, 0, len(auditOrder()))
	for _, v := range auditOrder() {
		if n := a.Count(v); n > 0 {
			parts = append(parts, fmt.Sprintf("%s: %d", v, n))
		}
	}
	return fmt.Sprintf("%d claims. %s.", len(a.Outcomes), strings.Join(parts, "; "))
}

func (t *terminal) outcome(file string, c claim.Outcome) {
	style := plain
	if c.Verdict.Raised() {
		style = t.red
	}
	t.buf.WriteString("\n" + style(auditSign(c.Verdict)+" "+string(c.Verdict)) + fmt.Sprintf("  %s (%s:%d)\n", c.ID, file, c.Line))
	if c.Says != "" {
		t.lines("    ", plain, c.Says)
	}
	if c.Verdict == claim.Follows && len(c.Rows) == 0 {
		return
	}
	t.lines("    ", plain, strings.TrimSpace(c.Text))
	for _, cause := range c.Causes {
		t.item("    likely: ", cause)
	}
	for _, row := range c.Rows {
		t.item("    - ", row)
	}
}

func auditSign(v claim.Verdict) string {
	switch v {
	case claim.Follows:
		return "◆"
	case claim.OnlyCut, claim.NotDerivable:
		return "○"
	}
	return "✕"
}

// AuditJSON writes an audit as one JSON object:
//
//	{"format": "bakeoff-audit", "version": 1, "audit": {...}}
func AuditJSON(w io.Writer, a claim.Audit) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	form := struct {
		Format  string      `json:"format"`
		Version int         `json:"version"`
		Audit   claim.Audit `json:"audit"`
	}{"bakeoff-audit", 1, a}
	if err := enc.Encode(form); err != nil {
		return fmt.Errorf("writing the audit as JSON: %w", err)
	}
	return nil
}

// AuditJUnit writes an audit as JUnit XML: one test case a claim, failed where
// its verdict is one of failOn or, without any, where the audit objects to it.
func AuditJUnit(w io.Writer, a claim.Audit, failOn []claim.Verdict) error {
	s := suite{Name: orElse(a.Title, a.File), Tests: len(a.Outcomes)}
	for _, o := range a.Outcomes {
		c := testCase{Class: a.File, Name: o.ID, Out: o.Says}
		if slices.Contains(failOn, o.Verdict) || len(failOn) == 0 && o.Verdict.Raised() {
			s.Failures++
			message := string(o.Verdict) + ": " + o.Text
			if len(o.Causes) > 0 {
				message += " Likely: " + strings.Join(o.Causes, "; ")
			}
			c.Failure = &problem{Type: string(o.Verdict), Message: message}
		}
		s.Cases = append(s.Cases, c)
	}
	text, err := xml.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the audit as JUnit XML: %w", err)
	}
	if _, err := fmt.Fprintf(w, "%s%s\n", xml.Header, text); err != nil {
		return fmt.Errorf("writing the audit as JUnit XML: %w", err)
	}
	return nil
}

// auditPage is what the audit's template prints.
type auditPage struct {
	Audit   claim.Audit
	Summary string
	Style   template.CSS
	Groups  []auditGroup
}

type auditGroup struct {
	Verdict  claim.Verdict
	Sign     string
	Class    string
	Outcomes []claim.Outcome
}

// AuditHTML writes an audit as one self-contained page.
func AuditHTML(w io.Writer, a claim.Audit) error {
	t, err := template.New("audit.gohtml").ParseFS(pageFiles, "page/audit.gohtml")
	if err != nil {
		return fmt.Errorf("reading the audit's template: %w", err)
	}
	css, err := pageFiles.ReadFile("page/page.css")
	if err != nil {
		return fmt.Errorf("reading the report's style sheet: %w", err)
	}
	p := auditPage{Audit: a, Summary: auditSummary(a), Style: template.CSS(figure.Palette() + string(css))} // our own files
	classes := map[claim.Verdict]string{claim.Follows: "equivalent", claim.OnlyCut: "inconclusive", claim.NotDerivable: "inconclusive"}
	for _, v := range auditOrder() {
		g := auditGroup{Verdict: v, Sign: auditSign(v), Class: orElse(classes[v], "worse")}
		for _, o := range a.Outcomes {
			if o.Verdict == v {
				g.Outcomes = append(g.Outcomes, o)
			}
		}
		if len(g.Outcomes) > 0 {
			p.Groups = append(p.Groups, g)
		}
	}
	if err := t.Execute(w, p); err != nil {
		return fmt.Errorf("writing the audit as HTML: %w", err)
	}
	return nil
}
