package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"bakeoff/record"
)

// A Service is a server under test: one that StartService started, or one that
// ran already.
//
// What is started gets a session and a process group of its own, and is bound
// to its processors before its program is loaded, so that every thread it ever
// makes inherits the binding. It stays in the foreground: a service whose first
// process ends has ended, and what that leaves behind is killed. Should bakeoff
// itself be killed, the kernel kills the first process, and EndOrphan the rest.
type Service struct {
	spec    ServiceSpec
	at      endpoint
	cpus    CPUs
	version string

	found []ProcessID // of one that ran already; nothing below is set then

	leader  ProcessID
	mark    mark // of all that descends from it
	log     *os.File
	logFrom int64

	stopping chan struct{} // closed when Stop has asked it to end
	killing  chan struct{} // closed when it is to be killed at once
	dead     chan struct{} // closed when the first process has ended
	gone     chan struct{} // closed when nothing is left
	err      error         // how the first process ended; read after gone

	mu     sync.Mutex // guards what follows
	reaped bool       // the leader's PID may belong to another process
	stuck  []int      // what SIGKILL could not end
}

// StartService starts a service and returns when it answers. It fails at once
// when something listens at the endpoint already or when the service ends
// early; the error then holds the end of its log. A spec without a command
// describes a service that runs already, which is found and never stopped.
//
// ctx bounds the start alone: the service runs until Stop.
func StartService(ctx context.Context, spec ServiceSpec) (*Service, error) {
	s, err := newService(spec)
	if err != nil {
		return nil, fmt.Errorf("service %s: %w", spec.Name, err)
	}
	if len(spec.Command) == 0 {
		err = s.find(ctx)
	} else {
		err = s.start(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("service %s: %w", spec.Name, err)
	}
	return s, nil
}

func newService(spec ServiceSpec) (*Service, error) {
	s := &Service{
		spec:     spec,
		stopping: make(chan struct{}), killing: make(chan struct{}), dead: make(chan struct{}), gone: make(chan struct{}),
	}
	var err error
	if s.cpus, err = ParseCPUs(spec.CPUs); err != nil {
		return nil, err
	}
	if _, err := signalNamed(spec.Signal); err != nil {
		return nil, err
	}
	if spec.Endpoint != "" {
		if s.at, err = parseEndpoint(spec.Endpoint); err != nil {
			return nil, err
		}
	}
	switch {
	case spec.Endpoint == "" && len(spec.Ready) == 0 && (len(spec.Command) > 0 || spec.Process == ""):
		return nil, errors.New("it has neither an endpoint nor a ready command: there is no telling when it is up")
	case len(spec.Command) > 0 && spec.Command[0] == "":
		return nil, errors.New("the first word of its command is empty")
	}
	return s, nil
}

// signalNamed reads TERM, SIGTERM, term; "" is TERM.
func signalNamed(name string) (syscall.Signal, error) {
	if name == "" {
		return syscall.SIGTERM, nil
	}
	full := strings.ToUpper(name)
	if !strings.HasPrefix(full, "SIG") {
		full = "SIG" + full
	}
	if sig := unix.SignalNum(full); sig != 0 {
		return sig, nil
	}
	return 0, fmt.Errorf("found the signal %q; expected a name, as TERM, INT or QUIT", name)
}

// CheckService says what would keep a service from being started, or found,
// now. It starts nothing.
func CheckService(ctx context.Context, spec ServiceSpec) error {
	s, err := newService(spec)
	if err != nil || len(spec.Command) == 0 {
		return err
	}
	if top, err := ReadTopology(ctx, "/"); err == nil {
		if missing := s.cpus.Without(top.Allowed); len(missing) > 0 {
			return fmt.Errorf("cpus: processors %s are not there for it; expected some of %s", missing, top.Allowed)
		}
	}
	program := spec.Command[0]
	if strings.Contains(program, "/") && !filepath.IsAbs(program) {
		program = filepath.Join(spec.Dir, program) // as it will be looked for
	}
	if _, err := exec.LookPath(program); err != nil {
		return fmt.Errorf("command: %w; install it, or give its whole path", err)
	}
	if spec.Endpoint != "" {
		return s.at.inUse(ctx)
	}
	return nil
}

func (s *Service) start(ctx context.Context) error {
	if s.spec.Endpoint != "" {
		if err := s.at.inUse(ctx); err != nil {
			return err
		}
	}
	if s.spec.Dir != "" {
		// The kernel would blame the program.
		if info, err := os.Stat(s.spec.Dir); err != nil || !info.IsDir() {
			return fmt.Errorf("its folder %s is not there, or is no folder: make it first", s.spec.Dir)
		}
	}
	if err := s.openLog(); err != nil {
		return err
	}
	if err := s.launch(ctx); err != nil {
		return errors.Join(err, s.log.Close())
	}
	for _, step := range []func(context.Context) error{
		s.writePIDFile, s.awaitReady, s.checkBinding, s.writePIDFile, s.readVersion,
	} {
		if err := step(ctx); err != nil {
			s.kill()
			return errors.Join(err, s.cleanUp())
		}
	}
	return nil
}

// openLog opens the log at its end. Without one, the output goes to a file
// without a name, so that an early end can still be explained.
func (s *Service) openLog() (err error) {
	if s.spec.Log == "" {
		if s.log, err = os.CreateTemp("", "bakeoff-service-"); err != nil {
			return fmt.Errorf("making a place for its output: %w", err)
		}
		return os.Remove(s.log.Name())
	}
	s.log, err = os.OpenFile(s.spec.Log, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("opening its log: %w", err)
	}
	info, err := s.log.Stat()
	if err != nil {
		return fmt.Errorf("opening its log: %w", err)
	}
	s.logFrom = info.Size()
	return nil
}

// awaitReady polls until the service is up, ends or runs out of time.
func (s *Service) awaitReady(ctx context.Context) error {
	limit := seconds(s.spec.ReadySeconds, 30*time.Second)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not up within %v", limit))
	defer cancel()
	var last error // of a try that was not cut off
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		err := s.ready(ctx)
		if last == nil || ctx.Err() == nil && !cutOff(err) {
			last = err
		}
		select {
		case <-s.dead:
			return s.endedEarly()
		default:
		}
		if err == nil {
			return s.checkListener(ctx)
		}
		pause(ctx, wait, s.dead)
		if ctx.Err() != nil {
			return fmt.Errorf("waiting for it to be up: %w; the last try: %w%s", context.Cause(ctx), last, s.lastWords())
		}
	}
}

// cutOff reports whether a try ended only because its time was up: what the one
// before found says more.
func cutOff(err error) bool {
	late, ok := errors.AsType[net.Error](err)
	return ok && late.Timeout()
}

func (s *Service) ready(ctx context.Context) error {
	const patience = 2 * time.Second // with one try
	if len(s.spec.Ready) > 0 {
		ctx, cancel := context.WithTimeoutCause(ctx, 10*time.Second, errors.New("no end within 10s"))
		defer cancel()
		_, _, err := command{argv: s.spec.Ready, dir: s.spec.Dir, env: s.environment()}.run(ctx)
		return err
	}
	if s.spec.Endpoint == "" {
		return nil
	}
	return s.at.probe(ctx, patience)
}

// checkListener makes sure that what answered is what was started: another
// server may have taken the endpoint in the meantime.
func (s *Service) checkListener(ctx context.Context) error {
	if s.spec.Endpoint == "" {
		return nil
	}
	owners, err := listeners(ctx, "/", s.at)
	if err != nil || len(owners) == 0 {
		return nil // not ours to look into, as in another container
	}
	mine := s.PIDs()
	if slices.ContainsFunc(owners, func(pid int) bool { return slices.Contains(mine, pid) }) {
		return nil
	}
	return fmt.Errorf("what answers at %s is process %d, which is none of its own (%v): it did not get the endpoint%s",
		s.at.url, owners[0], mine, s.lastWords())
}

// checkBinding makes sure that the service runs where the plan wants it: a
// cgroup may have narrowed the list, and some servers bind threads themselves.
func (s *Service) checkBinding(context.Context) error {
	if len(s.cpus) == 0 {
		return nil
	}
	var used CPUs
	for _, pid := range s.PIDs() {
		threads, err := affinity("/", pid)
		if err != nil {
			continue // it ended
		}
		for id, at := range threads {
			used = used.Or(at)
			if len(at.Without(s.cpus)) > 0 {
				return fmt.Errorf("it is to run on processors %s, but its thread %s runs on %s: "+
					"leave the binding to the plan, and take it out of the server's own settings", s.cpus, id, at)
			}
		}
	}
	if missing := s.cpus.Without(used); len(missing) > 0 {
		return fmt.Errorf("it is to run on processors %s, but cannot use %s: "+
			"are they online, and does the cgroup's cpuset allow them?", s.cpus, missing)
	}
	return nil
}

func (s *Service) readVersion(ctx context.Context) error {
	if len(s.spec.Version) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, 10*time.Second, errors.New("no end within 10s"))
	defer cancel()
	out, errs, err := command{argv: s.spec.Version, dir: s.spec.Dir, env: s.environment()}.run(ctx)
	if err != nil {
		return fmt.Errorf("asking for its version: %w", err)
	}
	for _, text := range []string{out, errs} { // some print it on stderr
		line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		if s.version = strings.TrimSpace(line); s.version != "" {
			return nil
		}
	}
	return fmt.Errorf("asking for its version: %s printed nothing", quoted(s.spec.Version))
}

func (s *Service) environment() []string {
	env := make([]string, 0, len(s.spec.Env))
	for k, v := range s.spec.Env {
		env = append(env, k+"="+v)
	}
	slices.Sort(env)
	return env
}

// find looks for a service that runs already: by who listens at its endpoint,
// else by its process's name.
func (s *Service) find(ctx context.Context) error {
	if err := s.awaitFound(ctx); err != nil {
		return err
	}
	var pids []int
	var err error
	if s.spec.Process != "" {
		if pids, err = named("/", s.spec.Process); err == nil && len(pids) == 0 {
			err = fmt.Errorf("no process is named %q", s.spec.Process)
		}
	} else {
		pids, err = listeners(ctx, "/", s.at)
	}
	if err != nil {
		return err
	}
	for _, pid := range pids {
		if id, err := Identify(pid); err == nil {
			s.found = append(s.found, id)
		}
	}
	return s.readVersion(ctx)
}

// awaitFound waits for a service that runs already to answer.
func (s *Service) awaitFound(ctx context.Context) error {
	limit := seconds(s.spec.ReadySeconds, 5*time.Second)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %v", limit))
	defer cancel()
	var last error
	for {
		err := s.ready(ctx)
		if err == nil {
			return nil
		}
		if last == nil || !cutOff(err) {
			last = err
		}
		pause(ctx, 100*time.Millisecond, nil)
		if ctx.Err() != nil {
			return fmt.Errorf("it has no command, so it must run already: %w: %w", context.Cause(ctx), last)
		}
	}
}

// PIDs returns the processes of the service as they are now: all that descend
// from its first one or belong to its session.
func (s *Service) PIDs() []int {
	select {
	case <-s.gone:
		return nil
	default:
	}
	all, err := processes("/")
	if err != nil {
		return nil
	}
	if s.leader.PID == 0 {
		return pidsOf(descendants(all, bare(s.found)...))
	}
	return pidsOf(s.family(all))
}

// Record describes the service as it is now.
func (s *Service) Record() record.Service {
	r := record.Service{
		Name: s.spec.Name, Command: s.spec.Command, PIDs: s.PIDs(), CPUs: s.cpus.String(),
		Endpoint: s.spec.Endpoint, Version: s.version,
	}
	if s.leader.PID == 0 && len(r.PIDs) > 0 {
		var at CPUs
		for _, pid := range r.PIDs {
			threads, _ := affinity("/", pid)
			for _, cpus := range threads {
				at = at.Or(cpus)
			}
		}
		r.CPUs = at.String()
	}
	return r
}
