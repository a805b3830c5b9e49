package loadtest_test

import (
	"context"
	"errors"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"bakeoff/load"
	"bakeoff/load/gen"
	"bakeoff/load/loadtest"
	"bakeoff/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client is an engine on a client library that anybody would take from the
// shelf: a blocking call an operation, a goroutine a virtual user. It checks that
// the blocking contract carries such libraries.
type client struct{}

const (
	get = iota
	set
)

func (client) Name() string { return "go-redis" }

func (client) Describe() load.Description {
	return load.Description{
		Summary: "Redis through its Go client library.",
		Kinds:   []string{"get", "set"},
		Parameters: []load.Parameter{
			{Name: "keys", Type: load.TypeInt, Default: "1000", Doc: "number of keys"},
			{Name: "sets", Type: load.TypePercent, Default: "10%", Doc: "of the operations are sets"},
			{Name: "preload", Type: load.TypeBool, Default: "true", Doc: "write all keys first"},
		},
	}
}

func (c client) Open(_ context.Context, spec load.Spec) (load.Session, error) {
	p, err := load.ReadParams(c.Name(), c.Describe(), spec.Parameters)
	if err != nil {
		return nil, err
	}
	return &clientSession{spec: spec, keys: uint64(p.Int("keys")), sets: p.Percent("sets"), preload: p.Bool("preload")}, nil
}

type clientSession struct {
	spec    load.Spec
	keys    uint64
	sets    float64
	preload bool
}

func (s *clientSession) Shape() load.Shape {
	return load.Shape{Workers: max(s.spec.Common.Workers, 1), InFlight: 1, Contract: load.Blocking, Backend: "blocking"}
}

// connect returns a client that one user uses. Its pool is larger than the one
// connection that takes, since a pool that fails to dial as often as it has room
// goes on dialling in the background.
func (s *clientSession) connect() *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: s.spec.Target, Protocol: 2, PoolSize: 8, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true, DisableIdentity: true,
		DialTimeout: s.spec.Common.OpTimeout, ReadTimeout: s.spec.Common.OpTimeout, WriteTimeout: s.spec.Common.OpTimeout,
	})
}

func (s *clientSession) Prepare(ctx context.Context, progress func(float64)) (_ *record.DataSet, err error) {
	if !s.preload {
		return nil, nil
	}
	c := s.connect()
	defer func() { err = errors.Join(err, c.Close()) }()
	for k := range s.keys {
		if err := c.Set(ctx, name(k), "value", 0).Err(); err != nil {
			return nil, err
		}
	}
	progress(1)
	return &record.DataSet{Items: s.keys, Bytes: s.keys * 5}, nil
}

func (s *clientSession) Worker(ctx context.Context, i, n int) (load.Worker, error) {
	c := s.connect()
	if s.preload {
		if err := c.Ping(ctx).Err(); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	stream := gen.Stream{Instance: uint8(s.spec.Instance), Worker: uint16(i), Purpose: gen.PurposeKeys}
	keys, err := gen.NewKeys(gen.KeySpec{Pattern: gen.Uniform, Count: s.keys, Worker: i, Workers: n}, gen.NewRand(s.spec.Seed, stream))
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	stream.Purpose = gen.PurposeMix
	return &clientUser{s: s, client: c, keys: keys, mix: gen.NewRand(s.spec.Seed, stream)}, nil
}

func (s *clientSession) Snapshot(context.Context) ([]load.Count, error) { return nil, nil }

func (s *clientSession) Close() error { return nil }

type clientUser struct {
	s      *clientSession
	client *redis.Client
	keys   gen.Keys
	mix    *gen.Rand
}

func name(k uint64) string { return "key:" + strconv.FormatUint(k, 10) }

// Do does one get or set. What the server answers with is the operation's
// failure; what the network does, the user's.
func (u *clientUser) Do(ctx context.Context, op *load.Op) error {
	key := name(u.keys.Next())
	op.Items, op.BytesOut = 1, uint64(len(key))
	var err error
	if op.Kind = get; u.mix.Float() < u.s.sets {
		op.Kind = set
		err = u.client.Set(ctx, key, "value", 0).Err()
	} else {
		var v []byte
		v, err = u.client.Get(ctx, key).Bytes()
		op.BytesIn = uint64(len(v))
	}
	var refused redis.Error
	var network net.Error
	switch {
	case errors.Is(err, redis.Nil):
		op.Status = load.Miss
	case errors.As(err, &refused):
		op.Status, op.Err = load.Failed, err
	case errors.As(err, &network) && network.Timeout():
		op.Status, op.Err = load.TimedOut, err
	default:
		return err
	}
	return nil
}

func (u *clientUser) Close() error { return u.client.Close() }

// server starts a redis-server of the test's own and returns its address and how
// to kill it.
func server(t *testing.T) (addr string, kill func()) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a redis-server")
	}
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal("redis-server is needed: apt-get install redis-server")
	}
	addr = loadtest.ClosedTarget(t)
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.Command(path, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
		"--dir", dir, "--logfile", filepath.Join(dir, "redis.log"), "--daemonize", "no")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() { _ = cmd.Process.Kill() } // it may be dead already
	t.Cleanup(func() {
		kill()
		_ = cmd.Wait() // killed
	})
	for end := time.Now().Add(10 * time.Second); ; {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			return addr, kill
		}
		if time.Now().After(end) {
			t.Fatalf("redis-server did not come up: %v", err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func users(target string, n int, params map[string]any) load.Spec {
	return load.Spec{Target: target, Parameters: params, Common: load.Common{Workers: n}}
}

func TestAClientLibraryPassesTheSuite(t *testing.T) {
	addr, _ := server(t)
	loadtest.Run(t, client{}, users(addr, 1, nil), users(addr, 8, map[string]any{"sets": "50%"}))
}

func TestAClientLibraryOnASilentTarget(t *testing.T) {
	loadtest.Silent(t, client{}, users(loadtest.SilentTarget(t), 3, map[string]any{"preload": "false"}))
}

func TestAClientLibraryOnARefusingTarget(t *testing.T) {
	loadtest.Refused(t, client{}, users(loadtest.ClosedTarget(t), 3, nil))
}

func TestAClientLibraryOnATargetThatDies(t *testing.T) {
	addr, kill := server(t)
	loadtest.Dies(t, client{}, users(addr, 4, nil), kill)
}

// TestMissesAreCounted reads keys that were never written.
func TestMissesAreCounted(t *testing.T) {
	addr, _ := server(t)
	spec := users(addr, 2, map[string]any{"preload": "false", "sets": "0%"})
	spec.Common.Window = 200 * time.Millisecond
	r, err := load.Open(t.Context(), client{}, spec, load.Env{})
	if err != nil {
		t.Fatal(err)
	}
	result, err := r.Measure(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	loadtest.Check(t, result)
	if k := result.Load.Kinds; len(k) != 1 || k[0].Misses != k[0].Completed || k[0].Misses == 0 {
		t.Errorf("kinds %+v, want nothing but misses", k)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
