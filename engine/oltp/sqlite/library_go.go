//go:build !sqlite_c

package sqlite

import (
	"fmt"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// library names the SQLite that is linked in, for the record.
const library = "modernc.org/sqlite: SQLite's C translated to Go"

// conn is one connection, used by one goroutine at a time. It calls SQLite's C
// interface itself: database/sql and a driver cost about as much as a short
// statement does.
type conn struct {
	tls *libc.TLS
	db  uintptr
	// scratch is where arguments are put for SQLite to copy.
	scratch     uintptr
	scratchSize int
}

// openFile opens a database file; a missing one is made where create is true.
func openFile(path string, create bool) (*conn, error) {
	flags := int32(lib.SQLITE_OPEN_READWRITE | lib.SQLITE_OPEN_NOMUTEX)
	if create {
		flags |= lib.SQLITE_OPEN_CREATE
	}
	lib.PatchIssue199() // of the library's mutexes; it does nothing the second time
	c := &conn{tls: libc.NewTLS()}
	slot := c.put("", 0)
	name, err := libc.CString(path)
	if err != nil {
		return nil, errOutOfMemory
	}
	defer libc.Xfree(c.tls, name)
	rc := lib.Xsqlite3_open_v2(c.tls, name, slot, flags, 0)
	c.db = *(*uintptr)(at(slot))
	if rc != lib.SQLITE_OK {
		err := c.failure(rc)
		c.close()
		return nil, err
	}
	lib.Xsqlite3_extended_result_codes(c.tls, c.db, 1)
	return c, nil
}

// errOutOfMemory is what Go's own allocator would end the process over.
var errOutOfMemory = &Error{Code: codeNoMem, Message: "out of memory"}

// at is the place of an address of the library's own memory, which Go's
// collector neither moves nor frees.
func at(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// put copies a text, and as many bytes of 0, into memory of the library's own. It
// is valid until the next call.
func (c *conn) put(text string, zeros int) uintptr {
	n := max(len(text)+zeros, int(unsafe.Sizeof(c.db)))
	if n > c.scratchSize {
		libc.Xfree(c.tls, c.scratch)
		c.scratchSize = max(n, 1024)
		if c.scratch = libc.Xmalloc(c.tls, libc.Tsize_t(c.scratchSize)); c.scratch == 0 {
			panic(errOutOfMemory)
		}
	}
	b := unsafe.Slice((*byte)(at(c.scratch)), n)
	clear(b[copy(b, text):])
	return c.scratch
}

// failure is the error of a result code.
func (c *conn) failure(rc int32) error {
	message := lib.Xsqlite3_errstr(c.tls, rc)
	if c.db != 0 {
		message = lib.Xsqlite3_errmsg(c.tls, c.db)
	}
	return &Error{Code: int(rc), Message: libc.GoString(message)}
}

// close frees the connection and its statements, which are finalized before.
func (c *conn) close() {
	if c.tls == nil {
		return
	}
	lib.Xsqlite3_close_v2(c.tls, c.db)
	libc.Xfree(c.tls, c.scratch)
	c.tls.Close()
	c.tls = nil
}

// interrupt has the statement under way end with an error. It may be called
// from another goroutine, as long as the connection is open.
func (c *conn) interrupt() {
	tls := libc.NewTLS() // of this goroutine: they are not safe for concurrent use
	defer tls.Close()
	lib.Xsqlite3_interrupt(tls, c.db)
}

// exec runs statements that give no rows, or whose rows do not matter.
func (c *conn) exec(sql string) error {
	if rc := lib.Xsqlite3_exec(c.tls, c.db, c.put(sql, 1), 0, 0, 0); rc != lib.SQLITE_OK {
		return fmt.Errorf("%s: %w", short(sql), c.failure(rc))
	}
	return nil
}

// version is the library's, as 3.53.0.
func (c *conn) version() string { return libc.GoString(lib.Xsqlite3_libversion(c.tls)) }

// stmt is a prepared statement. Parameters count from 1, columns from 0. Bound
// values stay until they are bound anew.
type stmt struct {
	c *conn
	p uintptr
}

func (c *conn) prepare(sql string) (*stmt, error) {
	text, err := libc.CString(sql)
	if err != nil {
		return nil, errOutOfMemory
	}
	defer libc.Xfree(c.tls, text)
	slot := c.put("", 0)
	rc := lib.Xsqlite3_prepare_v3(c.tls, c.db, text, -1, lib.SQLITE_PREPARE_PERSISTENT, slot, 0)
	if rc != lib.SQLITE_OK {
		return nil, fmt.Errorf("%s: %w", short(sql), c.failure(rc))
	}
	return &stmt{c: c, p: *(*uintptr)(at(slot))}, nil
}

func (s *stmt) finalize() {
	lib.Xsqlite3_finalize(s.c.tls, s.p)
	s.p = 0
}

func (s *stmt) bindInt(i int, v int64) {
	s.bound(lib.Xsqlite3_bind_int64(s.c.tls, s.p, int32(i), v))
}

func (s *stmt) bindNull(i int) { s.bound(lib.Xsqlite3_bind_null(s.c.tls, s.p, int32(i))) }

func (s *stmt) bindText(i int, v []byte) {
	memory := s.c.put(unsafe.String(unsafe.SliceData(v), len(v)), 0)
	s.bound(lib.Xsqlite3_bind_text(s.c.tls, s.p, int32(i), memory, int32(len(v)), lib.SQLITE_TRANSIENT))
}

// bound panics over a parameter that the statement does not have, which is a
// mistake of this package.
func (s *stmt) bound(rc int32) {
	if rc != lib.SQLITE_OK {
		panic(s.c.failure(rc))
	}
}

// step goes on to the next row; it is false where there is none.
func (s *stmt) step() (bool, error) {
	switch rc := lib.Xsqlite3_step(s.c.tls, s.p); rc {
	case lib.SQLITE_ROW:
		return true, nil
	case lib.SQLITE_DONE:
		return false, nil
	default:
		return false, s.c.failure(rc)
	}
}

// reset makes the statement ready to run again. What failed was told by step.
func (s *stmt) reset() { lib.Xsqlite3_reset(s.c.tls, s.p) }

func (s *stmt) columns() int { return int(lib.Xsqlite3_column_count(s.c.tls, s.p)) }

func (s *stmt) int(i int) int64 { return lib.Xsqlite3_column_int64(s.c.tls, s.p, int32(i)) }

// text returns a column's bytes, valid until the next step or reset.
func (s *stmt) text(i int) []byte {
	p := lib.Xsqlite3_column_text(s.c.tls, s.p, int32(i))
	if p == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(at(p)), lib.Xsqlite3_column_bytes(s.c.tls, s.p, int32(i)))
}
