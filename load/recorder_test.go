package load

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"bakeoff/hist"
	"bakeoff/record"
)

// collect returns a collector of one recorder that runs until stopped, and its
// recorder.
func collect(e edges, kinds []string, openLoop bool) (*collector, *recorder) {
	logs := newLogSet(Spec{Workload: "w"}, time.Unix(1e9, 0), latencyTypes(openLoop))
	c := newCollector(e, kinds, 1, logs, func(record.Interval, phase) {})
	go c.run()
	return c, newRecorder(e, kinds, openLoop, c)
}

func TestLocateCoversAllTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := edges{begin: rapid.Int64Range(0, 1000).Draw(t, "begin"), slice: rapid.Int64Range(1, 100).Draw(t, "slice")}
		e.open = e.begin + rapid.Int64Range(0, 1000).Draw(t, "warm-up")
		e.close = e.open + rapid.Int64Range(1, 1000).Draw(t, "window")
		at := e.begin
		var last slot
		for i := 0; at < e.close+500; i++ {
			s, start, end := e.locate(at)
			if start != at || end <= start || end-start > e.slice {
				t.Fatalf("the interval at %d is [%d, %d) with slices of %d", at, start, end, e.slice)
			}
			if i > 0 && last.compare(s) >= 0 {
				t.Fatalf("interval %v came after %v", s, last)
			}
			for _, edge := range []int64{e.open, e.close} {
				if start < edge && end > edge {
					t.Fatalf("[%d, %d) spans the edge at %d", start, end, edge)
				}
			}
			inside := rapid.Int64Range(start, end-1).Draw(t, "inside")
			if s2, _, end2 := e.locate(inside); s2 != s || end2 != end {
				t.Fatalf("%d lies in %v to %d, %d in %v to %d", at, s, end, inside, s2, end2)
			}
			at, last = end, s
		}
	})
}

// model is what should be booked, by the definitions, from all operations.
type model struct {
	ledger  record.Ledger
	service []int64 // of operations intended in the window
	lag     []int64
}

func (m *model) add(e edges, c Completion, came bool) {
	n := uint64(c.Count)
	before := c.Sent < e.close
	if c.Sent >= e.open && before {
		m.ledger.Offered += n
	}
	if c.Sent < e.open && (!came || c.Done >= e.open) {
		m.ledger.InFlightOpen += n
	}
	if before && (!came || c.Done >= e.close) {
		m.ledger.InFlightClose += n
	}
	if !came {
		return
	}
	if c.Done >= e.open && c.Done < e.close {
		switch c.Status {
		case Failed:
			m.ledger.Failed += n
		case TimedOut:
			m.ledger.TimedOut += n
		case Dropped:
			m.ledger.Dropped += n
		default:
			m.ledger.Completed += n
		}
	}
	if c.Intended >= e.open && c.Intended < e.close && c.Status != Failed && c.Status != Dropped {
		for range n {
			m.service = append(m.service, c.Done-c.Sent)
			m.lag = append(m.lag, c.Sent-c.Intended)
		}
	}
}

// TestRecorderKeepsTheDefinitions books random operations, in the order in which
// a loop sees them and with stamps from before that, and compares with the
// definitions applied to each.
func TestRecorderKeepsTheDefinitions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := edges{begin: 100, open: 100 + rapid.Int64Range(0, 300).Draw(t, "warm-up"), slice: rapid.Int64Range(20, 200).Draw(t, "slice")}
		e.close = e.open + rapid.Int64Range(1, 500).Draw(t, "window")
		c, r := collect(e, []string{"get", "set"}, true)
		var want model
		now := e.begin
		for range rapid.IntRange(1, 60).Draw(t, "operations") {
			now += rapid.Int64Range(0, 60).Draw(t, "passes")
			done := max(now-rapid.Int64Range(0, 40).Draw(t, "better stamp"), e.begin)
			sent := max(done-rapid.Int64Range(0, 400).Draw(t, "service"), e.begin)
			op := Completion{
				Intended: max(sent-rapid.Int64Range(0, 100).Draw(t, "lag"), e.begin), Sent: sent, Done: done,
				Count: uint32(rapid.IntRange(1, 3).Draw(t, "count")), Kind: uint8(rapid.IntRange(0, 1).Draw(t, "kind")),
				Status: OpStatus(rapid.IntRange(0, 4).Draw(t, "status")),
			}
			r.offered(op.Sent, uint64(op.Count))
			came := rapid.IntRange(0, 9).Draw(t, "came") > 0
			if r.advance(now); came {
				r.complete(&op, now)
			}
			want.add(e, op, came)
		}
		r.finish(now)
		c.stop()
		got := ledger(&r.book, c.window)
		if got != want.ledger || !got.Closes() {
			t.Fatalf("ledger %+v, want %+v", got, want.ledger)
		}
		compareLatencies(t, c, want)
	})
}

func compareLatencies(t *rapid.T, c *collector, want model) {
	service, lag := hist.New(), hist.New()
	for i := range c.window {
		service.Merge(&c.window[i].service)
	}
	lag.Merge(&c.lag)
	for name, pair := range map[string]struct {
		got  *hist.Histogram
		want []int64
	}{"service": {service, want.service}, "lag": {lag, want.lag}} {
		expected := hist.New()
		for _, v := range pair.want {
			expected.Record(v)
		}
		if pair.got.Count() != expected.Count() || pair.got.Max() != expected.Max() || pair.got.Mean() != expected.Mean() {
			t.Fatalf("%s: %d values up to %d, want %d up to %d", name, pair.got.Count(), pair.got.Max(), expected.Count(), expected.Max())
		}
	}
}

func TestRecorderDoesNotAllocate(t *testing.T) {
	const slice = int64(time.Second)
	e := edges{begin: 1, open: 1, close: 1 << 60, slice: slice}
	c, r := collect(e, []string{"get"}, true)
	now := int64(1)
	op := Completion{Count: 1}
	step := func() {
		now += slice / 10
		op.Intended, op.Sent = now-2000, now-1000
		r.advance(now)
		r.offered(op.Sent, 1)
		r.complete(&op, now)
	}
	for range 2000 { // intervals go round, their rows are there
		step()
	}
	// The collector allocates as it writes the logs: count the recorder's own.
	if n := testing.AllocsPerRun(5, func() {
		op.Intended, op.Sent = now-2000, now-1000
		r.complete(&op, now)
	}); n != 0 {
		t.Errorf("recording allocates %g times", n)
	}
	r.finish(now)
	c.stop()
}

func TestRecorderBlamesTheEngine(t *testing.T) {
	for _, c := range []struct {
		name string
		op   Completion
		want string
	}{
		{"kind", Completion{Intended: 5, Sent: 5, Count: 1, Kind: 9}, "a completion of kind 9, where the engine describes 1 kinds"},
		{"done before sent", Completion{Intended: 5, Sent: 8, Done: 6, Count: 1}, "a completion 2 ns before it was sent"},
		{"sent in the future", Completion{Intended: 5, Sent: 50, Count: 1}, "a completion 30 ns before it was sent"},
		{"intended after sent", Completion{Intended: 9, Sent: 5, Count: 1}, "sent 4 ns before it was intended"},
	} {
		t.Run(c.name, func(t *testing.T) {
			col, r := collect(edges{begin: 1, open: 1, close: 100, slice: 100}, []string{"get"}, true)
			r.offered(5, 1)
			r.complete(&c.op, 20)
			r.finish(20)
			col.stop()
			if !strings.Contains(r.fault, c.want) {
				t.Errorf("fault %q, want %q", r.fault, c.want)
			}
			if l := ledger(&r.book, col.window); l.Closes() {
				t.Errorf("the ledger closes over a completion that cannot be: %+v", l)
			}
		})
	}
}

func TestALedgerWithMoreBackThanSentDoesNotClose(t *testing.T) {
	c, r := collect(edges{begin: 1, open: 1, close: 100, slice: 100}, []string{"get"}, false)
	r.offered(5, 1)
	for range 2 {
		r.complete(&Completion{Intended: 5, Sent: 5, Count: 1}, 20)
	}
	r.finish(20)
	c.stop()
	if l := ledger(&r.book, c.window); l.Closes() {
		t.Errorf("an operation came back twice, and the ledger closes: %+v", l)
	}
}

func TestIdleIntervalsAreInTheSeries(t *testing.T) {
	e := edges{begin: 0, open: 100, close: 1000, slice: 100}
	c, r := collect(e, []string{"get"}, false)
	r.complete(&Completion{Intended: 1, Sent: 1, Count: 1}, 50)
	r.complete(&Completion{Intended: 1, Sent: 1, Count: 1}, 950)
	r.finish(1010)
	c.stop()
	lines := c.lines(scale{secondsPerNano: 1e-9}, e.open, e.close)
	if len(lines) != 10 {
		t.Fatalf("%d lines, want 1 of the warm-up and 9 of the window", len(lines))
	}
	for i, l := range lines {
		want := uint64(0)
		if i == 0 || i == 9 {
			want = 1
		}
		if l.Completed != want {
			t.Errorf("line %d: %d completed, want %d", i, l.Completed, want)
		}
	}
	if rates := c.rates(e.close); len(rates) != 90 || rates[85] != 1 {
		t.Errorf("%d parts: %v", len(rates), rates)
	}
}

// TestEarlyCloseCutsTheWindow ends windows early, also where the present interval
// began after the last operation.
func TestEarlyCloseCutsTheWindow(t *testing.T) {
	for _, at := range []int64{50, 100, 150, 200, 450} {
		e := edges{begin: 0, open: 100, close: 1000, slice: 100}
		c, r := collect(e, []string{"get"}, false)
		r.advance(min(at+120, 500))
		r.closeAt(at)
		if r.edges.close != at || r.edges.open != min(at, 100) {
			t.Errorf("closed at %d: window [%d, %d)", at, r.edges.open, r.edges.close)
		}
		r.offered(at+1, 1)
		r.complete(&Completion{Intended: at + 1, Sent: at + 1, Count: 1}, at+140)
		r.finish(at + 150)
		c.stop()
		l := ledger(&r.book, c.window)
		if l.Completed != 0 || l.Offered != 0 || !l.Closes() {
			t.Errorf("closed at %d: what came after is in the window: %+v", at, l)
		}
	}
}
