package server

import (
	"errors"
	"syscall"
)

// tooMany reports whether a connection could not be taken for want of
// descriptors or memory, which passes.
func tooMany(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) ||
		errors.Is(err, syscall.ENOBUFS) || errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.ECONNABORTED)
}
