package account

import (
	"errors"
	"strings"
	"testing"

	"bakeoff/engine/oltp/tpcc"
	"bakeoff/load"
	"bakeoff/record"
)

var errWhy = errors.New("why")

func TestEnd(t *testing.T) {
	order, bad, payment := &tpcc.Tx{Kind: tpcc.NewOrder}, &tpcc.Tx{Kind: tpcc.NewOrder, Rollback: true}, &tpcc.Tx{Kind: tpcc.Payment}
	for _, c := range []struct {
		name    string
		tx      *tpcc.Tx
		draw    bool
		attempt int
		outcome tpcc.Outcome
		kind    uint8
		status  load.OpStatus
		again   bool
		orders  int64
		doubt   int64
	}{
		{"committed", order, false, 0, tpcc.Committed, uint8(tpcc.NewOrder), load.OK, false, 1, 0},
		{"a payment is no order", payment, false, 0, tpcc.Committed, uint8(tpcc.Payment), load.OK, false, 0, 0},
		{"rolled back as asked for", bad, false, 0, tpcc.RolledBack, KindRolledBack, load.OK, false, 0, 0},
		{"committed in spite of it", bad, false, 0, tpcc.Committed, uint8(tpcc.NewOrder), load.Failed, false, 1, 0},
		{"rolled back without being asked", order, false, 0, tpcc.RolledBack, uint8(tpcc.NewOrder), load.Failed, false, 0, 0},
		{"routines that draw may do either", order, true, 0, tpcc.RolledBack, KindRolledBack, load.OK, false, 0, 0},
		{"first conflict", order, false, 0, tpcc.Conflict, uint8(tpcc.NewOrder), load.OK, true, 0, 0},
		{"last conflict", order, false, 2, tpcc.Conflict, uint8(tpcc.NewOrder), load.Failed, false, 0, 0},
		{"refused", order, false, 0, tpcc.Refused, uint8(tpcc.NewOrder), load.Failed, false, 0, 0},
		{"broken", order, false, 0, tpcc.Broken, uint8(tpcc.NewOrder), load.Failed, false, 0, 1},
		{"broken payment", payment, false, 0, tpcc.Broken, uint8(tpcc.Payment), load.Failed, false, 0, 0},
	} {
		a := &Account{Retries: 2, RoutinesDraw: c.draw}
		e, again := a.End(c.tx, c.attempt, c.outcome, errWhy)
		orders, doubt := a.Orders()
		if e.Kind != c.kind || e.Status != c.status || again != c.again || orders != c.orders || doubt != c.doubt || (e.Status == load.Failed) != (e.Err != nil) {
			t.Errorf("%s: found %+v, again %t, %d orders, %d in doubt", c.name, e, again, orders, doubt)
		}
	}
}

func TestTimeoutsAreInDoubt(t *testing.T) {
	a := &Account{}
	if e := a.TimedOut(&tpcc.Tx{Kind: tpcc.NewOrder}); e.Status != load.TimedOut {
		t.Errorf("found %+v", e)
	}
	a.Halted(&tpcc.Tx{Kind: tpcc.NewOrder})
	a.Halted(&tpcc.Tx{Kind: tpcc.Delivery})
	if committed, doubt := a.Orders(); committed != 0 || doubt != 2 {
		t.Errorf("%d committed, %d in doubt; want 0 and 2", committed, doubt)
	}
}

func TestOutage(t *testing.T) {
	a := &Account{}
	a.Outage.Begin(1e9)
	a.Outage.Begin(2e9)
	a.Outage.Attempts.Add(1)
	a.Outage.Failed.Add(1)
	a.Outage.Attempts.Add(1)
	a.Outage.End(1e9, 4e9)
	counts := map[string]float64{}
	for _, c := range a.Counts(5e9, 2) {
		counts[c.Name] = c.Value
	}
	if counts[record.CounterDisconnected] != 3 || counts["reconnects"] != 2 || counts[record.CounterFailedConnects] != 1 {
		t.Errorf("found %v; want (3 s + 3 s) over two connections, 2 attempts, one in vain", counts)
	}
}

func TestKindNames(t *testing.T) {
	if got := strings.Join(KindNames(), " "); got != "new_order payment delivery order_status stock_level new_order_rolled_back" {
		t.Errorf("found %s", got)
	}
}
