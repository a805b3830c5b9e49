package report

import (
	"bytes"
	"strings"
	"testing"

	"bakeoff/claim"
)

func auditFixture() claim.Audit {
	cause := strings.TrimSpace(strings.Repeat("divided by the new value instead of the old ", 4))
	return claim.Audit{File: "figures.yaml", Title: "Figures", Outcomes: []claim.Outcome{
		{ID: "a", Line: 3, Verdict: claim.Follows},
		{ID: "b", Line: 4, Verdict: claim.DoesNot, Text: "the figures give 13.8 %", Causes: []string{cause}},
		{ID: "c", Line: 5, Verdict: claim.OnlyCut, Text: "cut, not rounded"}}}
}

func TestAuditTextIndentsCauses(t *testing.T) {
	var b bytes.Buffer
	if err := AuditText(&b, auditFixture(), TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "likely:"); n != 1 {
		t.Errorf("one cause is called likely %d times:\n%s", n, b.String())
	}
	if !strings.Contains(b.String(), "\n            ") {
		t.Errorf("the cause goes on without an indent:\n%s", b.String())
	}
}

func TestAuditJUnitFailures(t *testing.T) {
	for _, c := range []struct {
		failOn []claim.Verdict
		want   string
	}{{nil, `failures="1"`}, {[]claim.Verdict{claim.OnlyCut, claim.Follows}, `failures="2"`}, {[]claim.Verdict{claim.CannotTell}, `failures="0"`}} {
		var b bytes.Buffer
		if err := AuditJUnit(&b, auditFixture(), c.failOn); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), c.want) {
			t.Errorf("fail on %q: no %s in\n%s", c.failOn, c.want, b.String())
		}
	}
}
