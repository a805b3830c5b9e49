package host

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// freeAddress is a port of this host that nobody uses.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// child is a spec that plays a role of play.
func child(t testing.TB, role string) ServiceSpec {
	t.Helper()
	address := freeAddress(t)
	return ServiceSpec{
		Name: role, Endpoint: "tcp://" + address, Command: []string{os.Args[0], address},
		Env: map[string]string{childVar: role}, Log: filepath.Join(t.TempDir(), "log"), ReadySeconds: 20, StopSeconds: 10,
	}
}

func mustStart(t testing.TB, spec ServiceSpec) *Service {
	t.Helper()
	s, err := StartService(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	return s
}

// noneLeft checks that processes are gone for good; zombies are not gone.
func noneLeft(t testing.TB, pids []int) {
	t.Helper()
	for _, pid := range pids {
		if s, err := readStat("/", pid); err == nil {
			t.Errorf("process %d (%s, state %c) is still there", pid, s.name, s.state)
		}
	}
}

func needs(t testing.TB, program string) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real servers")
	}
	if _, err := exec.LookPath(program); err != nil {
		t.Fatalf("%s is missing: install it (apt-get install %s), or test with -short", program, strings.TrimSuffix(program, "-server"))
	}
}

func TestRedisOverTCPAndUnix(t *testing.T) {
	needs(t, "redis-server")
	dir := t.TempDir()
	tcp := freeAddress(t)
	_, port, _ := net.SplitHostPort(tcp)
	for name, c := range map[string]struct {
		endpoint string
		args     []string
	}{
		"tcp":  {"redis://" + tcp, []string{"--port", port, "--bind", "127.0.0.1"}},
		"unix": {"redis+unix://" + dir + "/redis.sock", []string{"--port", "0", "--unixsocket", dir + "/redis.sock"}},
	} {
		t.Run(name, func(t *testing.T) {
			log, pids := filepath.Join(dir, name+".log"), filepath.Join(dir, name+".pid")
			s := mustStart(t, ServiceSpec{
				Name: "redis", Dir: dir, CPUs: "0", Endpoint: c.endpoint, Log: log, PIDFile: pids,
				Command: append([]string{"redis-server", "--save", "", "--io-threads", "2"}, c.args...),
				Version: []string{"redis-server", "--version"},
			})
			r := s.Record()
			if len(r.PIDs) != 1 || r.CPUs != "0" || r.Endpoint != c.endpoint || !strings.HasPrefix(r.Version, "Redis server v=") {
				t.Errorf("Record = %+v", r)
			}
			threads, err := affinity("/", r.PIDs[0])
			if err != nil || len(threads) < 3 {
				t.Errorf("threads = %v, %v; Redis has several", threads, err)
			}
			for id, at := range threads {
				if at.String() != "0" {
					t.Errorf("thread %s runs on %s; want 0", id, at)
				}
			}
			if _, err := os.Stat(pids); err != nil {
				t.Errorf("the PID file: %v", err)
			}
			if s.Err() != nil {
				t.Errorf("Err of a running service: %v", s.Err())
			}
			// Found again as a service that runs already, and left alone.
			found, err := StartService(t.Context(), ServiceSpec{Name: "found", Endpoint: c.endpoint})
			if err != nil || !slices.Equal(found.PIDs(), r.PIDs) || found.Record().CPUs != "0" {
				t.Errorf("found %+v, %v; want the PIDs %v", found, err, r.PIDs)
			}
			if err := found.Stop(t.Context()); err != nil || !s.leader.Alive() {
				t.Errorf("Stop of a found service: %v; alive: %v", err, s.leader.Alive())
			}
			if err := s.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			noneLeft(t, r.PIDs)
			if _, err := os.Stat(pids); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the PID file after Stop: %v; want none", err)
			}
			if !strings.Contains(content(t, "/", log), "bye bye") {
				t.Errorf("Redis was not asked to end politely; its log:\n%s", content(t, "/", log))
			}
			if err := s.Stop(t.Context()); err != nil {
				t.Errorf("second Stop: %v", err)
			}
		})
	}
}

func TestMemcachedIsReadyWhenItAnswers(t *testing.T) {
	needs(t, "memcached")
	address := freeAddress(t)
	_, port, _ := net.SplitHostPort(address)
	s := mustStart(t, ServiceSpec{
		Name: "memcached", Endpoint: "memcache://" + address,
		Command: []string{"memcached", "-u", "nobody", "-l", "127.0.0.1", "-p", port, "-U", "0"}, Version: []string{"memcached", "-V"},
	})
	if r := s.Record(); !strings.HasPrefix(r.Version, "memcached 1.") || r.CPUs != "" {
		t.Errorf("Record = %+v", r)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// The port is looked at before anything is started.
func TestEndpointTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	ul, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer ul.Close()
	for _, endpoint := range []string{"tcp://127.0.0.1:" + port, "redis://localhost:" + port, "tcp://0.0.0.0:" + port, "unix://" + ul.Addr().String()} {
		marker := filepath.Join(t.TempDir(), "started")
		_, err := StartService(t.Context(), ServiceSpec{Name: "second", Endpoint: endpoint, Command: []string{"touch", marker}})
		want := fmt.Sprintf("host.test (pid %d) listens at %s already", os.Getpid(), endpoint)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("StartService at a taken endpoint: %v; want an error with %q", err, want)
		}
		if _, err := os.Stat(marker); err == nil {
			t.Error("the second service was started nevertheless")
		}
	}
}

func TestServiceThatDoesNotComeUp(t *testing.T) {
	for role, want := range map[string][]string{
		"die":     {"service die:", "ended by itself with exit status 3", "/log:\n\tfirst line\n\tFATAL: cannot open dump.rdb"},
		"leave":   {"ended by itself with status 0 (a service must stay in the foreground", "going to the background"},
		"mute":    {"not up within 4s", "connection refused", "it printed nothing"},
		"loading": {"not up within 4s", `it answered "-LOADING Redis is loading`, "expected +PONG or -NOAUTH"},
	} {
		t.Run(role, func(t *testing.T) {
			spec := child(t, role)
			spec.PIDFile = filepath.Join(t.TempDir(), "pid")
			if role == "mute" || role == "loading" {
				spec.ReadySeconds = 4
				spec.Endpoint = strings.Replace(spec.Endpoint, "tcp", "redis", 1)
			}
			s, err := StartService(t.Context(), spec)
			for _, w := range want {
				if s != nil || err == nil || !strings.Contains(err.Error(), w) {
					t.Errorf("StartService = %v, %v; want an error with %q", s, err, w)
				}
			}
			if _, err := os.Stat(spec.PIDFile); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the PID file after a failed start: %v; want none", err)
			}
		})
	}
}

func TestServiceRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*ServiceSpec)
		want   string
	}{
		"no such program": {func(s *ServiceSpec) { s.Command = []string{"/no/such/server"} }, "starting /no/such/server: fork/exec"},
		"no such folder":  {func(s *ServiceSpec) { s.Dir = "/no/such/dir" }, "/no/such/dir"},
		"no such core":    {func(s *ServiceSpec) { s.CPUs = "8000" }, "binding to processors 8000"},
		"core half there": {func(s *ServiceSpec) { s.CPUs = "0,8000" }, "cannot use 8000"},
		"cores unread":    {func(s *ServiceSpec) { s.CPUs = "0..3" }, `list of processors "0..3"`},
		"signal":          {func(s *ServiceSpec) { s.Signal = "STOPP" }, `signal "STOPP"; expected a name`},
		"endpoint":        {func(s *ServiceSpec) { s.Endpoint = "127.0.0.1:80" }, "endpoint"},
		"no endpoint":     {func(s *ServiceSpec) { s.Endpoint = "" }, "neither an endpoint nor a ready command"},
		"log":             {func(s *ServiceSpec) { s.Log = "/no/such/log" }, "opening its log"},
		"pid file":        {func(s *ServiceSpec) { s.PIDFile = "/no/such/pid" }, "/no/such/pid"},
		"version":         {func(s *ServiceSpec) { s.Version = []string{"false"} }, "asking for its version"},
		"silent version":  {func(s *ServiceSpec) { s.Version = []string{"true"} }, "printed nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := child(t, "slow")
			spec.Env[childVar] = "wrapper"
			address := spec.Command[1]
			c.change(&spec)
			s, err := StartService(t.Context(), spec)
			if s != nil || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("StartService = %v, %v; want an error with %q", s, err, c.want)
			}
			noneLeft(t, playing(t, address))
		})
	}
}

// playing lists the processes of a test's own children, by their address.
func playing(t testing.TB, address string) (pids []int) {
	t.Helper()
	all, err := processes("/")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		words, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid))
		if p.pid != os.Getpid() && slices.Contains(strings.Split(string(words), "\x00"), address) {
			pids = append(pids, p.pid)
		}
	}
	return pids
}

func TestReadyCommand(t *testing.T) {
	up := filepath.Join(t.TempDir(), "up")
	spec := child(t, "mute")
	spec.Endpoint = ""
	spec.Ready = []string{"sh", "-c", `test "$ANSWER" = 42 && test -e ` + up}
	spec.Env["ANSWER"] = "42"
	spec.ReadySeconds = 1
	if _, err := StartService(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "exit status 1") {
		t.Fatalf("a ready command that says no: %v", err)
	}
	if err := os.WriteFile(up, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	spec.ReadySeconds = 20
	s := mustStart(t, spec)
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// A service that ignores SIGTERM is killed after its time, and so are its
// children, the one included that left its session.
func TestStubbornServiceIsKilled(t *testing.T) {
	spec := child(t, "stubborn")
	spec.StopSeconds = 0.3
	s := mustStart(t, spec)
	var pids []int
	await(t, "all three processes", func() bool { pids = s.PIDs(); return len(pids) == 3 })
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	noneLeft(t, pids[:1])
	await(t, "the children to be reaped", func() bool { return len(playing(t, spec.Command[1])) == 0 })
	if s.PIDs() != nil {
		t.Errorf("PIDs after Stop = %v; want none", s.PIDs())
	}
}

func TestStopWhenTheContextIsDone(t *testing.T) {
	spec := child(t, "stubborn")
	spec.StopSeconds = 3600
	s := mustStart(t, spec)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Stop(ctx); err != nil {
		t.Error(err)
	}
	await(t, "its end", func() bool { return len(playing(t, spec.Command[1])) == 0 })
}

// When the first process ends first, the rest has what is left of the time.
func TestStopWaitsForChildren(t *testing.T) {
	spec := child(t, "wrapper")
	s := mustStart(t, spec)
	await(t, "the child", func() bool { return strings.Contains(content(t, "/", spec.Log), "child is up") })
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if !strings.Contains(content(t, "/", spec.Log), "child is done") {
		t.Error("the child was not given the time to end politely")
	}
}

func TestServiceDiesInMidRun(t *testing.T) {
	spec := child(t, "wrapper")
	s := mustStart(t, spec)
	if err := s.leader.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-s.Exited()
	for _, err := range []error{s.Err(), s.Stop(t.Context()), s.Stop(t.Context())} {
		if err == nil || !strings.Contains(err.Error(), "ended by itself with signal: killed") {
			t.Errorf("after its death: %v", err)
		}
	}
	await(t, "its child to be gone", func() bool { return len(playing(t, spec.Command[1])) == 0 })
}

func TestStartCancelled(t *testing.T) {
	spec := child(t, "mute")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		for len(playing(t, spec.Command[1])) == 0 {
			pause(ctx, time.Millisecond, nil)
		}
		cancel(errors.New("stopped by the user"))
	}()
	if _, err := StartService(ctx, spec); err == nil || !strings.Contains(err.Error(), "stopped by the user") {
		t.Errorf("StartService = %v", err)
	}
	noneLeft(t, playing(t, spec.Command[1]))
}

// A server that binds itself elsewhere would be measured where nobody put it.
func TestServiceThatRebindsItself(t *testing.T) {
	if cpus, _ := ReadTopology(t.Context(), "/"); !slices.Contains(cpus.Allowed, 1) {
		t.Skip("needs two processors")
	}
	spec := child(t, "rebind")
	spec.CPUs = "1"
	if _, err := StartService(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "take it out of the server's own settings") {
		t.Errorf("StartService = %v", err)
	}
}

func TestWithoutLog(t *testing.T) {
	spec := child(t, "die")
	spec.Log = ""
	if _, err := StartService(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "the end of its output:\n\tfirst line") {
		t.Errorf("StartService = %v", err)
	}
}

// When bakeoff is killed, the kernel takes the first process with it, and the
// PID file leads to the rest.
func TestOrphansOfAKilledRun(t *testing.T) {
	dir := t.TempDir()
	address, pidPath := freeAddress(t), filepath.Join(dir, "pid")
	parent := exec.Command(os.Args[0], address, pidPath)
	parent.Env = append(os.Environ(), childVar+"=bakeoff")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	if !strings.HasPrefix(line, "started") {
		t.Fatalf("the run says %q", line)
	}
	await(t, "all of the service", func() bool { return len(playing(t, address)) == 4 }) // the run itself included
	kept, err := parsePIDFile([]byte(content(t, "/", pidPath)))
	if err != nil {
		t.Fatal(err)
	}
	leader := kept.Members[0]
	if !leader.Alive() {
		t.Fatal("the service is not alive")
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	await(t, "the kernel to kill the first process", func() bool { return !leader.Alive() })
	if left := playing(t, address); len(left) != 2 {
		t.Errorf("processes left = %v; want the two children", left)
	}
	ended, err := EndOrphan(t.Context(), pidPath, 100*time.Millisecond)
	if err != nil || len(ended) != 2 {
		t.Errorf("EndOrphan = %v, %v; want two processes ended", ended, err)
	}
	noneLeft(t, playing(t, address))
	if _, err := os.Stat(pidPath); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the PID file afterwards: %v", err)
	}
	if ended, err := EndOrphan(t.Context(), pidPath, 0); err != nil || ended != nil {
		t.Errorf("EndOrphan without a file = %v, %v", ended, err)
	}
}

// A process that merely has the PID of one on record is never touched.
func TestOrphanWithAnotherStart(t *testing.T) {
	innocent := exec.Command("sleep", "60")
	if err := innocent.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = innocent.Process.Kill(); _ = innocent.Wait() }()
	id, err := Identify(innocent.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	otherStart, otherBoot := id, id
	otherStart.Start--
	otherBoot.Boot = "00000000-0000-0000-0000-000000000000"
	for name, id := range map[string]ProcessID{"start": otherStart, "boot": otherBoot} {
		if id.Alive() {
			t.Errorf("another %s: Alive", name)
		}
		if err := id.Signal(syscall.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("another %s: Signal = %v; want os.ErrProcessDone", name, err)
		}
		path := filepath.Join(t.TempDir(), "pid")
		text := fmt.Sprintf(`{"service":"x","boot_id":%q,"mark":"%s=ABCDEFGHIJKLMNOPQRSTUVWXYZ","members":[{"pid":%d,"start_ticks":%d,"boot_id":%q}]}`,
			id.Boot, markName, id.PID, id.Start, id.Boot)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if ended, err := EndOrphan(t.Context(), path, 0); err != nil || ended != nil {
			t.Errorf("another %s: EndOrphan = %v, %v; want nothing ended", name, ended, err)
		}
	}
	if !id.Alive() {
		t.Error("the innocent process was killed")
	}
}

func TestEndOrphanRefusesWhatItDidNotWrite(t *testing.T) {
	for _, text := range []string{"", "123\n", "{}", `{"boot_id":"x","mark":"PATH=/usr/bin:/bin:/usr/local/bin"}`, `{"boot_id":"x","mark":"BAKEOFF_SERVICE="}`} {
		path := filepath.Join(t.TempDir(), "pid")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := EndOrphan(t.Context(), path, 0); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("EndOrphan of %q: %v; want an error that names the file", text, err)
		}
		if _, err := os.Stat(path); err != nil {
			t.Errorf("the file was removed: %v", err)
		}
	}
}

func FuzzParsePIDFile(f *testing.F) {
	f.Add([]byte(`{"service":"x","boot_id":"b","mark":"BAKEOFF_SERVICE=ABCDEFGHIJKLMNOPQRSTUVWXYZ","members":[{"pid":1}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if kept, err := parsePIDFile(data); err == nil && !strings.HasPrefix(kept.Variable, markName+"=") {
			t.Errorf("took the mark %q", kept.Variable)
		}
	})
}

func TestSignalNamed(t *testing.T) {
	for name, want := range map[string]syscall.Signal{"": syscall.SIGTERM, "term": syscall.SIGTERM, "SIGINT": syscall.SIGINT, "Quit": syscall.SIGQUIT} {
		if got, err := signalNamed(name); err != nil || got != want {
			t.Errorf("signalNamed(%q) = %v, %v; want %v", name, got, err, want)
		}
	}
	if _, err := signalNamed(strconv.Itoa(9)); err == nil {
		t.Error("signalNamed took a number")
	}
}
