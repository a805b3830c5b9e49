package ring

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
)

// Available says whether io_uring can be had here, and if not, why.
func Available() error {
	// A ring belongs to the thread that set it up (SINGLE_ISSUER).
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	l, err := New(Config{Backend: URing, Conns: 1})
	if err != nil {
		return err
	}
	return l.Close()
}

// whyNot turns the refusal of io_uring_setup into a reason that a user can act on.
func whyNot(errno syscall.Errno) error {
	switch errno {
	case syscall.ENOSYS:
		return errors.New("this kernel was built without io_uring (io_uring_setup: function not implemented)")
	case syscall.EINVAL:
		return errors.New("this kernel's io_uring is older than Linux 6.1 (it lacks SINGLE_ISSUER and DEFER_TASKRUN)")
	case syscall.EPERM, syscall.EACCES:
		return refused()
	}
	return fmt.Errorf("io_uring_setup: %w", errno)
}

// refused tells a sysctl (kernel.io_uring_disabled, since 6.6) from a filter.
func refused() error {
	b, err := os.ReadFile("/proc/sys/kernel/io_uring_disabled")
	if v := strings.TrimSpace(string(b)); err == nil && v != "0" {
		return fmt.Errorf("io_uring is switched off here: kernel.io_uring_disabled is %s (0 allows it)", v)
	}
	return errors.New("io_uring is refused here, by a seccomp filter or a security module (containers often do)")
}
