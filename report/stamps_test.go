package report

import (
	"strings"
	"testing"

	"bakeoff/analysis"
	"bakeoff/record"
)

func TestStampOfTrialsLeftOut(t *testing.T) {
	r := twoCells()
	for i, reason := range map[int]string{2: "a backup ran.", 3: "a backup ran.", 8: "a cable was pulled"} {
		r.Trials[i].Status, r.Trials[i].Reason, r.Trials[i].Counted = record.StatusExcluded, reason, false
	}
	first, second := string(r.Trials[2].Trial)+"-"+string(r.Trials[3].Trial), string(r.Trials[8].Trial)
	want := "Trials left out by the operator: 3 (" + first + ": a backup ran; " + second + ": a cable was pulled). Leaving trials out can change a verdict"
	text := strings.Join(strings.Fields(strings.ReplaceAll(string(render(t, formats()[".txt"], r)), "\n! ", " ")), " ")
	if !strings.Contains(text, want) {
		t.Errorf("the summary does not say %q:\n%s", want, text)
	}
	for _, s := range stamps(twoCells()) {
		t.Errorf("a run that left nothing out has the stamp %q", s.Head())
	}
}

func TestStampOfDisturbedMeasurements(t *testing.T) {
	gate := func(name, title string, s record.Severity, objected, checked int) analysis.GateResult {
		return analysis.GateResult{Gate: name, Title: title, Severity: s, Objected: objected, Checked: checked}
	}
	cases := map[string]struct {
		gates []analysis.GateResult
		want  string
	}{
		"half of the trials": {[]analysis.GateResult{gate("busy-neighbour", "A busy neighbour", record.SeveritySoft, 8, 16), gate("cpu-steal", "Stolen CPU time", record.SeverityHard, 16, 16)},
			"A busy neighbour objected to 8 of 16 trials; Stolen CPU time objected to 16 of 16 trials. Read"},
		"fewer than half":        {[]analysis.GateResult{gate("busy-neighbour", "A busy neighbour", record.SeveritySoft, 7, 16)}, ""},
		"a note":                 {[]analysis.GateResult{gate("throttled", "Throttled", record.SeverityNote, 16, 16)}, ""},
		"of findings, not hosts": {[]analysis.GateResult{gate("too-few-blocks", "Few blocks", record.SeveritySoft, 4, 4)}, ""},
		"nothing looked at":      {[]analysis.GateResult{gate("swapping", "Swapping", record.SeveritySoft, 0, 0)}, ""},
	}
	for name, c := range cases {
		r := twoCells()
		r.Gates = c.gates
		var got []stamp
		for _, s := range stamps(r) {
			if s.Title == "Disturbed measurements" {
				got = append(got, s)
			}
		}
		switch {
		case c.want == "" && len(got) > 0:
			t.Errorf("%s: stamped %q", name, got[0].Text)
		case c.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0].Text, c.want)):
			t.Errorf("%s: %v, want one stamp that begins %q", name, got, c.want)
		}
	}
}
