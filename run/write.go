package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"bakeoff/plan"
	"bakeoff/record"
)

// write gives the trial its place in the record. Where its files cannot be
// written, as on a full disk, they are removed, and the trial is recorded
// without them, to be measured again.
func (r *trialRun) write() {
	x := r.x
	r.enter(PhaseWrite, x.cfg.Clock.Now())
	x.emit(Event{Kind: PhaseBegins, Trial: r.t, Phase: PhaseWrite})
	err := r.writeFiles()
	if err == nil {
		err = x.writer.WriteTrial(r.rec)
	}
	if err != nil {
		err = errors.Join(err, r.writeFailed(err))
	}
	err = errors.Join(err, x.writer.Append(evTrialEnd, trialEndEvent{Trial: r.t.ID, Status: r.rec.Status, Reason: r.rec.Reason}))
	x.emit(Event{Kind: PhaseEnds, Trial: r.t, Phase: PhaseWrite, Err: err})
	if err != nil {
		r.breaks(PhaseWrite+": "+err.Error(), x.record(err))
	}
}

func (r *trialRun) writeFiles() error {
	for _, m := range r.x.machines {
		got, ok := r.measured[m]
		if !ok {
			continue
		}
		for _, res := range got.Results {
			for _, name := range slices.Sorted(maps.Keys(res.Logs)) {
				if err := r.x.writer.WriteLog(r.t.ID, name, res.Logs[name]); err != nil {
					return err
				}
			}
		}
		file, err := r.x.writer.WriteReadings(r.t.ID, m.name, got.Readings)
		if err != nil {
			return err
		}
		for _, name := range m.names {
			put(&r.rec.Readings, name, file)
			put(&r.rec.Costs, name, got.Costs)
		}
		for _, metered := range got.Metered {
			file, err := r.x.writer.WriteReadings(r.t.ID, metered.Host, metered.Readings)
			if err != nil {
				return err
			}
			put(&r.rec.Readings, metered.Host, file)
			put(&r.rec.Costs, metered.Host, metered.Costs)
		}
	}
	return nil
}

// writeFailed writes what still fits.
func (r *trialRun) writeFailed(cause error) error {
	r.rec.Status, r.rec.Reason = record.StatusInterrupted, PhaseWrite+": "+cause.Error()
	r.rec.Readings, r.rec.Costs, r.rec.FactsBefore, r.rec.FactsAfter, r.rec.Loads = nil, nil, nil, nil, nil
	if err := r.x.writer.DiscardFiles(r.t.ID); err != nil {
		return err
	}
	return r.x.writer.WriteTrial(r.rec)
}

// put sets a key of a map that may not exist yet.
func put[V any](m *map[string]V, key string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = v
}

func (r *trialRun) factsBefore(ctx context.Context, _ func()) error {
	return r.facts(ctx, "before", &r.rec.FactsBefore)
}

func (r *trialRun) factsAfter(ctx context.Context) error {
	return r.facts(ctx, "after", &r.rec.FactsAfter)
}

// facts gathers what every host of the plan is, and writes it at once.
func (r *trialRun) facts(ctx context.Context, moment string, files *map[string]string) error {
	for _, m := range r.x.machines {
		f, err := m.agent.Facts(ctx)
		if err != nil {
			return fmt.Errorf("host %s: gathering facts: %w", m.name, err)
		}
		f.Host = m.name
		for _, s := range r.x.services {
			if s.machine == m && s.started.Version != "" {
				put(&f.Versions, s.spec.Name, s.started.Version)
			}
		}
		if err := r.writeFacts(f, moment, m.names, files); err != nil {
			return err
		}
	}
	for _, h := range r.jobs.Hosts {
		if h.Agent != plan.AgentNone {
			continue
		}
		f := record.Facts{Host: h.Name, Taken: r.x.cfg.Clock.Now().UTC()}
		for _, d := range h.Facts {
			put(&f.Declared, d.Name, d.Value)
		}
		if err := r.writeFacts(f, moment, []string{h.Name}, files); err != nil {
			return err
		}
	}
	return nil
}

func (r *trialRun) writeFacts(f record.Facts, moment string, names []string, files *map[string]string) error {
	file, err := r.x.writer.WriteFacts(r.t.ID, moment, f.Host, f)
	if err != nil {
		return r.x.record(err)
	}
	for _, name := range names {
		put(files, name, file)
	}
	return nil
}
