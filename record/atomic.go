package record

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// tempPrefix begins the names of files and directories that are being written.
// They are never part of a record, and are removed when a run is resumed.
const tempPrefix = ".tmp-"

// writeAtomic writes a file so that it is there whole or not at all, even when
// the power fails: a temporary file beside it, synced, renamed, and the
// directory synced. The directory must exist.
func writeAtomic(name string, write func(io.Writer) error) (err error) {
	dir := filepath.Dir(name)
	// Not os.CreateTemp, whose files would have to be opened to others later,
	// past the umask.
	f, err := os.OpenFile(tempName(dir), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
			err = fmt.Errorf("writing %s: %w", name, err)
		}
	}()
	out := bufio.NewWriterSize(f, 64<<10)
	if err := write(out); err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return err
	}
	return syncDir(dir)
}

// tempName is a name in dir that nothing has.
func tempName(dir string) string { return filepath.Join(dir, tempPrefix+rand.Text()) }

func writeBytes(name string, src []byte) error {
	return writeAtomic(name, func(w io.Writer) error {
		_, err := w.Write(src)
		return err
	})
}

// syncDir makes the names in a directory survive a power cut.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// makeDir makes a directory below an existing one, and makes its name last.
func makeDir(dir string) error {
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(dir))
}

// workDir is the directory inside a run directory that holds what servers
// under test need while the run goes on. It is no part of the record, outlives
// a crash, and is removed when the record is sealed.
const workDir = tempPrefix + "work"

// removeTemps removes what a crash left half-written below dir.
func removeTemps(dir string) error {
	return filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && e.Name() == workDir:
			return fs.SkipDir
		case !strings.HasPrefix(e.Name(), tempPrefix):
			return nil
		case e.IsDir():
			return errors.Join(os.RemoveAll(name), fs.SkipDir)
		}
		return os.Remove(name)
	})
}

// fileName makes any text a plain file name: letters, digits, ".", "_" and "-"
// stay, other bytes become %XX, so that sha256sum prints it as it is.
func fileName(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.' && i > 0
		if plain {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}
