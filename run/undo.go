package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"bakeoff/host"
	"bakeoff/record"
)

// A LeftBehindError says that the run before this one ended without warning and
// left this machine changed, or a server running: what is measured now would
// not be what the plan describes. Undo puts it right.
type LeftBehindError struct{ Dir string }

// Error names the run.
func (e *LeftBehindError) Error() string {
	return fmt.Sprintf("the run in %s ended without warning and left this machine changed: put it right first, with bakeoff run %s", e.Dir, e.Dir)
}

// leftBehind looks what the run before this one left, if it died. A run that is
// not there any more, or another user's, cannot be asked.
func leftBehind(cfg Config, lock *host.HostLock) error {
	died := lock.Died()
	if died == nil {
		return nil
	}
	if cfg.Resume != "" {
		if dir, err := filepath.Abs(cfg.Resume); err == nil && dir == died.Run {
			return nil // it puts everything right before anything else
		}
	}
	if run, err := record.Open(died.Run); err == nil && !run.Complete && run.Manifest.Host == cfg.Host {
		events, err := run.Events()
		if err != nil {
			return fmt.Errorf("reading what the run in %s left behind: %w", died.Run, err)
		}
		left, err := replayJournal(events)
		if err == nil && (left.trial != nil || len(left.settings)+len(left.services) > 0) {
			return &LeftBehindError{died.Run}
		}
	}
	lock.Settled()
	return nil
}

// Undo puts right what the run in config.Resume left behind, and measures
// nothing. It says in words what that was.
func Undo(ctx context.Context, config Config) (undone []string, err error) {
	cfg, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	ms, err := machines(cfg.Plan, cfg.Agents)
	if err != nil {
		return nil, err
	}
	lock, err := lockHost(cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	x := &executor{cfg: cfg, machines: ms}
	var events []record.Event
	if x.writer, events, err = record.Reopen(cfg.Resume, cfg.Clock.Now); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, x.writer.Close()) }()
	if err := x.resolveIn(); err != nil {
		return nil, err
	}
	left, err := replayJournal(events)
	if err != nil {
		return nil, err
	}
	if undone, err = x.undo(ctx, left); err == nil {
		lock.Settled()
	}
	return undone, err
}
