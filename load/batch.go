package load

import (
	"errors"
	"sync/atomic"
	"time"
)

// batchLoop is the measuring loop of the batched contract: one worker on one
// locked OS thread. No other code stamps such operations.
type batchLoop struct {
	clock    *Clock
	worker   Batcher
	recorder *recorder
	pacer    *Pacer       // nil in a closed loop; its times are from the recorder's begin
	halt     *atomic.Bool // set from outside to end the measurement now
	meter    func() cpuTime
	drain    int64 // ns that what is in flight at the close may take
	quantum  int64 // ns, the least time between wake-ups of an open loop

	pauses  Pauser // nil where users do not pause
	resting rests

	slots, free int  // of the worker
	ops         []Op // to be offered
	back        []Completion

	edge     int64 // when the window opens or closes next
	opened   bool
	closed   bool
	stopped  bool  // nothing is offered any more
	finished bool  // since the engine has nothing left to do
	end      int64 // of the drain
	woke     int64
	turnBy   int64 // when the present turn should have begun at the latest
	pulse    pulse

	atOpen, atClose cpuTime
}

// lookUp is how long a worker waits at most before it looks whether it should
// stop.
const lookUp = int64(100 * time.Millisecond)

// restamp is the number of completions from which on the operations that follow
// them get a stamp of their own: handling fewer takes less time than it is
// worth.
const restamp = 8

// run works until the window is over and what is in flight has come back. The
// error is the one that ended the work early.
func (l *batchLoop) run() error {
	l.ops, l.back = make([]Op, 0, l.slots), make([]Completion, 0, l.slots)
	l.free, l.edge = l.slots, l.recorder.edges.open
	l.first()
	l.pulse = newPulse(l.recorder.edges)
	l.pulse.read()
	now := l.clock.Now()
	l.turnBy = now
	for {
		if now-l.turnBy >= stallSlack {
			l.pulse.late(l.turnBy, now)
		}
		if l.turn(now) {
			return nil
		}
		err := l.offer(now)
		if err != nil {
			return l.fail(now, err)
		}
		if l.stopped && l.free == l.slots {
			continue // it is over, and there is nothing to wait for
		}
		until := l.until(now)
		l.turnBy = max(now, until)
		l.back, err = l.worker.Reap(l.back[:0], until)
		now = l.clock.Now()
		l.book(now)
		if err == nil {
			err = l.balance()
		}
		if err != nil && !l.done(err) {
			return l.fail(now, err)
		}
		if len(l.back) >= restamp {
			now = l.clock.Now()
		}
	}
}

// first asks for the first operations of a closed loop.
func (l *batchLoop) first() {
	if l.pacer != nil {
		return
	}
	l.pauses = pauser(l.worker, true)
	now := l.clock.Now()
	for i := range l.slots {
		if l.pauses != nil {
			l.again(int32(i), now)
			continue
		}
		l.ops = append(l.ops, Op{Count: 1, Slot: -1})
	}
}

// turn does what the time asks for, and says whether the work is over.
func (l *batchLoop) turn(now int64) bool {
	if now >= l.recorder.cur.end {
		l.recorder.advance(now)
		l.pulse.read()
	}
	if now >= l.edge && !l.opened {
		l.opened, l.edge = true, l.recorder.edges.close
		l.atOpen = l.meter()
	}
	if l.halt.Load() {
		l.closeNow(now)
		l.recorder.finish(now)
		return true
	}
	if l.stopped && (l.free == l.slots || now >= l.end) {
		if l.finished {
			l.closeNow(min(now, max(l.recorder.lastDone, l.recorder.edges.begin)+1))
		}
		l.recorder.finish(now)
		return true
	}
	return false
}

func (l *batchLoop) stop(end int64) {
	if !l.stopped {
		l.stopped, l.end = true, end
	}
	if l.pacer == nil {
		l.ops, l.resting = l.ops[:0], l.resting[:0]
	}
}

// leave books what was due by the close and never offered.
func (l *batchLoop) leave() {
	if l.pacer == nil || l.finished {
		return
	}
	for i := range l.ops {
		l.recorder.unsent(l.ops[i].Intended, 1)
	}
	l.ops = l.ops[:0]
	e := l.recorder.edges
	l.pacer.Rest(e.close-1-e.begin, func(at int64, n uint64) { l.recorder.unsent(at+e.begin, n) })
}

// closeNow closes the window where it has not closed by itself.
func (l *batchLoop) closeNow(at int64) {
	if l.closed {
		return
	}
	l.recorder.closeAt(at)
	if l.opened {
		l.atClose = l.meter()
	}
	l.opened, l.closed, l.edge = true, true, forever
	l.stop(at)
	l.leave()
}

func (l *batchLoop) fail(now int64, err error) error {
	l.closeNow(now)
	l.recorder.finish(now)
	return err
}

// done takes an engine's word that there is nothing left to do.
func (l *batchLoop) done(err error) bool {
	if !errors.Is(err, ErrDone) {
		return false
	}
	l.finished = true
	l.stop(forever)
	l.ops, l.resting = l.ops[:0], l.resting[:0]
	return true
}

// offer submits what is to be offered now. As the window closes it offers, for
// the last time, what became due before.
func (l *batchLoop) offer(now int64) error {
	if l.stopped {
		return nil
	}
	if now < l.edge || !l.opened {
		return l.submit(now, now)
	}
	l.edge, l.closed = forever, true
	l.atClose = l.meter()
	var err error
	if l.pacer != nil {
		err = l.submit(now, l.recorder.edges.close-1)
	}
	l.stop(now + l.drain)
	l.leave()
	return err
}

// submit submits what is due by a moment, or in a closed loop all that came back.
func (l *batchLoop) submit(now, by int64) error {
	if l.pacer != nil {
		l.due(by)
		l.woke = now
	}
	if l.pauses != nil {
		l.rested(now)
	}
	if len(l.ops) == 0 {
		return nil
	}
	for i := range l.ops {
		op := &l.ops[i]
		op.Sent = now
		if l.pacer == nil {
			op.Intended = now
		}
	}
	took, err := l.worker.Submit(l.ops)
	for i := range l.ops[:took] {
		n := l.ops[i].Count
		l.free -= int(n)
		l.recorder.offered(now, uint64(n))
	}
	if took > 0 {
		l.ops = l.ops[:copy(l.ops, l.ops[took:])]
	}
	if err != nil && l.done(err) {
		return nil
	}
	return err
}

// due takes from the pacer what is due by a moment and has a free slot.
func (l *batchLoop) due(by int64) {
	begin := l.recorder.edges.begin
	for len(l.ops) < l.free {
		at, ok := l.pacer.Take(by - begin)
		if !ok {
			return
		}
		l.ops = append(l.ops, Op{Intended: at + begin, Count: 1, Slot: -1})
	}
}

// until returns how long to wait for completions: to the end of the interval
// or to the next operation that is due, 0 for not at all.
func (l *batchLoop) until(now int64) int64 {
	until := min(now+lookUp, l.recorder.cur.end)
	if l.stopped {
		until = min(until, l.end)
	} else if l.pauses != nil {
		until = min(until, l.resting.wake())
	} else if l.pacer != nil && len(l.ops) < l.free {
		begin := l.recorder.edges.begin
		if wake := l.pacer.Wake(now - begin); wake < Never-begin {
			until = min(until, max(wake+begin, l.woke+l.quantum))
		}
	}
	if until <= now {
		return 0
	}
	return until
}

// book records what came back and, in a closed loop, asks for as much again.
func (l *batchLoop) book(now int64) {
	again := l.pacer == nil && !l.stopped
	for i := range l.back {
		c := &l.back[i]
		l.recorder.complete(c, now)
		l.free += int(c.Count)
		switch {
		case !again || c.Count == 0:
		case l.pauses != nil:
			l.again(c.Slot, now)
		default:
			l.ops = append(l.ops, Op{Count: c.Count, Slot: c.Slot})
		}
	}
}

var errTooMany = errors.New("the engine gave back more operations than it took")

// balance refuses to go on with an engine that makes operations up.
func (l *batchLoop) balance() error {
	if l.free > l.slots {
		return errTooMany
	}
	return nil
}
