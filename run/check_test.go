package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestCheck(t *testing.T) {
	agent := newFake()
	cfg := newConfig(t, parse(t, fakePlan), agent)
	problems, err := Check(context.Background(), cfg)
	if err != nil || len(problems) > 0 {
		t.Fatalf("problems %v, %v", problems, err)
	}
	if _, err := os.Stat(cfg.Dir); !os.IsNotExist(err) {
		t.Error("checking made the directory for runs")
	}
	agent.untouched(t)
}

func TestCheckFindsProblems(t *testing.T) {
	agent := newFake()
	delete(agent.settings, "vm.swappiness")
	p := parse(t, strings.Replace(fakePlan, "low: {settings.lab.sysctl.vm.swappiness: \"10\"}", "low: {settings.lab.sysctl.vm.swappiness: \"11\"}", 1))
	problems, err := Check(context.Background(), newConfig(t, p, agent))
	if err != nil || len(problems) != 1 || problems[0].String() != "host lab: no setting vm.swappiness" {
		t.Errorf("problems %v, %v", problems, err)
	}
	p = parse(t, strings.Replace(fakePlan, `"null"`, "quantum", 1))
	problems, err = Check(context.Background(), newConfig(t, p, newFake()))
	if err != nil || len(problems) != 1 || !strings.Contains(problems[0].String(), `workloads.get: no engine "quantum"`) {
		t.Errorf("problems %v, %v", problems, err)
	}
	cfg := newConfig(t, parse(t, fakePlan), newFake())
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	cfg.Dir = filepath.Join(file, "runs")
	problems, err = Check(context.Background(), cfg)
	if err != nil || len(problems) != 1 || !strings.Contains(problems[0].String(), "runs cannot be written to") {
		t.Errorf("problems %v, %v", problems, err)
	}
}

func TestCheckOfAReadOnlyDirectory(t *testing.T) {
	dir, remount := mountSmall(t)
	remount(unix.MS_RDONLY, "")
	cfg := newConfig(t, parse(t, fakePlan), newFake())
	cfg.Dir = dir
	problems, err := Check(context.Background(), cfg)
	if err != nil || len(problems) != 1 || !strings.Contains(problems[0].String(), "read-only file system") {
		t.Errorf("problems %v, %v", problems, err)
	}
}

// A run that could not be measured is not begun: nothing is changed or written.
func TestNotBegunWhereSomethingIsInTheWay(t *testing.T) {
	agent := newFake()
	p := parse(t, strings.ReplaceAll(fakePlan, "vm.dirty_ratio", "vm.nonesuch"))
	cfg := newConfig(t, p, agent)
	s, err := Execute(context.Background(), cfg)
	var problems *ProblemsError
	if !errors.As(err, &problems) || len(problems.Problems) != 1 || !strings.Contains(err.Error(), "host lab: no setting vm.nonesuch") || s.Dir != "" {
		t.Errorf("summary %+v, %v", s, err)
	}
	if _, err := os.Stat(cfg.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a run was begun: %v", err)
	}
	agent.untouched(t)
}

func TestUnreadableSettingIsLeftAlone(t *testing.T) {
	agent := newFake()
	p := parse(t, strings.ReplaceAll(fakePlan, "vm.dirty_ratio", "vm.nonesuch"))
	agent.settings["vm.nonesuch"] = "1"
	agent.fault = func(_ context.Context, m string, n int) error {
		if m == "Check" && n == len(p.Cells()) {
			delete(agent.settings, "vm.nonesuch")
		}
		return nil
	}
	s, err := Execute(context.Background(), newConfig(t, p, agent))
	if err == nil || !strings.Contains(err.Error(), "vm.nonesuch cannot be read, so it could not be put back") {
		t.Errorf("summary %+v, %v", s, err)
	}
	if agent.settings["vm.nonesuch"] != "" {
		t.Error("it was set")
	}
	agent.untouched(t)
}
