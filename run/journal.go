package run

import (
	"encoding/json"
	"fmt"

	"bakeoff/plan"
	"bakeoff/record"
)

// The kinds of the journal's events. docs/record.md documents them.
const (
	evBegin           = "begin"
	evTrialBegin      = "trial-begin"
	evPhaseBegin      = "phase-begin"
	evPhaseEnd        = "phase-end"
	evSettingBefore   = "setting-before"
	evSettingRestored = "setting-restored"
	evServiceStarting = "service-starting"
	evServiceStarted  = "service-started"
	evServiceStopped  = "service-stopped"
	evUndone          = "undone"
	evTrialEnd        = "trial-end"
	evStop            = "stop"
	evDone            = "done"
)

type beginEvent struct {
	Host  string `json:"host"`
	Build string `json:"build"`
	PID   int    `json:"pid"`
}

type trialEvent struct {
	Trial   record.TrialID `json:"trial"`
	Role    record.Role    `json:"role"`
	Block   int            `json:"block"`
	Attempt int            `json:"attempt"`
	Cell    record.Cell    `json:"cell"`
	At      string         `json:"at,omitempty"` // the load, of a plan that searches for peaks
	Seed    uint64         `json:"seed,string"`
}

func (e trialEvent) plan() plan.Trial {
	return plan.Trial{ID: e.Trial, Role: e.Role, Block: e.Block, Attempt: e.Attempt, Cell: e.Cell, At: e.At, Seed: e.Seed}
}

type phaseEvent struct {
	Trial record.TrialID `json:"trial"`
	Phase string         `json:"phase"`
	Error string         `json:"error,omitempty"`
}

// settingEvent is written before a setting is changed, with what it was; and
// again when it is put back.
type settingEvent struct {
	Trial  record.TrialID `json:"trial"`
	Host   string         `json:"host"`
	Spec   SettingSpec    `json:"spec"`
	Before string         `json:"before"`
}

type serviceEvent struct {
	Trial   record.TrialID `json:"trial"`
	Host    string         `json:"host"`
	Service string         `json:"service"`
	PIDs    []int          `json:"pids,omitempty"`
}

type undoneEvent struct {
	What []string `json:"what"`
}

type trialEndEvent struct {
	Trial  record.TrialID `json:"trial"`
	Status record.Status  `json:"status"`
	Reason string         `json:"reason,omitempty"`
}

type stopEvent struct {
	Reason string `json:"reason"`
}

type doneEvent struct {
	Trials int `json:"trials"`
}

// leftover is what the journal says is still to be undone, and the trial that
// was under way.
type leftover struct {
	settings []settingEvent // in the order in which they were applied
	services []serviceEvent
	trial    *trialEvent
	phases   []record.Phase
	broken   string // the phase in which it ended
	seen     map[record.TrialID]bool
}

// replayJournal finds what a process that ended left behind.
func replayJournal(events []record.Event) (leftover, error) {
	l := leftover{seen: map[record.TrialID]bool{}}
	for _, e := range events {
		if err := l.replay(e); err != nil {
			return l, fmt.Errorf("journal event %d (%s): %w", e.Seq, e.Kind, err)
		}
	}
	return l, nil
}

func (l *leftover) replay(e record.Event) error {
	switch e.Kind {
	case evTrialBegin:
		return l.trialBegins(e)
	case evTrialEnd:
		l.trial, l.phases, l.broken = nil, nil, ""
	case evPhaseBegin, evPhaseEnd:
		return l.phase(e)
	case evSettingBefore:
		s, err := payload[settingEvent](e)
		l.settings = append(l.settings, s)
		return err
	case evSettingRestored:
		s, err := payload[settingEvent](e)
		l.settingRestored(s)
		return err
	case evServiceStarting:
		s, err := payload[serviceEvent](e)
		l.services = append(l.services, s)
		return err
	case evServiceStopped:
		s, err := payload[serviceEvent](e)
		l.serviceStopped(s)
		return err
	}
	return nil
}

func (l *leftover) trialBegins(e record.Event) error {
	t, err := payload[trialEvent](e)
	l.trial, l.phases, l.broken = &t, nil, ""
	l.seen[t.Trial] = true
	return err
}

func (l *leftover) phase(e record.Event) error {
	p, err := payload[phaseEvent](e)
	if err != nil {
		return err
	}
	if e.Kind == evPhaseBegin {
		l.phases = append(l.phases, record.Phase{Name: p.Phase, Started: e.At})
		l.broken = p.Phase
		return nil
	}
	if n := len(l.phases); n > 0 && l.phases[n-1].Name == p.Phase {
		l.phases[n-1].Ended, l.phases[n-1].Error = e.At, p.Error
	}
	return nil
}

func (l *leftover) settingRestored(s settingEvent) {
	for i, o := range l.settings {
		if o.Host == s.Host && o.Spec.Kind == s.Spec.Kind && o.Spec.Target == s.Spec.Target {
			l.settings = append(l.settings[:i:i], l.settings[i+1:]...)
			return
		}
	}
}

func (l *leftover) serviceStopped(s serviceEvent) {
	for i, o := range l.services {
		if o.Host == s.Host && o.Service == s.Service {
			l.services = append(l.services[:i:i], l.services[i+1:]...)
			return
		}
	}
}

func payload[T any](e record.Event) (T, error) {
	var v T
	err := json.Unmarshal(e.Data, &v)
	return v, err
}
