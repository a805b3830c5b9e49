package oltp

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strconv"

	"bakeoff/engine/oltp/tpcc"
	"bakeoff/record"
)

// prepareForeign takes the schema that HammerDB built.
func (s *session) prepareForeign(ctx context.Context) (*record.DataSet, error) {
	how := "kept"
	name := fmt.Sprintf("hammerdb warehouses=%d", s.config.Rules.Warehouses)
	if s.restore == restoreSaved {
		restored, err := s.restoreSaved(ctx, name)
		if err != nil {
			return nil, err
		}
		if restored {
			how = "restored"
		}
	}
	tables, err := s.db.Columns(ctx)
	if err != nil {
		return nil, fmt.Errorf("looking at the database: %w", err)
	}
	if err := schemaFaults(tables); err != nil {
		return nil, fmt.Errorf("%w: build it with HammerDB first, or leave out schema: hammerdb", err)
	}
	if err := s.countWarehouses(ctx); err != nil {
		return nil, err
	}
	if s.restore == restoreSaved && how == "kept" {
		if s.db.Saving() == "" {
			return nil, fmt.Errorf("restore saved: this target has no way to save the state of HammerDB's schema")
		}
		if err := s.db.Save(ctx, name); err != nil {
			return nil, fmt.Errorf("saving the state of the database (%s): %w", s.db.Saving(), err)
		}
		if _, err := s.restoreSaved(ctx, name); err != nil {
			return nil, err
		}
		how = "restored"
	}
	set := &record.DataSet{Prepared: how}
	digest := sha256.New()
	fmt.Fprintln(digest, name)
	for _, id := range s.summed() {
		sums, err := s.sums(ctx, id)
		if err != nil {
			return nil, err
		}
		set.Items += uint64(sums.Rows)
		fmt.Fprintln(digest, id, sumsText(sums))
	}
	set.Fingerprint = fmt.Sprintf("sha256:%x", digest.Sum(nil))
	return set, nil
}

func (s *session) countWarehouses(ctx context.Context) error {
	rows, err := s.db.Query(ctx, "SELECT COUNT(*) FROM "+tpcc.Warehouse.String())
	if err != nil || len(rows) != 1 || len(rows[0]) != 1 {
		return fmt.Errorf("counting warehouses: found %v: %w", rows, err)
	}
	n, err := strconv.Atoi(rows[0][0])
	if err != nil {
		return fmt.Errorf("counting warehouses: %w", err)
	}
	if n == 0 {
		return errNoWarehouses
	}
	if n != s.config.Rules.Warehouses {
		return fmt.Errorf("the database has %d warehouses, and the load asks for %d: give warehouses: %d", n, s.config.Rules.Warehouses, n)
	}
	return nil
}
