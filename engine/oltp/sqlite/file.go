package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// admin is the connection for all but the transactions. Load, Query and Counters
// may come at once.
type admin struct {
	mu   sync.Mutex
	conn *conn // nil while no file is open
}

// files are the names of a database: its own, and those of its write-ahead log.
func files(path string) []string { return []string{path, path + "-wal", path + "-shm"} }

// ownFile is a file of the load's own. It loses its name as soon as both
// connections have it open, so that the kernel frees it with the process, however
// that ends.
type ownFile struct {
	dir, path string
	file      *os.File // to name the file system by, after the name is gone
}

func newOwnFile() (*ownFile, error) {
	dir, err := os.MkdirTemp("", "bakeoff-sqlite-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the database: %w", err)
	}
	o := &ownFile{dir: dir, path: filepath.Join(dir, "tpcc.db")}
	if o.file, err = os.OpenFile(o.path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("making the database: %w", err), o.unname())
	}
	return o, nil
}

// unname removes every name.
func (o *ownFile) unname() error {
	if err := os.RemoveAll(o.dir); err != nil {
		return fmt.Errorf("removing the database's names: %w", err)
	}
	return nil
}

// errNoFile says that there is no database yet.
var errNoFile = errors.New("there is no such database yet")

// open opens both connections. A missing file is made where create is true.
func (d *database) open(create bool) error {
	if d.admin.conn != nil {
		return nil
	}
	path := d.path
	switch _, err := os.Stat(path); {
	case d.path == "" && !create:
		return errNoFile
	case d.path == "":
		own, err := newOwnFile()
		if err != nil {
			return err
		}
		d.own, path = own, own.path
	case errors.Is(err, fs.ErrNotExist) && !create:
		return errNoFile
	}
	err := d.connect(path)
	if d.own != nil {
		err = errors.Join(err, d.own.unname())
	}
	if err != nil {
		d.shut()
		return fmt.Errorf("opening the database %s: %w", path, err)
	}
	return nil
}

func (d *database) connect(path string) (err error) {
	if d.admin.conn, err = d.connection(path, "full"); err != nil {
		return err
	}
	c, err := d.connection(path, d.synchronous)
	if err != nil {
		return err
	}
	d.work = &session{conn: c}
	return nil
}

// connection opens a connection and makes its settings. It reads the file, so
// that one that is no database is found here.
func (d *database) connection(path, synchronous string) (*conn, error) {
	c, err := openFile(path, true)
	if err != nil {
		return nil, err
	}
	err = c.exec(fmt.Sprintf("PRAGMA busy_timeout = %d; PRAGMA page_size = %d", d.Timeout.Milliseconds(), d.pageSize))
	var mode string
	if err == nil {
		mode, err = c.pragma("journal_mode = wal")
	}
	if err == nil && mode != "wal" {
		err = fmt.Errorf("the file system has no write-ahead log for it: journal_mode stays %q; use a local file system", mode)
	}
	if err == nil { // the size of a page is known once the log is
		var page int64
		page, err = c.number("page_size")
		pages := max(d.checkpoint/max(page, 1), 1)
		err = errors.Join(err, c.exec(fmt.Sprintf("PRAGMA synchronous = %s; PRAGMA cache_size = -%d; PRAGMA wal_autocheckpoint = %d",
			synchronous, d.cache>>10, pages)))
	}
	if err == nil {
		err = c.exec("SELECT COUNT(*) FROM sqlite_schema") // opens the log, while it has a name
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// pragma returns the one value of a pragma, as text.
func (c *conn) pragma(name string) (string, error) {
	s, err := c.prepare("PRAGMA " + name)
	if err != nil {
		return "", err
	}
	defer s.finalize()
	var value string
	if _, err := s.one(func() { value = string(s.text(0)) }); err != nil {
		return "", fmt.Errorf("PRAGMA %s: %w", name, err)
	}
	return value, nil
}

func (c *conn) number(pragma string) (int64, error) {
	s, err := c.prepare("PRAGMA " + pragma)
	if err != nil {
		return 0, err
	}
	defer s.finalize()
	var value int64
	if _, err := s.one(func() { value = s.int(0) }); err != nil {
		return 0, fmt.Errorf("PRAGMA %s: %w", pragma, err)
	}
	return value, nil
}

// shut closes both connections; a file of the load's own is gone then. Whatever
// the log still holds is copied into the file first, by SQLite.
func (d *database) shut() {
	if d.work != nil {
		d.work.close()
		d.work = nil
	}
	if d.admin.conn != nil {
		d.admin.conn.close()
		d.admin.conn = nil
	}
	if d.own != nil {
		d.own.file.Close()
		d.own = nil
	}
}

// Close ends both connections.
func (d *database) Close() error {
	d.seat <- struct{}{}
	defer func() { <-d.seat }()
	d.admin.mu.Lock()
	defer d.admin.mu.Unlock()
	d.shut()
	return nil
}

// manage runs fn with the admin connection, and interrupts it when ctx ends.
func (d *database) manage(ctx context.Context, create bool, fn func(c *conn) error) error {
	d.admin.mu.Lock()
	defer d.admin.mu.Unlock()
	if err := d.open(create); err != nil {
		return err
	}
	return d.admin.conn.until(ctx, fn)
}

// until runs fn and interrupts its statements once ctx has ended.
func (c *conn) until(ctx context.Context, fn func(c *conn) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	done, ended := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for { // an interrupt between two statements is lost
			c.interrupt()
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	})
	err := fn(c)
	close(done)
	if !stop() {
		<-ended
	}
	if ctx.Err() != nil && err != nil {
		return context.Cause(ctx)
	}
	return err
}

// fileSystem names the file system that a file is on.
func fileSystem(f *os.File) (string, error) {
	var s unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &s); err != nil {
		return "", fmt.Errorf("asking for the file system: %w", err)
	}
	known := map[uint32]string{
		unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs", unix.TMPFS_MAGIC: "tmpfs",
		unix.OVERLAYFS_SUPER_MAGIC: "overlayfs", unix.F2FS_SUPER_MAGIC: "f2fs", unix.NFS_SUPER_MAGIC: "nfs", 0x2fc12fc1: "zfs",
	}
	if name, ok := known[uint32(s.Type)]; ok {
		return name, nil
	}
	return fmt.Sprintf("%#x", uint32(s.Type)), nil
}
