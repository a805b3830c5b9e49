package load

import (
	"context"
	"errors"
	"testing"
	"time"

	"bakeoff/record"
)

// fake is an engine that a test scripts: nil functions do what a good engine does.
type fake struct {
	shape    Shape
	kinds    []string
	open     func(Spec) error
	worker   func(spec Spec, i int) (Worker, error)
	snapshot func() ([]Count, error)
	closed   int
	spec     Spec
}

func (*fake) Name() string { return "fake" }

func (f *fake) Describe() Description {
	kinds := f.kinds
	if kinds == nil {
		kinds = []string{"get"}
	}
	return Description{Summary: "scripted", Kinds: kinds, Parameters: []Parameter{
		{Name: "size", Type: TypeSize, Default: "32", Doc: "of values"},
	}}
}

func (f *fake) Open(_ context.Context, spec Spec) (Session, error) {
	f.spec = spec
	if f.shape.Workers == 0 {
		f.shape.Workers = 1
	}
	if f.shape.InFlight == 0 {
		f.shape.InFlight = 1
	}
	if f.open != nil {
		return nil, f.open(spec)
	}
	return f, nil
}

func (f *fake) Shape() Shape { return f.shape }

func (f *fake) Prepare(_ context.Context, progress func(float64)) (*record.DataSet, error) {
	progress(1)
	return &record.DataSet{Items: 7}, nil
}

func (f *fake) Worker(_ context.Context, i, _ int) (Worker, error) {
	if f.worker != nil {
		return f.worker(f.spec, i)
	}
	if f.shape.Contract == Blocking {
		return &script{}, nil
	}
	return &echo{clock: f.spec.Clock}, nil
}

func (f *fake) Snapshot(context.Context) ([]Count, error) {
	if f.snapshot != nil {
		return f.snapshot()
	}
	return nil, nil
}

func (f *fake) Close() error { f.closed++; return nil }

// echo is a batcher that gives back what it took after a delay. Its hooks see
// every call.
type echo struct {
	clock  *Clock
	delay  time.Duration
	submit func(ops []Op) (int, error)                   // before it takes any; 0, nil for all
	reap   func(done []Completion) ([]Completion, error) // changes what comes back
	held   []Completion                                  // in flight
	most   int                                           // operations in flight at once
	closed func() error
}

func (e *echo) Submit(ops []Op) (int, error) {
	n, err := len(ops), error(nil)
	if e.submit != nil {
		if n, err = e.submit(ops); err != nil && n == 0 {
			return 0, err
		}
	}
	for _, op := range ops[:n] {
		e.held = append(e.held, Completion{Intended: op.Intended, Sent: op.Sent, Count: op.Count, Slot: op.Slot})
	}
	e.most = max(e.most, len(e.held))
	return n, err
}

func (e *echo) Reap(dst []Completion, until int64) ([]Completion, error) {
	due := func(c Completion) int64 { return c.Sent + int64(e.delay) }
	if len(e.held) == 0 || due(e.held[0]) > e.clock.Now() {
		wait := until
		if len(e.held) > 0 {
			wait = min(until, due(e.held[0]))
		}
		if rest := wait - e.clock.Now(); rest > 0 {
			time.Sleep(time.Duration(rest)) // stands for a system call that waits
		}
	}
	var back, rest []Completion
	now := e.clock.Now()
	for _, c := range e.held {
		if due(c) <= now {
			back = append(back, c)
		} else {
			rest = append(rest, c)
		}
	}
	e.held = rest
	var err error
	if e.reap != nil {
		back, err = e.reap(back)
	}
	return append(dst, back...), err
}

func (e *echo) Close() error {
	if e.closed != nil {
		return e.closed()
	}
	return nil
}

// script is a doer whose operations a test scripts.
type script struct {
	do    func(ctx context.Context, op *Op) error
	delay time.Duration
}

func (s *script) Do(ctx context.Context, op *Op) error {
	if s.do != nil {
		return s.do(ctx, op)
	}
	if s.delay > 0 {
		select {
		case <-time.After(s.delay):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (*script) Close() error { return nil }

// short is a spec of a fraction of a second.
func short() Spec {
	return Spec{
		Workload: "w", Part: Source, Host: "h", Seed: 1,
		Common: Common{Warmup: 20 * time.Millisecond, Window: 150 * time.Millisecond, OpTimeout: 100 * time.Millisecond, DrainTime: 200 * time.Millisecond},
	}
}

// opened opens a fake engine and closes it with the test.
func opened(t *testing.T, f *fake, spec Spec, env Env) *Running {
	t.Helper()
	r, err := Open(t.Context(), f, spec, env)
	if err != nil {
		t.Fatal(err)
	}
	r.patience = 300 * time.Millisecond
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func batched(w func(spec Spec) *echo) *fake {
	return &fake{shape: Shape{Contract: Batched}, worker: func(spec Spec, _ int) (Worker, error) { return w(spec), nil }}
}

func blocking(users int, do func(ctx context.Context, op *Op) error) *fake {
	return &fake{
		shape:  Shape{Contract: Blocking, Workers: users},
		worker: func(Spec, int) (Worker, error) { return &script{do: do}, nil },
	}
}

var errBroken = errors.New("connection reset by the target")

// gates lists the gates of a result's warnings.
func gates(r Result) (names []string) {
	for _, w := range r.Warnings {
		names = append(names, w.Gate)
	}
	return names
}
