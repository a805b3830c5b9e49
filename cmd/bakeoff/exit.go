package main

import (
	"errors"
	"fmt"
)

// The exit codes, as documented in the manual page.
const (
	exitDone     = 0
	exitFailed   = 1 // what was asked could not be done
	exitBadInput = 2 // a file, flag or plan is wrong; nothing was done
	exitInvalid  = 3 // done, but a validity gate or a hash objected
	exitVerdict  = 4 // done, and a verdict that --fail-on names came out
)

// codedError carries the exit code that belongs to an error.
type codedError struct {
	code int
	err  error
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

// badInput marks an error as the user's to mend.
// An error that has a code already keeps it.
func badInput(err error) error {
	if err == nil {
		return nil
	}
	if coded, ok := errors.AsType[*codedError](err); ok {
		return &codedError{code: coded.code, err: err}
	}
	return &codedError{code: exitBadInput, err: err}
}

// invalid marks an outcome that was reached but must not be relied on.
func invalid(format string, args ...any) error {
	return &codedError{code: exitInvalid, err: fmt.Errorf(format, args...)}
}

// exitCode is the code that an error ends the process with.
func exitCode(err error) int {
	if err == nil {
		return exitDone
	}
	if coded, ok := errors.AsType[*codedError](err); ok {
		return coded.code
	}
	return exitFailed
}
