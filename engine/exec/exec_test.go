package exec

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bakeoff/load"
)

func open(t *testing.T, target string, parameters map[string]any) (*session, error) {
	t.Helper()
	s, err := New().Open(t.Context(), load.Spec{Engine: "exec", Target: target, Seed: 7, Parameters: parameters})
	if err != nil {
		return nil, err
	}
	return s.(*session), nil
}

func runOnce(t *testing.T, s *session) (load.Op, error) {
	t.Helper()
	w, err := s.Worker(t.Context(), 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	var op load.Op
	return op, w.(load.Doer).Do(t.Context(), &op)
}

func TestFiguresArePicked(t *testing.T) {
	s, err := open(t, "redis://127.0.0.1:6379/3", map[string]any{
		"shell": `echo "GET: 104,512.50 requests per second"; echo "p99 1.5 ms"; echo "p99 2.5 ms"; echo "port {port} path {path} seed {seed}" >&2`,
		"figures": map[string]any{
			"get":  map[string]any{"pattern": `^GET: ([0-9.,]+) requests`, "unit": "ops/s"},
			"p99":  map[string]any{"pattern": `p99 ([0-9.]+) ms`, "unit": "ms", "pick": "max"},
			"both": map[string]any{"pattern": `p99 ([0-9.]+) ms`, "unit": "ms", "pick": "sum"},
			"port": map[string]any{"pattern": `port (\d+) path /3 seed 7`, "unit": "1", "from": "stderr"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Figures(t.Context()); err == nil {
		t.Error("figures before the run")
	}
	if _, err := runOnce(t, s); err != nil {
		t.Fatal(err)
	}
	figures, err := s.Figures(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range figures {
		got[f.Name] = f.Value
	}
	for name, want := range map[string]float64{"get": 104512.5, "p99": 2.5, "both": 4, "port": 6379} {
		if got[name] != want {
			t.Errorf("%s = %v, want %v", name, got[name], want)
		}
	}
	if got["command.max_rss"] < 1<<16 {
		t.Errorf("the command's resident set is %v B", got["command.max_rss"])
	}
	if _, err := runOnce(t, s); !errors.Is(err, load.ErrDone) {
		t.Errorf("a second run: %v, want ErrDone", err)
	}
	if out := string(s.Artifacts()["stdout.txt"]); !strings.Contains(out, "104,512.50") {
		t.Errorf("the output is not kept: %q", out)
	}
}

func TestBadParametersAreNamed(t *testing.T) {
	figure := func(keys map[string]any) map[string]any {
		return map[string]any{"command": []any{"true"}, "figures": map[string]any{"rate": keys}}
	}
	tests := map[string]struct {
		parameters map[string]any
		want       string
	}{
		"nothing":     {map[string]any{}, "no command"},
		"both":        {map[string]any{"command": []any{"a"}, "shell": "b"}, "give one"},
		"unknown":     {map[string]any{"comand": []any{"a"}}, `did you mean "command"`},
		"no group":    {figure(map[string]any{"pattern": "x", "unit": "s"}), "0 groups, expected exactly one"},
		"two groups":  {figure(map[string]any{"pattern": "(x)(y)", "unit": "s"}), "2 groups"},
		"bad pattern": {figure(map[string]any{"pattern": "(", "unit": "s"}), "figures: rate: pattern"},
		"no unit":     {figure(map[string]any{"pattern": "(x)"}), "no unit"},
		"odd key":     {figure(map[string]any{"pattern": "(x)", "unit": "s", "stream": "1"}), `unknown key "stream"`},
		"odd pick":    {figure(map[string]any{"pattern": "(x)", "unit": "s", "pick": "mean"}), `pick: found "mean"`},
		"no port":     {map[string]any{"command": []any{"a", "{port}"}}, "uses {port}, but the target has none"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := open(t, "", tt.parameters)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestOutputThatDoesNotFitIsAnError(t *testing.T) {
	for output, want := range map[string]string{
		"nothing here":   "matches nothing in stdout",
		"rate 1\nrate 2": "matches 2 times",
		"rate 12k":       `holds "12k", expected a finite decimal`,
		"rate 1,5":       `holds "1,5"`,
		"rate NaN":       `holds "NaN"`,
	} {
		s, err := open(t, "", map[string]any{
			"command": []any{"printf", "%s", output},
			"figures": map[string]any{"rate": map[string]any{"pattern": `rate (\S+)`, "unit": "ops/s"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := runOnce(t, s); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Figures(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", output, err, want)
		}
	}
}

func TestCommandsThatFailSayHow(t *testing.T) {
	for shell, want := range map[string]string{
		"echo broken >&2; exit 3":              `exit status 3; it ended with "broken"`,
		"kill -9 $$":                           "signal: killed",
		"head -c 20000000 /dev/zero; sleep 60": "printed more than 16 MiB",
		"setsid sleep 4 & echo done":           "what it left in the background still holds its output open",
	} {
		s, err := open(t, "", map[string]any{"shell": shell})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := runOnce(t, s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", shell, err, want)
		}
	}
	s, err := open(t, "", map[string]any{"command": []any{"no-such-program-here"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := runOnce(t, s); err == nil || !strings.Contains(err.Error(), "not installed or not on PATH") {
		t.Errorf("a program that is not there: %v", err)
	}
}

// TestNothingIsLeftRunning ends a command that has started a child of its own,
// once by cancelling and once by letting the command end before its child.
func TestNothingIsLeftRunning(t *testing.T) {
	for name, shell := range map[string]string{
		"cancelled": "sleep 300 & echo $! > %s; wait",
		"left over": "sleep 300 >/dev/null 2>&1 & echo $! > %s",
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "pid")
			c := command{argv: []string{"/bin/sh", "-c", strings.Replace(shell, "%s", file, 1)}}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				_, err := c.run(ctx)
				ended <- err
			}()
			pid := awaitPID(t, file)
			if name == "cancelled" {
				cancel()
			}
			err := <-ended
			cancel()
			if (err != nil) != (name == "cancelled") {
				t.Errorf("the run ended with %v", err)
			}
			awaitGone(t, pid)
		})
	}
}

func awaitPID(t *testing.T, file string) int {
	t.Helper()
	for range 1000 {
		text, err := os.ReadFile(file)
		if pid, convErr := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && convErr == nil {
			return pid
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("the child did not start")
	return 0
}

func awaitGone(t *testing.T, pid int) {
	t.Helper()
	for range 1000 {
		if syscall.Kill(pid, 0) != nil || zombie(pid) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("the child %d still runs", pid)
}

func zombie(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || strings.Contains(string(stat), ") Z ")
}

func FuzzNumber(f *testing.F) {
	for _, s := range []string{"1", "1,234.5", "1,5", "1e6", "-0", "0x1p-2", "1_000", "Inf"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := number(s)
		if err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
			t.Errorf("%q was read as %v", s, v)
		}
	})
}

// What is not there is found before a trial runs, and where the command will
// look for it.
func TestCheckHere(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tool"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for name, c := range map[string]struct {
		parameters map[string]any
		want       string
	}{
		"on PATH":      {map[string]any{"command": []any{"sh"}}, ""},
		"shell":        {map[string]any{"shell": "no-such-tool"}, ""},
		"in dir":       {map[string]any{"command": []any{"./tool"}, "dir": dir}, ""},
		"here":         {map[string]any{"command": []any{"./tool"}}, ""},
		"not in dir":   {map[string]any{"command": []any{"./tool"}, "dir": "/"}, "/tool"},
		"nowhere":      {map[string]any{"command": []any{"no-such-tool"}}, `"no-such-tool": executable file not found in $PATH; install it`},
		"no dir":       {map[string]any{"command": []any{"sh"}, "dir": "no/such"}, "dir: no/such is no folder that is there"},
		"no command":   {map[string]any{}, "no command"},
		"not a chance": {map[string]any{"command": []any{"./no-such-tool"}}, "no-such-tool"},
	} {
		err := New().CheckHere(load.Spec{Engine: "exec", Parameters: c.parameters})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
}
