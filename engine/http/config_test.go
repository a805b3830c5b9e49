package http

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bakeoff/load"
)

func TestBadParameters(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, []byte("# nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const target = "http://127.0.0.1:80"
	for name, c := range map[string]struct {
		target     string
		parameters map[string]any
		want       string
	}{
		"no target":        {"", nil, "expected http://HOST:PORT"},
		"scheme":           {"htp://x", nil, "unknown scheme"},
		"user":             {"http://u:p@x", nil, "Authorization header"},
		"port":             {"http://x:99999", nil, "expected 1 to 65535"},
		"no host":          {"http:///x", nil, "names no host"},
		"fragment":         {"http://x/#a", nil, "never sees"},
		"socket":           {"http+unix://x/y", nil, "three slashes"},
		"socket option":    {"http+unix:///x?y=1", nil, "expected only path"},
		"path":             {target, map[string]any{"requests": []any{"index.html"}}, "begins with a slash"},
		"path encoding":    {target, map[string]any{"requests": []any{"/ä"}}, "percent-encoding"},
		"method":           {target, map[string]any{"requests": []any{"BREW /pot"}}, "expected one of GET"},
		"weight":           {target, map[string]any{"requests": []any{"/a -1"}}, "weight"},
		"no requests":      {target, map[string]any{"requests": []any{}}, "at least one path"},
		"empty file":       {target, map[string]any{"requests_file": empty}, "holds no request"},
		"both":             {target, map[string]any{"requests_file": empty, "requests": []any{"/"}}, "exclude one another"},
		"no file":          {target, map[string]any{"requests_file": empty + "x"}, "no such file"},
		"header":           {target, map[string]any{"headers": []any{"no colon"}}, "Name: value"},
		"header injection": {target, map[string]any{"headers": []any{"A: b\r\nC: d"}}, "one line"},
		"own header":       {target, map[string]any{"headers": []any{"Content-Length: 3"}}, "sends"},
		"body unused":      {target, map[string]any{"body_size": "1K"}, "no request that sends one"},
		"body twice":       {target, map[string]any{"body_size": "1K", "body_file": empty}, "exclude one another"},
		"huge body":        {target, map[string]any{"body_size": "1G", "requests": []any{"POST /"}}, "at most 64 MiB"},
		"status":           {target, map[string]any{"status": []any{"20x"}}, "expected a final status"},
		"status class":     {target, map[string]any{"status": []any{"1xx"}}, "expected a final status"},
		"connections":      {target, map[string]any{"connections": 0}, "expected 1 to"},
		"verify any":       {target, map[string]any{"verify": true, "length": "any"}, "leave out one"},
		"TLS":              {target, map[string]any{"tls_insecure": true}, "https://"},
		"TLS version":      {target, map[string]any{"tls_version": "1.2"}, "https://"},
		"discard, verify":  {target, map[string]any{"verify": true, "discard": true}, "nothing to verify"},
		"discard, TLS":     {"https://127.0.0.1", map[string]any{"discard": true}, "in the clear over TCP"},
		"discard, Unix":    {"http+unix:///s", map[string]any{"discard": true}, "in the clear over TCP"},
		"discard, gather":  {target, map[string]any{"gather": 8, "discard": true}, "leave out discard"},
		"gather":           {target, map[string]any{"gather": 26}, "up to 25"},
		"buffer":           {target, map[string]any{"receive_buffer": "1"}, "expected 1K to 1M"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := configure(load.Spec{Target: c.target, Parameters: c.parameters}, Engine{}.Describe())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("found error %v, expected one with %q", err, c.want)
			}
		})
	}
}

func TestRequestBytes(t *testing.T) {
	for name, c := range map[string]struct {
		target     string
		parameters map[string]any
		want       string
	}{
		"of the target": {"http://h:81/a?b=c", nil, "GET /a?b=c HTTP/1.1\r\nHost: h:81\r\n\r\n"},
		"IPv6":          {"http://[::1]:81", nil, "GET / HTTP/1.1\r\nHost: [::1]:81\r\n\r\n"},
		"headers":       {"http://h", map[string]any{"headers": []any{"Host: other", "X: y"}}, "GET / HTTP/1.1\r\nHost: other\r\nX: y\r\n\r\n"},
		"closing":       {"http://h", map[string]any{"connection_requests": 1}, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"},
		"body":          {"http://h", map[string]any{"requests": []any{"post /p"}, "body_size": 3}, "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nxxx"},
		"empty body":    {"http://h", map[string]any{"requests": []any{"PUT /p"}}, "PUT /p HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"},
		"socket":        {"http+unix:///run/s?path=/x", nil, "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := configure(load.Spec{Target: c.target, Parameters: c.parameters}, Engine{}.Describe())
			if err != nil {
				t.Fatal(err)
			}
			if got := string(cfg.requests[0].bytes); got != c.want {
				t.Errorf("found %q, expected %q", got, c.want)
			}
		})
	}
}

func FuzzParseRequest(f *testing.F) {
	for _, s := range []string{"/", "GET /a 3", "POST /", "  ", "get", "/ä", "HEAD / x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		r, err := parseRequest(line)
		if err == nil && (!strings.HasPrefix(r.path, "/") || strings.ContainsAny(r.path, " \r\n") || r.weight <= 0) {
			t.Errorf("%q was read as %+v", line, r)
		}
	})
}

func FuzzTarget(f *testing.F) {
	for _, s := range []string{"http://h:1/p?q", "https://[::1]", "http+unix:///s?path=/p", "http://", "::", "http://u@h"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, err := parseTarget(s); err == nil && (got.address == "" || !strings.HasPrefix(got.path, "/")) {
			t.Errorf("%q was read as %+v", s, got)
		}
	})
}

// TestFromWrkNamesRealFlags checks the middle column of the table in
// docs/from-wrk.md: every flag there exists.
func TestFromWrkNamesRealFlags(t *testing.T) {
	text, err := os.ReadFile("../../docs/from-wrk.md")
	if err != nil {
		t.Fatal(err)
	}
	flags := []string{"target", "workers", "rate", "quantum", "arrival", "warmup", "window", "op-timeout", "hdr", "hgrm"}
	for _, p := range parameters() {
		flags = append(flags, strings.ReplaceAll(p.Name, "_", "-"))
	}
	checked := 0
	for _, m := range regexp.MustCompile("`[^`]*--([a-z][a-z-]*)").FindAllStringSubmatch(string(text), -1) {
		checked++
		if m[1] != "latency" && m[1] != "timeout" && !slices.Contains(flags, m[1]) {
			t.Errorf("there is no flag --%s", m[1])
		}
	}
	if checked < 15 {
		t.Errorf("found only %d flags: the text is not what it was", checked)
	}
}
