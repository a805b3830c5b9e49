package analysis

import (
	"bakeoff/plan"
	"bakeoff/record"
)

// Economics works out the tables and charts of efficiency, energy, money,
// consolidation and limits from a record: the observations of the trials that
// count, and what the record holds of meters, interfaces and disks.
func Economics(run *record.Run, p *plan.Plan, obs []record.Observation) ([]Table, []Chart, error) {
	book := newLedgerBook(run)
	for _, t := range run.Trials {
		d, err := loadTelemetry(run, p, t)
		if err != nil {
			return nil, nil, err
		}
		if err := book.add(d); err != nil {
			return nil, nil, err
		}
	}
	tables, charts := economics(p, obs, book)
	return tables, charts, nil
}

// economics is Economics with what was read of the trials already.
func economics(p *plan.Plan, obs []record.Observation, book *ledgerBook) ([]Table, []Chart) {
	x := newEconomist(p, obs, book)
	tables, charts := x.gradedTables()
	tables = append(tables, x.economy().Tables()...)
	for _, t := range []Table{x.sourcesTable(), limitsTable(p, book, x.trials)} {
		if len(t.Rows) > 0 {
			tables = append(tables, t)
		}
	}
	return tables, charts
}
