package self

import (
	"bakeoff/claim"
	"bakeoff/plan"
	"bakeoff/record"
)

// Prepared is a record that was read, so that many reports can be audited
// against it.
type Prepared struct{ a *auditor }

func Prepare(run *record.Run, p *plan.Plan) (Prepared, error) {
	a, err := newAuditor(run, p)
	return Prepared{a}, err
}

func (p Prepared) Audit(report []byte) (claim.Audit, error) { return p.a.audit("report.json", report) }
