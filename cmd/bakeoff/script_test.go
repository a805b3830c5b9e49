package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets the test binary be bakeoff itself, so that scripts run whole
// commands and embedded servers run as processes of their own.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"bakeoff": main})
}

// TestScripts runs the whole-CLI scripts below test/scripts.
func TestScripts(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join(root, "test", "scripts"),
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("ROOT", root)
			env.Setenv("BAKEOFF_LOCK_DIR", filepath.Join(env.WorkDir, "lock"))
			env.Setenv("NO_COLOR", "1")
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Geteuid() == 0, nil
			}
			_, err := exec.LookPath(cond)
			return err == nil, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"rundir": runDir,
			"exits":  exits,
		},
	})
}

// runDir sets RUN to the only run directory below the folder given.
func runDir(ts *testscript.TestScript, _ bool, args []string) {
	matches, err := filepath.Glob(filepath.Join(ts.MkAbs(args[0]), "*", "manifest.json"))
	ts.Check(err)
	if len(matches) != 1 {
		ts.Fatalf("%d run directories in %s, want 1", len(matches), args[0])
	}
	ts.Setenv("RUN", filepath.Dir(matches[0]))
}

// exits runs a command and checks its exit code: exits 3 bakeoff verify RUN.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	code := "0"
	if exit, ok := err.(*exec.ExitError); ok {
		code = strings.TrimPrefix(exit.ProcessState.String(), "exit status ")
	} else if err != nil {
		ts.Fatalf("running %v: %v", args[1:], err)
	}
	if code != args[0] {
		ts.Fatalf("%v ended with %s, want %s", args[1:], code, args[0])
	}
}
