package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"bakeoff/host"
	"bakeoff/internal/osenv"
	"bakeoff/load"
	"bakeoff/record"
	"bakeoff/run"
)

// AgentCommand is the subcommand that serves calls on its standard input and
// output.
const AgentCommand = "agent"

// Namespaced is the agent of a host that is a network namespace of this machine:
// a process of its own inside, started at the first call and, should it die, at
// the next one. The kernel kills it when this process dies, and with it the
// services that it started.
//
// All namespaces of a machine share its processors, its memory and its clock:
// what is measured in two of them at once is measured at the same time.
type Namespaced struct {
	env  *osenv.Env
	name string // of the namespace

	mu       sync.Mutex
	child    *child
	services map[string]string // started and not stopped: name -> PID file
	began    *child            // that has loads open, or services running; nil: none
}

// NewNamespaced returns the agent of a network namespace. It starts nothing.
func NewNamespaced(env *osenv.Env, namespace string) *Namespaced {
	return &Namespaced{env: env, name: namespace, services: map[string]string{}}
}

// child is a process that serves calls inside the namespace.
type child struct {
	*Caller
	process *exec.Cmd
	stdin   io.Closer
	words   *lastWords
	gone    chan struct{} // closed when it has ended
	err     error         // how; read after gone
}

// startPatience is how long the process may take to greet.
const startPatience = 20 * time.Second

// start starts the process on a thread that is inside the namespace. The thread
// lives as long as the process, since the kernel sends the parent-death signal
// when the thread ends.
func (n *Namespaced) start(ctx context.Context) (*child, error) {
	c := &child{gone: make(chan struct{}), words: &lastWords{}}
	c.process = exec.Command(n.env.Executable, AgentCommand)
	c.process.Stderr = c.words
	// A session of its own: Ctrl-C at the terminal is this process's to act on.
	c.process.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	c.process.WaitDelay = time.Second
	in, err := c.process.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("making a pipe: %w", err)
	}
	out, err := c.process.StdoutPipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making a pipe: %w", err), in.Close())
	}
	c.stdin = in
	started := make(chan error, 1)
	go func() {
		defer close(c.gone)
		entered := host.InNamespace(n.name, func() error {
			err := host.OwnMounts()
			if err == nil {
				if err = c.process.Start(); err != nil {
					err = fmt.Errorf("starting the agent: %w", err)
				}
			}
			started <- err
			if err != nil {
				return nil
			}
			c.err = c.process.Wait()
			return nil
		})
		if entered != nil {
			started <- entered
		}
	}()
	if err := <-started; err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	limited, cancel := context.WithTimeoutCause(ctx, startPatience, fmt.Errorf("no greeting within %v", startPatience))
	defer cancel()
	end := func() { _ = in.Close() } // the end of its input is what ends it
	if c.Caller, err = NewCaller(limited, out, in, end, n.env.Clock); err != nil {
		_ = c.process.Process.Kill()
		<-c.gone
		return nil, fmt.Errorf("%w%s", err, c.words)
	}
	return c, nil
}

// end has the process end, and kills it where it takes too long.
func (c *child) end() error {
	c.Close()
	timer := time.NewTimer(endingPatience + 5*time.Second)
	defer timer.Stop()
	select {
	case <-c.gone:
	case <-timer.C:
		_ = c.process.Process.Kill() // gone already is as good
		<-c.gone
	}
	if c.err != nil {
		return fmt.Errorf("the agent ended with %w%s", c.err, c.words)
	}
	return nil
}

// alive reports whether the process can be asked.
func (c *child) alive() bool {
	if c == nil {
		return false
	}
	select {
	case <-c.gone:
		return false
	case <-c.over:
		return false
	default:
		return true
	}
}

// reach returns the process inside the namespace, a new one where the last is
// gone. What the last one left running is ended first.
func (n *Namespaced) reach(ctx context.Context) (*child, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.child.alive() {
		return n.child, nil
	}
	if n.child != nil {
		_ = n.child.end() // its last call told how it died
		n.child = nil
	}
	c, err := n.start(ctx)
	if err != nil {
		return nil, err
	}
	n.child = c
	if len(n.services) == 0 {
		return c, nil
	}
	var left []run.Orphan
	for _, name := range slices.Sorted(maps.Keys(n.services)) {
		left = append(left, run.Orphan{Name: name, PIDFile: n.services[name]})
	}
	if _, err := c.EndOrphans(ctx, left); err != nil {
		return nil, fmt.Errorf("ending what the agent before left: %w", err)
	}
	return c, nil // the services stay on the list until they are stopped, as for the caller
}

// told adds what the process last said to the news that it is lost.
func (n *Namespaced) told(c *child, err error) error {
	if _, lost := errors.AsType[*LostError](err); !lost || c.alive() {
		return err
	}
	err = errors.Join(fmt.Errorf("network namespace %s: %w", n.name, err), c.end())
	return err
}

// Close ends the process, and what it has under way.
func (n *Namespaced) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.child == nil {
		return nil
	}
	c := n.child
	n.child = nil
	alive := c.alive()
	if err := c.end(); alive {
		return err
	}
	return nil
}

// PID is that of the process inside, 0 where there is none now.
func (n *Namespaced) PID() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.child.alive() {
		return 0
	}
	return n.child.process.Process.Pid
}

// within makes one call of the process inside.
func within[Out any](ctx context.Context, n *Namespaced, call func(*child) (Out, error)) (Out, error) {
	var none Out
	c, err := n.reach(ctx)
	if err != nil {
		return none, err
	}
	out, err := call(c)
	return out, n.told(c, err)
}

// done is a call that returns nothing.
func done(err error) (struct{}, error) { return struct{}{}, err }

// Check says what would be in the way, a namespace that is not there or may not
// be entered first of all.
func (n *Namespaced) Check(ctx context.Context, job run.Job) ([]string, error) {
	if _, err := n.reach(ctx); err != nil {
		if closed, ok := errors.AsType[*host.NamespaceError](err); ok {
			return []string{closed.Error()}, nil
		}
		return nil, err
	}
	return within(ctx, n, func(c *child) ([]string, error) { return c.Check(ctx, job) })
}

// Facts says what the machine and the namespace are now.
func (n *Namespaced) Facts(ctx context.Context) (record.Facts, error) {
	return within(ctx, n, func(c *child) (record.Facts, error) { return c.Facts(ctx) })
}

// ReadSettings reads settings inside.
func (n *Namespaced) ReadSettings(ctx context.Context, s []run.SettingSpec) ([]*string, error) {
	if len(s) == 0 {
		return nil, nil
	}
	return within(ctx, n, func(c *child) ([]*string, error) { return c.ReadSettings(ctx, s) })
}

// ApplySetting applies a setting inside.
func (n *Namespaced) ApplySetting(ctx context.Context, s run.SettingSpec) error {
	_, err := within(ctx, n, func(c *child) (struct{}, error) { return done(c.ApplySetting(ctx, s)) })
	return err
}

// RestoreSetting puts a setting back. One of a namespace that is gone went with it.
func (n *Namespaced) RestoreSetting(ctx context.Context, s run.SettingSpec, before string) error {
	_, err := within(ctx, n, func(c *child) (struct{}, error) { return done(c.RestoreSetting(ctx, s, before)) })
	if n.gone(err) && host.InNetworkNamespace(s) {
		return nil
	}
	return err
}

// StartService starts a service inside.
func (n *Namespaced) StartService(ctx context.Context, s run.ServiceSpec) (record.Service, error) {
	return within(ctx, n, func(c *child) (record.Service, error) {
		n.begins(c)
		n.mu.Lock()
		n.services[s.Name] = s.PIDFile
		n.mu.Unlock()
		return c.StartService(ctx, s)
	})
}

// StopService stops a service.
func (n *Namespaced) StopService(ctx context.Context, name string) (run.Ended, error) {
	return within(ctx, n, func(c *child) (run.Ended, error) {
		ended, err := c.StopService(ctx, name)
		if err == nil {
			n.stopped(name)
		}
		return ended, err
	})
}

// stopped forgets a service, and with the last one that anything was begun.
func (n *Namespaced) stopped(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.services, name)
	if len(n.services) == 0 {
		n.began = nil
	}
}

// CheckService says whether a service has died.
func (n *Namespaced) CheckService(ctx context.Context, name string) error {
	_, err := within(ctx, n, func(c *child) (struct{}, error) { return done(c.CheckService(ctx, name)) })
	return err
}

// EndOrphans ends what an earlier run left. Processes belong to the machine:
// where the namespace has lost its name, they are ended from outside.
func (n *Namespaced) EndOrphans(ctx context.Context, o []run.Orphan) ([]string, error) {
	ended, err := within(ctx, n, func(c *child) ([]string, error) { return c.EndOrphans(ctx, o) })
	if n.gone(err) {
		return run.EndOrphans(ctx, o)
	}
	return ended, err
}

// OpenLoad opens loads inside.
func (n *Namespaced) OpenLoad(ctx context.Context, s []run.LoadSpec, progress func(load.Progress)) ([]*record.DataSet, error) {
	return within(ctx, n, func(c *child) ([]*record.DataSet, error) {
		n.begins(c)
		return c.OpenLoad(ctx, s, progress)
	})
}

// begins notes the first process of a trial that begins something.
func (n *Namespaced) begins(c *child) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.began == nil {
		n.began = c
	}
}

// Measure measures inside. Loads and services end with the process that began
// them: what another one would measure is not what was prepared.
func (n *Namespaced) Measure(ctx context.Context, w run.WatchSpec, progress func(load.Progress)) (run.Measured, error) {
	return within(ctx, n, func(c *child) (run.Measured, error) {
		n.mu.Lock()
		began := n.began
		n.mu.Unlock()
		if began != nil && began != c {
			return run.Measured{}, fmt.Errorf("network namespace %s: %w", n.name, &LostError{errors.New("it ended, and its loads and services with it")})
		}
		return c.Measure(ctx, w, progress)
	})
}

// CloseLoad closes the loads. An agent that is gone has none.
func (n *Namespaced) CloseLoad(ctx context.Context) error {
	n.mu.Lock()
	c := n.child
	if len(n.services) == 0 {
		n.began = nil
	}
	n.mu.Unlock()
	if !c.alive() {
		return nil
	}
	return n.told(c, c.CloseLoad(ctx))
}

// gone reports whether an error says that the namespace is not there any more.
func (n *Namespaced) gone(err error) bool {
	closed, ok := errors.AsType[*host.NamespaceError](err)
	return ok && errors.Is(closed, syscall.ENOENT)
}

// lastWords keeps the end of what a process prints.
type lastWords struct {
	mu   sync.Mutex
	text []byte
}

const maxWords = 4096

// Write keeps the end.
func (w *lastWords) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, b...)
	if over := len(w.text) - maxWords; over > 0 {
		w.text = slices.Delete(w.text, 0, over)
	}
	return len(b), nil
}

// String quotes it for an error; "" where nothing was said.
func (w *lastWords) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := strings.TrimSpace(string(bytes.ToValidUTF8(w.text, []byte("?"))))
	if text == "" {
		return ""
	}
	return "; its last words:\n\t" + strings.ReplaceAll(text, "\n", "\n\t")
}
