package host

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
)

// maxOutput bounds what is kept of a command's output; the rest is dropped.
const maxOutput = 64 << 10

// command is one short command: a setting's, a readiness check, a version.
type command struct {
	argv []string
	dir  string
	env  []string // added to this process's own
}

// output is a command's output, no more of it than fits.
type output struct {
	text    []byte
	dropped bool
}

func (o *output) Write(p []byte) (int, error) {
	room := maxOutput - len(o.text)
	if len(p) > room {
		o.dropped = true
		o.text = append(o.text, p[:room]...)
		return len(p), nil
	}
	o.text = append(o.text, p...)
	return len(p), nil
}

// run runs the command and returns what it printed. Once ctx is done, the
// command's whole process group is killed; should bakeoff itself be killed, so
// is the command.
func (c command) run(ctx context.Context) (stdout, stderr string, err error) {
	// The kernel ties Pdeathsig to the thread that starts the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var out, errs output
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.Dir = c.dir
	cmd.Env = append(cmd.Environ(), c.env...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // for a child in the background that holds the output open
	err = cmd.Run()
	stdout, stderr = string(out.text), string(errs.text)
	switch {
	case err != nil && ctx.Err() != nil:
		err = fmt.Errorf("running %s: killed: %w", quoted(c.argv), context.Cause(ctx))
	case errors.Is(err, exec.ErrWaitDelay):
		err = nil // it exited with 0 and left a child behind, which is its own affair
	case err != nil:
		err = fmt.Errorf("running %s: %w%s", quoted(c.argv), err, said(stderr, stdout))
	case out.dropped:
		err = fmt.Errorf("running %s: it printed more than %d KiB; expected a value", quoted(c.argv), maxOutput>>10)
	}
	return stdout, stderr, err
}

// said quotes the last line that a failed command printed.
func said(streams ...string) string {
	for _, s := range streams {
		if s = strings.TrimSpace(s); s != "" {
			return "; it said: " + s[strings.LastIndexByte(s, '\n')+1:]
		}
	}
	return ""
}

// quoted shows a command so that it can be pasted into a shell.
func quoted(argv []string) string {
	words := make([]string, len(argv))
	for i, w := range argv {
		words[i] = w
		switch {
		case strings.ContainsFunc(w, unicode.IsControl):
			words[i] = strconv.Quote(w)
		case w == "" || strings.ContainsAny(w, " \"'\\$`*?;&|<>(){}[]~#!"):
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}
