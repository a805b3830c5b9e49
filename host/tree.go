package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// maxFile bounds what is read of one file; /proc and /sys have none as large.
const maxFile = 4 << 20

// filePatience is how long any one file of a healthy kernel may take, also on a
// machine that is busy.
const filePatience = 2 * time.Second

// errHung says that the kernel gave no answer: a device or a file system behind
// the file is stuck.
var errHung = errors.New("no answer from the kernel")

// within runs f and waits for it no longer than d. When f is late its goroutine
// stays behind until the kernel lets go of it: nothing can interrupt a read
// that is stuck in a driver.
func within[T any](ctx context.Context, d time.Duration, f func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	var none T
	if err := ctx.Err(); err != nil {
		return none, context.Cause(ctx)
	}
	got := make(chan answer, 1)
	go func() {
		v, err := f()
		got <- answer{v, err}
	}()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case a := <-got:
		return a.value, a.err
	case <-t.C:
		return none, fmt.Errorf("%w within %v", errHung, d)
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
}

// tree is the file system below a root: "/" or a captured copy, whose links
// must be relative.
type tree struct {
	root     string
	patience time.Duration // with any one file
}

func newTree(root string, patience time.Duration) tree {
	if root == "" {
		root = "/"
	}
	return tree{root: root, patience: patience}
}

// live reports whether this is the machine itself, whose kernel can be asked.
func (t tree) live() bool { return filepath.Clean(t.root) == "/" }

func (t tree) path(name string) string { return filepath.Join(t.root, name) }

func (t tree) read(ctx context.Context, name string) (string, error) {
	return within(ctx, t.patience, func() (string, error) {
		f, err := os.Open(t.path(name))
		if err != nil {
			return "", err
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, maxFile))
		return string(data), err
	})
}

// write replaces the text of an existing file in one write, as the kernel's
// files want it.
func (t tree) write(ctx context.Context, name, text string) error {
	_, err := within(ctx, t.patience, func() (struct{}, error) {
		f, err := os.OpenFile(t.path(name), os.O_WRONLY|os.O_TRUNC, 0)
		if err != nil {
			return struct{}{}, err
		}
		_, err = f.WriteString(text)
		return struct{}{}, errors.Join(err, f.Close())
	})
	return err
}

// writable says why a setting's file may not be written, without touching it.
func (t tree) writable(ctx context.Context, name, value string) error {
	_, err := within(ctx, t.patience, func() (struct{}, error) { return struct{}{}, unix.Access(t.path(name), unix.W_OK) })
	switch {
	case t.fixed(ctx, name):
		return &SettingError{Path: name, Asked: value, Err: errFixed}
	case err != nil:
		return &SettingError{Path: name, Asked: value, Err: err, Advice: adviseOn(err, name, nil)}
	}
	return nil
}

// errFixed says that no user may write a file.
var errFixed = fmt.Errorf("it only tells, and nobody may write it: %w", fs.ErrPermission)

// fixed reports whether a file is there that nobody may write.
func (t tree) fixed(ctx context.Context, name string) bool {
	info, err := within(ctx, t.patience, func() (fs.FileInfo, error) { return os.Stat(t.path(name)) })
	return err == nil && info.Mode().Perm()&0o222 == 0
}

// names lists a directory, sorted.
func (t tree) names(ctx context.Context, dir string) ([]string, error) {
	return within(ctx, t.patience, func() ([]string, error) {
		entries, err := os.ReadDir(t.path(dir))
		names := make([]string, 0, len(entries))
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names, err
	})
}

// link reads where a symbolic link points to.
func (t tree) link(ctx context.Context, name string) (string, error) {
	return within(ctx, t.patience, func() (string, error) { return os.Readlink(t.path(name)) })
}

// resolve follows all links and returns the path inside the root.
func (t tree) resolve(ctx context.Context, name string) (string, error) {
	return within(ctx, t.patience, func() (string, error) {
		full, err := filepath.EvalSymlinks(t.path(name))
		if err != nil {
			return "", err
		}
		root, err := filepath.EvalSymlinks(t.root)
		if err != nil {
			return "", err
		}
		rel, err := filepath.Rel(root, full)
		if err != nil || !filepath.IsLocal(rel) {
			return "", fmt.Errorf("%s points outside of %s", name, t.root)
		}
		return "/" + rel, nil
	})
}

func (t tree) exists(ctx context.Context, name string) bool {
	_, err := within(ctx, t.patience, func() (fs.FileInfo, error) { return os.Stat(t.path(name)) })
	return err == nil
}

// unpathed drops the path that an error repeats: its caller names it.
func unpathed(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
