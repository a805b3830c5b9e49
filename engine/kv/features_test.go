package kv

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"bakeoff/load"
)

func client(t *testing.T, target string) *goredis.Client {
	t.Helper()
	opts, err := goredis.ParseURL(target)
	if err != nil {
		t.Fatal(err)
	}
	opts.DisableIdentity = true
	c := goredis.NewClient(opts)
	t.Cleanup(func() { c.Close() })
	return c
}

func TestPreloadSetsEveryKey(t *testing.T) {
	_, tcp, _ := startRedis(t)
	spec := newSpec(t, tcp, map[string]any{"key_minimum": 7, "key_maximum": 2106, "key_prefix": "p:", "value_size": "10-50"})
	session, err := Engine{}.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	set, err := session.Prepare(t.Context(), func(float64) {})
	if err != nil {
		t.Fatal(err)
	}
	keyBytes := 2*2100 + 3 + 90*2 + 900*3 + 1107*4
	if set.Items != 2100 || set.Prepared != "loaded" || set.Bytes != uint64(keyBytes+2100*30) || set.Seconds <= 0 {
		t.Errorf("described as %+v", set)
	}
	c := client(t, tcp)
	data := describeData(t, "10-50")
	if n := c.DBSize(t.Context()).Val(); n != 2100 {
		t.Errorf("the target holds %d keys, want 2100", n)
	}
	for _, key := range []uint64{0, 1, 2099} {
		got := c.Get(t.Context(), fmt.Sprintf("p:%d", 7+key)).Val()
		want := make([]byte, len(got))
		data.fill(want, key)
		if got != string(want) || len(got) < 10 || len(got) > 50 {
			t.Errorf("key %d holds %q, want %q", key, got, want)
		}
	}
	// The same definition has the same fingerprint whatever the seed; another one has another.
	spec.Seed = 99
	if other := describe(t, spec); other.Fingerprint != set.Fingerprint || other.Prepared != "kept" {
		t.Errorf("another seed: %+v", other)
	}
	spec.Parameters["value_size"] = "10-51"
	if session, err := (Engine{}).Open(t.Context(), spec); err != nil {
		t.Fatal(err)
	} else if _, err := session.(load.Fingerprinter).Fingerprint(t.Context()); err == nil || !strings.Contains(err.Error(), "another data set") {
		t.Errorf("other values were taken for the data set: %v", err)
	}
}

func describe(t *testing.T, spec load.Spec) (set struct{ Fingerprint, Prepared string }) {
	t.Helper()
	session, err := Engine{}.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	d, err := session.(load.Fingerprinter).Fingerprint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	set.Fingerprint, set.Prepared = d.Fingerprint, d.Prepared
	return set
}

func TestMissesAreCounted(t *testing.T) {
	_, tcp, _ := startRedis(t)
	_, mc := startMemcached(t)
	for _, c := range []struct {
		target, protocol string
		multi            int
	}{{tcp, "resp2", 1}, {tcp, "resp3", 1}, {tcp, "resp2", 5}, {tcp, "resp3", 5}, {mc, "text", 1}, {mc, "text", 5}, {mc, "meta", 1}, {mc, "meta-quiet", 1}} {
		t.Run(fmt.Sprint(c.protocol, c.multi), func(t *testing.T) {
			params := map[string]any{"key_maximum": 100, "key_prefix": c.protocol, "connections": 3, "pipeline": 4}
			fill := newSpec(t, c.target, params)
			if session, err := (Engine{}).Open(t.Context(), fill); err != nil {
				t.Fatal(err)
			} else if _, err := session.Prepare(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			params = map[string]any{"key_maximum": 200, "key_prefix": c.protocol, "connections": 3, "pipeline": 4, "ratio": "0:1",
				"preload": "none", "protocol": c.protocol, "multi_get": c.multi}
			ta := drive(t, newSpec(t, c.target, params), 4000, nil)
			ta.expect(t, "get ok", "get miss")
			all := float64(ta.done["get ok"] + ta.done["get miss"])
			if found := float64(ta.items) / all / float64(c.multi); found < 0.45 || found > 0.55 {
				t.Errorf("%.3f of the keys were found, want half", found)
			}
		})
	}
}

func TestMultiGet(t *testing.T) {
	_, tcp, _ := startRedis(t)
	_, mc := startMemcached(t)
	for _, target := range []string{tcp, mc} {
		for _, verify := range []bool{false, true} {
			ta := drive(t, newSpec(t, target, map[string]any{"multi_get": 48, "ratio": "0:1", "key_maximum": 500, "verify": verify}), 500, nil)
			ta.expect(t, "get ok")
			if ta.items != 48*ta.done["get ok"] {
				t.Errorf("%s: %d values in %d gets of 48", target, ta.items, ta.done["get ok"])
			}
		}
	}
}

func TestBytesAreThoseOfTheWire(t *testing.T) {
	_, tcp, _ := startRedis(t)
	ta := drive(t, newSpec(t, tcp, map[string]any{"ratio": "0:1", "key_minimum": 10000, "key_maximum": 20000, "value_size": 100, "pipeline": 7}), 1000, nil)
	n := ta.done["get ok"]
	request, reply := uint64(len("*2\r\n$3\r\nGET\r\n$13\r\nbakeoff-12345\r\n")), uint64(len("$100\r\n")+102)
	if ta.out != n*request || ta.in != n*reply {
		t.Errorf("%d gets sent %d and received %d bytes, want %d and %d", n, ta.out, ta.in, n*request, n*reply)
	}
}

func TestLargeValues(t *testing.T) {
	_, tcp, unix := startRedis(t)
	_, mc := startMemcached(t)
	for _, target := range []string{tcp, unix, mc} {
		for _, io := range []string{"io_uring", "epoll"} {
			for _, size := range []string{"4K", "300000", "1-200K"} {
				ta := drive(t, newSpec(t, target, map[string]any{"value_size": size, "key_maximum": 20, "connections": 3, "pipeline": 5,
					"ratio": "1:1", "verify": true, "io": io}), 300, nil)
				ta.expect(t, "get ok", "set ok")
			}
		}
	}
}

func TestVerifyFindsWrongValues(t *testing.T) {
	_, tcp, _ := startRedis(t)
	spec := newSpec(t, tcp, map[string]any{"ratio": "0:1", "key_maximum": 50, "verify": true, "preload": "keep", "pipeline": 3})
	fill := spec
	fill.Parameters = map[string]any{"key_maximum": 50}
	session, err := Engine{}.Open(t.Context(), fill)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.Prepare(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	drive(t, spec, 500, nil).expect(t, "get ok")
	session, err = Engine{}.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if err := session.(load.Verifier).Verify(t.Context()); err != nil {
		t.Errorf("good data: %v", err)
	}
	c := client(t, tcp)
	c.SetRange(t.Context(), "bakeoff-7", 31, "!")
	ta := driveSession(t, session, spec, 2000, nil)
	ta.expect(t, "get ok", "get failed")
	for text := range ta.errs {
		if !strings.Contains(text, "bakeoff-7 differs") {
			t.Errorf("error %q", text)
		}
	}
	if err := session.(load.Verifier).Verify(t.Context()); err == nil || !strings.Contains(err.Error(), "bakeoff-7") {
		t.Errorf("a changed byte: %v", err)
	}
	c.Del(t.Context(), "bakeoff-7")
	if err := session.(load.Verifier).Verify(t.Context()); err == nil || !strings.Contains(err.Error(), "1 of 50 sampled keys are missing") {
		t.Errorf("a missing key: %v", err)
	}
}

func TestKeepWantsTheData(t *testing.T) {
	_, tcp, _ := startRedis(t)
	session, err := Engine{}.Open(t.Context(), newSpec(t, tcp, map[string]any{"preload": "keep"}))
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if _, err := session.Prepare(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "preload all") {
		t.Errorf("an empty target: %v", err)
	}
}

func TestFlush(t *testing.T) {
	_, tcp, _ := startRedis(t)
	c := client(t, tcp)
	c.Set(t.Context(), "old", "1", 0)
	drive(t, newSpec(t, tcp, map[string]any{"flush": true, "key_maximum": 10}), 10, nil)
	if n := c.DBSize(t.Context()).Val(); n != 10 {
		t.Errorf("%d keys, want 10", n)
	}
}

func TestExpiry(t *testing.T) {
	_, tcp, _ := startRedis(t)
	c := client(t, tcp)
	for expiry, within := range map[string][2]time.Duration{
		"100s": {99 * time.Second, 100 * time.Second}, "50s-60s": {49 * time.Second, 60 * time.Second}, "90500ms": {89 * time.Second, 90500 * time.Millisecond},
	} {
		ta := drive(t, newSpec(t, tcp, map[string]any{"expiry": expiry, "key_maximum": 1, "ratio": "1:0"}), 10, nil)
		ta.expect(t, "set ok")
		if ttl := c.PTTL(t.Context(), "bakeoff-1").Val(); ttl < within[0] || ttl > within[1] {
			t.Errorf("expiry %s: the key lives for %v", expiry, ttl)
		}
	}
	_, mc := startMemcached(t)
	for _, protocol := range []string{"text", "meta", "meta-quiet"} {
		drive(t, newSpec(t, mc, map[string]any{"expiry": "1s", "key_maximum": 1, "ratio": "1:0", "protocol": protocol, "pipeline": 3}), 10, nil).expect(t, "set ok")
	}
}

func TestCommand(t *testing.T) {
	_, tcp, _ := startRedis(t)
	ta := drive(t, newSpec(t, tcp, map[string]any{"command": "HSET h:__key__:x 'the field' <__data__>", "preload": "none", "key_maximum": 5, "pipeline": 4}), 200, nil)
	ta.expect(t, "command ok")
	c := client(t, tcp)
	want := make([]byte, 32)
	data := describeData(t, "32")
	data.fill(want, 2)
	if got := c.HGet(t.Context(), "h:bakeoff-3:x", "the field").Val(); got != "<"+string(want)+">" {
		t.Errorf("got %q, want <%q>", got, want)
	}
	drive(t, newSpec(t, tcp, map[string]any{"command": "HGETALL h:__key__:x", "preload": "none", "key_maximum": 10}), 500, nil).expect(t, "command ok", "command miss")
	drive(t, newSpec(t, tcp, map[string]any{"command": "PING", "preload": "none"}), 100, nil).expect(t, "command ok")
	drive(t, newSpec(t, tcp, map[string]any{"command": "MSET __key__ a __key__ b", "preload": "none"}), 100, nil).expect(t, "command ok")
	ta = drive(t, newSpec(t, tcp, map[string]any{"command": "NOSUCH __key__", "preload": "none"}), 100, nil)
	ta.expect(t, "command failed")
}

func describeData(t *testing.T, text string) dataSpec {
	t.Helper()
	sizes, err := parseSizes(text)
	if err != nil {
		t.Fatal(err)
	}
	return dataSpec{sizes: sizes, random: true}
}

func TestSelect(t *testing.T) {
	_, tcp, unix := startRedis(t)
	for i, target := range []string{tcp + "/3", unix + "?db=4"} {
		drive(t, newSpec(t, target, map[string]any{"key_maximum": 10 + i}), 10, nil)
	}
	for db, want := range map[string]int64{"/0": 0, "/3": 10, "/4": 11} {
		if n := client(t, tcp+db).DBSize(t.Context()).Val(); n != want {
			t.Errorf("database %s holds %d keys, want %d", db, n, want)
		}
	}
}

func TestAuth(t *testing.T) {
	_, tcp, _ := startRedis(t, "--requirepass", "sesame", "--user", "ann", "on", ">pw", "~*", "+@all")
	for _, protocol := range []string{"resp2", "resp3"} {
		for _, secret := range []map[string]string{{"password": "sesame"}, {"username": "ann", "password": "pw"}} {
			spec := newSpec(t, tcp, map[string]any{"protocol": protocol, "key_maximum": 10})
			spec.Secrets = secret
			drive(t, spec, 100, nil).expect(t, "get ok", "set ok")
		}
		for _, secret := range []map[string]string{nil, {"password": "wrong"}} {
			spec := newSpec(t, tcp, map[string]any{"protocol": protocol})
			spec.Secrets = secret
			session, err := Engine{}.Open(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			if _, err = session.Prepare(t.Context(), nil); err == nil || strings.Contains(err.Error(), "wrong") ||
				!strings.Contains(err.Error(), "WRONGPASS") && !strings.Contains(err.Error(), "NOAUTH") {
				t.Errorf("%s with %v: %v", protocol, secret, err)
			}
		}
	}
}

func TestMemcachedAuth(t *testing.T) {
	file := filepath.Join(t.TempDir(), "auth")
	if err := os.WriteFile(file, []byte("ann:pw\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, mc := startMemcached(t, "-Y", file, "-u", "root")
	spec := newSpec(t, mc, map[string]any{"key_maximum": 10})
	spec.Secrets = map[string]string{"username": "ann", "password": "pw"}
	drive(t, spec, 100, nil).expect(t, "get ok", "set ok")
	spec.Secrets["password"] = "no"
	session, err := Engine{}.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.Prepare(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "authentication failure") {
		t.Errorf("a wrong password: %v", err)
	}
}

// certificate makes a certificate for 127.0.0.1 that is its own authority.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, tpl, tpl, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func TestTLS(t *testing.T) {
	cert, key := certificate(t)
	port := freePort(t)
	startRedis(t, "--tls-port", fmt.Sprint(port), "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert)
	target := fmt.Sprintf("rediss://127.0.0.1:%d", port)
	client := map[string]any{"tls_ca": cert, "tls_cert": cert, "tls_key": key, "key_maximum": 100}
	for _, extra := range []map[string]any{
		{"pipeline": 1}, {"pipeline": 16, "io": "epoll"}, {"pipeline": 4, "value_size": "40000", "verify": true, "ratio": "1:1"}, {"reconnect_every": 50},
	} {
		params := map[string]any{"connections": 3}
		for _, m := range []map[string]any{client, extra} {
			for k, v := range m {
				params[k] = v
			}
		}
		drive(t, newSpec(t, target, params), 500, nil).expect(t, "get ok", "set ok")
	}
	session, err := Engine{}.Open(t.Context(), newSpec(t, target, map[string]any{"tls_cert": cert, "tls_key": key}))
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if !strings.Contains(session.Shape().Backend, "TLS") {
		t.Errorf("the backend is called %q", session.Shape().Backend)
	}
	if _, err := session.Prepare(context.Background(), nil); err == nil || !strings.Contains(err.Error(), "tls_ca") {
		t.Errorf("an unknown authority: %v", err)
	}
}

func TestSnapshotHasTheTargetsCounters(t *testing.T) {
	_, tcp, _ := startRedis(t)
	_, mc := startMemcached(t)
	for target, want := range map[string]string{tcp: "target.keyspace_hits", mc: "target.get_hits"} {
		spec := newSpec(t, target, map[string]any{"key_maximum": 10, "ratio": "0:1"})
		session, err := Engine{}.Open(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		if _, err := session.Prepare(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		before := counter(t, session, want)
		ta := driveSession(t, session, spec, 100, nil)
		if got := counter(t, session, want) - before; got != float64(ta.done["get ok"]) {
			t.Errorf("%s grew by %g, want %d", want, got, ta.done["get ok"])
		}
	}
}

func counter(t *testing.T, s load.Session, name string) float64 {
	t.Helper()
	counts, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range counts {
		if c.Name == name {
			return c.Value
		}
	}
	t.Fatalf("no counter %s in %v", name, counts)
	return 0
}
