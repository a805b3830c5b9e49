package net

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"bakeoff/engine/net/server"
	"bakeoff/engine/net/wire"
	"bakeoff/load"
)

// talk opens a conversation with a server as a client would, and returns it with
// the answer.
func talk(t *testing.T, target string, test wire.Test) (net.Conn, wire.Ready) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(target, "tcp://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(test)
	if err != nil {
		t.Fatal(err)
	}
	var challenge wire.Challenge
	var ready wire.Ready
	for _, step := range []func() error{
		func() error { _, err := io.WriteString(conn, wire.Magic); return err },
		func() error { return wire.Write(conn, wire.Hello{Version: wire.Version, Nonce: wire.NewNonce()}) },
		func() error { return wire.Read(conn, &challenge) },
		func() error { return wire.Write(conn, wire.Proof{Test: raw}) },
		func() error { return wire.Read(conn, &ready) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	if challenge.Refused+ready.Refused != "" {
		t.Fatalf("refused: %s%s", challenge.Refused, ready.Refused)
	}
	return conn, ready
}

// TestTheServerStopsWithItsClient: once the control connection is gone, it sends
// nothing any more, over TCP and over UDP.
func TestTheServerStopsWithItsClient(t *testing.T) {
	target := startServer(t, serverConfig{}).targets[0]
	for _, datagram := range []bool{false, true} {
		test := wire.Test{Mode: wire.Stream, Datagram: datagram, Receive: 1, Block: 1000, Batch: 1, Seconds: 600, Rate: 1e6}
		control, ready := talk(t, target, test)
		key, err := hex.DecodeString(ready.Key)
		if err != nil {
			t.Fatal(err)
		}
		network := map[bool]string{false: "tcp", true: "udp"}[datagram]
		data, err := net.Dial(network, fmt.Sprintf("127.0.0.1:%d", ready.Ports[0]))
		if err != nil {
			t.Fatal(err)
		}
		defer data.Close()
		if err := data.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 2000)
		begin := []byte{wire.Go}
		if datagram {
			begin = append(begin, key...)
		}
		for _, step := range []func() error{
			func() error { _, err := data.Write(wire.Join(key, 0)); return err },
			func() error { _, err := data.Read(b[:1]); return err },
			func() error { _, err := data.Write(begin); return err },
			func() error { _, err := data.Read(b); return err }, // it sends
			control.Close,
		} {
			if err := step(); err != nil {
				t.Fatal(err)
			}
		}
		if datagram {
			awaitSilence(t, data)
			continue
		}
		if _, err := io.Copy(io.Discard, data); err != nil && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("it did not end the stream: %v", err)
		}
	}
}

// awaitSilence wants nothing to come for half a second, within some.
func awaitSilence(t *testing.T, conn net.Conn) {
	t.Helper()
	b := make([]byte, 2000)
	end := time.Now().Add(10 * time.Second)
	for time.Now().Before(end) {
		if err := conn.SetReadDeadline(time.Now().Add(500 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(b); err != nil {
			return // nothing came, or the port is closed
		}
	}
	t.Error("datagrams keep coming")
}

// TestStrangers: what does not know the key gets no data, and what speaks no
// protocol gets nothing; the server goes on.
func TestStrangers(t *testing.T) {
	s := startServer(t, serverConfig{})
	_, ready := talk(t, s.targets[0], wire.Test{Mode: wire.Stream, Receive: 1, Block: 1000, Seconds: 600})
	data, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", ready.Ports[0]))
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	wrong := make([]byte, wire.KeySize)
	_, _ = rand.Read(wrong)
	if _, err := data.Write(append(wire.Join(wrong, 0), wire.Go)); err != nil {
		t.Fatal(err)
	}
	_ = data.SetDeadline(time.Now().Add(10 * time.Second))
	if got, err := io.ReadAll(data); len(got) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a stranger got %d bytes, %v", len(got), err)
	}
	for _, words := range []string{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", wire.Magic + "\xff\xff\xff\xff", wire.Magic + "\x00\x00\x00\x02[]", ""} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.targets[0], "tcp://"))
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(15 * time.Second))
		_, _ = io.WriteString(conn, words)
		_ = conn.(*net.TCPConn).CloseWrite()
		if got, err := io.ReadAll(conn); len(got) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%q got %q, %v", words, got, err)
		}
		_ = conn.Close()
	}
	measure(t, load.Spec{Target: s.targets[0], Parameters: map[string]any{"mode": "pingpong"}})
}

func TestPortTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	err = server.Serve(t.Context(), server.Config{Listen: []string{"tcp://" + l.Addr().String()}})
	if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Errorf("%v, want %v and the address", err, syscall.EADDRINUSE)
	}
	port := uint16(l.Addr().(*net.TCPAddr).Port)
	s := startServer(t, serverConfig{Ports: [2]uint16{port, port}})
	if _, err := tryMeasure(t, load.Spec{Target: s.targets[0]}); err == nil || !strings.Contains(err.Error(), "data ports") {
		t.Errorf("no data port is free: %v", err)
	}
}

// inNamespaces runs commands of ip(8) and removes the namespaces in the end.
func inNamespaces(t *testing.T, names []string, commands string) {
	t.Helper()
	if os.Getuid() != 0 || testing.Short() {
		t.Skip("network namespaces need root, and some seconds")
	}
	t.Cleanup(func() {
		for _, n := range names {
			_ = exec.Command("ip", "netns", "del", n).Run()
		}
	})
	for line := range strings.SplitSeq(strings.TrimSpace(commands), "\n") {
		if out, err := exec.Command("sh", "-c", line).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
	}
}

// job is a load for a process of its own in a namespace.
type job struct {
	Target     string
	Parameters map[string]any
	Warmup     time.Duration
	Window     time.Duration
	OpTimeout  time.Duration
	Token      string
}

// answer is what came of it.
type answer struct {
	Figures   map[string]float64
	Completed uint64
	TimedOut  uint64
	Error     string
}

// work does a job and prints the answer.
func work(text string) int {
	var j job
	var a answer
	err := json.Unmarshal([]byte(text), &j)
	if err == nil {
		a, err = j.run()
	}
	if err != nil {
		a.Error = err.Error()
	}
	_ = json.NewEncoder(os.Stdout).Encode(a)
	return 0
}

func (j job) run() (a answer, err error) {
	ctx := context.Background()
	spec := load.Spec{Workload: "w", Part: load.Source, Engine: "net", Seed: 1, Target: j.Target, Parameters: j.Parameters, Common: load.Common{Warmup: j.Warmup, Window: j.Window, OpTimeout: j.OpTimeout}}
	spec.Secrets = map[string]string{"token": j.Token}
	r, err := load.Open(ctx, Engine{}, spec, load.Env{})
	if err != nil {
		return a, err
	}
	defer r.Close()
	if _, err := r.Prepare(ctx, nil); err != nil {
		return a, err
	}
	result, err := r.Measure(ctx, nil)
	a.Figures, a.Completed, a.TimedOut = figures(result), result.Load.Ledger.Completed, result.Load.Ledger.TimedOut
	return a, err
}

// acrossNamespaces runs a load from one namespace on a server in another.
func acrossNamespaces(t *testing.T, from, to, target string, j job) answer {
	t.Helper()
	c := serverConfig{Listen: []string{target}, Token: "between namespaces"}
	text, _ := json.Marshal(c)
	s := &testServer{cmd: exec.Command("ip", "netns", "exec", to, os.Args[0])}
	s.cmd.Env = append(os.Environ(), serverEnv+"="+string(text))
	s.start(t)
	defer s.kill()
	j.Target, j.Token = target, c.Token
	work, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("ip", "netns", "exec", from, os.Args[0])
	cmd.Env = append(os.Environ(), workEnv+"="+string(work))
	out, err := cmd.Output()
	var a answer
	if err = errors.Join(err, json.Unmarshal(out, &a)); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return a
}

// TestAcrossAnMTU: hosts with MTUs of 9000 and 1500, and a router between.
// IPv6 datagrams that are too long are refused by the router once, and fragmented
// by the sender from then on; IPv4's are fragmented by the router, or by the sender.
func TestAcrossAnMTU(t *testing.T) {
	t.Parallel() // it mostly waits
	a, r, b := namespace("a"), namespace("r"), namespace("b")
	inNamespaces(t, []string{a, r, b}, strings.NewReplacer("@a", a, "@r", r, "@b", b).Replace(`
ip netns add @a && ip netns add @r && ip netns add @b
for n in @a @r @b; do ip netns exec $n sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0; done
ip -n @a link add e0 mtu 9000 type veth peer name ra netns @r && ip -n @b link add e0 mtu 1500 type veth peer name rb netns @r
ip netns exec @r sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 net.ipv6.icmp.ratelimit=0
ip -n @r addr add 10.1.0.1/24 dev ra && ip -n @r addr add fd01::1/64 dev ra nodad && ip -n @r link set ra mtu 9000 up
ip -n @r addr add 10.2.0.1/24 dev rb && ip -n @r addr add fd02::1/64 dev rb nodad && ip -n @r link set rb mtu 1500 up
ip -n @a addr add 10.1.0.2/24 dev e0 && ip -n @a addr add fd01::2/64 dev e0 nodad && ip -n @a link set e0 up && ip -n @a link set lo up
ip -n @b addr add 10.2.0.2/24 dev e0 && ip -n @b addr add fd02::2/64 dev e0 nodad && ip -n @b link set e0 up && ip -n @b link set lo up
ip -n @a route add default via 10.1.0.1 && ip -n @a route add default via fd01::1
ip -n @b route add default via 10.2.0.1 && ip -n @b route add default via fd02::1`))
	for name, c := range map[string]struct {
		target string
		p      map[string]any
	}{
		"IPv6 datagrams":   {"tcp://[fd02::2]:5301", map[string]any{"transport": "udp", "block": "4K", "bitrate": "50M"}},
		"IPv4 datagrams":   {"tcp://10.2.0.2:5301", map[string]any{"transport": "udp", "block": "4K", "bitrate": "50M", "fragment": "allow"}},
		"IPv6 messages":    {"tcp://[fd02::2]:5301", map[string]any{"transport": "udp", "mode": "pingpong", "block": "4K"}},
		"IPv6 stream":      {"tcp://[fd02::2]:5301", map[string]any{"block": "64K"}},
		"IPv4 read blocks": {"tcp://10.2.0.2:5301", map[string]any{"mode": "blocks", "block": "64K", "fragment": "allow"}},
	} {
		x := acrossNamespaces(t, a, b, c.target, job{Parameters: c.p, Warmup: 700 * time.Millisecond, Window: 400 * time.Millisecond, OpTimeout: 500 * time.Millisecond})
		if x.Error != "" || x.Completed == 0 {
			t.Errorf("%s: %+v", name, x)
		}
		if lost, ok := x.Figures["loss"]; ok && lost > .5 {
			t.Errorf("%s: %g of all are lost", name, lost)
		}
	}
}

// TestBlackHole: a bridge between, one of whose links drops what is longer than
// 1500 bytes and says nothing. TCP comes to a halt, which is an error that says
// so; UDP loses everything, which is a result.
func TestBlackHole(t *testing.T) {
	t.Parallel() // it mostly waits
	a, r, b := namespace("ha"), namespace("hr"), namespace("hb")
	inNamespaces(t, []string{a, r, b}, strings.NewReplacer("@a", a, "@r", r, "@b", b).Replace(`
ip netns add @a && ip netns add @r && ip netns add @b
ip -n @a link add e0 mtu 9000 type veth peer name ra netns @r && ip -n @b link add e0 mtu 9000 type veth peer name rb netns @r
ip -n @r link add br0 type bridge && ip -n @r link set ra master br0 mtu 9000 up && ip -n @r link set rb master br0 mtu 1500 up && ip -n @r link set br0 up
ip netns exec @r sh -c 'ethtool -K ra gro off; ethtool -K rb tso off gso off tx off' >/dev/null && ip netns exec @a ethtool -K e0 tso off gso off tx off >/dev/null
ip -n @a addr add 10.3.0.1/24 dev e0 && ip -n @a link set e0 up && ip -n @a link set lo up
ip -n @b addr add 10.3.0.2/24 dev e0 && ip -n @b link set e0 up && ip -n @b link set lo up`))
	const target = "tcp://10.3.0.2:5301"
	x := acrossNamespaces(t, a, b, target, job{Window: 1500 * time.Millisecond, OpTimeout: time.Second})
	if !strings.Contains(x.Error, "nothing arrived in the window") || !strings.Contains(x.Error, "9000") {
		t.Errorf("TCP: %+v", x)
	}
	x = acrossNamespaces(t, a, b, target, job{Parameters: map[string]any{"transport": "udp", "block": "4K", "bitrate": "10M", "gso": false}, Window: 300 * time.Millisecond, OpTimeout: time.Second})
	if x.Error != "" || x.Figures["loss"] != 1 || x.Figures["bandwidth"] != 0 {
		t.Errorf("UDP: %+v", x)
	}
}

func namespace(name string) string { return fmt.Sprintf("bakeoff-net-%s-%d", name, os.Getpid()) }

// TestNoIPv6: without it, a load says so at once, and IPv4 works.
func TestNoIPv6(t *testing.T) {
	n := namespace("v4")
	inNamespaces(t, []string{n}, strings.ReplaceAll(`
ip netns add @n
ip -n @n link set lo up
ip netns exec @n sysctl -qw net.ipv6.conf.all.disable_ipv6=1`, "@n", n))
	x := acrossNamespaces(t, n, n, "tcp://127.0.0.1:5301", job{Window: 200 * time.Millisecond})
	if x.Error != "" || x.Completed == 0 {
		t.Errorf("IPv4: %+v", x)
	}
	text, _ := json.Marshal(job{Target: "tcp://[::1]:5301", Window: time.Second})
	cmd := exec.Command("ip", "netns", "exec", n, os.Args[0])
	cmd.Env = append(os.Environ(), workEnv+"="+string(text))
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), "are there free ports") && !strings.Contains(string(out), "no IPv6") && !strings.Contains(string(out), "no route") {
		t.Errorf("IPv6: %v, %s", err, out)
	}
}

// TestWithoutRoot: what needs a privilege is refused by name; the rest works.
func TestWithoutRoot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("it wants to give root up")
	}
	target := startServer(t, serverConfig{}).targets[0]
	for name, c := range map[string]struct {
		p    map[string]any
		want string
	}{
		"stream": {nil, ""}, "datagrams": {map[string]any{"transport": "udp"}, ""}, "pingpong": {map[string]any{"mode": "pingpong"}, ""},
		"buffer": {map[string]any{"receive_buffer": "512M"}, "net.core.rmem_max"},
	} {
		text, _ := json.Marshal(job{Target: target, Parameters: c.p, Window: 200 * time.Millisecond})
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), workEnv+"="+string(text))
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := cmd.Output()
		var a answer
		if err = errors.Join(err, json.Unmarshal(out, &a)); err != nil {
			t.Fatalf("%s: %v: %s", name, err, out)
		}
		if c.want == "" && (a.Error != "" || a.Completed == 0) || !strings.Contains(a.Error, c.want) {
			t.Errorf("%s: %+v, want %q", name, a, c.want)
		}
	}
}
