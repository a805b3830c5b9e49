package http

import (
	"bufio"
	"crypto/tls"
	"maps"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bakeoff/load"
	"bakeoff/record"
)

// TestWrongAnswersAreNoThroughput: a server that begins to answer wrongly once
// it was learned from.
func TestWrongAnswersAreNoThroughput(t *testing.T) {
	for name, wrong := range map[string]struct {
		answer func(w nethttp.ResponseWriter)
		text   string
	}{
		"status":  {func(w nethttp.ResponseWriter) { w.WriteHeader(503) }, "status 503"},
		"length":  {func(w nethttp.ResponseWriter) { _, _ = w.Write([]byte("right answer and more")) }, "not as long"},
		"content": {func(w nethttp.ResponseWriter) { _, _ = w.Write([]byte("wrong answer")) }, "content is not"},
		"cut": {func(w nethttp.ResponseWriter) {
			w.Header().Set("Content-Length", "12")
			_, _ = w.Write([]byte("right"))
		}, "closed it before the answer was whole"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int64
			s := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) {
				if asked.Add(1) == 1 {
					_, _ = w.Write([]byte("right answer"))
					return
				}
				wrong.answer(w)
			}))
			defer s.Close()
			l := measure(t, s.URL, map[string]any{"connections": 2, "verify": true}, load.Common{})
			if l.Ledger.Completed != 0 || l.Ledger.Failed == 0 {
				t.Errorf("ledger %+v, expected failures alone", l.Ledger)
			}
			if len(l.Errors) == 0 || !strings.Contains(l.Errors[0].First, wrong.text) {
				t.Errorf("errors %+v, expected one with %q", l.Errors, wrong.text)
			}
		})
	}
}

// TestServersThatCloseConnections: to close a connection after an answer is a
// server's right, and no error.
// TestWhatNothingAskedFor: bytes beyond the answer are faults, though every answer
// before them is right.
func TestWhatNothingAskedFor(t *testing.T) {
	const good = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood"
	for name, c := range map[string]struct {
		answer     string
		parameters map[string]any
		want       string
	}{
		"two answers":   {good + good, nil, "nothing asked for"},
		"a longer one":  {good + "!", nil, "nothing asked for"},
		"gathered":      {good + good, map[string]any{"gather": 4}, "nothing asked for"},
		"discarded":     {good + good, map[string]any{"discard": true}, "nothing asked for"},
		"HEAD":          {good, map[string]any{"requests": []any{"HEAD /"}}, "nothing asked for"},
		"pipelined":     {good + good, map[string]any{"pipeline": 4}, "nothing asked for"},
		"status 2000":   {strings.Replace(good, "200", "2000", 1), nil, "three digits"},
		"not a new one": {strings.Replace(good, "\r\n", "x\r\n", 1), nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			target := raw(t, nil, func(first bool, conn net.Conn) {
				answer := c.answer
				if first {
					answer = good
					if name == "HEAD" {
						answer = strings.TrimSuffix(good, "good")
					}
				}
				_, _ = conn.Write([]byte(answer))
			})
			parameters := map[string]any{"connections": 8}
			maps.Copy(parameters, c.parameters)
			l := measure(t, "http://"+target, parameters, load.Common{})
			if c.want == "" {
				if l.Ledger.Failed > 0 || l.Ledger.Completed == 0 {
					t.Errorf("ledger %+v, errors %+v: expected no failure", l.Ledger, l.Errors)
				}
				return
			}
			most := 8 * l.Ledger.Failed
			if name == "pipelined" {
				most = 400 * l.Ledger.Failed // surplus answers pass for those of later requests, until one finds none
			}
			if l.Ledger.Failed == 0 || l.Ledger.Completed > most {
				t.Errorf("ledger %+v: expected a failure for every few answers", l.Ledger)
			}
			if len(l.Errors) == 0 || !strings.Contains(l.Errors[0].First, c.want) {
				t.Errorf("errors %+v, expected one with %q", l.Errors, c.want)
			}
		})
	}
}

// TestCutOffTLS: an answer that ends with its connection ends with TLS's own end, or
// it may be cut off.
func TestCutOffTLS(t *testing.T) {
	pair := httptest.NewTLSServer(nethttp.NotFoundHandler()) // for its certificate
	defer pair.Close()
	for name, cut := range map[string]bool{"whole": false, "cut": true} {
		t.Run(name, func(t *testing.T) {
			target := raw(t, pair.TLS, func(first bool, conn net.Conn) {
				_, _ = conn.Write([]byte("HTTP/1.0 200 OK\r\n\r\nuntil the end"))
				if cut && !first {
					_ = conn.(*tls.Conn).NetConn().Close()
				}
				_ = conn.Close()
			})
			l := measure(t, "https://"+target, map[string]any{"connections": 2, "tls_insecure": true, "length": "any"}, load.Common{})
			if cut && (l.Ledger.Completed > 0 || l.Ledger.Failed == 0) || !cut && (l.Ledger.Completed == 0 || l.Ledger.Failed > 0) {
				t.Errorf("ledger %+v, errors %+v", l.Ledger, l.Errors)
			}
		})
	}
}

// TestGatheredAnswers: every answer that waits for others is still one answer, in the
// clear, in records of TLS, in parts, and from servers that close connections.
func TestGatheredAnswers(t *testing.T) {
	plain, secure, _ := embedded(t)
	for name, c := range map[string]struct {
		target     string
		parameters map[string]any
	}{
		"plain":            {plain + "/1K", map[string]any{}},
		"in parts":         {plain + "/300K", map[string]any{"receive_buffer": "4K", "verify": true}},
		"TLS":              {secure, map[string]any{"tls_insecure": true, "verify": true}},
		"new connections":  {plain + "/1K", map[string]any{"connection_requests": 1}},
		"without io_uring": {plain + "/1K", map[string]any{"io": "epoll"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.parameters["connections"], c.parameters["gather"] = 8, 4
			l := measure(t, c.target, c.parameters, load.Common{})
			if l.Ledger.Completed == 0 || l.Ledger.Failed+l.Ledger.TimedOut > 0 {
				t.Errorf("ledger is %+v: %v", l.Ledger, l.Errors)
			}
			if !strings.Contains(l.Generator.Backend, "stamps of the kernel") {
				t.Errorf("backend is %q", l.Generator.Backend)
			}
		})
	}
}

// TestDiscardedContents: what nobody copied is counted all the same, whole and in
// chunks, and an answer of another length is an error.
func TestDiscardedContents(t *testing.T) {
	plain, _, _ := embedded(t)
	var short atomic.Bool
	chunked := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		pieces := 5
		if short.Load() {
			pieces = 4
		}
		for range pieces {
			_, _ = w.Write(make([]byte, 30_000))
			w.(nethttp.Flusher).Flush()
		}
	}))
	defer chunked.Close()
	each := func(l record.Load) float64 {
		if l.Ledger.Completed == 0 || l.Ledger.Failed+l.Ledger.TimedOut > 0 {
			t.Fatalf("ledger is %+v: %v", l.Ledger, l.Errors)
		}
		return float64(l.Kinds[0].BytesIn) / float64(l.Kinds[0].Completed)
	}
	for _, target := range []string{plain + "/300K", plain + "/1K", chunked.URL} {
		want := each(measure(t, target, map[string]any{"connections": 2}, load.Common{}))
		for name, more := range map[string]map[string]any{"io_uring": {}, "epoll": {"io": "epoll"}, "pipelined": {"pipeline": 4}, "a small buffer": {"receive_buffer": "1K"}} {
			parameters := map[string]any{"connections": 2, "discard": true}
			maps.Copy(parameters, more)
			if got := each(measure(t, target, parameters, load.Common{})); got != want {
				t.Errorf("%s, %s: %g bytes an answer, expected %g", target, name, got, want)
			}
		}
	}
	spec := load.Spec{Workload: "w", Part: load.Source, Engine: "http", Target: chunked.URL, Parameters: map[string]any{"connections": 2, "discard": true}, Seed: 1, Common: load.Common{Window: 300 * time.Millisecond}}
	r, err := load.Open(t.Context(), Engine{}, spec, load.Env{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Prepare(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	short.Store(true)
	result, err := r.Measure(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if l := result.Load.Ledger; l.Failed == 0 || l.Completed > 0 {
		t.Errorf("answers that are too short: ledger is %+v", l)
	}
}

// raw answers every request as it is told, and says which is the first of all: the
// one by which a load learns what is right.
func raw(t *testing.T, cfg *tls.Config, answer func(first bool, conn net.Conn)) (address string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = ln.Addr().String()
	if cfg != nil {
		ln = tls.NewListener(ln, cfg)
	}
	t.Cleanup(func() { _ = ln.Close() })
	var asked atomic.Int64
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				requests := bufio.NewReader(conn)
				for {
					r, err := nethttp.ReadRequest(requests)
					if err != nil {
						return
					}
					_ = r.Body.Close()
					answer(asked.Add(1) == 1, conn)
				}
			}()
		}
	}()
	return address
}
