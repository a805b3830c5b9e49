package oltp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bakeoff/engine/oltp/tpcc"
	"bakeoff/record"
)

// schemaFaults says which tables and columns are missing.
func schemaFaults(tables map[string][]string) error {
	var faults []string
	for _, t := range tpcc.Tables() {
		columns, ok := tables[t.Name]
		if !ok {
			faults = append(faults, "no table "+t.Name)
			continue
		}
		for _, name := range t.Names() {
			if !slices.Contains(columns, name) {
				faults = append(faults, fmt.Sprintf("no column %s.%s", t.Name, name))
			}
		}
	}
	if len(faults) > 0 {
		return fmt.Errorf("the schema is not the one that is expected: %s", strings.Join(faults, ", "))
	}
	return nil
}

// consistent checks the conditions that must hold. Those that HammerDB's own data
// violate from the start are left out: they say nothing about the trial.
func (s *session) consistent(ctx context.Context, initial bool) error {
	var faults []error
	foreign := s.config.Schema == HammerDBSchema
	for _, c := range tpcc.Conditions() {
		if !c.Applies(s.config.Rules.Profile, initial && !foreign) || c.Heavy && s.check != checkFull {
			continue
		}
		rows, err := s.db.Query(ctx, c.Query)
		if err != nil {
			return fmt.Errorf("checking consistency condition %d: %w", c.Number, err)
		}
		if len(rows) != 1 || len(rows[0]) != 1 {
			return fmt.Errorf("checking consistency condition %d: found %d rows, expected a number", c.Number, len(rows))
		}
		switch {
		case rows[0][0] == "0" || s.violated[c.Number]:
		case foreign && !s.ready:
			s.violated[c.Number] = true
		default:
			faults = append(faults, fmt.Errorf("consistency condition %d (clause 3.3.2.%d: %s) is violated %s times", c.Number, c.Number, c.Text, rows[0][0]))
		}
	}
	return errors.Join(faults...)
}

// lostShare is how many of its New-Orders HammerDB's routines may roll back
// without a word.
const lostShare = 0.05

// Verify checks the database after the window, and that it holds the New-Orders
// that it said it had committed, and no others.
func (s *session) Verify(ctx context.Context) error {
	if s.check == checkNone {
		return nil
	}
	after, err := s.nextOrders(ctx)
	if err != nil {
		return err
	}
	committed, inDoubt := s.account.Orders()
	grown := after - s.before
	least := committed
	if s.account.RoutinesDraw {
		least -= int64(lostShare * float64(committed))
	}
	var faults []error
	if grown < least {
		faults = append(faults, fmt.Errorf("the target committed %d New-Orders and holds %d of them: the others are lost", committed, grown))
	}
	if grown > committed+inDoubt {
		faults = append(faults, fmt.Errorf("the database has %d New-Orders more than before the load, and the load committed %d (%d more are in doubt): something else works in this database",
			grown, committed, inDoubt))
	}
	tables, err := s.db.Columns(ctx)
	if err != nil {
		return fmt.Errorf("looking at the database: %w", err)
	}
	return errors.Join(append(faults, schemaFaults(tables), s.consistent(ctx, false))...)
}

// Fingerprint says what state the data are in now.
func (s *session) Fingerprint(ctx context.Context) (record.DataSet, error) {
	describe := func() (*record.DataSet, error) { return s.described(ctx, "kept", nil) }
	if s.config.Schema == HammerDBSchema {
		describe = func() (*record.DataSet, error) { return s.prepareForeign(ctx) }
	}
	set, err := describe()
	if err != nil {
		return record.DataSet{}, fmt.Errorf("engine oltp: %w", err)
	}
	return *set, nil
}
