package run

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bakeoff/internal/osenv"
	"bakeoff/record"
)

// mountSmall mounts a small disk of its own, and gives a function that mounts
// it anew with other options.
func mountSmall(t *testing.T) (dir string, remount func(flags uintptr, options string)) {
	t.Helper()
	dir = t.TempDir()
	err := unix.Mount("bakeoff-test", dir, "tmpfs", 0, "size=256k")
	if errors.Is(err, unix.EPERM) {
		t.Skip("mounting a small disk needs root")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir, func(flags uintptr, options string) {
		if err := unix.Mount("bakeoff-test", dir, "tmpfs", flags|unix.MS_REMOUNT, options); err != nil {
			t.Error(err)
		}
	}
}

// TestFullDisk fills the disk with a trial's telemetry: the trial is recorded
// with the reason, the run stops, the record is whole, and with room it goes on.
func TestFullDisk(t *testing.T) {
	dir, remount := mountSmall(t)
	agent := newFake()
	agent.readings = 2
	agent.fault = func(_ context.Context, m string, n int) error {
		if m == "Measure" && n == 2 {
			agent.readings = 200000
		}
		return nil
	}
	cfg := newConfig(t, parse(t, fakePlan), agent)
	cfg.Dir = dir
	s, err := Execute(context.Background(), cfg)
	if !errors.Is(err, syscall.ENOSPC) || s.Outcome != Broken || !s.Resumable || !strings.Contains(s.Next, "bakeoff run ") {
		t.Fatalf("summary %+v, %v", s, err)
	}
	agent.untouched(t)
	run := verified(t, s.Dir)
	if statuses(run) != "complete interrupted" || !strings.Contains(run.Trials[1].Reason, "no space left on device") {
		t.Errorf("trials: %s, %+v", statuses(run), run.Trials)
	}
	remount(0, "size=64m")
	agent.readings = 2
	cfg.Resume = s.Dir
	s, err = Execute(context.Background(), cfg)
	if err != nil || s.Outcome != Done || s.Trials[record.StatusComplete] != 4 || s.Trials[record.StatusInterrupted] != 1 {
		t.Fatalf("with room again: %+v, %v", s, err)
	}
	agent.untouched(t)
	verified(t, s.Dir)
}

// TestDiskWithNoRoomAtAll fills the disk from outside, so that nothing at all
// can be written: the settings are put back all the same.
func TestDiskWithNoRoomAtAll(t *testing.T) {
	dir, remount := mountSmall(t)
	agent := newFake()
	agent.fault = func(_ context.Context, m string, n int) error {
		if m == "Measure" && n == 2 {
			fill(t, dir)
		}
		return nil
	}
	cfg := newConfig(t, parse(t, fakePlan), agent)
	cfg.Dir = dir
	s, err := Execute(context.Background(), cfg)
	if !errors.Is(err, syscall.ENOSPC) || s.Outcome != Broken {
		t.Fatalf("summary %+v, %v", s, err)
	}
	agent.untouched(t)
	remount(0, "size=64m")
	verified(t, s.Dir)
	cfg.Resume = s.Dir
	s, err = Execute(context.Background(), cfg)
	if err != nil || s.Outcome != Done {
		t.Fatalf("with room again: %+v, %v", s, err)
	}
	agent.untouched(t)
	verified(t, s.Dir)
}

func fill(t *testing.T, dir string) {
	f, err := os.Create(dir + "/ballast")
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	block := make([]byte, 512)
	for {
		if _, err := f.Write(block); err != nil {
			return
		}
	}
}

func TestReadOnlyDirectory(t *testing.T) {
	dir, remount := mountSmall(t)
	agent := newFake()
	cfg := newConfig(t, parse(t, fakePlan), agent)
	cfg.Dir = dir
	remount(unix.MS_RDONLY, "")
	_, err := Execute(context.Background(), cfg)
	var problems *ProblemsError
	if !errors.As(err, &problems) || !strings.Contains(err.Error(), "read-only file system; name another directory") {
		t.Errorf("got %v", err)
	}
	agent.untouched(t)
}

// stepping is a clock that someone sets back and forth by an hour while the
// run goes on. Like the system's, it has no say in how long a sleep takes.
type stepping struct {
	mu    sync.Mutex
	calls int
}

func (c *stepping) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	now := time.Now()
	if c.calls%7 > 3 {
		// Rounded off the monotonic reading, as after a step of the wall clock.
		return now.Round(0).Add(-time.Hour)
	}
	return now
}

func (c *stepping) Sleep(ctx context.Context, d time.Duration) error {
	return osenv.System{}.Sleep(ctx, d)
}

func TestClockStep(t *testing.T) {
	agent := newFake()
	cfg := newConfig(t, parse(t, fakePlan), agent)
	cfg.Clock, cfg.Stall = &stepping{}, 10*time.Hour
	s, err := Execute(context.Background(), cfg)
	if err != nil || s.Outcome != Done || s.Trials[record.StatusComplete] != 4 {
		t.Fatalf("summary %+v, %v", s, err)
	}
	verified(t, s.Dir)
}
