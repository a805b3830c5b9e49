package run

import (
	"context"
	"errors"
	"sync"

	"bakeoff/load"
)

// measurement is one window, measured on all machines at once.
type measurement struct {
	*trialRun
	sign   func()
	cancel context.CancelFunc

	mu     sync.Mutex
	loaded int // machines whose loads are still at work
}

var errNoLoad = errors.New("the cell has no load: there is nothing to measure")

// measure runs the loads on all machines at once. Machines without a load are
// watched from before the first load begins until the last one has ended; where
// one fails, all end.
func (r *trialRun) measure(ctx context.Context, sign func()) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m := &measurement{trialRun: r, sign: sign, cancel: cancel}
	var watching sync.WaitGroup // until each watch has begun
	for _, on := range r.x.machines {
		if len(r.jobs.jobs[on].Loads) > 0 {
			m.loaded++
		} else {
			watching.Add(1)
		}
	}
	if m.loaded == 0 {
		return errNoLoad
	}
	return r.each(func(on *machine) error {
		if len(r.jobs.jobs[on].Loads) == 0 {
			return m.watch(ctx, on, watching.Done)
		}
		watching.Wait()
		return m.load(ctx, on)
	})
}

// watch takes telemetry of a machine without a load until the loads are over.
func (m *measurement) watch(ctx context.Context, on *machine, begun func()) error {
	var once sync.Once
	defer once.Do(begun)
	got, err := m.agentMeasures(ctx, on, func(load.Progress) { once.Do(begun) })
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case err == nil:
		m.measured[on] = got
	case m.loaded == 0 && errors.Is(err, context.Canceled):
		return nil // it was over before the watch began
	default:
		m.cancel()
	}
	return err
}

// load runs the loads of one machine.
func (m *measurement) load(ctx context.Context, on *machine) error {
	got, err := m.agentMeasures(ctx, on, m.report(PhaseMeasure, m.sign))
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.loaded--; m.loaded == 0 || err != nil {
		m.cancel()
	}
	if err == nil || len(got.Results) > 0 {
		m.measured[on] = got
	}
	return err
}

func (m *measurement) agentMeasures(ctx context.Context, on *machine, progress func(load.Progress)) (Measured, error) {
	watch := m.jobs.jobs[on].Watch
	watch.Processes = m.x.processes(on)
	return on.agent.Measure(ctx, watch, progress)
}
