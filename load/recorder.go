package load

import "fmt"

// A recorder books what one worker, or the virtual users of one shard, did. It
// is not safe for concurrent use, and does not allocate once its intervals
// have gone round.
type recorder struct {
	edges    edges
	kinds    []string
	openLoop bool
	parcels  parcels

	cur *interval // in which the present lies
	old *interval // of a better stamp from before it; mostly nil

	book     account
	errors   errorTable
	fault    string // the first breach of the contract by the engine
	lastDone int64
}

// parcels takes over a filled interval and gives back an empty one.
type parcels interface{ swap(*interval) *interval }

// account counts operations by the edges that their stamps lie between.
type account struct {
	sentBefore, sentIn, sentAfter uint64 // the window opened, in it, closed
	backBefore, backAfter         uint64 // of sentBefore and sentAfter, those that came back at all
	back                          uint64 // all that came back
	overOpen, overClose           uint64 // sent before an edge, done after it
	backlog                       uint64 // due at the close, never offered
}

// out is how many of the operations that were sent before the close have not
// come back at all; negative where more came back than were sent.
func (a *account) out() int64 {
	return int64(a.sentBefore+a.sentIn) - int64(a.back-a.backAfter)
}

func (a *account) merge(o *account) {
	a.sentBefore += o.sentBefore
	a.sentIn += o.sentIn
	a.sentAfter += o.sentAfter
	a.backBefore += o.backBefore
	a.backAfter += o.backAfter
	a.back += o.back
	a.overOpen += o.overOpen
	a.overClose += o.overClose
	a.backlog += o.backlog
}

func newRecorder(e edges, kinds []string, openLoop bool, p parcels) *recorder {
	r := &recorder{edges: e, kinds: kinds, openLoop: openLoop, parcels: p}
	r.cur = p.swap(nil)
	r.cur.place(&r.edges, e.begin)
	return r
}

// offered books operations that the engine took.
func (r *recorder) offered(sent int64, n uint64) {
	switch {
	case sent < r.edges.open:
		r.book.sentBefore += n
	case sent < r.edges.close:
		r.book.sentIn += n
	default:
		r.book.sentAfter += n
	}
}

// complete books operations that came back. Now is when the driver saw them,
// which stands for a stamp that is missing or lies in the future.
func (r *recorder) complete(c *Completion, now int64) {
	done := c.Done
	if uint64(done-1) >= uint64(now) {
		done = now
	}
	if int(c.Kind) >= len(r.kinds) || c.Sent > done || c.Intended > c.Sent {
		r.blame(c, done)
		return
	}
	v := r.cur
	if done < v.start || done >= v.end {
		v = r.intervalOf(done)
	}
	n := uint64(c.Count)
	k := &v.kinds[c.Kind]
	k.items += uint64(c.Items)
	k.bytesIn += c.BytesIn
	k.bytesOut += c.BytesOut
	r.book.back += n
	r.lastDone = max(r.lastDone, done)
	if c.Sent < r.edges.open {
		r.book.backBefore += n
		if done >= r.edges.open {
			r.book.overOpen += n
		}
	}
	if done >= r.edges.close {
		if c.Sent < r.edges.close {
			r.book.overClose += n
		} else {
			r.book.backAfter += n
		}
	}
	if c.Status > Miss {
		if r.failed(c, k); c.Status != TimedOut {
			return
		}
	} else {
		k.completed += n
		if c.Status == Miss {
			k.misses += n
		}
		if done < v.partStart || done >= v.partEnd {
			v.seekPart(done)
		}
		v.completed[v.part] += n
	}
	r.latency(c, v, k, done, n)
}

// latency records how long the operations took, where they were intended in the
// window: those drained after it too.
func (r *recorder) latency(c *Completion, v *interval, k *kindInterval, done int64, n uint64) {
	if c.Intended < r.edges.open || c.Intended >= r.edges.close {
		k.outside.RecordN(done-c.Sent, n)
		return
	}
	k.service.RecordN(done-c.Sent, n)
	if r.openLoop {
		k.response.RecordN(done-c.Intended, n)
		v.lag.RecordN(c.Sent-c.Intended, n)
	}
	if c.Status == TimedOut {
		k.censored += n
	}
}

// failed books operations that did not complete.
func (r *recorder) failed(c *Completion, k *kindInterval) {
	n := uint64(c.Count)
	switch c.Status {
	case TimedOut:
		k.timedOut += n
	case Dropped:
		k.dropped += n
	default:
		k.failed += n
	}
	r.errors.add(r.kinds[c.Kind], c.Status, c.Err, n)
}

// blame keeps the first completion that cannot be true. It is not booked as
// any kind, so that the ledger cannot close either.
func (r *recorder) blame(c *Completion, done int64) {
	r.book.back += uint64(c.Count)
	if r.fault != "" {
		return
	}
	switch {
	case int(c.Kind) >= len(r.kinds):
		r.fault = fmt.Sprintf("a completion of kind %d, where the engine describes %d kinds", c.Kind, len(r.kinds))
	case c.Sent > done:
		r.fault = fmt.Sprintf("a completion %d ns before it was sent", c.Sent-done)
	default:
		r.fault = fmt.Sprintf("a completion that was sent %d ns before it was intended", c.Intended-c.Sent)
	}
}

// unsent books n operations that were due by the close and never offered. If they
// were intended in the window, their response time is at least what they have
// waited by the close.
func (r *recorder) unsent(intended int64, n uint64) {
	r.book.backlog += n
	if intended >= r.edges.open && intended < r.edges.close {
		r.cur.backlog.RecordN(r.edges.close-intended, n)
	}
}

// intervalOf returns the interval of a moment that is not in the present one.
func (r *recorder) intervalOf(at int64) *interval {
	if at >= r.cur.end {
		r.advance(at)
		return r.cur
	}
	if r.old != nil && at >= r.old.start && at < r.old.end {
		return r.old
	}
	r.old = r.parcels.swap(r.old)
	r.old.place(&r.edges, at)
	r.old.late = true
	return r.old
}

// advance hands over the intervals that have ended by now, empty ones too.
func (r *recorder) advance(now int64) {
	for now >= r.cur.end {
		end := r.cur.end
		r.cur = r.parcels.swap(r.cur)
		r.cur.place(&r.edges, end)
	}
}

// closeAt ends the window where it does not end as planned: at a moment after
// which nothing was done.
func (r *recorder) closeAt(at int64) {
	if at >= r.edges.close {
		return
	}
	r.advance(at)
	r.edges.open = min(r.edges.open, at)
	r.edges.close = at
	if at > r.cur.start {
		r.cur.end = at
		r.advance(at)
		return
	}
	r.cur.place(&r.edges, r.cur.start)
}

// finish hands over everything.
func (r *recorder) finish(now int64) {
	r.advance(now)
	r.cur.end = min(r.cur.end, max(now, r.cur.start+1))
	if r.old != nil {
		r.parcels.swap(r.old)
	}
	r.parcels.swap(r.cur)
	r.cur, r.old = nil, nil
}
