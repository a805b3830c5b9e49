package host

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What would fail once trials run is found before, and without touching it.
func TestCheckSetting(t *testing.T) {
	root := plant(t, map[string]string{"proc/sys/vm/swappiness": "60\n", "proc/sys/kernel/osrelease": "6.1\n", "sys/a": "x\n"})
	if err := os.Chmod(filepath.Join(root, "proc/sys/kernel/osrelease"), 0o444); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"vm.swappiness": "", "kernel.osrelease": "nobody may write it", "vm.swapiness": "check the spelling"} {
		spec := SettingSpec{Kind: KindSysctl, Target: key, Value: "1", Root: root}
		if err := CheckSetting(t.Context(), spec); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", key, err, want)
		}
	}
	if got := content(t, root, "proc/sys/vm/swappiness"); got != "60\n" {
		t.Errorf("checking changed it to %q", got)
	}
	fixed := mustSetting(t, SettingSpec{Kind: KindSysctl, Target: "kernel.osrelease", Value: "1", Root: root})
	if err := fixed.Apply(t.Context()); err == nil || !strings.Contains(err.Error(), "nobody may write it") {
		t.Errorf("Apply: %v", err)
	}
	if err := fixed.Restore(t.Context(), "6.1"); err != nil {
		t.Errorf("Restore of what is as it was: %v", err)
	}
	if err := CheckSetting(t.Context(), SettingSpec{Kind: KindGovernor, Value: "performance", Root: root}); err == nil {
		t.Error("a machine without governors was taken")
	}
	if err := CheckSetting(t.Context(), SettingSpec{Kind: KindGovernor, Value: "performance", Root: plant(t, governors("powersave", "powersave"))}); err != nil {
		t.Error(err)
	}
}

func TestCheckService(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "server"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	good := func() ServiceSpec {
		return ServiceSpec{Name: "x", Command: []string{"./server"}, Dir: dir, Endpoint: "tcp://" + freeAddress(t)}
	}
	busy := child(t, "stubborn-alone")
	mustStart(t, busy)
	for name, c := range map[string]struct {
		change func(*ServiceSpec)
		want   string
	}{
		"good":         {func(*ServiceSpec) {}, ""},
		"no program":   {func(s *ServiceSpec) { s.Command = []string{"no-such-program"} }, "install it"},
		"not there":    {func(s *ServiceSpec) { s.Dir = "/" }, "install it"},
		"no processor": {func(s *ServiceSpec) { s.CPUs = "0,8000" }, "processors 8000 are not there"},
		"no list":      {func(s *ServiceSpec) { s.CPUs = "x" }, "expected a processor's number"},
		"taken":        {func(s *ServiceSpec) { s.Endpoint = busy.Endpoint }, "listens at"},
		"no endpoint":  {func(s *ServiceSpec) { s.Endpoint = "127.0.0.1:1" }, "endpoint"},
		"runs already": {func(s *ServiceSpec) { s.Command = nil; s.Endpoint = busy.Endpoint }, ""},
		"signal":       {func(s *ServiceSpec) { s.Signal = "NO" }, "expected a name"},
		"never up":     {func(s *ServiceSpec) { s.Endpoint = "" }, "no telling when it is up"},
	} {
		spec := good()
		c.change(&spec)
		if err := CheckService(t.Context(), spec); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
}

func TestFindByName(t *testing.T) {
	spec := child(t, "wrapper")
	s := mustStart(t, spec)
	name := filepath.Base(os.Args[0])
	found, err := StartService(t.Context(), ServiceSpec{Name: "x", Process: name})
	if err != nil || !slices.Contains(found.PIDs(), s.leader.PID) {
		t.Errorf("found %v, %v; want %d among them", found, err, s.leader.PID)
	}
	if err := found.Err(); err != nil {
		t.Errorf("it runs, but Err = %v", err)
	}
	alone, err := StartService(t.Context(), ServiceSpec{Name: "alone", Endpoint: spec.Endpoint})
	if err != nil || alone.Err() != nil {
		t.Fatalf("found %v, %v", alone, err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := alone.Err(); err == nil || !strings.Contains(err.Error(), "which is gone: it ended, or was started anew") {
		t.Errorf("it is gone, but Err = %v", err)
	}
	if _, err := StartService(t.Context(), ServiceSpec{Name: "x", Process: "no-such-server"}); err == nil || !strings.Contains(err.Error(), `no process is named "no-such-server"`) {
		t.Errorf("a name that nobody has: %v", err)
	}
	if _, err := StartService(t.Context(), ServiceSpec{Name: "x", Endpoint: "tcp://" + freeAddress(t), ReadySeconds: 0.05}); err == nil || !strings.Contains(err.Error(), "must run already") {
		t.Errorf("an endpoint where nobody listens: %v", err)
	}
}
