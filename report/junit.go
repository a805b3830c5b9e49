package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"

	"bakeoff/analysis"
)

type suite struct {
	XMLName  xml.Name `xml:"testsuite"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Cases    []testCase
}

type testCase struct {
	XMLName xml.Name `xml:"testcase"`
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Failure *problem `xml:"failure"`
	Error   *problem `xml:"error"`
	Out     string   `xml:"system-out,omitempty"`
}

type problem struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
}

// JUnit writes the findings on primary measures as JUnit XML, for continuous
// integration: one test case each, failed where its verdict is one of failOn, in
// error where it is invalid.
func JUnit(w io.Writer, r *analysis.Result, failOn []analysis.Verdict) error {
	r = cleaned(r)
	n := namesOf(r)
	primary, _ := primaries(r)
	s := suite{Name: orElse(r.Title, "bakeoff"), Tests: len(primary)}
	for _, f := range primary {
		c := testCase{Class: n.title(n.measure(f.Measure, f.Workload)), Name: compared(f), Out: f.Sentence}
		p := &problem{Type: string(f.Verdict), Message: string(f.Verdict) + ": " + f.Sentence}
		switch {
		case slices.Contains(failOn, f.Verdict):
			c.Failure = p
			s.Failures++
		case f.Verdict == analysis.Invalid:
			c.Error = p
			s.Errors++
		}
		s.Cases = append(s.Cases, c)
	}
	text, err := xml.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the JUnit report: %w", err)
	}
	if _, err := fmt.Fprintf(w, "%s%s\n", xml.Header, text); err != nil {
		return fmt.Errorf("writing the JUnit report: %w", err)
	}
	return nil
}
