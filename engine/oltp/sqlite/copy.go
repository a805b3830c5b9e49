package sqlite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"
)

// saved describes the copy of a database, in a file beside it.
type saved struct {
	Identity string `json:"identity"`
	Bytes    int64  `json:"bytes"`
	// SHA256 is of the copy's content; "" where the copy shares its blocks with the
	// database, and was not read.
	SHA256 string `json:"sha256,omitempty"`
}

func (d *database) copyPath() string  { return d.path + "-saved" }
func (d *database) labelPath() string { return d.path + "-saved.json" }

// Saving says how the database is saved; a file of the load's own is not, since
// it ends with the load.
func (d *database) Saving() string {
	if d.path == "" {
		return ""
	}
	return "copy of the file, by reflink where the file system has it"
}

// Save copies the file. The label is written last, so that a copy that was cut
// off has none.
func (d *database) Save(ctx context.Context, identity string) error {
	return d.closed(ctx, func() error {
		if err := remove(d.labelPath()); err != nil {
			return fmt.Errorf("saving the database: %w", err)
		}
		label := saved{Identity: identity}
		var err error
		if label.Bytes, label.SHA256, err = replicate(ctx, d.path, d.copyPath()); err != nil {
			return fmt.Errorf("saving the database: %w", err)
		}
		text, err := json.MarshalIndent(label, "", "  ")
		if err != nil {
			return fmt.Errorf("saving the database: %w", err)
		}
		if err := renameio.WriteFile(d.labelPath(), append(text, '\n'), 0o644); err != nil {
			return fmt.Errorf("saving the database: %w", err)
		}
		return nil
	})
}

// Saved returns the identity of the copy.
func (d *database) Saved(context.Context) (string, error) {
	if d.path == "" {
		return "", nil
	}
	label, err := d.label()
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	info, err := os.Stat(d.copyPath())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("looking at the saved database: %w", err)
	case info.Size() != label.Bytes: // not what was saved
		return "", nil
	}
	return label.Identity, nil
}

func (d *database) label() (label saved, err error) {
	text, err := os.ReadFile(d.labelPath())
	if err == nil {
		err = json.Unmarshal(text, &label)
	}
	if err != nil {
		return saved{}, fmt.Errorf("reading the label of the saved database %s: %w", d.labelPath(), err)
	}
	return label, nil
}

// Restore copies the saved file back, and refuses one that has changed.
func (d *database) Restore(ctx context.Context) error {
	label, err := d.label()
	if err != nil {
		return err
	}
	return d.closed(ctx, func() error {
		_, sum, err := replicate(ctx, d.copyPath(), d.path)
		if err != nil {
			return fmt.Errorf("restoring the database: %w", err)
		}
		if sum != "" && label.SHA256 != "" && sum != label.SHA256 {
			return fmt.Errorf("restoring the database: %s has changed since it was saved (SHA-256 %s, was %s): remove it, and the database is loaded anew",
				d.copyPath(), sum, label.SHA256)
		}
		return nil
	})
}

// closed runs fn while no connection is open and all that was committed is in the
// file, none of it in a log.
func (d *database) closed(ctx context.Context, fn func() error) error {
	if err := d.take(ctx); err != nil {
		return err
	}
	defer d.give()
	d.admin.mu.Lock()
	defer d.admin.mu.Unlock()
	if err := d.open(false); err != nil { // brings in the log of a process that was killed
		return err
	}
	d.shut()
	if info, err := os.Stat(d.path + "-wal"); err == nil && info.Size() > 0 {
		return fmt.Errorf("another process has %s open: end it first", d.path)
	}
	return fn()
}

// remove removes files that need not be there.
func remove(names ...string) error {
	for _, name := range names {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// replicate copies a file in place of another, whole or not at all. It returns
// the size and, where the content was read, its SHA-256.
func replicate(ctx context.Context, from, to string) (size int64, sum string, err error) {
	in, err := os.Open(from)
	if err != nil {
		return 0, "", err
	}
	defer in.Close()
	half := to + ".new" // one name, so that the next copy takes the place of one that was cut off
	out, err := os.OpenFile(half, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return 0, "", err
	}
	defer func() {
		out.Close()
		err = errors.Join(err, remove(half))
	}()
	if unix.IoctlFileClone(int(out.Fd()), int(in.Fd())) != nil {
		h := sha256.New()
		if err := copyAll(ctx, io.MultiWriter(out, h), in); err != nil {
			return 0, "", err
		}
		sum = digest(h)
	}
	info, err := out.Stat()
	if err != nil {
		return 0, "", err
	}
	if err := out.Sync(); err != nil {
		return 0, "", err
	}
	return info.Size(), sum, os.Rename(half, to)
}

func digest(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// copyAll copies until the end, or until ctx ends.
func copyAll(ctx context.Context, to io.Writer, from io.Reader) error {
	buffer := make([]byte, 1<<20)
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, err := from.Read(buffer)
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
