package host

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// A daemon that left the session and the family, and whose environment cannot
// be read any more, as of servers that set their title, is ended all the same:
// by Stop, and after a crash by EndOrphan.
func TestDaemonWithoutItsEnvironment(t *testing.T) {
	address := freeAddress(t)
	script := `(env -u BAKEOFF_SERVICE setsid "$0" "$1" &); exec env ` + childVar + `=mute "$0" "$1"`
	for name, end := range map[string]func(*testing.T, *Service, string){
		"stop": func(t *testing.T, s *Service, _ string) {
			if err := s.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		},
		"orphan": func(t *testing.T, s *Service, pidFile string) {
			if ended, err := EndOrphan(t.Context(), pidFile, time.Second); err != nil || len(ended) != 2 {
				t.Errorf("EndOrphan = %v, %v; want two processes ended", ended, err)
			}
			_ = s.Stop(t.Context()) // it died before, which is an error
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := ServiceSpec{
				Name: "daemon", Command: []string{"sh", "-c", script, os.Args[0], address}, Endpoint: "tcp://" + address, ReadySeconds: 20,
				Env: map[string]string{childVar: "stubborn-alone"}, PIDFile: filepath.Join(t.TempDir(), "pid"), StopSeconds: 5,
			}
			s := mustStart(t, spec)
			if n := len(playing(t, address)); n != 2 {
				t.Fatalf("%d processes; want the first one and the daemon", n)
			}
			end(t, s, spec.PIDFile)
			await(t, "the end of both", func() bool { return len(playing(t, address)) == 0 })
		})
	}
}

// What a brood leaves behind is ended with it, and after a crash by EndOrphan;
// what was there before is not.
func TestBrood(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *Brood) []int{
		"end": func(t *testing.T, b *Brood) []int {
			ended, err := b.End(t.Context())
			if err != nil {
				t.Error(err)
			}
			return ended
		},
		"orphan": func(t *testing.T, b *Brood) []int {
			ended, err := EndOrphan(t.Context(), b.path, time.Second)
			if err != nil {
				t.Error(err)
			}
			if more, err := b.End(t.Context()); err != nil || len(more) > 0 {
				t.Errorf("End afterwards: %v, %v", more, err)
			}
			return ended
		},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := freeAddress(t), freeAddress(t)
			spawnDaemon(t, before)
			b, err := GatherBrood(filepath.Join(t.TempDir(), "pid"))
			if err != nil {
				t.Fatal(err)
			}
			spawnDaemon(t, after)
			pids := playing(t, after)
			if ended := end(t, b); !slices.Equal(ended, pids) {
				t.Errorf("ended %v; want %v", ended, pids)
			}
			await(t, "the daemon's end", func() bool { return len(playing(t, after)) == 0 })
			left := playing(t, before)
			if len(left) != 1 {
				t.Errorf("the daemon from before: %v", left)
			}
			for _, pid := range left {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			spawnDaemon(t, before) // the limit is put back
			if b.kept.on(playing(t, before)[0]) {
				t.Error("what is started afterwards has the mark")
			}
			_ = syscall.Kill(playing(t, before)[0], syscall.SIGKILL)
		})
	}
}

// spawnDaemon starts a server that leaves group, session and family.
func spawnDaemon(t *testing.T, address string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", `setsid "$0" "$1" >/dev/null 2>&1 &`, os.Args[0], address)
	cmd.Env = append(os.Environ(), childVar+"=stubborn-alone")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	await(t, "the daemon", func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return err == nil && len(playing(t, address)) == 1
	})
}
