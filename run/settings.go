package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bakeoff/record"
)

// slack is what an agent may take beyond the time that it was given.
const slack = 30 * time.Second

// apply sets the cell's settings, machine by machine. What each was before is
// in the journal before it is touched.
func (r *trialRun) apply(ctx context.Context, sign func()) error {
	for _, m := range r.x.machines {
		specs := r.jobs.jobs[m].Settings
		before, err := m.agent.ReadSettings(ctx, specs)
		if err != nil {
			return fmt.Errorf("host %s: reading the settings: %w", m.name, err)
		}
		for i, s := range specs {
			sign()
			if before[i] == nil {
				return fmt.Errorf("host %s: setting %s %s cannot be read, so it could not be put back: it is left alone", m.name, s.Kind, s.Target)
			}
			if err := r.applyOne(ctx, m, s, *before[i]); err != nil {
				return fmt.Errorf("host %s: %w", m.name, err)
			}
		}
	}
	return nil
}

func (r *trialRun) applyOne(ctx context.Context, m *machine, s SettingSpec, before string) error {
	e := settingEvent{Trial: r.t.ID, Host: m.name, Spec: s, Before: before}
	if err := r.x.record(r.x.writer.Append(evSettingBefore, e)); err != nil {
		return err
	}
	r.applied = append(r.applied, appliedSetting{m, e})
	r.rec.Settings = append(r.rec.Settings, record.AppliedSetting{
		Host: m.name, Kind: s.Kind, Target: s.Target, Before: &before, Wanted: s.Value})
	return m.agent.ApplySetting(ctx, s)
}

// appliedSetting is a setting that is, or may be, in effect, with its place in
// the trial's list: the same index.
type appliedSetting struct {
	machine *machine
	event   settingEvent
}

// readBack reads the applied settings again and hands each value to put.
func (r *trialRun) readBack(ctx context.Context, put func(*record.AppliedSetting, *string)) error {
	for _, m := range r.x.machines {
		specs := r.jobs.jobs[m].Settings
		if len(specs) == 0 {
			continue
		}
		values, err := m.agent.ReadSettings(ctx, specs)
		if err != nil {
			return fmt.Errorf("host %s: reading the settings: %w", m.name, err)
		}
		n := 0
		for i, a := range r.applied {
			if a.machine == m && n < len(values) {
				put(&r.rec.Settings[i], values[n])
				n++
			}
		}
	}
	return nil
}

// restore puts the settings back, last one first.
func (r *trialRun) restore(ctx context.Context) error {
	var all error
	for i := len(r.applied) - 1; i >= 0; i-- {
		a := r.applied[i]
		restored, err := r.x.restoreSetting(ctx, a.machine, a.event)
		r.rec.Settings[i].Restored = restored
		all = errors.Join(all, err)
	}
	r.applied = nil
	return all
}

// restoreSetting puts one setting back, reads it again and journals it. An
// error is a LeftoverError where the setting may still be changed.
func (x *executor) restoreSetting(ctx context.Context, m *machine, e settingEvent) (*string, error) {
	limit := slack + time.Duration(e.Spec.TimeoutSeconds*float64(time.Second))
	ctx, cancel := detached(ctx, limit)
	defer cancel()
	if err := m.agent.RestoreSetting(ctx, e.Spec, e.Before); err != nil {
		return nil, &LeftoverError{
			What: fmt.Sprintf("host %s: setting %s %s was %q before the run and could not be put back", m.name, e.Spec.Kind, e.Spec.Target, e.Before),
			Err:  err,
		}
	}
	var restored *string
	if values, err := m.agent.ReadSettings(ctx, []SettingSpec{e.Spec}); err == nil && len(values) == 1 {
		restored = values[0]
	}
	return restored, x.record(x.writer.Append(evSettingRestored, e))
}
