package mysql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"bakeoff/engine/oltp"
	"bakeoff/engine/oltp/tpcc"
)

const (
	savedSuffix  = "_saved"        // of the database that holds the copy
	savedTable   = "bakeoff_saved" // in it: what it is a copy of
	copiesAtOnce = 4
)

// Saving describes the copies.
func (*database) Saving() string {
	return "copies of the tables in a database beside it: the files themselves where the server runs on this host, else row by row"
}

func (d *database) savedName() string { return d.name + savedSuffix }

// savedTables are those that are copied.
func (d *database) savedTables() []string {
	var names []string
	if d.Schema != hammerDBSchema {
		names = append(names, oltp.MarkTable)
	}
	for _, t := range tpcc.Tables() {
		names = append(names, t.Name)
	}
	return names
}

// Save copies the tables to the database beside it.
func (d *database) Save(ctx context.Context, identity string) error {
	if err := d.unhurry(ctx); err != nil {
		return err
	}
	saved := quote(d.savedName())
	err := execAll(ctx, d.server, "DROP DATABASE IF EXISTS "+saved, "CREATE DATABASE "+saved+" DEFAULT CHARACTER SET latin1 COLLATE latin1_bin")
	if err == nil {
		err = d.copyTables(ctx, d.name, d.savedName())
	}
	if err == nil { // last: without it the copy is not complete
		err = execAll(ctx, d.server, fmt.Sprintf("CREATE TABLE %s.%s (identity VARCHAR(1000) NOT NULL)%s", saved, savedTable, tableOptions),
			fmt.Sprintf("INSERT INTO %s.%s VALUES (%s)", saved, savedTable, literal(identity)))
	}
	if err != nil {
		return fmt.Errorf("saving the tables to database %s: %w", d.savedName(), err)
	}
	return nil
}

// Saved reads what the copy is of.
func (d *database) Saved(ctx context.Context) (string, error) {
	rows, err := rowsOf(ctx, d.server, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = "+literal(d.savedName())+" AND table_name = "+literal(savedTable))
	if err != nil || rows[0][0] == "0" {
		return "", err
	}
	rows, err = rowsOf(ctx, d.server, "SELECT identity FROM "+quote(d.savedName())+"."+savedTable)
	if err != nil || len(rows) == 0 {
		return "", err
	}
	return rows[0][0], nil
}

// Restore drops the tables and copies them back.
func (d *database) Restore(ctx context.Context) error {
	if err := d.copyTables(ctx, d.savedName(), d.name); err != nil {
		return fmt.Errorf("restoring the tables from database %s: %w", d.savedName(), err)
	}
	var names []string
	for _, t := range tpcc.Tables() {
		names = append(names, quote(t.Name))
	}
	return d.analyze(ctx, names)
}

// copyTables makes the tables of one database anew in another.
func (d *database) copyTables(ctx context.Context, from, to string) error {
	for _, name := range d.savedTables() {
		target := quote(to) + "." + quote(name)
		if err := execAll(ctx, d.server, "DROP TABLE IF EXISTS "+target, "CREATE TABLE "+target+" LIKE "+quote(from)+"."+quote(name)); err != nil {
			return err
		}
	}
	unhurry, err := d.hurry(ctx)
	if err != nil { // it may not be allowed, or not be known here
		return d.copyAllRows(ctx, from, to)
	}
	files, err := d.files(ctx, from, to)
	switch {
	case err != nil:
	case files == nil:
		err = d.copyAllRows(ctx, from, to)
	default:
		err = files.copy(ctx)
	}
	if err == nil {
		err = d.checkpoint(ctx)
	}
	return errors.Join(err, unhurry())
}

func (d *database) copyAllRows(ctx context.Context, from, to string) error {
	return d.each(ctx, func(name string) error { return d.copyRows(ctx, from, to, name) })
}

// each does something for every table, for several at a time.
func (d *database) each(ctx context.Context, do func(table string) error) error {
	limit := make(chan struct{}, copiesAtOnce)
	names := d.savedTables()
	errs := make([]error, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		limit <- struct{}{}
		all.Go(func() {
			if errs[i] = ctx.Err(); errs[i] == nil {
				errs[i] = do(name)
			}
			<-limit
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

func (d *database) copyRows(ctx context.Context, from, to, table string) error {
	order := ""
	for _, t := range tpcc.Tables() {
		if t.Name == table && len(t.Key) > 0 {
			order = " ORDER BY " + strings.Join(t.Key, ", ")
		}
	}
	_, err := d.loader.ExecContext(ctx, fmt.Sprintf("INSERT INTO %s.%s SELECT * FROM %s.%s%s", quote(to), quote(table), quote(from), quote(table), order))
	if err != nil {
		return fmt.Errorf("copying table %s: %w", table, err)
	}
	return nil
}

// fileCopy copies tables as files: InnoDB's table spaces, which a server can be
// told to leave alone (FLUSH TABLES ... FOR EXPORT) and to take in.
type fileCopy struct {
	d        *database
	from, to string // databases
	fromDir  string
	toDir    string
	unlock   func() error
	owner    *syscall.Stat_t // of the server's files
}

// files readies a copy of files; it is nil where the server's files are out of
// reach, as on another host.
func (d *database) files(ctx context.Context, from, to string) (*fileCopy, error) {
	rows, err := rowsOf(ctx, d.server, "SELECT @@datadir, @@innodb_file_per_table")
	if err != nil {
		return nil, err
	}
	f := &fileCopy{d: d, from: from, to: to, fromDir: filepath.Join(rows[0][0], from), toDir: filepath.Join(rows[0][0], to)}
	for _, dir := range []string{f.fromDir, f.toDir} {
		info, err := os.Stat(dir)
		if err != nil || rows[0][1] != "1" || syscall.Access(dir, 7) != nil {
			return nil, nil
		}
		f.owner, _ = info.Sys().(*syscall.Stat_t)
	}
	if f.owner == nil || os.Geteuid() != 0 && uint32(os.Geteuid()) != f.owner.Uid {
		return nil, nil // the server could not write what is copied
	}
	if err := f.lock(ctx); err != nil {
		return nil, err
	}
	// These files tell that it is this server's directory: it has just made them.
	for _, name := range d.savedTables() {
		if _, err := os.Stat(filepath.Join(f.fromDir, name+".cfg")); err != nil {
			return nil, f.unlock()
		}
	}
	return f, nil
}

// lock has the server write the tables out and leave their files alone.
func (f *fileCopy) lock(ctx context.Context) error {
	conn, err := f.d.server.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connecting to lock the tables: %w", err)
	}
	var names []string
	for _, name := range f.d.savedTables() {
		names = append(names, quote(f.from)+"."+quote(name))
	}
	if err := execAll(ctx, conn, "FLUSH TABLES "+strings.Join(names, ", ")+" FOR EXPORT"); err != nil {
		return errors.Join(err, conn.Close())
	}
	f.unlock = func() error {
		_, err := conn.ExecContext(context.WithoutCancel(ctx), "UNLOCK TABLES")
		return errors.Join(err, conn.Close())
	}
	return nil
}

func (f *fileCopy) copy(ctx context.Context) error {
	err := f.d.each(ctx, func(table string) error {
		if err := f.copyTable(ctx, table); err != nil {
			return fmt.Errorf("copying table %s: %w", table, err)
		}
		return nil
	})
	return errors.Join(err, f.unlock())
}

// copyTable puts a table's files in the place of the new table's and has the
// server take them in.
func (f *fileCopy) copyTable(ctx context.Context, table string) error {
	target := quote(f.to) + "." + quote(table)
	if err := execAll(ctx, f.d.server, "ALTER TABLE "+target+" DISCARD TABLESPACE"); err != nil {
		return err
	}
	for _, ending := range []string{".cfg", ".ibd"} {
		if err := f.copyFile(table + ending); err != nil {
			return err
		}
	}
	if err := execAll(ctx, f.d.server, "ALTER TABLE "+target+" IMPORT TABLESPACE"); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(f.toDir, table+".cfg")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing what was only needed once: %w", err)
	}
	return nil
}

// copyFile copies a file, by reference where the file system can.
func (f *fileCopy) copyFile(name string) (err error) {
	in, err := os.Open(filepath.Join(f.fromDir, name))
	if err != nil {
		return fmt.Errorf("reading the server's files: %w", err)
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(filepath.Join(f.toDir, name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o660)
	if err != nil {
		return fmt.Errorf("writing among the server's files: %w", err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if err := out.Chown(int(f.owner.Uid), int(f.owner.Gid)); err != nil {
		return fmt.Errorf("writing among the server's files: %w", err)
	}
	if _, err := io.Copy(out, in); err != nil {
		return fmt.Errorf("copying %s: %w", name, err)
	}
	return nil
}
