package dial

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"testing"
	"time"
)

func TestAgainIsLessAndLessOften(t *testing.T) {
	var a Again
	var waits []time.Duration
	for range 12 {
		a.Later(0)
		waits = append(waits, time.Duration(a.at))
	}
	for i, want := range map[int]time.Duration{0: time.Millisecond, 1: 2 * time.Millisecond, 8: 256 * time.Millisecond, 9: 500 * time.Millisecond, 11: 500 * time.Millisecond} {
		if waits[i] != want {
			t.Errorf("attempt %d waits %v, expected %v", i, waits[i], want)
		}
	}
	a.Opened()
	a.Later(7)
	if a.at != 7+int64(500*time.Millisecond) {
		t.Errorf("one that was opened and lost without an answer is due at %d, expected as late as before", a.at)
	}
	a.Opened()
	a.Answered()
	a.Later(7)
	if a.at != 0 || a.delay != 0 {
		t.Errorf("one that had answered is due at %d, expected at once", a.at)
	}
}

func TestReopenBeginsWhatIsDue(t *testing.T) {
	var count atomic.Uint64
	began := make(chan int, 4)
	d := New(func(_ context.Context, k int) (Link, error) { began <- k; return Link{}, errors.New("no") }, func() error { return nil }, 4, &count)
	defer d.Stop()
	states := []*Again{nil, {}, {at: 50}, {dialing: true}}
	again := func(k int) *Again { return states[k] }
	if wake := d.Reopen(10, []int{0, 1, 2, 3}, again); wake != 50 {
		t.Errorf("the next is due at %d, expected 50", wake)
	}
	if k := <-began; k != 1 {
		t.Errorf("connection %d was opened, expected 1", k)
	}
	if wake := d.Reopen(60, []int{1, 2}, again); wake != math.MaxInt64 || <-began != 2 || count.Load() != 2 {
		t.Errorf("the next is due at %d, after %d attempts", wake, count.Load())
	}
}

func TestAbsence(t *testing.T) {
	lost := errors.New("refused")
	var a Absence
	for i, c := range []struct {
		none bool
		now  int64
		err  error
		over bool
	}{
		{true, 5, lost, false}, {true, 105, lost, false}, {true, 106, nil, false}, {true, 106, lost, true},
		{false, 107, lost, false}, {true, 200, lost, false}, {true, 301, lost, true},
	} {
		a.Err = c.err
		if err := a.Over(c.none, c.now, 100); (err != nil) != c.over || c.over && !errors.Is(err, lost) {
			t.Errorf("step %d: found %v", i, err)
		}
	}
}
