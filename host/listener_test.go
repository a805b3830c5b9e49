package host

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestParseEndpoint(t *testing.T) {
	for in, want := range map[string]string{
		"redis://127.0.0.1:6380":          "tcp 127.0.0.1:6380 redis",
		"redis://127.0.0.1":               "tcp 127.0.0.1:6379 redis",
		"redis://user:pw@db:7000/2":       "tcp db:7000 redis",
		"memcache://[::1]:11212":          "tcp [::1]:11212 memcache",
		"memcache://[::1]":                "tcp [::1]:11211 memcache",
		"tcp://localhost:80":              "tcp localhost:80 tcp",
		"unix:///run/x.sock":              "unix /run/x.sock unix",
		"redis:///run/redis.sock":         "unix /run/redis.sock redis",
		"redis+unix:///run/redis.sock":    "unix /run/redis.sock redis",
		"memcache+unix:///run/mc.sock?x=": "unix /run/mc.sock memcache",
	} {
		e, err := parseEndpoint(in)
		if got := e.network + " " + e.address + " " + e.scheme; err != nil || got != want {
			t.Errorf("parseEndpoint(%q) = %s, %v; want %s", in, got, err, want)
		}
	}
	for _, in := range []string{
		"", "127.0.0.1:6379", "localhost:6379", "tcp://localhost", "tcp://:80", "tcp://h:0", "unix://run/x", "unix://",
		"unix:///", "redis+unix://h/x", "redis://[::1", "/run/x.sock", "tcp://h:99999",
	} {
		if e, err := parseEndpoint(in); err == nil || !strings.Contains(err.Error(), "endpoint") {
			t.Errorf("parseEndpoint(%q) = %+v, %v; want an error", in, e, err)
		}
	}
}

func FuzzParseEndpoint(f *testing.F) {
	f.Add("redis://127.0.0.1:6379")
	f.Add("unix:///run/x")
	f.Add("a+unix://")
	f.Fuzz(func(t *testing.T, s string) {
		e, err := parseEndpoint(s)
		if err == nil && (e.address == "" || e.network != "tcp" && e.network != "unix") {
			t.Errorf("parseEndpoint(%q) = %+v", s, e)
		}
	})
}

// hexAddress writes an address as the kernel of this machine does.
func hexAddress(ip string) string {
	raw := netip.MustParseAddr(ip).AsSlice()
	var b strings.Builder
	for w := 0; w < len(raw); w += 4 {
		fmt.Fprintf(&b, "%08X", binary.NativeEndian.Uint32(raw[w:]))
	}
	return b.String()
}

func tcpLine(ip string, port int, state string, inode string) string {
	return fmt.Sprintf("   0: %s:%04X 00000000:0000 %s 00000000:00000000 00:00000000 00000000     0        0 %s 1 0000000000000000 100 0 0 10 0\n",
		hexAddress(ip), port, state, inode)
}

const tcpHead = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"

// stand-in processes: a shell whose name is odd, two workers of a server, one of another.
func procTree(t *testing.T) string {
	st := func(pid int, name string, ppid int, state byte) string {
		return fmt.Sprintf("%d (%s) %c %d 10 10 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 77 1000 100\n", pid, name, state, ppid)
	}
	return plant(t, map[string]string{
		"proc/net/tcp": tcpHead + tcpLine("127.0.0.1", 6379, "0A", "101") + tcpLine("127.0.0.1", 6379, "01", "102") +
			tcpLine("0.0.0.0", 80, "0A", "103") + "garbage\n",
		"proc/net/tcp6": tcpHead + tcpLine("::1", 6379, "0A", "104") + tcpLine("::", 81, "0A", "105"),
		"proc/net/unix": "Num       RefCount Protocol Flags    Type St Inode Path\n" +
			"0000000000000000: 00000002 00000000 00010000 0001 01 201 /run/a b.sock\n" +
			"0000000000000000: 00000003 00000000 00000000 0001 03 202 /run/a b.sock\n" +
			"0000000000000000: 00000003 00000000 00000000 0001 03 203\n",
		"proc/10/stat": st(10, "sh (x) y", 1, 'S'), "proc/10/fd/0": "-> /dev/null", "proc/10/exe": "-> /bin/sh",
		"proc/11/stat": st(11, "redis-server", 10, 'S'), "proc/11/fd/6": "-> socket:[101]", "proc/11/fd/7": "-> socket:[104]", "proc/11/exe": "-> /usr/bin/redis-check-rdb (deleted)",
		"proc/12/stat": st(12, "nginx", 1, 'S'), "proc/12/fd/6": "-> socket:[103]", "proc/12/fd/8": "-> socket:[201]",
		"proc/13/stat": st(13, "nginx", 12, 'R'), "proc/13/fd/6": "-> socket:[103]", "proc/13/fd/9": "-> socket:[105]",
		"proc/14/stat": st(14, "a-very-long-nam", 13, 'S'),
		"proc/15/stat": st(15, "nginx", 12, 'Z'),
		"proc/16/stat": "16 (torn",
		"proc/self":    "-> 10",
	})
}

func TestListeners(t *testing.T) {
	root := procTree(t)
	for endpoint, want := range map[string][]int{
		"redis://127.0.0.1:6379": {11}, "redis://[::1]:6379": {11}, "tcp://127.0.0.2:6379": nil,
		"tcp://127.0.0.1:80": {12, 13}, "tcp://192.0.2.1:80": {12, 13}, "tcp://[::1]:80": nil,
		"tcp://127.0.0.1:81": {13}, "tcp://[2001:db8::1]:81": {13}, "tcp://127.0.0.1:82": nil,
		"unix:///run/a%20b.sock": {12}, "unix:///run/other": nil,
	} {
		e, err := parseEndpoint(endpoint)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := listeners(t.Context(), root, e); err != nil || !slices.Equal(got, want) {
			t.Errorf("listeners(%s) = %v, %v; want %v", endpoint, got, err, want)
		}
	}
	unix, _ := parseEndpoint("unix:///x")
	if _, err := listeners(t.Context(), t.TempDir(), unix); err == nil {
		t.Error("listeners without /proc/net/unix: no error")
	}
}

func TestListenersOfThisProcess(t *testing.T) {
	sock := filepath.Join(t.TempDir(), "a b")
	for _, c := range []struct{ network, address, scheme string }{
		{"tcp", "127.0.0.1:0", "tcp://"}, {"tcp", "[::1]:0", "tcp://"}, {"tcp", ":0", "tcp://"}, {"unix", sock, "unix://"},
	} {
		l, err := net.Listen(c.network, c.address)
		if err != nil && strings.HasPrefix(c.address, "[") {
			t.Log("no IPv6 here")
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		e, err := parseEndpoint(c.scheme + strings.Replace(l.Addr().String(), "[::]", "127.0.0.1", 1))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := listeners(t.Context(), "/", e); err != nil || !slices.Equal(got, []int{os.Getpid()}) {
			t.Errorf("listeners(%s) = %v, %v; want this process, %d", e.url, got, err, os.Getpid())
		}
		l.Close()
		if got, err := listeners(context.Background(), "/", e); err != nil || len(got) != 0 {
			t.Errorf("listeners(%s) once it is closed = %v, %v; want none", e.url, got, err)
		}
	}
}

func TestNamed(t *testing.T) {
	root := procTree(t)
	for name, want := range map[string][]int{
		"nginx": {12, 13}, "redis-server": {11}, "redis-check-rdb": {11}, "sh (x) y": {10}, "sh": {10}, "a-very-long-name-indeed": {14}, "none": nil,
	} {
		if got, err := named(root, name); err != nil || !slices.Equal(got, want) {
			t.Errorf("named(%q) = %v, %v; want %v", name, got, err, want)
		}
	}
}

func TestDescendants(t *testing.T) {
	all, err := processes(procTree(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ of, want []int }{{[]int{10}, []int{10, 11}}, {[]int{12}, []int{12, 13, 14}}, {[]int{13, 12}, []int{12, 13, 14}}, {nil, nil}, {[]int{99}, nil}} {
		var got []int
		for _, p := range descendants(all, c.of...) {
			got = append(got, p.pid)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("descendants(%v) = %v; want %v", c.of, got, c.want)
		}
	}
	loop := []stat{{pid: 1, parent: 2}, {pid: 2, parent: 1}}
	if got := descendants(loop, 1); len(got) != 2 {
		t.Errorf("descendants in a loop = %v", got)
	}
}

func TestParseStat(t *testing.T) {
	s, err := parseStat("42 (a) b (c)) S 1 42 40 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 777 1000 100\n")
	if want := (stat{pid: 42, parent: 1, group: 42, session: 40, name: "a) b (c)", state: 'S', start: 777}); err != nil || s != want {
		t.Errorf("parseStat = %+v, %v; want %+v", s, err, want)
	}
	for _, in := range []string{"", "42", "42 (x", "42 (x) S 1", ")(", "x (y) S 1 2 3 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 777", "1 (y) S 1 2 z 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 777"} {
		if s, err := parseStat(in); err == nil {
			t.Errorf("parseStat(%q) = %+v; want an error", in, s)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add("42 (a) b (c)) S 1 42 40 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 777 1000 100\n")
	f.Add(") (")
	f.Fuzz(func(t *testing.T, s string) {
		if got, err := parseStat(s); err == nil && !strings.Contains(s, "("+got.name+")") {
			t.Errorf("parseStat(%q) has the name %q", s, got.name)
		}
	})
}

func FuzzParseSockets(f *testing.F) {
	f.Add(tcpLine("127.0.0.1", 6379, "0A", "101"))
	f.Add(tcpLine("2001:db8::1", 80, "0A", "101"))
	f.Add("0000000000000000: 00000002 00000000 00010000 0001 01 201 /run/a b.sock")
	f.Fuzz(func(t *testing.T, line string) {
		if s, ok := parseTCPSocket(line); ok && (!s.address.IsValid() || s.inode == "") {
			t.Errorf("parseTCPSocket(%q) = %+v", line, s)
		}
		if s, ok := parseUnixSocket(line); ok && s.inode == "" {
			t.Errorf("parseUnixSocket(%q) = %+v", line, s)
		}
	})
}

func TestTail(t *testing.T) {
	text := "old\n" + strings.Repeat("line\n", 2000) + "last \xff\n"
	got := tail(strings.NewReader(text), 4, int64(len(text)))
	if lines := strings.Split(got, "\n"); len(lines) != 20 || lines[19] != "last ?" || lines[0] != "line" {
		t.Errorf("tail = %q", got)
	}
	steering := "a\x1b[2J\tb\r\n\xff\x00c"
	if got := tail(strings.NewReader(steering), 0, int64(len(steering))); got != "a?[2J\tb\n??c" {
		t.Errorf("tail of %q = %q", steering, got)
	}
	if got := tail(strings.NewReader("old\n"), 4, 4); got != "" {
		t.Errorf("tail of nothing new = %q", got)
	}
	if got := tail(strings.NewReader("old\n"), 9, 4); got != "" {
		t.Errorf("tail of a file cut short = %q", got)
	}
}
