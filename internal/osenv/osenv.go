// Package osenv holds everything a process takes from its surroundings, in one
// struct, so that whole commands can be tested without a process of their own.
package osenv

import (
	"context"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// Env is the surroundings of one process.
type Env struct {
	Args           []string // without the program's name
	LookupEnv      func(string) (string, bool)
	Stdin          io.Reader
	Stdout         io.Writer
	Stderr         io.Writer
	Terminal       bool   // Stderr is a terminal
	StdoutTerminal bool   // Stdout is a terminal
	Width          int    // of the terminal in characters; 0 where it is not known
	Root           string // where /proc, /sys and /etc are found; "/" but in tests
	Dir            string // working directory
	Executable     string // path of this binary, for servers in a process of their own
	Clock          Clock
}

// A Clock tells and waits for time.
type Clock interface {
	Now() time.Time
	// Sleep waits for d or until ctx is done, whose error it returns.
	Sleep(ctx context.Context, d time.Duration) error
}

// System is the operating system's clock.
type System struct{}

// Now returns the wall clock with its monotonic reading.
func (System) Now() time.Time { return time.Now() }

// Sleep waits for d or until ctx is done.
func (System) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// Getenv returns the value of an environment variable, "" where it is not set.
func (e *Env) Getenv(key string) string {
	v, _ := e.LookupEnv(key)
	return v
}

// OS returns the surroundings of this process.
func OS() (*Env, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	width, _, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		width = 0 // not a terminal
	}
	return &Env{
		Args: os.Args[1:], LookupEnv: os.LookupEnv,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Terminal: term.IsTerminal(int(os.Stderr.Fd())), StdoutTerminal: term.IsTerminal(int(os.Stdout.Fd())), Width: width,
		Root: "/", Dir: dir, Executable: exe, Clock: System{},
	}, nil
}
