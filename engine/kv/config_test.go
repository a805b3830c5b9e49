package kv

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"bakeoff/load"
)

func TestTargets(t *testing.T) {
	for url, want := range map[string]target{
		"redis://localhost":                  {family: redis, network: "tcp", address: "localhost:6379", host: "localhost"},
		"redis://10.0.0.1:7000/5":            {family: redis, network: "tcp", address: "10.0.0.1:7000", host: "10.0.0.1", database: 5},
		"rediss://ann@[::1]:6380":            {family: redis, network: "tcp", address: "[::1]:6380", host: "::1", tls: true, username: "ann"},
		"redis+unix:///run/redis.sock":       {family: redis, network: "unix", address: "/run/redis.sock"},
		"unix+redis:///run/redis.sock?db=12": {family: redis, network: "unix", address: "/run/redis.sock", database: 12},
		"memcache://mc":                      {family: memcached, network: "tcp", address: "mc:11211", host: "mc"},
		"memcaches://mc:1":                   {family: memcached, network: "tcp", address: "mc:1", host: "mc", tls: true},
		"memcache+unix:///x.sock":            {family: memcached, network: "unix", address: "/x.sock"},
	} {
		if got, err := parseTarget(url); err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", url, got, err, want)
		}
	}
	for url, want := range map[string]string{
		"":                               "no target",
		"127.0.0.1:6379":                 "no URL",
		"http://x":                       `unknown scheme "http"`,
		"redis://":                       "names no host",
		"redis://h:0":                    `port "0"`,
		"redis://h:x":                    "no URL",
		"redis://h/x":                    `database "x"`,
		"redis://h/-1":                   `database "-1"`,
		"redis://h?db=1":                 `unknown options "db=1"`,
		"redis://:secret@h":              "holds a password",
		"redis://u:secret@h:x":           "no URL",
		"memcache://h/1":                 "memcached has none",
		"redis+unix://run/x.sock":        "three slashes",
		"redis+unix:///x.sock?x=1":       "unknown options",
		"redis+unix:///" + longPath(200): "Linux allows 107",
	} {
		_, err := parseTarget(url)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", url, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") && !strings.Contains(err.Error(), "the secret") {
			t.Errorf("%s: the error shows the password: %v", url, err)
		}
	}
}

func longPath(n int) string { return strings.Repeat("x", n) }

func TestParametersAreChecked(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const mc = "memcache://h"
	for _, c := range []struct {
		target string
		params map[string]any
		want   string
	}{
		{"", map[string]any{"pipelin": 1}, `did you mean "pipeline"`},
		{"", map[string]any{"connections": 0}, "expected 1 to"},
		{"", map[string]any{"pipeline": 1 << 20}, "expected 1 to"},
		{"", map[string]any{"multi_get": 0}, "expected 1 to"},
		{"", map[string]any{"reconnect_every": 3, "pipeline": 4}, "as many replies as a pipeline holds"},
		{"", map[string]any{"ratio": "0:0"}, "sets:gets"},
		{"", map[string]any{"ratio": "1"}, "sets:gets"},
		{"", map[string]any{"ratio": "-1:2"}, "sets:gets"},
		{"", map[string]any{"key_minimum": 5, "key_maximum": 4}, "numbers from 5 to 4"},
		{"", map[string]any{"key_minimum": -1}, "numbers from -1"},
		{"", map[string]any{"key_prefix": "a b"}, "no spaces"},
		{"", map[string]any{"key_prefix": longPath(300)}, "expected up to 200"},
		{"", map[string]any{"get_pattern": "zipf", "zipf_exponent": -1}, "zipf"},
		{"", map[string]any{"set_pattern": "gaussian", "gaussian_deviation": "0%"}, "deviation"},
		{"", map[string]any{"get_pattern": "hot", "hot_keys": "100%"}, "hot keys"},
		{"", map[string]any{"value_size": "4x"}, "value_size"},
		{"", map[string]any{"value_size": "64-32"}, "the lower first"},
		{"", map[string]any{"value_size": "64:x"}, "weight"},
		{"", map[string]any{"value_size": "64:0"}, "weight"},
		{"", map[string]any{"value_size": "1T"}, "expected 0 to"},
		{"", map[string]any{"expiry": "5"}, "expiry"},
		{"", map[string]any{"expiry": "9s-3s"}, "the lower end first"},
		{mc, map[string]any{"expiry": "90ms"}, "whole seconds"},
		{mc, map[string]any{"expiry": "31d"}, "30 days"},
		{"", map[string]any{"command": ""}, "found nothing"},
		{"", map[string]any{"command": "SET __key__ 'x"}, "without its end"},
		{"", map[string]any{"command": "SET x __data__"}, "needs a __key__"},
		{"", map[string]any{"command": "SET __data__ __key__"}, "__key__ must come before"},
		{"", map[string]any{"command": "SET __key____key__ x"}, "at most one placeholder"},
		{"", map[string]any{"command": "PING", "ratio": "1:1"}, "leave out ratio"},
		{"", map[string]any{"command": "PING", "verify": true}, "leave out verify"},
		{mc, map[string]any{"command": "PING"}, "only Redis"},
		{mc, map[string]any{"protocol": "resp2"}, "text, meta or meta-quiet"},
		{"", map[string]any{"protocol": "meta"}, "resp2 or resp3"},
		{mc, map[string]any{"protocol": "meta", "multi_get": 2}, "one key a command"},
		{mc, map[string]any{"protocol": "meta-quiet", "verify": true}, "cannot be verified"},
		{"", map[string]any{"username": "ann"}, "has no password"},
		{"", map[string]any{"tls_ca": "x"}, "for a target with TLS"},
		{"rediss://h", map[string]any{"tls_ca": "/does/not/exist"}, "no such file"},
		{"rediss://h", map[string]any{"tls_ca": empty}, "no PEM certificate"},
		{"rediss://h", map[string]any{"tls_key": empty}, "go together"},
		{"http://h", nil, "unknown scheme"},
	} {
		if c.target == "" {
			c.target = "redis://h"
		}
		err := openError(t, newSpec(t, c.target, c.params))
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v: got %v, want an error with %q", c.target, c.params, err, c.want)
		}
	}
	spec := newSpec(t, "redis://h", map[string]any{"connections": 3})
	spec.Common.Workers = 4
	if err := openError(t, spec); !strings.Contains(err.Error(), "4 workers share 3 connections") {
		t.Errorf("got %v", err)
	}
	spec.Part = load.Sink
	if err := openError(t, spec); !strings.Contains(err.Error(), "only a source") {
		t.Errorf("got %v", err)
	}
}

// TestAllFaultsAreToldAtOnce: one run of the command tells everything that is wrong.
func TestAllFaultsAreToldAtOnce(t *testing.T) {
	err := openError(t, newSpec(t, "ftp://h", map[string]any{"connections": 0, "ratio": "x", "value_size": "y"}))
	if n := strings.Count(err.Error(), "\n") + 1; n != 4 {
		t.Errorf("%d faults told, want 4: %v", n, err)
	}
}

func TestShape(t *testing.T) {
	spec := newSpec(t, "redis://h", map[string]any{"connections": 10, "pipeline": 8, "io": "epoll"})
	spec.Common.Workers = 3
	session, err := Engine{}.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	want := load.Shape{Workers: 3, InFlight: 32, Contract: load.Batched, Backend: "epoll"}
	if got := session.Shape(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// wire returns what a load would send for so many operations.
func wire(t *testing.T, target string, kind uint8, n uint32, params map[string]any) string {
	t.Helper()
	c, err := configure(newSpec(t, target, params), Engine{}.Describe())
	if err != nil {
		t.Fatal(err)
	}
	w := &worker{c: c}
	if err := w.makeRequests(0, 1); err != nil {
		t.Fatal(err)
	}
	return string(w.enc.append(nil, w.requests[kind], n))
}

func TestRequestsOnTheWire(t *testing.T) {
	base := map[string]any{"get_pattern": "sequential", "set_pattern": "sequential", "data": "constant", "value_size": 3, "key_minimum": 9, "ratio": "1:1"}
	for _, c := range []struct {
		target string
		kind   uint8
		n      uint32
		params map[string]any
		want   string
	}{
		{"redis://h", kindGet, 2, nil, "*2\r\n$3\r\nGET\r\n$9\r\nbakeoff-9\r\n*2\r\n$3\r\nGET\r\n$10\r\nbakeoff-10\r\n"},
		{"redis://h", kindSet, 1, nil, "*3\r\n$3\r\nSET\r\n$9\r\nbakeoff-9\r\n$3\r\nxxx\r\n"},
		{"redis://h", kindSet, 1, map[string]any{"expiry": "60s"}, "*5\r\n$3\r\nSET\r\n$9\r\nbakeoff-9\r\n$3\r\nxxx\r\n$2\r\nEX\r\n$2\r\n60\r\n"},
		{"redis://h", kindSet, 1, map[string]any{"expiry": "1500ms"}, "*5\r\n$3\r\nSET\r\n$9\r\nbakeoff-9\r\n$3\r\nxxx\r\n$2\r\nPX\r\n$4\r\n1500\r\n"},
		{"redis://h", kindSet, 1, map[string]any{"value_size": 0, "key_prefix": ""}, "*3\r\n$3\r\nSET\r\n$1\r\n9\r\n$0\r\n\r\n"},
		{"redis://h", kindGet, 1, map[string]any{"multi_get": 2}, "*3\r\n$4\r\nMGET\r\n$9\r\nbakeoff-9\r\n$10\r\nbakeoff-10\r\n"},
		{"redis://h", kindGet, 1, map[string]any{"key_prefix": longPath(100)}, "*2\r\n$3\r\nGET\r\n$101\r\n" + longPath(100) + "9\r\n"},
		{"redis://h", kindGet, 1, map[string]any{"key_minimum": 123456789012, "key_maximum": "200G"}, "*2\r\n$3\r\nGET\r\n$20\r\nbakeoff-123456789012\r\n"},
		{"memcache://h", kindGet, 2, nil, "get bakeoff-9\r\nget bakeoff-10\r\n"},
		{"memcache://h", kindGet, 1, map[string]any{"multi_get": 3}, "get bakeoff-9 bakeoff-10 bakeoff-11\r\n"},
		{"memcache://h", kindSet, 1, nil, "set bakeoff-9 0 0 3\r\nxxx\r\n"},
		{"memcache://h", kindSet, 1, map[string]any{"expiry": "5s"}, "set bakeoff-9 0 5 3\r\nxxx\r\n"},
		{"memcache://h", kindGet, 1, map[string]any{"protocol": "meta"}, "mg bakeoff-9 v\r\n"},
		{"memcache://h", kindSet, 1, map[string]any{"protocol": "meta", "expiry": "5s"}, "ms bakeoff-9 3 T5\r\nxxx\r\n"},
		{"memcache://h", kindGet, 2, map[string]any{"protocol": "meta-quiet"}, "mg bakeoff-9 v q\r\nmg bakeoff-10 v q\r\n"},
		{"memcache://h", kindSet, 1, map[string]any{"protocol": "meta-quiet"}, "ms bakeoff-9 3 q\r\nxxx\r\n"},
	} {
		params := map[string]any{}
		for _, m := range []map[string]any{base, c.params} {
			for k, v := range m {
				params[k] = v
			}
		}
		if got := wire(t, c.target, c.kind, c.n, params); got != c.want {
			t.Errorf("%s %v:\n got %q\nwant %q", c.target, c.params, got, c.want)
		}
	}
	got := wire(t, "redis://h", kindCommand, 1, map[string]any{"command": `EVAL "return 1" 1 a:__key__ __key__ [__data__]`,
		"set_pattern": "sequential", "data": "constant", "value_size": 3, "key_minimum": 9})
	if want := "*6\r\n$4\r\nEVAL\r\n$8\r\nreturn 1\r\n$1\r\n1\r\n$11\r\na:bakeoff-9\r\n$9\r\nbakeoff-9\r\n$5\r\n[xxx]\r\n"; got != want {
		t.Errorf("a command:\n got %q\nwant %q", got, want)
	}
}

// TestRequestsAreWellFormed reads what is sent with the parser of replies: a
// RESP command is an array as a reply is.
func TestRequestsAreWellFormed(t *testing.T) {
	clock := newClock(t)
	rapid.Check(t, func(rt *rapid.T) {
		prefix := rapid.StringMatching(`[a-z:]{0,70}`).Draw(rt, "prefix")
		low := rapid.Int64Range(0, 1<<40).Draw(rt, "low")
		multi := rapid.IntRange(1, 5).Draw(rt, "multi")
		params := map[string]any{
			"key_prefix": prefix, "key_minimum": low, "key_maximum": low + rapid.Int64Range(0, 1<<30).Draw(rt, "span"),
			"multi_get": multi, "value_size": rapid.SampledFrom([]string{"0", "1-300", "5:1,1000:2"}).Draw(rt, "size"), "ratio": "1:1",
		}
		c, err := configure(load.Spec{Target: "redis://h", Parameters: params, Clock: clock}, Engine{}.Describe())
		if err != nil {
			rt.Fatal(err)
		}
		w := &worker{c: c}
		if err := w.makeRequests(0, 1); err != nil {
			rt.Fatal(err)
		}
		n := rapid.Uint32Range(1, 20).Draw(rt, "n")
		for kind, items := range map[uint8]uint32{kindGet: uint32(multi) + 1, kindSet: 3} {
			got, err := readAll(newRESP(nil), w.enc.append(nil, w.requests[kind], n), nil)
			if err != nil || len(got) != int(n) {
				rt.Fatalf("kind %d: %d commands, want %d: %v", kind, len(got), n, err)
			}
			for _, g := range got {
				if g.form != formValues || g.items != items {
					rt.Fatalf("kind %d: %+v, want %d items", kind, g, items)
				}
			}
		}
	})
}

func TestExpiryRange(t *testing.T) {
	e, err := parseExpiry("10s - 1m")
	if err != nil || e.low != 10*time.Second || e.high != time.Minute {
		t.Errorf("got %v, %v", e, err)
	}
}
