package olap

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFoldersOfTheDead: what a process that was killed has left is removed by the next
// session, and nothing else is.
func TestFoldersOfTheDead(t *testing.T) {
	parent := t.TempDir()
	t.Setenv("TMPDIR", parent)
	used, err := newFolder()
	if err != nil {
		t.Fatal(err)
	}
	dead, foreign := filepath.Join(parent, folderPrefix+"1"), filepath.Join(parent, folderPrefix+"mine")
	for _, dir := range []string{dead, foreign} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{filepath.Join(dead, folderLock), filepath.Join(dead, "olap.sqlite"), filepath.Join(foreign, "file")} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	again, err := newFolder()
	if err != nil {
		t.Fatal(err)
	}
	for dir, there := range map[string]bool{used.path: true, again.path: true, foreign: true, dead: false} {
		if _, err := os.Stat(dir); (err == nil) != there {
			t.Errorf("%s: %v, want there: %v", dir, err, there)
		}
	}
	for _, f := range []*folder{used, again} {
		if err := f.remove(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(f.path); err == nil {
			t.Errorf("%s is still there", f.path)
		}
	}
}
