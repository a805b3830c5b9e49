package host

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	"bakeoff/record"
)

var update = flag.Bool("update", false, "rewrite the golden files")

type fixedClock struct{}

func (fixedClock) Now() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// machine unpacks a captured tree and returns its root.
func machine(t testing.TB, name string) string {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("..", "test", "trees", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range archive.Files {
		text := string(f.Data)
		if strings.HasPrefix(text, "-> ") {
			text = strings.TrimSpace(text)
		}
		name, isHex := strings.CutSuffix(f.Name, ".hex")
		if isHex {
			data, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
			if err != nil {
				t.Fatalf("%s: %v", f.Name, err)
			}
			text = string(data)
		}
		files[name] = text
	}
	return plant(t, files)
}

func TestGatherCapturedTrees(t *testing.T) {
	for _, name := range []string{"guest", "server", "board"} {
		t.Run(name, func(t *testing.T) {
			root := machine(t, name)
			f, errs := Gather(t.Context(), root, fixedClock{})
			if len(errs) != len(f.Unread) {
				t.Errorf("%d errors, %d unread facts; they must say the same", len(errs), len(f.Unread))
			}
			got, err := json.MarshalIndent(f, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, '\n')
			golden := filepath.Join("testdata", name+".json")
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("facts of %s (-want +got):\n%s", name, diff)
			}
			again, _ := Gather(t.Context(), root, fixedClock{})
			if diff := cmp.Diff(f, again); diff != "" {
				t.Errorf("gathered twice:\n%s", diff)
			}
		})
	}
}

// What a redacted copy of any tree still says must not name it.
func TestRedactedFactsOfTrees(t *testing.T) {
	for name, secrets := range map[string][]string{
		"server": {"db-17", "example.net", "192.0.2", "02:00:00", "EX-000042", "76543210", "NV-000", "SA-003", "M-000", "020000000203", "vg-root", "9d1c3a52"},
		"guest":  {"guest-01", "GUEST-DISK", "02:00:00", "11111", "1111-2222", "0c7c7e6a"},
	} {
		f, _ := Gather(t.Context(), machine(t, name), fixedClock{})
		open, _ := json.Marshal(f)
		closed, err := json.Marshal(f.Redact())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range secrets {
			if name == "server" && !strings.Contains(string(open), s) {
				t.Errorf("%s: the facts do not hold %q to begin with", name, s)
			}
			if strings.Contains(string(closed), s) {
				t.Errorf("%s: redacted facts still hold %q:\n%s", name, s, closed)
			}
		}
	}
}

func TestGatherThisHost(t *testing.T) {
	f, errs := Gather(t.Context(), "/", fixedClock{})
	for _, err := range errs {
		t.Log(err)
	}
	if f.Kernel.Release == "" || f.CPU.Threads == nil || *f.CPU.Threads < 1 || f.Memory.TotalBytes == nil || f.State.UptimeSeconds == nil {
		t.Errorf("facts of this host lack the plainest: %+v", f)
	}
	if f.Host != "" {
		t.Errorf("Host = %q; it is the caller's to fill in", f.Host)
	}
	i := slices.IndexFunc(f.NICs, func(n record.NIC) bool { return n.Kind == "loopback" })
	if i < 0 || f.NICs[i].MTUBytes == nil || f.NICs[i].Offloads["tx-generic-segmentation"] == "" {
		t.Errorf("no loopback interface with its offloads in %+v", f.NICs)
	}
}

func TestGatherNothing(t *testing.T) {
	f, errs := Gather(t.Context(), t.TempDir(), fixedClock{})
	if len(errs) != 0 || len(f.Flatten()) != 0 {
		t.Errorf("an empty root has the facts %v and the errors %v; want none", f.Flatten(), errs)
	}
}

// One device whose files never answer costs its own facts and a bounded time.
func TestGatherWithAHungDevice(t *testing.T) {
	root := machine(t, "server")
	mtu := filepath.Join(root, "sys/class/net/ens1f1/mtu")
	if err := os.Remove(mtu); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(mtu, 0o644); err != nil {
		t.Fatal(err)
	}
	defer release(t, mtu)
	// Long enough for files that do answer, on a machine that is busy.
	g := gatherer{tree: newTree(root, 2*time.Second)}
	f, errs := g.gather(t.Context(), fixedClock{})
	found := 0
	for _, err := range errs {
		if strings.HasPrefix(err.Error(), "/sys/class/net/ens1f1/mtu: no answer from the kernel within") {
			found++
		}
	}
	if found != 1 {
		t.Errorf("errors %v; want one for the stuck file, and none for its neighbours", errs)
	}
	names := []string{}
	for _, n := range f.NICs {
		names = append(names, n.Name)
	}
	if want := []string{"bond0", "bond0.100", "ens1f0", "ens1f1", "enx020000000203", "lo"}; !slices.Equal(names, want) {
		t.Errorf("interfaces %v; want %v", names, want)
	}
	if len(f.Disks) != 6 {
		t.Errorf("%d disks; want 6, whatever an interface does", len(f.Disks))
	}
}

func TestGatherCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f, errs := Gather(ctx, machine(t, "guest"), fixedClock{})
	if len(errs) == 0 || len(f.Flatten()) != 0 {
		t.Errorf("after cancelling: facts %v, errors %v", f.Flatten(), errs)
	}
}

func TestAbsent(t *testing.T) {
	p := &part{ctx: t.Context(), tree: newTree(t.TempDir(), time.Second)}
	for err, want := range map[error]bool{fs.ErrNotExist: true, syscall.EINVAL: true, syscall.EOPNOTSUPP: true, syscall.EACCES: false, syscall.EIO: false} {
		wrapped := &fs.PathError{Op: "read", Path: "/x", Err: err}
		if got := absent(wrapped); got != want {
			t.Errorf("absent(%v) = %v; want %v", err, got, want)
		}
		p.errs = nil
		try(p, "/sys/x", func(context.Context, string) (string, error) { return "", wrapped })
		if noted := len(p.errs) == 1; noted == want {
			t.Errorf("after %v: noted %v", err, p.errs)
		}
	}
}

// The driver is asked for what sysfs lacks; one that is stuck or refuses costs
// nothing else.
func TestDriverAnswers(t *testing.T) {
	root := machine(t, "guest")
	stuck := make(chan struct{})
	defer close(stuck)
	for name, c := range map[string]struct {
		ask      driverAsker
		firmware string
		errs     int
	}{
		"answers":  {func(string) (driverAnswer, error) { return driverAnswer{driver: "x", firmware: "22.31"}, nil }, "22.31", 0},
		"has none": {func(string) (driverAnswer, error) { return driverAnswer{}, syscall.EOPNOTSUPP }, "", 0},
		"refuses":  {func(string) (driverAnswer, error) { return driverAnswer{}, syscall.EPERM }, "", 2},
		"is stuck": {func(string) (driverAnswer, error) { <-stuck; return driverAnswer{}, nil }, "", 2},
	} {
		g := gatherer{tree: newTree(root, time.Second), nics: c.ask}
		f, errs := g.gather(t.Context(), fixedClock{})
		if len(f.NICs) != 2 || f.NICs[0].Firmware != c.firmware || f.NICs[0].Driver != "virtio_net" || len(errs) != c.errs {
			t.Errorf("%s: %+v, %v; want firmware %q, and %d errors: one each", name, f.NICs, errs, c.firmware, c.errs)
		}
	}
}

func TestNaturally(t *testing.T) {
	names := []string{"eth10", "eth2", "lo", "cpu", "eth2.5", "eth02", "node1", "node10", "node9"}
	slices.SortFunc(names, naturally)
	if got, want := strings.Join(names, " "), "cpu eth2 eth02 eth2.5 eth10 lo node1 node9 node10"; got != want {
		t.Errorf("sorted: %s; want %s", got, want)
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[ab]{0,2}[0-9]{0,3}[.a]?[0-9]{0,2}`)
		a, b, c := name.Draw(t, "a"), name.Draw(t, "b"), name.Draw(t, "c")
		if (naturally(a, b) < 0) != (naturally(b, a) > 0) {
			t.Fatalf("%q and %q compare as %d and %d", a, b, naturally(a, b), naturally(b, a))
		}
		if naturally(a, b) <= 0 && naturally(b, c) <= 0 && naturally(a, c) > 0 {
			t.Fatalf("%q <= %q <= %q, but not the first and the last", a, b, c)
		}
	})
}
