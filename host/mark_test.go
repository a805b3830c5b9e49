package host

import (
	"os"
	"path/filepath"
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
