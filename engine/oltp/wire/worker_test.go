package wire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bakeoff/engine/oltp/account"
	"bakeoff/engine/oltp/tpcc"
	"bakeoff/load"
	"bakeoff/load/dial"
	"bakeoff/load/ring"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lines is a protocol for tests: a request is a line, an answer is a word and a
// line's end: ok, conflict or refused.
type lines struct{ got []byte }

func (l *lines) Begin(out []byte, tx *tpcc.Tx) []byte {
	return append(append(out, tx.Kind.String()...), '\n')
}

var errRefused = errors.New("refused")

func (l *lines) Receive(out, data []byte) ([]byte, Result) {
	l.got = append(l.got, data...)
	word, _, whole := bytes.Cut(l.got, []byte("\n"))
	if !whole {
		return out, Result{}
	}
	r := Result{Ended: true, Outcome: map[string]tpcc.Outcome{"ok": tpcc.Committed, "conflict": tpcc.Conflict, "refused": tpcc.Refused}[string(word)]}
	if r.Outcome != tpcc.Committed {
		r.Err = errRefused
	}
	l.got = l.got[:0]
	return out, r
}

// peer is a server of that protocol. It answers as a test says; "" is no answer,
// "close" closes the connection.
type peer struct {
	listener net.Listener
	answer   func(n int) string // to request n of the server, from 0
	requests atomic.Int64
	all      sync.WaitGroup
	mu       sync.Mutex
	conns    []net.Conn
}

func listen(t *testing.T, answer func(int) string) *peer {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{listener: l, answer: answer}
	p.all.Go(p.accept)
	t.Cleanup(p.end)
	return p
}

func (p *peer) end() {
	_ = p.listener.Close()
	p.mu.Lock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.all.Wait()
}

func (p *peer) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		p.conns = append(p.conns, c)
		p.mu.Unlock()
		p.all.Go(func() { p.serve(c) })
	}
}

func (p *peer) serve(c net.Conn) {
	defer c.Close()
	in := bufio.NewScanner(c)
	for in.Scan() {
		switch a := p.answer(int(p.requests.Add(1) - 1)); a {
		case "":
		case "close":
			return
		default:
			half := len(a) / 2 // in two pieces
			if _, err := c.Write([]byte(a[:half])); err != nil {
				return
			}
			if _, err := c.Write([]byte(a[half:] + "\n")); err != nil {
				return
			}
		}
	}
}

func (p *peer) dial(context.Context, int) (Link, error) {
	c, err := net.Dial("unix", p.listener.Addr().String())
	if err != nil {
		return Link{}, err
	}
	fd, err := ring.Take(c)
	return Link{Link: dial.Link{FD: fd}, Conversation: &lines{}}, err
}

// rig is a worker under test.
type rig struct {
	t       *testing.T
	w       *Worker
	clock   *load.Clock
	account *account.Account
}

func rigged(t *testing.T, users int, timeout time.Duration, dialer Dialer) *rig {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	clock, err := load.NewMachine("/").NewClock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, clock: clock, account: &account.Account{Retries: 2}}
	r.w, err = New(t.Context(), Options{
		Clock: clock, Backend: ring.Epoll, Dial: dialer, Account: r.account, Users: users, Timeout: timeout,
		Rules: tpcc.Rules{Profile: tpcc.HammerDB, Warehouses: 1, Users: users, Homes: tpcc.RandomHome},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.w.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// do submits so many operations and waits until all are back.
func (r *rig) do(n int) []load.Completion {
	r.t.Helper()
	now := r.clock.Now()
	if took, err := r.w.Submit([]load.Op{{Intended: now, Sent: now, Count: uint32(n), Slot: -1}}); took != 1 || err != nil {
		r.t.Fatalf("%d operations were not taken: %v", n, err)
	}
	return r.reap(n)
}

func (r *rig) reap(n int) (back []load.Completion) {
	r.t.Helper()
	deadline := r.clock.Now() + int64(10*time.Second)
	for len(back) < n && r.clock.Now() < deadline {
		var err error
		if back, err = r.w.Reap(back, r.clock.Now()+int64(50*time.Millisecond)); err != nil {
			r.t.Fatal(err)
		}
	}
	if len(back) != n {
		r.t.Fatalf("%d of %d operations came back", len(back), n)
	}
	return back
}

func always(answer string) func(int) string { return func(int) string { return answer } }

func TestEveryUserWorks(t *testing.T) {
	p := listen(t, always("ok"))
	r := rigged(t, 5, time.Second, p.dial)
	slots := map[int32]bool{}
	for _, c := range r.do(5) {
		slots[c.Slot] = true
		if c.Status != load.OK || c.Count != 1 || c.BytesOut == 0 || c.BytesIn != 3 {
			t.Errorf("found %+v", c)
		}
	}
	if len(slots) != 5 {
		t.Errorf("slots %v, want five", slots)
	}
	now := r.clock.Now()
	if took, err := r.w.Submit([]load.Op{{Sent: now, Count: 1, Slot: 3}, {Sent: now, Count: 5, Slot: -1}}); took != 1 || err != nil {
		t.Errorf("took %d, %v; want the one there is room for", took, err)
	}
	if back := r.reap(1); back[0].Slot != 3 {
		t.Errorf("slot %d, want 3", back[0].Slot)
	}
}

func TestConflictsAreTriedAgain(t *testing.T) {
	p := listen(t, func(n int) string {
		return []string{"conflict", "conflict", "ok", "conflict", "conflict", "conflict"}[n]
	})
	r := rigged(t, 1, time.Second, p.dial)
	if c := r.do(1)[0]; c.Status != load.OK {
		t.Errorf("found %+v, want the third attempt to do", c)
	}
	if c := r.do(1)[0]; c.Status != load.Failed || !strings.Contains(c.Err.Error(), "3 attempts") {
		t.Errorf("found %+v, want to give up after three attempts", c)
	}
}

func TestRefusalsFailAndTheConnectionStays(t *testing.T) {
	p := listen(t, func(n int) string { return []string{"refused", "ok"}[n] })
	r := rigged(t, 1, time.Second, p.dial)
	if c := r.do(1)[0]; c.Status != load.Failed || !errors.Is(c.Err, errRefused) {
		t.Errorf("found %+v", c)
	}
	if c := r.do(1)[0]; c.Status != load.OK {
		t.Errorf("found %+v", c)
	}
}

func TestALostConnectionIsOpenedAgain(t *testing.T) {
	p := listen(t, func(n int) string { return []string{"ok", "close", "ok"}[n] })
	r := rigged(t, 1, time.Second, p.dial)
	r.do(1)
	if c := r.do(1)[0]; c.Status != load.Failed || !strings.Contains(c.Err.Error(), "connection was lost") {
		t.Errorf("found %+v", c)
	}
	if c := r.do(1)[0]; c.Status != load.OK {
		t.Errorf("found %+v, want the operation to wait for the connection", c)
	}
}

// A late answer must not be taken for that of the next operation.
func TestATimeoutGivesTheConnectionUp(t *testing.T) {
	p := listen(t, func(n int) string { return []string{"", "ok"}[min(n, 1)] })
	r := rigged(t, 1, 100*time.Millisecond, p.dial)
	if c := r.do(1)[0]; c.Status != load.TimedOut {
		t.Errorf("found %+v", c)
	}
	if c := r.do(1)[0]; c.Status != load.OK {
		t.Errorf("found %+v", c)
	}
	for _, c := range r.account.Counts(r.clock.Now(), 1) {
		if c.Name == "reconnects" && c.Value != 1 {
			t.Errorf("%v attempts to connect again, want 1", c.Value)
		}
	}
}

func TestATargetThatIsGoneEndsTheWork(t *testing.T) {
	p := listen(t, always("close"))
	r := rigged(t, 2, 100*time.Millisecond, p.dial)
	p.end()
	deadline := r.clock.Now() + int64(10*time.Second)
	for r.clock.Now() < deadline {
		now := r.clock.Now()
		if _, err := r.w.Submit([]load.Op{{Sent: now, Count: 1, Slot: -1}}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.w.Reap(nil, now+int64(20*time.Millisecond)); err != nil {
			if !strings.Contains(err.Error(), "the target is gone") {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("the work goes on without a target")
}

func TestWhatIsInFlightAtTheEndIsInDoubt(t *testing.T) {
	p := listen(t, always(""))
	r := rigged(t, 23, time.Minute, p.dial)
	now := r.clock.Now()
	if took, err := r.w.Submit([]load.Op{{Sent: now, Count: 23, Slot: -1}}); took != 1 || err != nil {
		t.Fatal(took, err)
	}
	if _, err := r.w.Reap(nil, r.clock.Now()+int64(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	orders := int64(0)
	for _, u := range r.w.users {
		if u.tx.Kind == tpcc.NewOrder {
			orders++
		}
	}
	if err := r.w.Close(); err != nil {
		t.Fatal(err)
	}
	if committed, doubt := r.account.Orders(); committed != 0 || doubt != orders || orders == 0 {
		t.Errorf("%d committed, %d in doubt; want the %d New-Orders that were sent", committed, doubt, orders)
	}
}

func TestAConnectionThatFailsAtTheStart(t *testing.T) {
	p := listen(t, always("ok"))
	var dialled atomic.Int64
	_, err := New(t.Context(), Options{
		Clock: &load.Clock{}, Backend: ring.Epoll, Account: &account.Account{}, Users: 4, Timeout: time.Second,
		Rules: tpcc.Rules{Profile: tpcc.Spec, Warehouses: 1, Users: 4, Homes: tpcc.OwnHome},
		Dial: func(ctx context.Context, user int) (Link, error) {
			if dialled.Add(1) == 3 {
				return Link{}, errRefused
			}
			return p.dial(ctx, user)
		},
	})
	if !errors.Is(err, errRefused) || !strings.Contains(err.Error(), "of 4") {
		t.Errorf("found %v, want which user could not connect", err)
	}
}

func TestPauses(t *testing.T) {
	p := listen(t, always("ok"))
	r := rigged(t, 2, time.Second, p.dial)
	r.w.o.Keying, r.w.o.Thinking = true, true
	first := r.w.Pause(1)
	if kind := r.w.users[1].tx.Kind; first != tpcc.Keying(kind) {
		t.Errorf("a pause of %v before a first %s", first, kind)
	}
	if r.w.Pause(7) < time.Hour {
		t.Error("a slot without a user has a pause that ends")
	}
	kind := r.w.users[1].tx.Kind
	now := r.clock.Now()
	if took, err := r.w.Submit([]load.Op{{Sent: now, Count: 1, Slot: 1}}); took != 1 || err != nil {
		t.Fatal(took, err)
	}
	if c := r.reap(1)[0]; tpcc.Kind(c.Kind) != kind && c.Kind != account.KindRolledBack {
		t.Errorf("typed a %s, did a %d", kind, c.Kind)
	}
}
