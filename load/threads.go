package load

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

// threads is the driver of the batched contract: an OS thread a worker.
type threads struct {
	engine  string
	session Session
	shape   Shape
	cpus    []int
	process *processShare

	quit  chan struct{} // closed for workers that are not to start
	over  bool          // started or closed
	stop  atomic.Bool
	all   []*thread
	group sync.WaitGroup // of the threads' goroutines
}

// thread is one worker. Its goroutine owns it from the start of the work until
// ended is closed.
type thread struct {
	worker Batcher
	work   chan job
	loop   batchLoop
	err    error
	ended  chan struct{}
}

// open opens the workers one after another, each on the thread that will run it.
func (t *threads) open(ctx context.Context) error {
	t.quit = make(chan struct{})
	for i := range t.shape.Workers {
		th := &thread{work: make(chan job, 1), ended: make(chan struct{})}
		ready := make(chan error, 1)
		t.group.Add(1)
		go t.main(ctx, th, i, ready)
		if err := <-ready; err != nil {
			return errors.Join(fmt.Errorf("engine %s: opening worker %d of %d: %w", t.engine, i+1, t.shape.Workers, err), t.close())
		}
		t.all = append(t.all, th)
	}
	return nil
}

// main is a worker's goroutine. It keeps its thread to the end and puts back
// the thread's pinning and timer slack: most threads die with it, but not the
// process's first, whose pinning is what others take for the process's.
func (t *threads) main(ctx context.Context, th *thread, i int, ready chan<- error) {
	defer t.group.Done()
	runtime.LockOSThread()
	defer keepThread()()
	defer t.process.lock()()
	if err := t.prepare(ctx, th, i); err != nil {
		ready <- err
		return
	}
	ready <- nil
	select {
	case <-t.quit:
		th.err = th.worker.Close()
	case j := <-th.work:
		th.err = th.run(j, &t.stop)
		if th.err != nil {
			t.stop.Store(true)
		}
	}
	close(th.ended)
}

func (t *threads) prepare(ctx context.Context, th *thread, i int) error {
	if len(t.cpus) > 0 {
		if err := pinThread(t.cpus[i%len(t.cpus)]); err != nil {
			return err
		}
	}
	sharpenTimers()
	w, err := t.session.Worker(ctx, i, t.shape.Workers)
	if err != nil {
		return err
	}
	b, ok := w.(Batcher)
	if !ok {
		return errors.Join(fmt.Errorf("the engine's shape says %q, but its worker is a %T", Batched, w), w.Close())
	}
	th.worker = b
	return nil
}

// run does the work and closes the worker.
func (th *thread) run(j job, stop *atomic.Bool) error {
	th.loop.clock, th.loop.worker, th.loop.halt = j.clock, th.worker, stop
	th.loop.drain, th.loop.quantum = j.drain, j.quantum
	th.loop.meter = threadTime(th.worker)
	err := th.loop.run()
	return errors.Join(err, th.worker.Close())
}

func (t *threads) recorders() int { return t.shape.Workers }

// start hands every worker its recorder and pacer, made here so that they share
// nothing, and lets it go.
func (t *threads) start(j job) (<-chan struct{}, error) {
	for i, th := range t.all {
		th.loop.recorder = j.recorder()
		th.loop.slots = t.shape.InFlight
		if j.schedule == nil {
			continue
		}
		p, err := NewPacer(*j.schedule, i)
		if err != nil {
			return nil, err
		}
		th.loop.pacer = p
	}
	t.over = true
	for _, th := range t.all {
		th.work <- j
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for _, th := range t.all {
			<-th.ended
		}
	}()
	return ended, nil
}

func (t *threads) halt() { t.stop.Store(true) }

// edge does nothing: each worker meters its own thread.
func (t *threads) edge(bool) {}

func (t *threads) finish() outcome {
	o := outcome{finished: true}
	cores := map[int]float64{} // how busy those are that workers are pinned to
	all := 0.0
	for i, th := range t.all {
		select {
		case <-th.ended:
		default:
			o.stuck++
			o.finished = false
			continue
		}
		l := &th.loop
		o.add(l.recorder)
		o.finished = o.finished && l.finished
		if o.err == nil {
			o.err = th.err
		}
		o.late.worse(l.pulse.delays)
		spent := l.atClose.sub(l.atOpen)
		o.cpu = o.cpu.add(spent)
		window := float64(l.recorder.edges.close - l.recorder.edges.open)
		busy := fraction(float64(spent.busy()), window)
		o.busiest, all = max(o.busiest, busy), all+busy
		if len(t.cpus) > 0 {
			cores[t.cpus[i%len(t.cpus)]] += busy
		}
	}
	// Workers that share a core are as busy as it is.
	for _, busy := range cores {
		o.busiest = max(o.busiest, min(busy, 1))
	}
	o.busiest = max(o.busiest, min(all/float64(runtime.NumCPU()), 1))
	return o
}

// close ends workers that were opened and never started.
func (t *threads) close() error {
	if t.over || t.quit == nil {
		return nil
	}
	t.over = true
	close(t.quit)
	t.group.Wait()
	var errs []error
	for _, th := range t.all {
		errs = append(errs, th.err)
	}
	return errors.Join(errs...)
}
