package http

import (
	"context"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"bakeoff/engine/http/server"
	"bakeoff/load"
	"bakeoff/load/loadtest"
	"bakeoff/record"
)

// embedded starts the embedded server and returns its targets: plain, TLS, and
// by a Unix socket.
func embedded(t *testing.T) (plain, secure, unix string) {
	t.Helper()
	ready := make(chan []string, 1)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	socket := filepath.Join(t.TempDir(), "web.sock")
	go func() {
		ended <- server.Serve(ctx, server.Config{
			Listen: []string{"http://127.0.0.1:0", "https://127.0.0.1:0", "http+unix://" + socket},
			Ready:  func(targets []string) { ready <- targets },
		})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case all := <-ready:
		return all[0], all[1], all[2]
	case err := <-ended:
		ended <- err
		t.Fatal(err)
	}
	return "", "", ""
}

// nginx starts a real nginx on a free port, with the files given.
func nginx(t *testing.T, files map[string]string) (target string) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs nginx")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil { // its worker gives up root
		t.Fatal(err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	conf := filepath.Join(dir, "nginx.conf")
	text := `daemon off; error_log stderr crit; pid ` + dir + `/pid; worker_processes 1; ` + userLine() + ` events { worker_connections 256; }
http { access_log off; client_body_temp_path ` + dir + `; proxy_temp_path ` + dir + `; fastcgi_temp_path ` + dir + `; uwsgi_temp_path ` + dir + `; scgi_temp_path ` + dir + `;
server { listen ` + address + `; root ` + dir + `; location /limit { return 503; } } }`
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	path, err := exec.LookPath("nginx")
	if err != nil {
		path = "/usr/sbin/nginx"
	}
	cmd := exec.Command(path, "-c", conf, "-p", dir)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatalf("starting nginx: %v (this test needs it)", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	await(t, address)
	return "http://" + address
}

// userLine keeps the worker of an nginx that root started able to read the files.
func userLine() string {
	if os.Getuid() == 0 {
		return "user root;"
	}
	return ""
}

func await(t *testing.T, address string) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); ; {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("nothing listens on %s: %v", address, err)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// TestConformance is the suite that every engine passes.
func TestConformance(t *testing.T) {
	plain, secure, unix := embedded(t)
	real := nginx(t, map[string]string{"a": "alpha", "b": strings.Repeat("b", 300_000)})
	loadtest.Run(t, Engine{},
		load.Spec{Target: plain + "/1K", Parameters: map[string]any{"connections": 4}},
		load.Spec{Target: unix, Parameters: map[string]any{"connections": 4, "requests": []any{"/10", "HEAD /1K 2", "POST /echo"}, "body_size": 100, "io": "epoll"}, Common: load.Common{Workers: 2}},
		load.Spec{Target: real, Parameters: map[string]any{"connections": 3, "pipeline": 4, "requests": []any{"/a", "/b"}, "order": "sequential", "verify": true}},
		load.Spec{Target: secure, Parameters: map[string]any{"connections": 2, "tls_insecure": true, "verify": true}},
	)
}

func TestConformanceOnTargetsThatFail(t *testing.T) {
	t.Run("silent", func(t *testing.T) {
		loadtest.Silent(t, Engine{}, load.Spec{Target: "http://" + loadtest.SilentTarget(t), Parameters: map[string]any{"requests": []any{"POST /"}, "connections": 3}})
	})
	t.Run("refused", func(t *testing.T) {
		loadtest.Refused(t, Engine{}, load.Spec{Target: "http://" + loadtest.ClosedTarget(t)})
	})
	t.Run("dies", func(t *testing.T) {
		s := httptest.NewServer(nethttp.HandlerFunc(func(nethttp.ResponseWriter, *nethttp.Request) {}))
		loadtest.Dies(t, Engine{}, load.Spec{Target: s.URL, Parameters: map[string]any{"connections": 3}},
			func() { s.CloseClientConnections(); s.Close() })
	})
}

// measure runs a load once and returns what it did.
func measure(t *testing.T, target string, parameters map[string]any, common load.Common) record.Load {
	t.Helper()
	if common.Window == 0 {
		common.Window = 300 * time.Millisecond
	}
	spec := load.Spec{Workload: "w", Part: load.Source, Engine: "http", Target: target, Parameters: parameters, Seed: 1, Common: common}
	return loadtest.Measure(t, Engine{}, spec).Load
}

func TestServersThatCloseConnections(t *testing.T) {
	_, secure, _ := embedded(t)
	closing := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		w.Header().Set("Connection", "close")
		_, _ = w.Write([]byte("bye"))
	}))
	defer closing.Close()
	endless := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		conn, _, err := w.(nethttp.Hijacker).Hijack()
		if err == nil {
			_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\n\r\nuntil the end"))
			_ = conn.Close()
		}
	}))
	defer endless.Close()
	for name, c := range map[string]struct {
		target     string
		parameters map[string]any
	}{
		"by header":          {closing.URL, nil},
		"without a length":   {endless.URL, nil},
		"asked for":          {closing.URL, map[string]any{"connection_requests": 1}},
		"asked for, TLS 1.2": {secure, map[string]any{"connection_requests": 1, "tls_insecure": true, "tls_version": "1.2"}},
		"asked for, TLS 1.3": {secure, map[string]any{"connection_requests": 1, "tls_insecure": true, "tls_version": "1.3"}},
		"every third":        {secure, map[string]any{"connection_requests": 3, "tls_insecure": true}},
	} {
		t.Run(name, func(t *testing.T) {
			p := map[string]any{"connections": 2}
			for k, v := range c.parameters {
				p[k] = v
			}
			l := measure(t, c.target, p, load.Common{})
			if l.Ledger.Completed == 0 || l.Ledger.Failed+l.Ledger.TimedOut > 0 {
				t.Errorf("ledger %+v, errors %+v: expected no failure", l.Ledger, l.Errors)
			}
		})
	}
}

// TestHandshakesAreCounted: full ones and those of sessions that are resumed.
func TestHandshakesAreCounted(t *testing.T) {
	_, secure, _ := embedded(t)
	for _, version := range []string{"1.2", "1.3"} {
		for _, resume := range []bool{true, false} {
			l := measure(t, secure, map[string]any{"connections": 2, "connection_requests": 1, "tls_insecure": true, "tls_version": version, "tls_resume": resume}, load.Common{})
			got := map[string]float64{}
			for _, c := range l.Counters {
				got[c.Name] = c.Close - c.Open
			}
			if got["tls_handshakes"] == 0 || (got["tls_resumed"] > 0) != resume {
				t.Errorf("TLS %s, resumed %t: counters %v", version, resume, got)
			}
			if l.Generator.UserSeconds+l.Generator.SystemSeconds == 0 {
				t.Error("the handshakes cost no CPU")
			}
		}
	}
}

// TestBytesAreCounted compares with what is known of the answers.
func TestBytesAreCounted(t *testing.T) {
	plain, _, _ := embedded(t)
	l := measure(t, plain+"/100K", map[string]any{"connections": 3, "verify": true}, load.Common{})
	k := l.Kinds[0]
	if per := k.BytesIn / k.Completed; per < 100<<10 || per > 101<<10 {
		t.Errorf("%d bytes in an answer of 100 KiB", per)
	}
	if l.DataSet == nil || l.DataSet.Bytes != 100<<10 || l.DataSet.Items != 1 {
		t.Errorf("data set %+v", l.DataSet)
	}
}

// TestWeights: requests come as often as they weigh.
func TestWeights(t *testing.T) {
	plain, _, _ := embedded(t)
	l := measure(t, plain, map[string]any{"connections": 4, "requests": []any{"GET /1 3", "HEAD /1 1"}}, load.Common{})
	gets, heads := float64(l.Kinds[0].Completed), float64(l.Kinds[1].Completed)
	if share := gets / (gets + heads); share < 0.7 || share > 0.8 {
		t.Errorf("%.0f gets and %.0f heads: expected three to one", gets, heads)
	}
}

func TestPrepareRefusesWhatIsNotThere(t *testing.T) {
	real := nginx(t, map[string]string{"a": "alpha"})
	spec := load.Spec{Workload: "w", Part: load.Source, Engine: "http", Target: real, Parameters: map[string]any{"requests": []any{"/a", "/nothing"}}, Seed: 1, Common: load.Common{Window: time.Second}}
	r, err := load.Open(t.Context(), Engine{}, spec, load.Env{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Prepare(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "/nothing is answered with status 404") {
		t.Errorf("found %v, expected an error that names the path and the status", err)
	}
}

// TestPrepareKnowsTLS: web servers answer one who speaks in the clear on a port for
// TLS in words, other servers with an alert.
func TestPrepareKnowsTLS(t *testing.T) {
	s := httptest.NewTLSServer(nethttp.NotFoundHandler())
	defer s.Close()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("\x15\x03\x01\x00\x02\x02\x46"))
			_ = conn.Close()
		}
	}()
	for _, target := range []string{strings.Replace(s.URL, "https", "http", 1), "http://" + ln.Addr().String()} {
		r, err := load.Open(t.Context(), Engine{}, load.Spec{Workload: "w", Part: load.Source, Engine: "http", Target: target, Seed: 1, Common: load.Common{Window: time.Second}}, load.Env{})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if _, err := r.Prepare(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "write https://") {
			t.Errorf("found %v, expected advice to write https://", err)
		}
	}
}

func TestFingerprintTellsContentApart(t *testing.T) {
	prints := map[string]bool{}
	for _, content := range []string{"alpha", "alphA"} {
		real := nginx(t, map[string]string{"a": content})
		l := measure(t, real+"/a", map[string]any{"connections": 1}, load.Common{Window: 50 * time.Millisecond})
		prints[l.DataSet.Fingerprint] = true
	}
	if len(prints) != 2 {
		t.Errorf("fingerprints %v: expected one a content", prints)
	}
}

func TestManyRequestsFromAFile(t *testing.T) {
	plain, _, _ := embedded(t)
	var text strings.Builder
	text.WriteString("# sizes\n\n")
	for i := range 3000 {
		text.WriteString("/" + strconv.Itoa(i) + "\n")
	}
	file := filepath.Join(t.TempDir(), "requests")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	l := measure(t, plain, map[string]any{"connections": 4, "requests_file": file, "order": "sequential"}, load.Common{Workers: 2})
	if l.DataSet.Items != 3000 || l.DataSet.Bytes != 2999*3000/2 || l.Ledger.Failed > 0 {
		t.Errorf("data set %+v, ledger %+v", l.DataSet, l.Ledger)
	}
}
