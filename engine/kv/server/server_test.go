package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"bakeoff/load/ring"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a server and returns its targets. It is stopped at the end.
func serve(t *testing.T, cfg Config) []string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready := make(chan []string, 1)
	ended := make(chan error, 1)
	cfg.Ready = func(targets []string) { ready <- targets }
	go func() { ended <- Serve(ctx, cfg) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	select {
	case targets := <-ready:
		return targets
	case err := <-ended:
		ended <- nil
		t.Fatal(err)
	}
	return nil
}

func dial(t *testing.T, target string) net.Conn {
	t.Helper()
	scheme, address, _ := strings.Cut(target, "://")
	network := "tcp"
	if strings.Contains(scheme, "unix") {
		network = "unix"
	}
	conn, err := net.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// says checks what the server answers to each request, byte by byte.
func says(t *testing.T, conn net.Conn, dialogue ...string) {
	t.Helper()
	for i := 0; i < len(dialogue); i += 2 {
		if _, err := io.WriteString(conn, dialogue[i]); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(dialogue[i+1]))
		if _, err := io.ReadFull(conn, got); err != nil || string(got) != dialogue[i+1] {
			t.Fatalf("%q: answered %q, %v, want %q", dialogue[i], got, err, dialogue[i+1])
		}
	}
}

// cmd frames a command.
func cmd(words ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	return b.String()
}

func TestCommands(t *testing.T) {
	for _, backend := range []ring.Backend{ring.Auto, ring.Epoll} {
		socket := "redis+unix://" + filepath.Join(t.TempDir(), "kv.sock")
		for _, target := range serve(t, Config{Listen: []string{"redis://127.0.0.1:0", socket}, Backend: backend, Threads: 2}) {
			conn := dial(t, target)
			says(t, conn,
				cmd("PING"), "+PONG\r\n", cmd("ping", "hi"), "$2\r\nhi\r\n", "PING\r\n", "+PONG\r\n", cmd("ECHO", "a\r\nb"), "$4\r\na\r\nb\r\n",
				cmd("FLUSHALL"), "+OK\r\n", cmd("GET", "a"), "$-1\r\n",
				cmd("SET", "a", "1"), "+OK\r\n", cmd("get", "a"), "$1\r\n1\r\n", cmd("SET", "a", ""), "+OK\r\n", cmd("GET", "a"), "$0\r\n\r\n",
				cmd("SET", "a", "2", "NX"), "$-1\r\n", cmd("SET", "b", "2", "XX"), "$-1\r\n", cmd("SET", "a", "3", "XX"), "+OK\r\n",
				cmd("MSET", "b", "4", "c", "5"), "+OK\r\n", cmd("MGET", "a", "x", "c"), "*3\r\n$1\r\n3\r\n$-1\r\n$1\r\n5\r\n",
				cmd("EXISTS", "a", "a", "x"), ":2\r\n", cmd("DBSIZE"), ":3\r\n", cmd("DEL", "a", "x", "b"), ":2\r\n", cmd("DBSIZE"), ":1\r\n",
				cmd("SELECT", "1"), "+OK\r\n", cmd("DBSIZE"), ":0\r\n", cmd("SELECT", "16"), "-ERR DB index is out of range\r\n",
				cmd("SET", "k", "v", "EX", "100"), "+OK\r\n", cmd("TTL", "k"), ":100\r\n", cmd("TTL", "none"), ":-2\r\n",
				cmd("SET", "k", "v"), "+OK\r\n", cmd("TTL", "k"), ":-1\r\n", cmd("FLUSHDB"), "+OK\r\n",
				cmd("SET", "k", "v", "EX", "0"), "-ERR invalid expire time in 'set' command\r\n", cmd("SET", "k", "v", "BAD"), "-ERR syntax error\r\n",
				cmd("GET"), "-ERR wrong number of arguments for 'get' command\r\n", cmd("MSET", "a", "b", "c"), "-ERR wrong number of arguments for 'mset' command\r\n",
				cmd("AUTH", "x"), "-ERR AUTH called without any password configured: the embedded server has none\r\n",
				cmd("COMMAND", "DOCS"), "*0\r\n", cmd("CLIENT", "SETNAME", "x"), "+OK\r\n",
				cmd("NO\r\nSUCH"), "-ERR unknown command 'NO  SUCH': the embedded server has only what loads need\r\n",
				cmd("HELLO", "4"), "-NOPROTO unsupported protocol version\r\n",
				cmd("HELLO", "3"), "%4\r\n$6\r\nserver\r\n$7\r\nbakeoff\r\n$7\r\nversion\r\n$1\r\n1\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$5\r\nproto\r\n:3\r\n",
				cmd("GET", "none"), "_\r\n", cmd("QUIT"), "+OK\r\n")
			if n, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Errorf("after QUIT: read %d bytes, %v", n, err)
			}
		}
	}
}

func TestPassword(t *testing.T) {
	target := serve(t, Config{Listen: []string{"redis://127.0.0.1:0"}, Password: "sesame"})[0]
	conn := dial(t, target)
	const refused, wrong = "-NOAUTH Authentication required.\r\n", "-WRONGPASS invalid username-password pair or user is disabled.\r\n"
	says(t, conn, cmd("PING"), refused, cmd("GET", "a"), refused, cmd("AUTH", "open"), wrong, cmd("AUTH", "ann", "sesame"), wrong, cmd("GET", "a"), refused,
		cmd("AUTH", "sesame"), "+OK\r\n", cmd("GET", "a"), "$-1\r\n", cmd("AUTH", "default", "no"), wrong, cmd("GET", "a"), refused)
}

func TestMemoryLimit(t *testing.T) {
	target := serve(t, Config{Listen: []string{"redis://127.0.0.1:0"}, Memory: 1000})[0]
	conn := dial(t, target)
	says(t, conn, cmd("SET", "a", strings.Repeat("x", 500)), "+OK\r\n", cmd("SET", "b", strings.Repeat("x", 500)), "-"+outOfMemory+"\r\n",
		cmd("SET", "a", strings.Repeat("y", 500)), "+OK\r\n", cmd("SET", "a", strings.Repeat("y", 5000)), "-"+outOfMemory+"\r\n",
		cmd("DEL", "a"), ":1\r\n", cmd("SET", "b", strings.Repeat("x", 500)), "+OK\r\n")
}

func TestMemcached(t *testing.T) {
	target := serve(t, Config{Listen: []string{"memcache://127.0.0.1:0"}})[0]
	conn := dial(t, target)
	says(t, conn,
		"get a\r\n", "END\r\n", "set a 0 0 3\r\nabc\r\n", "STORED\r\n", "get a\r\n", "VALUE a 0 3\r\nabc\r\nEND\r\n",
		"set b 0 0 0 noreply\r\n\r\nget a x b\r\n", "VALUE a 0 3\r\nabc\r\nVALUE b 0 0\r\n\r\nEND\r\n",
		"mg a v\r\n", "VA 3\r\nabc\r\n", "mg x v\r\n", "EN\r\n", "mg a v k O7\r\n", "VA 3 ka O7\r\nabc\r\n", "mg a\r\n", "HD\r\n",
		"mg x v q\r\nmg a v q\r\nms c 2 q\r\nzz\r\nmn\r\n", "VA 3\r\nabc\r\nMN\r\n", "ms d 1 T100\r\nq\r\n", "HD\r\n",
		"delete a\r\n", "DELETED\r\n", "delete a\r\n", "NOT_FOUND\r\n", "nonsense x\r\n", "ERROR\r\n", "\r\n", "ERROR\r\n", "get\r\n", "ERROR\r\n",
		"version\r\n", "VERSION bakeoff-1\r\n", "flush_all\r\n", "OK\r\n", "get c\r\n", "END\r\n",
		"set a 0 0 3\r\nabcdef\r\n", "CLIENT_ERROR bad data chunk\r\n")
	conn = dial(t, target)
	says(t, conn, "set a 0 0\r\n", "CLIENT_ERROR bad command line format\r\n")
}

func TestBreachesOfTheProtocol(t *testing.T) {
	target := serve(t, Config{Listen: []string{"redis://127.0.0.1:0"}})[0]
	for request, want := range map[string]string{
		"*1\r\n:4\r\n": "-ERR Protocol error: expected '$', got ':'", "*x\r\n": "-ERR Protocol error: invalid multibulk length",
		"*1\r\n$-1\r\n": "-ERR Protocol error: invalid bulk length", "*9999999999\r\n": "-ERR Protocol error: invalid multibulk length",
		strings.Repeat("x", maxInline+1): "-ERR Protocol error: too big inline request",
	} {
		conn := dial(t, target)
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(conn)
		if err != nil || strings.TrimSpace(string(got)) != want {
			t.Errorf("%.20q: answered %q, %v, want %q", request, got, err, want)
		}
	}
}

func TestExpiredKeysGo(t *testing.T) {
	target := serve(t, Config{Listen: []string{"redis://127.0.0.1:0"}})[0]
	c := goredis.NewClient(&goredis.Options{Addr: strings.TrimPrefix(target, "redis://"), DisableIdentity: true})
	defer c.Close()
	ctx := t.Context()
	c.Set(ctx, "seen", "v", 20*time.Millisecond)
	c.Set(ctx, "unseen", "v", 20*time.Millisecond)
	for deadline := time.Now().Add(10 * time.Second); c.Get(ctx, "seen").Err() == nil; {
		if time.Now().After(deadline) {
			t.Fatal("the key is still there")
		}
	}
	for deadline := time.Now().Add(10 * time.Second); c.DBSize(ctx).Val() > 0; {
		if time.Now().After(deadline) {
			t.Fatal("a key that nobody asks for is never swept")
		}
	}
	if info := c.Info(ctx).Val(); !strings.Contains(info, "expired_keys:2") || !strings.Contains(info, "keyspace_misses:1") {
		t.Errorf("INFO says:\n%s", info)
	}
}

// TestAsAMap does random commands on the server, pipelined and cut anywhere,
// and on a map.
func TestAsAMap(t *testing.T) {
	target := serve(t, Config{Listen: []string{"redis://127.0.0.1:0"}, Threads: 2})[0]
	rapid.Check(t, func(rt *rapid.T) {
		conn, err := net.Dial("tcp", strings.TrimPrefix(target, "redis://"))
		if err != nil {
			rt.Fatal(err)
		}
		defer conn.Close()
		model := map[string]string{}
		var send, want bytes.Buffer
		send.WriteString(cmd("FLUSHALL"))
		want.WriteString("+OK\r\n")
		key := rapid.StringMatching(`[a-c\r\n]{0,2}`)
		for range rapid.IntRange(1, 40).Draw(rt, "commands") {
			k := key.Draw(rt, "key")
			v, has := model[k]
			switch rapid.IntRange(0, 3).Draw(rt, "command") {
			case 0:
				model[k] = string(rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(rt, "value"))
				send.WriteString(cmd("SET", k, model[k]))
				want.WriteString("+OK\r\n")
			case 1:
				send.WriteString(cmd("DEL", k))
				fmt.Fprintf(&want, ":%d\r\n", map[bool]int{true: 1}[has])
				delete(model, k)
			case 2:
				send.WriteString(cmd("DBSIZE"))
				fmt.Fprintf(&want, ":%d\r\n", len(model))
			default:
				send.WriteString(cmd("GET", k))
				if has {
					fmt.Fprintf(&want, "$%d\r\n%s\r\n", len(v), v)
				} else {
					want.WriteString("$-1\r\n")
				}
			}
		}
		for b := send.Bytes(); len(b) > 0; {
			n := min(rapid.IntRange(1, 200).Draw(rt, "cut"), len(b))
			if _, err := conn.Write(b[:n]); err != nil {
				rt.Fatal(err)
			}
			b = b[n:]
		}
		got := make([]byte, want.Len())
		if _, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, want.Bytes()) {
			rt.Fatalf("answered %q, %v, want %q", got, err, want.Bytes())
		}
	})
}

func TestLargeValues(t *testing.T) {
	target := serve(t, Config{Listen: []string{"redis://127.0.0.1:0"}})[0]
	c := goredis.NewClient(&goredis.Options{Addr: strings.TrimPrefix(target, "redis://"), DisableIdentity: true})
	defer c.Close()
	value := strings.Repeat("0123456789", 800_000)
	if err := c.Set(t.Context(), "k", value, 0).Err(); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if got, err := c.Get(t.Context(), "k").Result(); err != nil || got != value {
			t.Fatalf("got %d bytes, %v", len(got), err)
		}
	}
}

func TestListenErrors(t *testing.T) {
	for target, want := range map[string]string{
		"http://x": "expected redis://HOST:PORT", "redis://": "no address", "redis+unix://": "no address",
		"redis://127.0.0.1:99999": "invalid port", "redis+unix:///no/such/dir/x": "no such file", "%": "invalid URL",
	} {
		err := Serve(t.Context(), Config{Listen: []string{target}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", target, err, want)
		}
	}
	if err := Serve(t.Context(), Config{}); err == nil || !strings.Contains(err.Error(), "nothing to listen on") {
		t.Errorf("no target: %v", err)
	}
	socket := "redis+unix://" + filepath.Join(t.TempDir(), "kv.sock")
	serve(t, Config{Listen: []string{socket}})
	if err := Serve(t.Context(), Config{Listen: []string{socket}}); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("a socket that is in use: %v", err)
	}
}

func TestAStaleSocketIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kv.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	conn := dial(t, serve(t, Config{Listen: []string{"redis+unix://" + path}})[0])
	says(t, conn, cmd("PING"), "+PONG\r\n")
}

func FuzzRequests(f *testing.F) {
	for _, s := range []string{cmd("GET", "a"), cmd("SET", "a", "b"), "PING\r\n", "*1\r\n$4\r\nPI", "*-1\r\n", "*2\r\n$1\r\na\r\n", "\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		// Cut anywhere, a request is either the same or not complete.
		var c client
		for whole := b; len(whole) > 0; {
			used, fault := c.parse(whole)
			if used > len(whole) || used == 0 && fault == "" && len(c.args) > len(whole) {
				t.Fatalf("used %d of %d bytes", used, len(whole))
			}
			if used == 0 {
				return
			}
			args := fmt.Sprintf("%q", c.args)
			for cut := range used {
				if cut == 0 {
					continue
				}
				if n, fault := c.parse(whole[:cut]); n != 0 || fault != "" {
					t.Fatalf("%q is a request of %d bytes, but its first %d are %d, %q", whole, used, cut, n, fault)
				}
			}
			if n, _ := c.parse(whole[:used]); n != used || fmt.Sprintf("%q", c.args) != args {
				t.Fatalf("%q: %s with more behind it, %q without", whole, args, c.args)
			}
			whole = whole[used:]
		}
	})
}

// TestManyClients has more clients than threads, all at once.
func TestManyClients(t *testing.T) {
	target := serve(t, Config{Listen: []string{"redis://127.0.0.1:0"}, Threads: 3})[0]
	done := make(chan error, 100)
	for i := range cap(done) {
		conn := dial(t, target)
		go func() {
			in := bufio.NewReader(conn)
			for j := range 50 {
				fmt.Fprint(conn, cmd("SET", fmt.Sprint(i), fmt.Sprint(j)), cmd("GET", fmt.Sprint(i)))
				for range 2 {
					if _, err := in.ReadString('\n'); err != nil {
						done <- err
						return
					}
				}
				if line, _ := in.ReadString('\n'); strings.TrimSpace(line) != fmt.Sprint(j) {
					done <- fmt.Errorf("client %d set %d and got %q", i, j, line)
					return
				}
			}
			done <- nil
		}()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}
