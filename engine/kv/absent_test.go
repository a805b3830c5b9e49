package kv

import (
	"context"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"bakeoff/load"
	"bakeoff/load/loadtest"
	"bakeoff/record"
)

// measured runs a closed loop on a target and meddles with it when the window
// has begun.
func measured(t *testing.T, target string, window time.Duration, meddle func()) record.Load {
	t.Helper()
	spec := load.Spec{Workload: "w", Part: load.Source, Engine: "kv", Target: target, Seed: 1,
		Parameters: map[string]any{"connections": 4, "key_maximum": 1000, "preload": "none", "ratio": "1:0"},
		Common:     load.Common{Warmup: 100 * time.Millisecond, Window: window}}
	r, err := load.Open(t.Context(), Engine{}, spec, load.Env{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var once sync.Once
	var meddled sync.WaitGroup
	result, err := r.Measure(ctx, func(p load.Progress) {
		if p.Phase == "warm-up" { // it is over
			once.Do(func() { meddled.Go(meddle) })
		}
	})
	meddled.Wait()
	if err != nil {
		t.Fatal(err)
	}
	loadtest.Check(t, result)
	return result.Load
}

// growth is how much a counter of the record grew in the window.
func growth(t *testing.T, l record.Load, name string) float64 {
	t.Helper()
	for _, c := range l.Counters {
		if c.Name == name {
			return c.Close - c.Open
		}
	}
	t.Fatalf("no counter %s in %+v", name, l.Counters)
	return 0
}

// emptyTenths is how many tenths of the window completed nothing.
func emptyTenths(l record.Load) (n int) {
	for _, x := range l.Tenths {
		if x.Completed == 0 {
			n++
		}
	}
	return n
}

// TestAStoppedTargetLeavesItsTrace: few operations fail in a closed loop whose
// target stands still, but the tenths of the window tell.
func TestAStoppedTargetLeavesItsTrace(t *testing.T) {
	p, tcp, _ := startRedis(t)
	l := measured(t, tcp, 2*time.Second, func() {
		for _, s := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
			if err := p.cmd.Process.Signal(s); err != nil {
				t.Error(err)
			}
			if s == syscall.SIGSTOP {
				<-time.After(time.Second)
			}
		}
	})
	if n := emptyTenths(l); l.Ledger.Failed > 0 || n < 3 || n > 8 {
		t.Errorf("stopped for half of the window: %d failed, %d tenths are empty: %+v", l.Ledger.Failed, n, l.Tenths)
	}
	if down := growth(t, l, record.CounterDisconnected); down != 0 {
		t.Errorf("connections stayed up, and count as down for %g s", down)
	}
}

// TestATargetThatIsGoneLeavesItsTrace kills the target and starts it anew.
func TestATargetThatIsGoneLeavesItsTrace(t *testing.T) {
	p, tcp, _ := startRedis(t)
	l := measured(t, tcp, 2*time.Second, func() {
		p.kill()
		<-time.After(time.Second)
		again := exec.Command("redis-server", p.cmd.Args[1:]...)
		again.Dir = t.TempDir()
		if err := again.Start(); err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() {
			_ = again.Process.Kill()
			_ = again.Wait()
		})
	})
	if n := emptyTenths(l); n < 3 || n > 9 {
		t.Errorf("gone for half of the window: %d tenths are empty: %+v", n, l.Tenths)
	}
	if down := growth(t, l, record.CounterDisconnected); down < 0.9 || down > 2 {
		t.Errorf("gone for a second, connections count as down for %g s", down)
	}
	if vain := growth(t, l, record.CounterFailedConnects); vain < 4 {
		t.Errorf("%g vain attempts of four connections", vain)
	}
}
