package sqlite

import (
	"errors"
	"fmt"

	"bakeoff/engine/oltp/tpcc"
)

// Error is what SQLite refused.
type Error struct {
	Code    int // extended result code, as sqlite.org/rescode.html lists them
	Message string
}

func (e *Error) Error() string { return fmt.Sprintf("SQLite: %s (result code %d)", e.Message, e.Code) }

// Primary result codes, the low eight bits of the extended ones.
const (
	codeBusy    = 5
	codeLocked  = 6
	codeNoMem   = 7
	codeIOErr   = 10
	codeCorrupt = 11
	codeFull    = 13
	codeNotADB  = 26
)

// is says whether an error is SQLite's, with one of the primary codes.
func is(err error, codes ...int) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	for _, code := range codes {
		if e.Code&0xff == code {
			return true
		}
	}
	return false
}

// outcome says what an error means for the transaction, which was rolled back.
func outcome(err error) tpcc.Outcome {
	switch {
	case err == nil:
		return tpcc.Committed
	case is(err, codeBusy, codeLocked): // another process has the file
		return tpcc.Conflict
	case is(err, codeIOErr, codeCorrupt, codeNotADB, codeNoMem):
		return tpcc.Broken
	}
	return tpcc.Refused
}
