package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/vishvananda/netlink"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"bakeoff/host"
	"bakeoff/internal/osenv"
)

// childVariable makes the test binary a process that builds a lab and is killed.
const childVariable = "BAKEOFF_LAB_TEST_CHILD"

// child is what such a process is told.
type child struct {
	Source, StateDir string
	KillAt           int  // the step at which it kills itself, from 1
	Down             bool // it takes the lab down rather than build it
}

func TestMain(m *testing.M) {
	if text, ok := os.LookupEnv(childVariable); ok {
		if err := runChild(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func runChild(text string) error {
	var c child
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	n := 0
	k := &Keeper{StateDir: c.StateDir, Clock: osenv.System{}, Step: func(string) {
		if n++; n == c.KillAt {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}}
	l, err := Parse("child.yaml", []byte(c.Source))
	if err != nil {
		return err
	}
	if c.Down {
		_, err = k.Down(l.Name, false)
		return err
	}
	b, err := k.Build(l)
	if err != nil {
		return err
	}
	return b.Leave()
}

// needRoot says what is missing; it never skips.
func needRoot(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds network namespaces")
	}
	if os.Geteuid() != 0 {
		t.Fatal("this test builds network namespaces, which needs root; go test -short leaves it out")
	}
}

// traces lists all that a lab could leave on this machine.
func traces(t testing.TB) []string {
	t.Helper()
	var all []string
	for _, dir := range []string{host.NamespaceDir, DefaultStateDir} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		for _, e := range entries {
			// Other tests of this machine have labs, too.
			if !strings.HasPrefix(e.Name(), "bakeoff-") || strings.Contains(e.Name(), fmt.Sprint("-t", os.Getpid(), "-")) {
				all = append(all, filepath.Join(dir, e.Name()))
			}
		}
	}
	links, err := netlink.LinkList()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		all = append(all, "link "+l.Attrs().Name)
	}
	return all
}

// trial is a lab of a test: its own name, and a check that nothing is left.
func trial(t testing.TB, source string) (*Lab, *Keeper) {
	t.Helper()
	needRoot(t)
	before := traces(t)
	l, err := Parse("test.yaml", []byte(strings.Replace(source, "lab: two", labLine(), 1)))
	if err != nil {
		t.Fatal(err)
	}
	k := &Keeper{StateDir: filepath.Join(t.TempDir(), "labs"), Clock: osenv.System{}}
	t.Cleanup(func() {
		if _, err := k.Down(l.Name, true); err != nil {
			t.Error(err)
		}
		if after := traces(t); !slices.Equal(before, after) {
			t.Errorf("left behind: before %v, after %v", before, after)
		}
		if _, err := os.Stat(k.StateDir); err == nil {
			t.Error("the folder of states is left behind")
		}
	})
	return l, k
}

func labLine() string { return fmt.Sprintf("lab: t%d", os.Getpid()) }

func build(t testing.TB, k *Keeper, l *Lab) *Built {
	t.Helper()
	b, err := k.Build(l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Remove(); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
	})
	return b
}

// send carries a text over a connection between two namespaces.
func send(t testing.TB, from, to, address string) error {
	t.Helper()
	var listener net.Listener
	err := host.InNamespace(to, func() (err error) {
		listener, err = net.Listen("tcp", net.JoinHostPort(address, "0"))
		return err
	})
	if err != nil {
		return err
	}
	defer listener.Close()
	got := make(chan error, 1)
	go func() {
		conn, err := listener.Accept()
		if err == nil {
			_, err = io.Copy(io.Discard, conn)
			conn.Close()
		}
		got <- err
	}()
	err = host.InNamespace(from, func() error {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			return err
		}
		defer conn.Close()
		_, err = conn.Write(make([]byte, 1<<20))
		return err
	})
	if err != nil {
		listener.Close()
		<-got
		return err
	}
	return <-got
}

func TestLabCarriesBothFamiliesAcrossItsCore(t *testing.T) {
	src, err := os.ReadFile("../examples/a3-ipv6/lab.yaml")
	if err != nil {
		t.Fatal(err)
	}
	l, k := trial(t, strings.Replace(string(src), "lab: a3", "lab: two", 1))
	build(t, k, l)
	for _, address := range []string{"10.4.0.2", "fd04::2"} {
		if err := send(t, l.Namespace("client"), l.Namespace("storage"), address); err != nil {
			t.Errorf("to %s: %v", address, err)
		}
	}
	// IPv4 was fragmented in the core, IPv6 was not.
	if n := snmp(t, l.Namespace("edge-a"), "Ip:", "FragCreates"); n == 0 {
		t.Error("the core's router fragmented no IPv4 packet")
	}
	if snmp6(t, l.Namespace("edge-a"), "Icmp6OutPktTooBigs") == 0 || snmp6(t, l.Namespace("edge-a"), "Ip6FragCreates") != 0 {
		t.Error("the core's router did not tell the path's MTU to IPv6, or fragmented it")
	}
	err = host.InNamespace(l.Namespace("core"), func() error {
		if got, err := host.ReadOffload("a", "tso"); got != "off" || err != nil {
			t.Errorf("tso of the core: %q, %v", got, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// ownFile reads a file of /proc/net in a namespace.
func ownFile(t *testing.T, namespace, file string) string {
	t.Helper()
	var data []byte
	err := host.InNamespace(namespace, func() (err error) {
		data, err = os.ReadFile("/proc/thread-self/net/" + file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// snmp6 reads a counter of IPv6 in a namespace.
func snmp6(t *testing.T, namespace, name string) int {
	t.Helper()
	for line := range strings.Lines(ownFile(t, namespace, "snmp6")) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == name {
			var n int
			fmt.Sscan(f[1], &n)
			return n
		}
	}
	t.Fatalf("snmp6 has no %s", name)
	return 0
}

// snmp reads a counter of IPv4 in a namespace.
func snmp(t *testing.T, namespace, section, name string) int {
	t.Helper()
	var head []string
	for line := range strings.Lines(ownFile(t, namespace, "snmp")) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] != section {
			continue
		}
		if head == nil {
			head = f
			continue
		}
		var n int
		fmt.Sscan(f[slices.Index(head, name)], &n)
		return n
	}
	t.Fatalf("snmp has no %s %s", section, name)
	return 0
}

func TestRateIsKept(t *testing.T) {
	l, k := trial(t, strings.Replace(twoHosts, "a: {interface", "a: {rate: 8G, burst: 32K, queue: 1M, interface", 1))
	build(t, k, l)
	err := host.InNamespace(l.Namespace("a"), func() error {
		list, err := netlink.QdiscList(nil)
		for _, q := range list {
			if tbf, ok := q.(*netlink.Tbf); ok && tbf.Rate == 1e9 && tbf.Limit == 1<<20 {
				return nil
			}
		}
		return fmt.Errorf("no token bucket of 8 Gbit/s among %v: %w", list, err)
	})
	if err != nil {
		t.Error(err)
	}
}

// A process that builds is killed at every step, and the next one builds.
func TestKilledAtEveryStep(t *testing.T) {
	source := strings.Replace(strings.Replace(twoHosts, "lab: two", labLine(), 1), "{a: , b: }", "{a: , b: {sysctls: {net.ipv4.ip_no_pmtu_disc: 1}}}", 1)
	l, k := trial(t, source)
	for at := 1; ; at++ {
		if at > 50 {
			t.Fatal("there is no end of steps")
		}
		if !killed(t, child{Source: source, StateDir: k.StateDir, KillAt: at}) {
			break // it went through
		}
		b, err := k.Build(l)
		if err != nil {
			t.Fatalf("after a kill at step %d: %v", at, err)
		}
		if err := send(t, l.Namespace("a"), l.Namespace("b"), "10.0.0.2"); err != nil {
			t.Errorf("after a kill at step %d: %v", at, err)
		}
		if err := b.Remove(); err != nil {
			t.Fatal(err)
		}
	}
	// It is up now: take it down the same way.
	for at := 1; killed(t, child{Source: source, StateDir: k.StateDir, KillAt: at, Down: true}); at++ {
		if at > 50 {
			t.Fatal("there is no end of steps")
		}
	}
}

// killed runs a process that kills itself, and reports whether it did.
func killed(t *testing.T, c child) bool {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	out, err := cmd.CombinedOutput()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signal() == syscall.SIGKILL {
		return true
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return false
}

func TestOthersAreLeftAlone(t *testing.T) {
	l, k := trial(t, twoHosts)
	// Somebody else's namespace has the name of the second node.
	theirs := l.Namespace("b")
	if err := addNamespace(theirs, "somebody else's"); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if removed, err := removeNamespace(theirs, "somebody else's"); !removed || err != nil {
			t.Errorf("their namespace was touched: %t, %v", removed, err)
		}
	}()
	if _, err := k.Build(l); err == nil || !strings.Contains(err.Error(), "there is a network namespace "+theirs+" already") {
		t.Errorf("built over it: %v", err)
	}
	if state, err := lookUp(l.Namespace("a"), "any"); state != nameFree || err != nil {
		t.Errorf("the first node is left: %v, %v", state, err)
	}
	// A state that names it does not make it ours.
	kept, err := openState(k.StateDir, l.Name)
	if err != nil {
		t.Fatal(err)
	}
	boot, err := bootID()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(kept.write(State{Lab: l.Name, Phase: phaseUp, Token: "x", Boot: boot, Namespaces: []string{theirs}}), kept.close()); err != nil {
		t.Fatal(err)
	}
	if removed, err := k.Down(l.Name, true); err != nil || len(removed) > 0 {
		t.Errorf("removed %v, %v", removed, err)
	}
	if state, err := lookUp(theirs, "somebody else's"); state != nameOurs || err != nil {
		t.Errorf("their namespace is %v, %v", state, err)
	}
}

func TestOneAtATime(t *testing.T) {
	l, k := trial(t, twoHosts)
	b := build(t, k, l)
	var busy *BusyError
	if _, err := k.Build(l); !errors.As(err, &busy) || busy.PID != os.Getpid() {
		t.Errorf("built twice: %v", err)
	}
	if _, err := k.Down(l.Name, true); !errors.As(err, &busy) {
		t.Errorf("taken down from under its run: %v", err)
	}
	if err := b.Leave(); err != nil {
		t.Fatal(err)
	}
	var up *UpError
	if _, err := k.Build(l); !errors.As(err, &up) {
		t.Errorf("built over one that is up: %v", err)
	}
	if states, err := States(k.StateDir); err != nil || len(states) != 1 || states[0].Lab != l.Name {
		t.Errorf("states %v, %v", states, err)
	}
	sleeper := exec.Command("sleep", "60")
	err := host.InNamespace(l.Namespace("a"), sleeper.Start)
	if err != nil {
		t.Fatal(err)
	}
	var used *InUseError
	if _, err := k.Down(l.Name, false); !errors.As(err, &used) || !strings.Contains(err.Error(), fmt.Sprint(sleeper.Process.Pid)) {
		t.Errorf("taken down with a process inside: %v", err)
	}
	if err := errors.Join(sleeper.Process.Kill()); err != nil {
		t.Fatal(err)
	}
	_ = sleeper.Wait() // it was killed
	if removed, err := k.Down(l.Name, false); err != nil || len(removed) != 2 {
		t.Errorf("taken down: %v, %v", removed, err)
	}
	if removed, err := k.Down(l.Name, false); err != nil || len(removed) != 0 {
		t.Errorf("taken down twice: %v, %v", removed, err)
	}
}

func TestWithoutRoot(t *testing.T) {
	l, k := trial(t, twoHosts)
	err := host.OnThread(func() error {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var none [2]unix.CapUserData
		if err := unix.Capset(&header, &none[0]); err != nil {
			return err
		}
		_, buildErr := k.Build(l)
		_, downErr := k.Down(l.Name, false)
		return errors.Join(buildErr, downErr)
	})
	if !errors.As(err, new(AllowedError)) || !strings.Contains(err.Error(), "needs root") || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("got %v", err)
	}
}

func TestWithoutIPv6(t *testing.T) {
	if err := a3(t).kernelHasAll(false); err == nil || !strings.Contains(err.Error(), "lab.yaml:24: client.addresses: found fd01::1/64 on a kernel without IPv6, expected IPv4 addresses") {
		t.Errorf("got %v", err)
	}
	if err := a3(t).kernelHasAll(true); err != nil {
		t.Error(err)
	}
}

func TestFailuresLeaveNothing(t *testing.T) {
	for name, c := range map[string]struct{ from, to, want string }{
		"offload": {"a: {interface", "a: {offloads: {rx-no-such-thing: off}, interface", "test.yaml:5: offload rx-no-such-thing of a, interface eth0: eth0 has no offload"},
		"sysctl":  {"{a: , b: }", "{a: {sysctls: {net.ipv4.no_such: 1}}, b: }", "test.yaml:2: sysctl net.ipv4.no_such of a"},
		"value":   {"{a: , b: }", "{a: {sysctls: {net.ipv4.ip_default_ttl: many}}, b: }", "sysctl net.ipv4.ip_default_ttl of a"},
	} {
		t.Run(name, func(t *testing.T) {
			l, k := trial(t, strings.Replace(twoHosts, c.from, c.to, 1))
			_, err := k.Build(l)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v\nwant %q", err, c.want)
			}
			if state, err := lookUp(l.Namespace("a"), "any"); state != nameFree || err != nil {
				t.Errorf("a node is left: %v, %v", state, err)
			}
		})
	}
}
