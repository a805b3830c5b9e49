package loadtest

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"

	"bakeoff/load"
)

// step is one operation as an engine did it, for comparing two runs.
type step struct {
	kind     uint8
	items    uint32
	bytesOut uint64
}

// direct drives one worker of a session without the driver.
type direct struct {
	t       *testing.T
	spec    load.Spec
	session load.Session
	worker  load.Worker
	kinds   int
}

// withWorker opens a session and its first worker on a locked thread, as the
// driver does, and closes both.
func (s suite) withWorker(t *testing.T, spec load.Spec, do func(*direct)) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	session, err := s.engine.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer closes(t, session.Close)
	if _, err := session.Prepare(t.Context(), func(float64) {}); err != nil {
		t.Fatal(err)
	}
	w, err := session.Worker(t.Context(), 0, session.Shape().Workers)
	if err != nil {
		t.Fatal(err)
	}
	defer closes(t, w.Close)
	do(&direct{t, spec, session, w, len(s.engine.Describe().Kinds)})
}

func closes(t *testing.T, f func() error) {
	if err := f(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// everyOperationOnce submits operations that can be told apart by their intended
// time and counts what comes back.
func (s suite) everyOperationOnce(t *testing.T) {
	noLeaks(t)
	s.withWorker(t, s.withClock(t), func(d *direct) {
		b, ok := d.worker.(load.Batcher)
		if !ok {
			d.do(1000)
			return
		}
		d.batches(b, 2000)
	})
}

// ledger is what is still out, by the intended time of each operation.
type ledger map[int64]int64

// batches submits n operations in groups of different counts.
func (d *direct) batches(b load.Batcher, n int) {
	clock, slots := d.spec.Clock, d.session.Shape().InFlight
	out, sent, free := ledger{}, map[int64]int64{}, slots
	deadline := clock.Now() + int64(d.within())
	intended, done := clock.Now(), false
	for n > 0 && !done || free < slots {
		if clock.Now() > deadline {
			d.t.Fatalf("%d operations did not come back within %v", slots-free, d.within())
		}
		var ops []load.Op
		now := clock.Now()
		for count := 1; !done && n > 0 && count <= free-total(ops); count = 1 + (count+1)%3 {
			ops = append(ops, load.Op{Intended: intended, Sent: now, Count: uint32(count), Slot: -1})
			intended++
			n -= count
		}
		if len(ops) > 0 {
			took, err := b.Submit(ops)
			if done = errors.Is(err, load.ErrDone); err != nil && !done {
				d.t.Fatal(err)
			}
			for _, op := range ops[:took] {
				out[op.Intended], sent[op.Intended] = int64(op.Count), op.Sent
			}
			free -= total(ops[:took])
			n += total(ops[took:])
		}
		free += d.reap(b, out, sent)
	}
	for at, left := range out {
		if left != 0 {
			d.t.Errorf("operation %d: %d of it did not come back", at, left)
		}
	}
}

// within is by when every operation must be back: its timeout, and some for a
// busy host.
func (d *direct) within() time.Duration { return d.spec.Common.OpTimeout + quick }

func total(ops []load.Op) (n int) {
	for _, op := range ops {
		n += int(op.Count)
	}
	return n
}

// reap takes back what is complete and returns how many operations that was.
func (d *direct) reap(b load.Batcher, out ledger, sent map[int64]int64) (n int) {
	clock := d.spec.Clock
	back, err := b.Reap(nil, clock.Now()+int64(100*time.Millisecond))
	if err != nil && !errors.Is(err, load.ErrDone) {
		d.t.Fatal(err)
	}
	now := clock.Now()
	for _, c := range back {
		d.sane(c, now)
		if out[c.Intended] -= int64(c.Count); out[c.Intended] < 0 {
			d.t.Fatalf("an operation came back twice: %+v", c)
		}
		if c.Sent != sent[c.Intended] {
			d.t.Errorf("an operation's stamps were changed: %+v", c)
		}
		n += int(c.Count)
	}
	return n
}

func (d *direct) sane(c load.Completion, now int64) {
	if c.Count == 0 || int(c.Kind) >= d.kinds || c.Status > load.Dropped || c.Slot < -1 {
		d.t.Errorf("a completion that cannot be: %+v", c)
	}
	if c.Done != 0 && (c.Done < c.Sent || c.Done > now) {
		d.t.Errorf("a completion at %d, sent at %d, seen at %d", c.Done, c.Sent, now)
	}
}

// do does up to n operations, one at a time, and returns what they were.
func (d *direct) do(n int) []step {
	var steps []step
	clock := d.spec.Clock
	if w, ok := d.worker.(load.Batcher); ok {
		return d.oneByOne(w, n)
	}
	doer, ok := d.worker.(load.Doer)
	if !ok {
		d.t.Fatalf("a worker is a %T, neither a Doer nor a Batcher", d.worker)
	}
	for range n {
		ctx, cancel := context.WithTimeout(d.t.Context(), d.spec.Common.OpTimeout)
		now := clock.Now()
		op := load.Op{Intended: now, Sent: now, Count: 1, Slot: -1}
		err := doer.Do(ctx, &op)
		cancel()
		if errors.Is(err, load.ErrDone) {
			return steps
		}
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			d.t.Fatal(err)
		}
		if int(op.Kind) >= d.kinds || op.Status > load.Dropped {
			d.t.Errorf("an operation that cannot be: %+v", op)
		}
		steps = append(steps, step{op.Kind, op.Items, op.BytesOut})
	}
	return steps
}

func (d *direct) oneByOne(b load.Batcher, n int) []step {
	var steps []step
	clock := d.spec.Clock
	for range n {
		now := clock.Now()
		took, err := b.Submit([]load.Op{{Intended: now, Sent: now, Count: 1, Slot: -1}})
		if errors.Is(err, load.ErrDone) {
			return steps
		}
		if err != nil || took != 1 {
			d.t.Fatalf("one operation was submitted, %d taken: %v", took, err)
		}
		var back []load.Completion
		for end := clock.Now() + int64(d.within()); len(back) == 0; {
			if back, err = b.Reap(back, clock.Now()+int64(100*time.Millisecond)); err != nil {
				d.t.Fatal(err)
			}
			if clock.Now() > end {
				d.t.Fatalf("an operation did not come back within %v", d.within())
			}
		}
		steps = append(steps, step{back[0].Kind, back[0].Items, back[0].BytesOut})
	}
	return steps
}

// seed does the same work twice with one seed: it must be the same work.
func (s suite) seed(t *testing.T) {
	var runs [2][]step
	for i := range runs {
		s.withWorker(t, s.withClock(t), func(d *direct) { runs[i] = d.do(300) })
	}
	if !slices.Equal(runs[0], runs[1]) {
		t.Errorf("one seed gave two sequences of operations:\n%v\n%v", runs[0], runs[1])
	}
}

// pauses asks a worker whose users pause for the pauses before some operations
// of each slot.
func (s suite) pauses(t *testing.T) {
	s.withWorker(t, s.withClock(t), func(d *direct) {
		p, ok := d.worker.(load.Pauser)
		if !ok {
			return
		}
		for slot := range d.session.Shape().InFlight {
			if pause := p.Pause(int32(slot)); pause < 0 || pause > 24*time.Hour || pause > 0 && !p.Pauses() {
				t.Errorf("slot %d: a pause of %v, where the worker says %t to pauses", slot, pause, p.Pauses())
			}
		}
	})
}
