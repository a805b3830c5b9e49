package host

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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

func TestLockWithoutADirectory(t *testing.T) {
	if _, err := Lock("/no/such/dir", "x", time.Unix(0, 0)); err == nil || !strings.Contains(err.Error(), "/no/such/dir/host.lock") {
		t.Errorf("Lock = %v", err)
	}
}
