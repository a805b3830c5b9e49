package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bakeoff/record"
)

// What a run left that died is put right before another begins, which need not
// be the same.
func TestUndoOfARunThatDied(t *testing.T) {
	agent := newFake()
	cfg := newConfig(t, parse(t, fakePlan), agent)
	agent.fault = func(_ context.Context, m string, _ int) error {
		if m == "RestoreSetting" {
			return errors.New("the power is gone")
		}
		return nil
	}
	s, err := Execute(context.Background(), cfg)
	if err == nil {
		t.Fatalf("summary %+v", s)
	}
	agent.fault = func(context.Context, string, int) error { return nil }
	dir, err := filepath.Abs(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	dead := fmt.Sprintf(`{"pid":%d,"run":%q}`, 1<<30, dir)
	if err := os.WriteFile(filepath.Join(cfg.LockDir, "host.lock"), []byte(dead), 0o644); err != nil {
		t.Fatal(err)
	}
	var left *LeftBehindError
	if _, err := Execute(context.Background(), cfg); !errors.As(err, &left) || left.Dir != dir {
		t.Fatalf("another run was begun: %v", err)
	}
	old := cfg
	old.Resume = dir
	undone, err := Undo(context.Background(), old)
	if err != nil || len(undone) == 0 || !strings.Contains(undone[0], "put back to") {
		t.Fatalf("undone %q, %v", undone, err)
	}
	agent.untouched(t)
	if again, err := Undo(context.Background(), old); err != nil || len(again) > 0 {
		t.Errorf("undone twice: %q, %v", again, err)
	}
	if s, err := Execute(context.Background(), cfg); err != nil || s.Outcome != Done {
		t.Errorf("the next run: %+v, %v", s, err)
	}
	if s, err := Execute(context.Background(), old); err != nil || s.Outcome != Done {
		t.Errorf("the run that died, resumed: %+v, %v", s, err)
	}
}

// A journal that lost its end cannot say what to put back.
func TestJournalShorterThanTheRecord(t *testing.T) {
	agent := newFake()
	cfg := newConfig(t, parse(t, fakePlan), agent)
	stop := make(chan struct{})
	cfg.Stop = stop
	cfg.Progress = func(e Event) {
		if e.Kind == TrialEnds && e.Trial.ID == "0001" {
			close(stop)
		}
	}
	s, err := Execute(context.Background(), cfg)
	if err != nil || s.Outcome != Stopped {
		t.Fatalf("%+v, %v", s, err)
	}
	if err := os.Truncate(filepath.Join(s.Dir, record.JournalFile), 0); err != nil {
		t.Fatal(err)
	}
	cfg.Resume, cfg.Stop, cfg.Progress = s.Dir, nil, nil
	if s, err := Execute(context.Background(), cfg); err == nil || !strings.Contains(err.Error(), "says nothing of trial 0001") {
		t.Errorf("resumed: %+v, %v", s, err)
	}
}
