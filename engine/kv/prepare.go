package kv

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"bakeoff/load"
	"bakeoff/load/dial"
	"bakeoff/load/gather"
	"bakeoff/load/gen"
	"bakeoff/record"
)

// dataSet describes the data set. Values depend on nothing but their keys, so
// the fingerprint of what defines them is the fingerprint of the data.
func (c *config) dataSet() record.DataSet {
	keyBytes := uint64(len(c.prefix)) * c.count
	for d, low := 1, uint64(0); d <= 20; d++ {
		high := uint64(math.MaxUint64)
		if d < len(powers) {
			high = powers[d]
		}
		keyBytes += uint64(d) * overlap(c.first, c.first+c.count, low, high)
		low = high
	}
	definition := fmt.Sprintf("kv 1 prefix=%q first=%d count=%d sizes=%s random=%t", c.prefix, c.first, c.count, c.data.text, c.data.random)
	return record.DataSet{
		Items:       c.count,
		Bytes:       keyBytes + uint64(float64(c.count)*c.data.sizes.Mean()),
		Fingerprint: fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(definition))),
	}
}

// overlap is how many numbers two half-open ranges share.
func overlap(a, b, low, high uint64) uint64 {
	low, high = max(a, low), min(b, high)
	if high <= low {
		return 0
	}
	return high - low
}

const (
	fillPipeline    = 64
	fillConnections = 8 // a worker
	fillBytes       = 4 << 20
)

// fill sets every key, pipelined, on some connections a worker.
func (c *config) fill(ctx context.Context, progress func(float64)) error {
	f := *c
	f.sets, f.gets, f.command, f.verify, f.expiry, f.reconnectEvery = 1, 0, nil, false, expiry{}, 0
	f.setKeys.Pattern, f.raw, f.gather = gen.Parallel, false, gather.Policy{}
	f.pipeline = max(min(fillPipeline, fillBytes/(c.data.sizes.Max()+1)), 1)
	f.workers = min(max(c.workers, 1), runtime.GOMAXPROCS(0))
	f.connections = f.workers * fillConnections
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var filled atomic.Uint64
	var all sync.WaitGroup
	errs := make([]error, f.workers)
	for i := range errs {
		all.Go(func() {
			if errs[i] = f.fillShare(ctx, i, &filled); errs[i] != nil {
				cancel(errs[i])
			}
		})
	}
	done := make(chan struct{})
	go func() {
		all.Wait()
		close(done)
	}()
	c.watch(done, &filled, progress)
	return firstError(errs)
}

// watch reports progress until the loaders are done.
func (c *config) watch(done <-chan struct{}, filled *atomic.Uint64, progress func(float64)) {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			if progress != nil {
				progress(float64(filled.Load()) / float64(c.count))
			}
		}
	}
}

const watchInterval = 200 * time.Millisecond

// fillShare sets one worker's share of the keys.
func (c *config) fillShare(ctx context.Context, i int, filled *atomic.Uint64) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var outage dial.Outage
	w, err := newWorker(ctx, c, i, c.workers, &outage)
	if err != nil {
		return fmt.Errorf("loading the data set: %w", err)
	}
	first, last := gen.Share(c.count, i, c.workers)
	err = w.fill(ctx, last-first, filled)
	if err != nil {
		err = fmt.Errorf("loading the data set: after %d of %d keys: %w", filled.Load(), c.count, err)
	}
	return errors.Join(err, w.Close())
}

// fill does so many sets and gives up at the first that fails.
func (w *worker) fill(ctx context.Context, keys uint64, filled *atomic.Uint64) error {
	op := load.Op{Count: 1, Slot: -1}
	var done []load.Completion
	for submitted, finished := uint64(0), uint64(0); finished < keys; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		op.Sent = w.clock.Now()
		for submitted < keys {
			n, err := w.Submit([]load.Op{op})
			if err != nil {
				return err
			}
			if n == 0 {
				break
			}
			submitted++
		}
		var err error
		done, err = w.Reap(done[:0], op.Sent+fillSlice)
		for _, d := range done {
			if err := failure(d, w.c); err != nil {
				return err
			}
			finished += uint64(d.Count)
			filled.Add(uint64(d.Count))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fillSlice is how long a loader waits before it looks whether to go on, in nanoseconds.
const fillSlice = 100e6

func failure(d load.Completion, c *config) error {
	switch {
	case d.Status == load.OK:
		return nil
	case d.Status == load.TimedOut:
		return fmt.Errorf("no answer within %v", c.timeout)
	case d.Err != nil:
		return d.Err
	}
	return errors.New("a set failed")
}

// sampleKeys is how many keys are read back: they show with 99.9 % confidence
// that less than 0.7 % of a data set is missing or wrong.
const sampleKeys = 1000

// sample reads back keys spread evenly over the data set. Where keys may be
// missing, only wrong values count.
func (s *session) sample(ctx context.Context, mayMiss bool) error {
	n := min(s.c.count, sampleKeys)
	missing := 0
	for i := range n {
		hi, lo := bits.Mul64(i, s.c.count)
		key, _ := bits.Div64(hi, lo, n)
		key += gen.Mix(i) % (s.c.count / n) // not always the same place of each stretch
		var found bool
		err := s.talk(ctx, func(ctl *control) (err error) {
			found, err = ctl.checkKey(key)
			return err
		})
		if err != nil {
			return fmt.Errorf("reading the data set back: %w", err)
		}
		if !found {
			missing++
		}
	}
	if missing > 0 && !mayMiss {
		return fmt.Errorf("%d of %d sampled keys are missing: the target dropped them, they expired, or the data set was never loaded (preload all loads it)", missing, n)
	}
	return nil
}

// checkKey reads one key and compares its value.
func (ctl *control) checkKey(number uint64) (found bool, err error) {
	c := ctl.c
	name := fmt.Sprintf("%s%d", c.prefix, c.first+number)
	var value string
	if c.target.family == memcached {
		value, found, err = ctl.getMemcached(name)
	} else {
		var v any
		v, err = ctl.redis("GET", name)
		value, found = v.(string)
	}
	if err != nil || !found {
		return false, err
	}
	want := make([]byte, c.data.size(number))
	c.data.fill(want, number)
	if value != string(want) {
		return true, fmt.Errorf("key %s holds %d bytes that differ from the %d that it must hold: another data set is there (preload all overwrites it)", name, len(value), len(want))
	}
	return true, nil
}
