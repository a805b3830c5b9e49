package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// killPatience is how long what SIGKILL was sent to may take to be gone: even
// that waits for a process that is stuck in the kernel.
const killPatience = 20 * time.Second

// launch starts the first process from a thread of its own, which then waits
// for it. The thread is bound first, so that the child is from its first
// instruction on; and it lives as long as the child, since the kernel sends
// the parent-death signal when the thread ends that made the child. (A server
// that changes its user loses that signal; EndOrphan then ends it.)
func (s *Service) launch(ctx context.Context) error {
	s.mark = newMark()
	if err := s.writePIDFile(ctx); err != nil {
		return err
	}
	cmd := exec.Command(s.spec.Command[0], s.spec.Command[1:]...)
	cmd.Dir = s.spec.Dir
	cmd.Env = append(append(cmd.Environ(), s.environment()...), s.mark.Variable)
	cmd.Stdout, cmd.Stderr = s.log, s.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error, 1)
	go s.keep(cmd, started)
	if err := <-started; err != nil {
		return errors.Join(fmt.Errorf("starting %s: %w", quoted(s.spec.Command), err), s.removePIDFile())
	}
	return nil
}

// keep starts the first process, waits for its end, sees that nothing of it is
// left, and ends its thread.
func (s *Service) keep(cmd *exec.Cmd, started chan<- error) {
	runtime.LockOSThread() // never unlocked: the thread ends here, and its binding with it
	if err := s.begin(cmd); err != nil {
		started <- err
		return
	}
	started <- nil
	awaitEnd(cmd.Process.Pid)
	close(s.dead)
	// Until Wait, the ended process keeps its PID, and with it the names of
	// its group and session: what is killed here can only be its own.
	stuck := s.endFamily()
	s.mu.Lock()
	s.reaped, s.stuck = true, stuck
	s.err = cmd.Wait()
	s.mu.Unlock()
	close(s.gone)
}

// awaitEnd waits until a child has ended, and leaves it a zombie.
func awaitEnd(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

func (s *Service) begin(cmd *exec.Cmd) error {
	if len(s.cpus) > 0 {
		if err := PinThread(s.cpus); err != nil {
			return err
		}
	}
	if err := s.mark.lend(cmd.Start); err != nil {
		return err
	}
	id, err := Identify(cmd.Process.Pid)
	if err != nil {
		return errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	s.leader = id
	return nil
}

// family returns those of all that belong to the service.
func (s *Service) family(all []stat) []stat {
	mine := func(p stat) bool {
		return p.session == s.leader.PID || p.group == s.leader.PID || p.start >= s.leader.Start && s.mark.on(p.pid)
	}
	var of []int
	for _, p := range all {
		if p.pid == s.leader.PID && p.start == s.leader.Start || p.pid != os.Getpid() && mine(p) {
			of = append(of, p.pid)
		}
	}
	return descendants(all, of...)
}

// endFamily waits, where Stop has asked it to end, for what the first process
// left to end too, and kills what does not. It returns what SIGKILL could not end.
func (s *Service) endFamily() (stuck []int) {
	var killing time.Duration
	for wait := 2 * time.Millisecond; killing < killPatience; wait = min(2*wait, 100*time.Millisecond) {
		all, err := processes("/")
		if err != nil {
			return nil
		}
		left := s.family(all)
		if len(left) == 0 {
			return nil
		}
		stuck = pidsOf(left)
		if s.mustDie() {
			for _, p := range left {
				// Gone in the meantime is as good as killed.
				_ = ProcessID{PID: p.pid, Start: p.start, Boot: s.leader.Boot}.Signal(syscall.SIGKILL)
			}
			killing += wait
		}
		pause(context.Background(), wait, nil)
	}
	return stuck
}

// mustDie reports whether what is left is to be killed rather than waited for.
func (s *Service) mustDie() bool {
	select {
	case <-s.killing:
		return true
	default:
	}
	select {
	case <-s.stopping:
		return false
	default:
		return true // it ended by itself
	}
}

// lost says that nothing is left of a service that was found running: it ended,
// or was started anew, and is not what was measured before.
func (s *Service) lost() error {
	if len(s.found) == 0 || slices.ContainsFunc(s.found, ProcessID.Alive) {
		return nil
	}
	return fmt.Errorf("service %s: it was found running as process %v, which is gone: it ended, or was started anew", s.spec.Name, bare(s.found))
}

// Exited is closed when a started service has ended, asked to or not. It never
// is for one that ran already.
func (s *Service) Exited() <-chan struct{} { return s.dead }

// Err says how the service ended where it did so before Stop; else it is nil.
func (s *Service) Err() error {
	if s.leader.PID == 0 {
		return s.lost()
	}
	select {
	case <-s.stopping:
		return nil
	default:
	}
	select {
	case <-s.dead:
		return fmt.Errorf("service %s: %w", s.spec.Name, s.endedEarly())
	default:
		return nil
	}
}

// endedEarly says how the service ended by itself, with the end of its log.
func (s *Service) endedEarly() error {
	<-s.gone
	how := "with status 0 (a service must stay in the foreground: daemonize no, or the like)"
	if s.err != nil {
		how = "with " + s.err.Error()
	}
	return fmt.Errorf("%s ended by itself %s%s", quoted(s.spec.Command), how, s.lastWords())
}

// lastWords quotes the end of the log.
func (s *Service) lastWords() string {
	if s.log == nil {
		return ""
	}
	info, err := s.log.Stat()
	if err != nil {
		return ""
	}
	words := tail(s.log, s.logFrom, info.Size())
	if words == "" {
		return "; it printed nothing"
	}
	where := "the end of its output"
	if s.spec.Log != "" {
		where = "the end of " + s.spec.Log
	}
	return "; " + where + ":\n\t" + strings.ReplaceAll(words, "\n", "\n\t")
}

// Stop asks the service's process group to end, kills it when it has not by
// the spec's time or when ctx is done, and returns when nothing of it is left.
// The error says that it had ended before, or cannot be killed. A service that
// was found running is left alone.
func (s *Service) Stop(ctx context.Context) error {
	if s.leader.PID == 0 {
		return nil
	}
	early := s.Err()
	if early == nil {
		s.ask()
		limit := seconds(s.spec.StopSeconds, 10*time.Second)
		wait, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		select {
		case <-s.gone:
		case <-wait.Done():
		}
	}
	s.kill()
	return errors.Join(early, s.cleanUp())
}

// ask sends the signal that the spec names, once, to the process group.
func (s *Service) ask() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.stopping:
		return
	default:
		close(s.stopping)
	}
	sig, err := signalNamed(s.spec.Signal)
	if err == nil && !s.reaped {
		_ = syscall.Kill(-s.leader.PID, sig) // gone already is what was wanted
	}
}

// kill kills what is left, at once.
func (s *Service) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.killing:
	default:
		close(s.killing)
	}
	if !s.reaped {
		_ = syscall.Kill(-s.leader.PID, syscall.SIGKILL)
	}
}

// cleanUp waits for the end and drops what the service held.
func (s *Service) cleanUp() error {
	t := time.NewTimer(2 * killPatience)
	defer t.Stop()
	select {
	case <-s.gone:
	case <-t.C:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.reaped {
		s.stuck = []int{s.leader.PID}
	}
	if len(s.stuck) > 0 {
		return fmt.Errorf("service %s: processes %v outlived SIGKILL: they are stuck in the kernel (see its log)", s.spec.Name, s.stuck)
	}
	err := s.log.Close()
	if errors.Is(err, os.ErrClosed) {
		err = nil // stopped before
	}
	return errors.Join(err, s.removePIDFile())
}
