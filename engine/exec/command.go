package exec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bakeoff/load"
)

// outputLimit bounds what a command may print on each stream.
const outputLimit = 16 << 20

// errOutput is what the writer answers when a command prints too much.
var errOutput = errors.New("output limit reached")

// limited keeps what is written, up to outputLimit, and ends the command that
// writes more.
type limited struct {
	kept bytes.Buffer // not embedded: its ReadFrom would pass the limit by
	end  context.CancelCauseFunc
}

func (l *limited) Write(p []byte) (int, error) {
	if l.kept.Len()+len(p) > outputLimit {
		l.end(errOutput)
		return 0, errOutput
	}
	return l.kept.Write(p)
}

// outcome is one run of the command.
type outcome struct {
	stdout, stderr string
	user, system   time.Duration // CPU of the command and the children it waited for
	maxRSS         int64         // bytes
}

// command is what to run, with its placeholders filled in.
type command struct {
	argv []string
	dir  string
	env  []string
}

// check looks for the command's folder and program, as they will be looked for.
func (c command) check() error {
	if info, err := os.Stat(c.dir); c.dir != "" && (err != nil || !info.IsDir()) {
		return fmt.Errorf("dir: %s is no folder that is there", c.dir)
	}
	program := c.argv[0]
	if strings.Contains(program, "/") && !filepath.IsAbs(program) {
		program = filepath.Join(c.dir, program)
		if !filepath.IsAbs(program) {
			program = "./" + program
		}
	}
	if _, err := exec.LookPath(program); err != nil {
		return fmt.Errorf("command: %w; install it, or give its whole path", err)
	}
	return nil
}

// run starts the command in a process group of its own, and waits. When ctx
// ends, or bakeoff itself dies, the command ends too.
func (c command) run(ctx context.Context) (outcome, error) {
	// The parent-death signal follows the thread that started the child.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.Dir = c.dir
	if len(c.env) > 0 {
		cmd.Env = append(cmd.Environ(), c.env...)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return killGroup(cmd.Process.Pid) }
	cmd.WaitDelay = 2 * time.Second
	stdout, stderr := limited{end: end}, limited{end: end}
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if cmd.Process != nil {
		// Children that outlived the command would disturb the next trial.
		_ = killGroup(cmd.Process.Pid)
	}
	out := outcome{stdout: stdout.kept.String(), stderr: stderr.kept.String()}
	if state := cmd.ProcessState; state != nil {
		out.user, out.system = state.UserTime(), state.SystemTime()
		if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
			out.maxRSS = usage.Maxrss << 10
		}
	}
	return out, c.explain(ctx, err, out)
}

func killGroup(pid int) error {
	err := syscall.Kill(-pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

// explain turns the outcome of a run into an error that says what to mend.
func (c command) explain(ctx context.Context, err error, out outcome) error {
	name := strings.Join(c.argv, " ")
	exit, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return nil
	case errors.Is(context.Cause(ctx), errOutput):
		return fmt.Errorf("running %q: it printed more than %d MiB; send its output to a file and print only the figures", name, outputLimit>>20)
	case ctx.Err() != nil:
		return fmt.Errorf("running %q: ended by bakeoff: %w", name, context.Cause(ctx))
	case errors.Is(err, exec.ErrWaitDelay):
		return fmt.Errorf("running %q: it ended, but what it left in the background still holds its output open: have it wait for that, or send that output elsewhere", name)
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("running %q: %s is not installed or not on PATH", name, c.argv[0])
	case exited:
		return fmt.Errorf("running %q: %s; it ended with %q", name, exit.ProcessState, tail(firstOf(out.stderr, out.stdout), 300))
	}
	return fmt.Errorf("running %q: %w", name, err)
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if strings.TrimSpace(t) != "" {
			return t
		}
	}
	return ""
}

// placeholders are the values that {name} stands for in a command's words.
func placeholders(spec load.Spec) (map[string]string, error) {
	values := map[string]string{
		"target":   spec.Target,
		"seed":     strconv.FormatUint(spec.Seed, 10),
		"instance": strconv.Itoa(spec.Instance),
	}
	values["host"], values["port"], values["path"] = "", "", ""
	if spec.Target == "" {
		return values, nil
	}
	u, err := url.Parse(spec.Target)
	if err != nil {
		return nil, fmt.Errorf("target %q: %w", spec.Target, err)
	}
	values["host"], values["port"], values["path"] = u.Hostname(), u.Port(), u.Path
	return values, nil
}

// fill replaces the placeholders of one word. A {word} that is not one of
// them stays as it is, since braces mean something to many tools.
func fill(word string, values map[string]string) (string, error) {
	pairs := make([]string, 0, 2*len(values))
	for name, value := range values {
		if value == "" && strings.Contains(word, "{"+name+"}") {
			return "", fmt.Errorf("command: %q uses {%s}, but the target has none; give the workload a service or a target with it", word, name)
		}
		pairs = append(pairs, "{"+name+"}", value)
	}
	return strings.NewReplacer(pairs...).Replace(word), nil
}
