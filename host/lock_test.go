package host

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestLock(t *testing.T) {
	dir := t.TempDir()
	since := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	first, err := Lock(dir, "/runs/one", since)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Lock(dir, "/runs/two", since.Add(time.Hour))
	var locked *LockedError
	if !errors.As(err, &locked) || locked.Holder == nil || *locked.Holder != (Holder{PID: os.Getpid(), Run: "/runs/one", Since: since}) {
		t.Fatalf("second Lock: %v; want a LockedError with the holder", err)
	}
	for _, want := range []string{"/runs/one", "2026-03-01T12:00:00Z", "stop it"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q lacks %q", err, want)
		}
	}
	if err := errors.Join(first.Release(), first.Release()); err != nil {
		t.Error(err)
	}
	second, err := Lock(dir, "/runs/two", since)
	if err != nil {
		t.Fatalf("Lock after Release: %v", err)
	}
	defer second.Release()
	// A holder that has not written yet, or a file cut short by a full disk.
	for _, text := range []string{"", `{"pid":`, "{}"} {
		if err := os.WriteFile(filepath.Join(dir, "host.lock"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Lock(dir, "x", since); !errors.As(err, &locked) || locked.Holder != nil || !strings.Contains(err.Error(), "host.lock") {
			t.Errorf("Lock with holder %q: %v", text, err)
		}
	}
}

// The lock says which run had it last and did not end well, until that is
// settled; a run that merely looks does not make it forgotten.
func TestLockRemembersARunThatDied(t *testing.T) {
	dir, since := filepath.Join(t.TempDir(), "lock"), time.Unix(0, 0).UTC()
	died := Holder{PID: 1 << 30, Run: "/runs/died", Since: since}
	first, err := Lock(dir, "x", since)
	if err != nil || first.Died() != nil {
		t.Fatalf("%v, %v", first, err)
	}
	first.write(&died)
	if err := first.file.Close(); err != nil { // as the kernel does
		t.Fatal(err)
	}
	for _, settle := range []bool{false, true} {
		l, err := Lock(dir, "y", since)
		if err != nil || l.Died() == nil || *l.Died() != died {
			t.Fatalf("%v, %v; want %v", l, err, died)
		}
		if settle {
			l.Settled()
		}
		if err := l.Release(); err != nil {
			t.Fatal(err)
		}
	}
	last, err := Lock(dir, "z", since)
	if err != nil || last.Died() != nil {
		t.Errorf("%v, %v; want nobody", last, err)
	}
	_ = last.Release()
}

// A lock is shared by all users, whatever the umask of the first, and leads
// nobody's pen to another file.
func TestLockIsShared(t *testing.T) {
	old := unix.Umask(0o077)
	defer unix.Umask(old)
	dir := filepath.Join(t.TempDir(), "lock")
	l, err := Lock(dir, "x", time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	for path, want := range map[string]os.FileMode{dir: 0o777 | os.ModeDir | os.ModeSticky, filepath.Join(dir, "host.lock"): 0o644} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s is %v, %v; want %v", path, info.Mode(), err, want)
		}
	}
	elsewhere := t.TempDir()
	target := filepath.Join(elsewhere, "precious")
	if err := errors.Join(os.WriteFile(target, []byte("x"), 0o600), os.Symlink(target, filepath.Join(elsewhere, "host.lock"))); err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(elsewhere, "x", time.Unix(0, 0)); err == nil {
		t.Error("a link was taken for the lock")
	}
	if text, _ := os.ReadFile(target); string(text) != "x" {
		t.Errorf("the file that it leads to holds %q", text)
	}
}

func TestLockWithoutADirectory(t *testing.T) {
	if _, err := Lock("/no/such/dir", "x", time.Unix(0, 0)); err == nil || !strings.Contains(err.Error(), "/no/such/dir/host.lock") {
		t.Errorf("Lock = %v", err)
	}
}
