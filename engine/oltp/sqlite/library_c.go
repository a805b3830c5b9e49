//go:build sqlite_c

package sqlite

/*
#cgo LDFLAGS: -Wl,--unresolved-symbols=ignore-all
#include <stdlib.h>

// The library itself is compiled into go-sqlite3, which has no header to
// include from here; these are the parts of sqlite3.h that are used.
typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;
extern int sqlite3_open_v2(const char*, sqlite3**, int, const char*);
extern int sqlite3_close_v2(sqlite3*);
extern int sqlite3_extended_result_codes(sqlite3*, int);
extern const char *sqlite3_errstr(int);
extern const char *sqlite3_errmsg(sqlite3*);
extern const char *sqlite3_libversion(void);
extern void sqlite3_interrupt(sqlite3*);
extern int sqlite3_exec(sqlite3*, const char*, void*, void*, char**);
extern int sqlite3_prepare_v3(sqlite3*, const char*, int, unsigned, sqlite3_stmt**, const char**);
extern int sqlite3_finalize(sqlite3_stmt*);
extern int sqlite3_bind_int64(sqlite3_stmt*, int, long long);
extern int sqlite3_bind_null(sqlite3_stmt*, int);
extern int sqlite3_bind_text(sqlite3_stmt*, int, const char*, int, void(*)(void*));
extern int sqlite3_step(sqlite3_stmt*);
extern int sqlite3_reset(sqlite3_stmt*);
extern int sqlite3_column_count(sqlite3_stmt*);
extern long long sqlite3_column_int64(sqlite3_stmt*, int);
extern const char *sqlite3_column_text(sqlite3_stmt*, int);
extern int sqlite3_column_bytes(sqlite3_stmt*, int);

static int bind_copy(sqlite3_stmt *s, int i, const char *text, int n) {
	return sqlite3_bind_text(s, i, text ? text : "", n, (void(*)(void*))-1);
}
*/
import "C"

import (
	"fmt"
	"unsafe"

	_ "github.com/mattn/go-sqlite3" // holds the library
)

// library names the SQLite that is linked in, for the record.
const library = "mattn/go-sqlite3: SQLite in C"

// From sqlite3.h.
const (
	openReadWrite     = 0x2
	openCreate        = 0x4
	openNoMutex       = 0x8000
	preparePersistent = 0x1
	resultOK          = 0
	resultRow         = 100
	resultDone        = 101
)

// conn is one connection, used by one goroutine at a time.
type conn struct{ db *C.sqlite3 }

// openFile opens a database file; a missing one is made where create is true.
func openFile(path string, create bool) (*conn, error) {
	flags := C.int(openReadWrite | openNoMutex)
	if create {
		flags |= openCreate
	}
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	c := &conn{}
	if rc := C.sqlite3_open_v2(name, &c.db, flags, nil); rc != resultOK {
		err := c.failure(rc)
		c.close()
		return nil, err
	}
	C.sqlite3_extended_result_codes(c.db, 1)
	return c, nil
}

// failure is the error of a result code.
func (c *conn) failure(rc C.int) error {
	message := C.sqlite3_errstr(rc)
	if c.db != nil {
		message = C.sqlite3_errmsg(c.db)
	}
	return &Error{Code: int(rc), Message: C.GoString(message)}
}

// close frees the connection and its statements, which are finalized before.
func (c *conn) close() {
	if c.db != nil {
		C.sqlite3_close_v2(c.db)
		c.db = nil
	}
}

// interrupt has the statement under way end with an error. It may be called
// from another goroutine, as long as the connection is open.
func (c *conn) interrupt() { C.sqlite3_interrupt(c.db) }

// exec runs statements that give no rows, or whose rows do not matter.
func (c *conn) exec(sql string) error {
	text := C.CString(sql)
	defer C.free(unsafe.Pointer(text))
	if rc := C.sqlite3_exec(c.db, text, nil, nil, nil); rc != resultOK {
		return fmt.Errorf("%s: %w", short(sql), c.failure(rc))
	}
	return nil
}

// version is the library's, as 3.53.0.
func (c *conn) version() string { return C.GoString(C.sqlite3_libversion()) }

// stmt is a prepared statement. Parameters count from 1, columns from 0. Bound
// values stay until they are bound anew.
type stmt struct {
	c *conn
	p *C.sqlite3_stmt
}

func (c *conn) prepare(sql string) (*stmt, error) {
	text := C.CString(sql)
	defer C.free(unsafe.Pointer(text))
	s := &stmt{c: c}
	if rc := C.sqlite3_prepare_v3(c.db, text, -1, preparePersistent, &s.p, nil); rc != resultOK {
		return nil, fmt.Errorf("%s: %w", short(sql), c.failure(rc))
	}
	return s, nil
}

func (s *stmt) finalize() {
	C.sqlite3_finalize(s.p)
	s.p = nil
}

func (s *stmt) bindInt(i int, v int64) { s.bound(C.sqlite3_bind_int64(s.p, C.int(i), C.longlong(v))) }

func (s *stmt) bindNull(i int) { s.bound(C.sqlite3_bind_null(s.p, C.int(i))) }

func (s *stmt) bindText(i int, v []byte) {
	s.bound(C.bind_copy(s.p, C.int(i), (*C.char)(unsafe.Pointer(unsafe.SliceData(v))), C.int(len(v))))
}

// bound panics over a parameter that the statement does not have, which is a
// mistake of this package.
func (s *stmt) bound(rc C.int) {
	if rc != resultOK {
		panic(s.c.failure(rc))
	}
}

// step goes on to the next row; it is false where there is none.
func (s *stmt) step() (bool, error) {
	switch rc := C.sqlite3_step(s.p); rc {
	case resultRow:
		return true, nil
	case resultDone:
		return false, nil
	default:
		return false, s.c.failure(rc)
	}
}

// reset makes the statement ready to run again. What failed was told by step.
func (s *stmt) reset() { C.sqlite3_reset(s.p) }

func (s *stmt) columns() int { return int(C.sqlite3_column_count(s.p)) }

func (s *stmt) int(i int) int64 { return int64(C.sqlite3_column_int64(s.p, C.int(i))) }

// text returns a column's bytes, valid until the next step or reset.
func (s *stmt) text(i int) []byte {
	p := C.sqlite3_column_text(s.p, C.int(i))
	if p == nil {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(p)), C.sqlite3_column_bytes(s.p, C.int(i)))
}
