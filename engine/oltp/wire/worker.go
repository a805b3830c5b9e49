package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"bakeoff/engine/oltp/account"
	"bakeoff/engine/oltp/tpcc"
	"bakeoff/load"
	"bakeoff/load/dial"
	"bakeoff/load/ring"
)

// Worker is a load.Batcher: some users, each with a connection, on one thread.
type Worker struct {
	o       Options
	loop    *ring.Loop
	users   []*user
	idle    int // users that have nothing to do
	next    int // user to try first for an operation without a slot
	down    int // connections that are not up
	absence dial.Absence

	nextScan int64   // clock nanoseconds of the next look for what took too long
	sealed   []*user // users with something to seal
	out      []load.Completion

	dials *dial.Dialer[*user, Link]
}

// user is one virtual user.
type user struct {
	number int // of all users
	slot   int32
	draw   *tpcc.User
	tx     tpcc.Tx
	drawn  bool // tx is the next transaction, not yet begun
	begun  bool // there was a transaction before

	link Link
	conn *ring.Conn // nil while the connection is down

	busy     bool // an operation is under way
	onWire   bool // ... and was sent
	attempt  int
	intended int64
	sent     int64
	bytesIn  uint64
	bytesOut uint64

	again     dial.Again // when to connect, while the connection is down
	downSince int64
	toSeal    bool
}

const (
	connectAtOnce = 16
	noUser        = 24 * time.Hour
)

// New connects a worker's users.
func New(ctx context.Context, o Options) (*Worker, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	loop, err := ring.New(ring.Config{Backend: o.Backend, Conns: o.Users, Raw: true})
	if err != nil {
		return nil, err
	}
	w := &Worker{o: o, loop: loop, idle: o.Users, nextScan: math.MinInt64}
	w.dials = dial.New(w.dialAgain, loop.Wake, o.Users, &o.Account.Outage.Attempts)
	for i := range o.Users {
		number := o.First + i
		w.users = append(w.users, &user{number: number, slot: int32(i), draw: tpcc.NewUser(o.Rules, o.Instance, number)})
	}
	if err := w.connect(ctx); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// connect opens all connections, several at a time.
func (w *Worker) connect(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	links, errs := make([]Link, len(w.users)), make([]error, len(w.users))
	limit := make(chan struct{}, connectAtOnce)
	var all sync.WaitGroup
	for i, u := range w.users {
		limit <- struct{}{}
		all.Go(func() {
			if links[i], errs[i] = w.o.Dial(ctx, u.number); errs[i] != nil {
				cancel()
			}
			<-limit
		})
	}
	all.Wait()
	var first error
	for i, u := range w.users {
		switch {
		case errs[i] != nil && (first == nil || errors.Is(first, context.Canceled)):
			first = fmt.Errorf("connecting user %d of %d: %w", u.number+1, w.o.Rules.Users, errs[i])
		case errs[i] == nil && first == nil:
			first = w.up(u, links[i])
		case errs[i] == nil:
			_ = links[i].Close()
		}
	}
	return first
}

// dialAgain connects a user whose connection was lost.
func (w *Worker) dialAgain(ctx context.Context, u *user) (Link, error) {
	l, err := w.o.Dial(ctx, u.number)
	if err != nil {
		return l, fmt.Errorf("connecting again: %w", err)
	}
	return l, nil
}

// up puts a new connection to use.
func (w *Worker) up(u *user, l Link) error {
	conn, err := w.loop.Add(l.FD)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	conn.Tag = int(u.slot)
	u.again.Opened()
	u.conn, u.link = conn, l
	if u.downSince != 0 {
		w.o.Account.Outage.End(u.downSince, w.o.Clock.Now())
		u.downSince = 0
		w.down--
	}
	if u.busy && !u.onWire {
		w.begin(u)
	}
	return nil
}

// Pause says how long a user looks at the last result and types the next
// transaction in.
func (w *Worker) Pause(slot int32) time.Duration {
	if int(slot) >= len(w.users) {
		return noUser // other threads have a user more
	}
	u := w.users[slot]
	var rest time.Duration
	if w.o.Thinking && u.begun {
		rest += u.draw.Thinking(u.tx.Kind)
	}
	u.prepare()
	if w.o.Keying {
		rest += tpcc.Keying(u.tx.Kind)
	}
	return rest
}

// Pauses says whether users pause at all.
func (w *Worker) Pauses() bool { return w.o.Keying || w.o.Thinking }

func (u *user) prepare() {
	if !u.drawn {
		u.draw.Next(&u.tx)
		u.drawn = true
	}
}

// Submit gives operations to users.
func (w *Worker) Submit(ops []load.Op) (int, error) {
	for i := range ops {
		op := &ops[i]
		if int(op.Count) > w.idle {
			return i, nil
		}
		if op.Count == 1 && op.Slot >= 0 && int(op.Slot) < len(w.users) && !w.users[op.Slot].busy {
			w.take(w.users[op.Slot], op)
			continue
		}
		for range op.Count {
			w.take(w.anyIdle(), op)
		}
	}
	return len(ops), nil
}

func (w *Worker) anyIdle() *user {
	for {
		u := w.users[w.next]
		if w.next++; w.next == len(w.users) {
			w.next = 0
		}
		if !u.busy {
			return u
		}
	}
}

func (w *Worker) take(u *user, op *load.Op) {
	u.prepare()
	u.drawn, u.begun = false, true
	u.busy, u.onWire, u.attempt = true, false, 0
	u.intended, u.sent = op.Intended, op.Sent
	u.bytesIn, u.bytesOut = 0, 0
	w.idle--
	if u.conn != nil {
		w.begin(u)
	}
}

// begin sends a transaction's first request.
func (w *Worker) begin(u *user) {
	u.onWire = true
	out := u.output()
	before := len(*out)
	*out = u.link.Begin(*out, &u.tx)
	u.bytesOut += uint64(len(*out) - before)
	w.send(u)
}

// output is where requests are appended.
func (u *user) output() *[]byte {
	if u.link.Sealed != nil {
		return &u.link.Sealed.Plain
	}
	return &u.conn.Out
}

func (w *Worker) send(u *user) {
	if u.link.Sealed == nil {
		w.loop.Send(u.conn)
		return
	}
	if !u.toSeal {
		u.toSeal = true
		w.sealed = append(w.sealed, u)
	}
}

// seal makes records of what is to be sent under TLS.
func (w *Worker) seal() {
	for _, u := range w.sealed {
		u.toSeal = false
		if u.conn == nil {
			continue
		}
		var err error
		if u.conn.Out, err = u.link.Sealed.Seal(u.conn.Out); err != nil {
			w.broken(u, fmt.Errorf("sealing a record: %w", err))
			continue
		}
		w.loop.Send(u.conn)
	}
	w.sealed = w.sealed[:0]
}

// Reap sends what is buffered and gives back what has ended.
func (w *Worker) Reap(dst []load.Completion, until int64) ([]load.Completion, error) {
	had := len(dst)
	w.out = dst
	for {
		now := w.o.Clock.Now()
		wake := w.look(now)
		if err := w.gone(now); err != nil {
			return w.taken(), err
		}
		w.seal()
		wait := max(min(until, wake)-now, 0)
		if len(w.out) > had {
			wait = 0
		}
		events, err := w.loop.Wait(time.Duration(wait))
		for i := range events {
			w.handle(&events[i])
		}
		if err != nil || len(w.out) > had || until == 0 || w.o.Clock.Now() >= until {
			return w.taken(), err
		}
	}
}

func (w *Worker) taken() []load.Completion {
	out := w.out
	w.out = nil
	return out
}

func (w *Worker) handle(e *ring.Event) {
	u := w.users[e.Conn.Tag]
	if u.conn != e.Conn {
		return // of a connection that was closed while these events were handled
	}
	switch {
	case errors.Is(e.Err, io.EOF):
		w.broken(u, errClosed)
	case e.Err != nil:
		w.broken(u, e.Err)
	case u.link.Sealed != nil:
		w.unseal(u, e.Data)
	default:
		w.receive(u, e.Data)
	}
}

var errClosed = errors.New("the target closed the connection")

func (w *Worker) unseal(u *user, data []byte) {
	conn := u.conn
	out, err := u.link.Sealed.Open(data, conn.Out, func(b []byte) error {
		if u.conn == conn { // what came before has not broken it
			w.receive(u, b)
		}
		return nil
	})
	switch {
	case u.conn != conn:
	case errors.Is(err, io.EOF):
		w.broken(u, errClosed)
	case err != nil:
		w.broken(u, err)
	default:
		conn.Out = out
		w.loop.Send(conn)
	}
}

func (w *Worker) receive(u *user, data []byte) {
	out := u.output()
	before := len(*out)
	var r Result
	*out, r = u.link.Receive(*out, data)
	u.bytesIn += uint64(len(data))
	u.bytesOut += uint64(len(*out) - before)
	switch {
	case r.Ended && r.Outcome == tpcc.Broken:
		w.broken(u, r.Err)
		return
	case r.Ended && u.busy && u.onWire:
		u.again.Answered()
		w.ended(u, r)
	}
	if u.conn != nil && len(*out) > before {
		w.send(u)
	}
}

// ended books what came back, or tries it again.
func (w *Worker) ended(u *user, r Result) {
	e, again := w.o.Account.End(&u.tx, u.attempt, r.Outcome, r.Err)
	if again {
		u.attempt++
		w.begin(u)
		return
	}
	w.complete(u, e)
}

func (w *Worker) complete(u *user, e account.Ended) {
	u.busy, u.onWire = false, false
	w.idle++
	w.out = append(w.out, load.Completion{
		Intended: u.intended, Sent: u.sent, Count: 1, Slot: u.slot, Kind: e.Kind, Status: e.Status, Err: e.Err,
		BytesIn: u.bytesIn, BytesOut: u.bytesOut,
	})
}
