package kv

import (
	"strings"
	"testing"

	"bakeoff/load"
	"bakeoff/load/gen"
	"bakeoff/load/ring"
)

// offline returns a worker without connections, for its own work alone.
func offline(tb testing.TB, params map[string]any) (*worker, *conn) {
	tb.Helper()
	return offlineClock(tb, newClock(tb), params)
}

// fatal is what rapid's tests and Go's have in common.
type fatal interface {
	Helper()
	Fatal(args ...any)
}

func offlineClock(t fatal, clock *load.Clock, params map[string]any) (*worker, *conn) {
	t.Helper()
	c, err := configure(load.Spec{Target: "redis://127.0.0.1:1", Parameters: params, Clock: clock}, Engine{}.Describe())
	if err != nil {
		t.Fatal(err)
	}
	w := &worker{c: c, clock: c.spec.Clock}
	if err := w.makeRequests(0, 1); err != nil {
		t.Fatal(err)
	}
	one := w.newConn(0)
	one.parser = newRESP(one.check)
	one.ring = &ring.Conn{}
	w.conns = []*conn{one}
	return w, one
}

func BenchmarkEncodeGet(b *testing.B) {
	w, _ := offline(b, map[string]any{"ratio": "0:1"})
	var out []byte
	for b.Loop() {
		out = w.enc.append(out[:0], w.requests[kindGet], 64)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/64, "ns/request")
}

func BenchmarkEncodeSet(b *testing.B) {
	w, _ := offline(b, map[string]any{"ratio": "1:0"})
	var out []byte
	for b.Loop() {
		out = w.enc.append(out[:0], w.requests[kindSet], 64)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/64, "ns/request")
}

func BenchmarkReceive(b *testing.B) {
	for name, one := range map[string]string{"hits": "$32\r\n" + strings.Repeat("x", 32) + "\r\n", "misses": "$-1\r\n"} {
		b.Run(name, func(b *testing.B) {
			w, c := offline(b, map[string]any{"ratio": "0:1", "pipeline": 64})
			data := []byte(strings.Repeat(one, 64))
			op := &load.Op{Count: 64}
			for b.Loop() {
				c.push(op, kindGet, 64, false)
				c.sent = c.tail
				if err := w.receive(c, data); err != nil {
					b.Fatal(err)
				}
				w.out = w.out[:0]
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/64, "ns/reply")
		})
	}
}

func BenchmarkUniform(b *testing.B) {
	k, _ := gen.NewKeys(gen.KeySpec{Pattern: gen.Uniform, Count: 100000, Workers: 1}, gen.NewRand(1, gen.Stream{}))
	for b.Loop() {
		k.Next()
	}
}
