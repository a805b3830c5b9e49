package load

import (
	"context"
	"fmt"
	"math"
	"time"

	"bakeoff/record"
)

// The driver's own cost is the best of several short rounds, since whatever else
// runs on the host only adds. Rounds in which the worker did not run at all are
// made up for.
const (
	nullRounds   = 5
	nullRound    = 4_000_000 // ns
	nullAttempts = 100
)

// nullCost returns the driver's own cost on this host, in nanoseconds an
// operation: one operation at a time, all stamps, books and histograms included,
// against an engine that does nothing. It is measured once a machine.
func (m *Machine) nullCost(ctx context.Context, contract Contract) (float64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if cost, ok := m.null[contract]; ok {
		return cost, nil
	}
	m.quiet.hold(1)
	defer m.quiet.release(1)
	best, rounds := math.Inf(1), 0
	for range nullAttempts {
		cost, err := m.nullRound(ctx, contract)
		if err != nil {
			return 0, fmt.Errorf("measuring the driver's own cost: %w", err)
		}
		if !math.IsInf(cost, 1) {
			rounds++
		}
		if best = min(best, cost); rounds == nullRounds {
			break
		}
	}
	if rounds == 0 {
		return 0, fmt.Errorf("measuring the driver's own cost: no worker ran in %d attempts: the host is overloaded", nullAttempts)
	}
	m.null[contract] = best
	return best, nil
}

func (m *Machine) nullRound(ctx context.Context, contract Contract) (float64, error) {
	clock, err := m.NewClock(ctx)
	if err != nil {
		return 0, err
	}
	var d driver
	shape := Shape{Workers: 1, InFlight: 1, Contract: contract}
	if contract == Batched {
		d = &threads{engine: "null", session: nullSession{contract}, shape: shape, process: &m.process}
	} else {
		d = &crew{engine: "null", session: nullSession{contract}, shape: shape, process: &m.process}
	}
	if err := d.open(ctx); err != nil {
		return 0, err
	}
	now := clock.Now()
	e := edges{begin: now, open: now, close: now + nullRound, slice: intervalLength}
	logs := newLogSet(Spec{}, time.Time{}, nil)
	c := newCollector(e, []string{"null"}, 1, logs, func(record.Interval, phase) {})
	go c.run()
	ended, err := d.start(job{clock: clock, edges: e, collector: c})
	if err == nil {
		<-ended
		o := d.finish()
		err = o.err
	}
	c.stop()
	if err != nil {
		return 0, err
	}
	return nullRound / float64(c.window[0].completed), nil // infinite where nothing was done
}

// nullSession is an engine that does nothing, for measuring the driver.
type nullSession struct{ contract Contract }

func (s nullSession) Shape() Shape { return Shape{Workers: 1, InFlight: 1, Contract: s.contract} }

func (nullSession) Prepare(context.Context, func(float64)) (*record.DataSet, error) { return nil, nil }

func (s nullSession) Worker(context.Context, int, int) (Worker, error) {
	if s.contract == Batched {
		return &nullBatcher{}, nil
	}
	return nullDoer{}, nil
}

func (nullSession) Snapshot(context.Context) ([]Count, error) { return nil, nil }

func (nullSession) Close() error { return nil }

// nullBatcher gives back at once what it takes.
type nullBatcher struct{ taken []Completion }

func (b *nullBatcher) Submit(ops []Op) (int, error) {
	for i := range ops {
		op := &ops[i]
		b.taken = append(b.taken, Completion{Intended: op.Intended, Sent: op.Sent, Count: op.Count, Slot: op.Slot, Items: op.Count})
	}
	return len(ops), nil
}

func (b *nullBatcher) Reap(dst []Completion, _ int64) ([]Completion, error) {
	dst = append(dst, b.taken...)
	b.taken = b.taken[:0]
	return dst, nil
}

func (*nullBatcher) Close() error { return nil }

type nullDoer struct{}

func (nullDoer) Do(_ context.Context, op *Op) error {
	op.Items = 1
	return nil
}

func (nullDoer) Close() error { return nil }
