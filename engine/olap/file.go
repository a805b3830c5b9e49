package olap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// FilePath is where an embedded database of a URL as scheme:FILE or scheme:///PATH
// lies, or in the session's folder where it has no path. Instances above 0 have files of their own.
func FilePath(c Config, name string) (string, error) {
	u, path := c.URL, c.URL.Path
	if u.Opaque != "" {
		path = u.Opaque
	}
	switch {
	case c.TLS != nil || c.User != "":
		return "", errors.New("an embedded database has neither users nor TLS")
	case c.Dir != "":
		return filepath.Join(c.Dir, name), nil
	case u.Host != "" || u.RawQuery != "":
		return "", fmt.Errorf("expected a file and no options, as %s:%s or, with three slashes, %s:///var/tmp/%s", u.Scheme, name, u.Scheme, name)
	}
	if c.Instance > 0 {
		path = fmt.Sprintf("%s_%d", path, c.Instance)
	}
	return filepath.Abs(path)
}

// The copy of a file under an identity is the file, and beside it one with its identity that is
// written last.
const identitySuffix = ".identity"

// SaveFile copies a database's file under an identity.
func SaveFile(ctx context.Context, from, to, identity string) error {
	if err := os.Remove(to + identitySuffix); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := copyFile(ctx, from, to); err != nil {
		return err
	}
	return os.WriteFile(to+identitySuffix, []byte(identity+"\n"), 0o644)
}

// SavedFile is the identity of a copy, "" where there is none that is complete.
func SavedFile(path string) (string, error) {
	text, err := os.ReadFile(path + identitySuffix)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(text)), err
}

// RestoreFile puts a copy in the place of a database's file, whole or not at all.
func RestoreFile(ctx context.Context, from, to string) error {
	temporary := to + ".restoring"
	if err := copyFile(ctx, from, temporary); err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	return os.Rename(temporary, to)
}

// copyFile copies a file, by sharing its blocks where the file system can.
func copyFile(ctx context.Context, from, to string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	if unix.IoctlFileClone(int(target.Fd()), int(source.Fd())) == nil {
		return nil
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		_, err := io.CopyN(target, source, 64<<20)
		if errors.Is(err, io.EOF) {
			return target.Sync()
		}
		if err != nil {
			return fmt.Errorf("copying %s to %s: %w", from, to, err)
		}
	}
}

// Names returns the first column of a query's rows as text.
func Names(ctx context.Context, q querier, query string) (names []string, err error) {
	rows, err := q.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		values, err := scan(rows)
		if err != nil {
			return nil, err
		}
		if b, ok := values[0].([]byte); ok {
			values[0] = string(b)
		}
		names = append(names, fmt.Sprint(values[0]))
	}
	return names, rows.Err()
}
