package socket

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Conn is a connected socket that blocks for up to Patience. It is used from
// one locked thread.
type Conn struct {
	FD int
	// Raw waits without a word to the Go scheduler, which costs less. It is for
	// threads that GOMAXPROCS counts: without a processor to spare, others starve.
	Raw bool
}

// ErrAgain says that nothing could be done within Patience, or at once where
// MSG_DONTWAIT was asked for.
const ErrAgain = syscall.EAGAIN

// call takes a signal for the end of the wait: the Go scheduler sends one every
// 10 ms to a thread that it wants to hear of, and each would begin the wait anew.
func (c Conn) call(trap, b, n, flags, d, e uintptr) (int, syscall.Errno) {
	var r uintptr
	var errno syscall.Errno
	if c.Raw {
		r, _, errno = syscall.RawSyscall6(trap, uintptr(c.FD), b, n, flags, d, e)
	} else {
		r, _, errno = syscall.Syscall6(trap, uintptr(c.FD), b, n, flags, d, e)
	}
	switch errno {
	case 0:
		return int(r), 0
	case syscall.EINTR:
		return 0, syscall.EAGAIN
	}
	return 0, errno
}

// Send sends from a buffer that NewBuffer made and returns how many bytes the
// kernel took.
func (c Conn) Send(b []byte, flags int) (int, syscall.Errno) {
	return c.call(unix.SYS_SENDTO, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), uintptr(flags|unix.MSG_NOSIGNAL), 0, 0)
}

// Receive receives into a buffer that NewBuffer made. 0 bytes of a stream is its
// end.
func (c Conn) Receive(b []byte, flags int) (int, syscall.Errno) {
	return c.call(unix.SYS_RECVFROM, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), uintptr(flags), 0, 0)
}

// SendFile sends n bytes of a file from an offset (sendfile(2)).
func (c Conn) SendFile(file int, offset *int64, n int) (int, syscall.Errno) {
	return c.call(unix.SYS_SENDFILE, uintptr(file), uintptr(unsafe.Pointer(offset)), uintptr(n), 0, 0)
}

// SendMessage sends one message of several parts (sendmsg(2)).
func (c Conn) SendMessage(m *unix.Msghdr, flags int) (int, syscall.Errno) {
	return c.call(unix.SYS_SENDMSG, uintptr(unsafe.Pointer(m)), uintptr(flags|unix.MSG_NOSIGNAL), 0, 0, 0)
}

// SendMany sends datagrams and returns how many (sendmmsg(2)).
func (c Conn) SendMany(m []Message, flags int) (int, syscall.Errno) {
	return c.call(unix.SYS_SENDMMSG, uintptr(unsafe.Pointer(unsafe.SliceData(m))), uintptr(len(m)), uintptr(flags|unix.MSG_NOSIGNAL), 0, 0)
}

// ReceiveMany receives datagrams: it waits for the first, and takes what is
// there (recvmmsg(2)).
func (c Conn) ReceiveMany(m []Message, flags int) (int, syscall.Errno) {
	return c.call(unix.SYS_RECVMMSG, uintptr(unsafe.Pointer(unsafe.SliceData(m))), uintptr(len(m)), uintptr(flags|unix.MSG_WAITFORONE), 0, 0)
}

// Message is struct mmsghdr.
type Message struct {
	Header unix.Msghdr
	Length uint32 // bytes sent or received
	_      uint32
}

// Poll waits up to ns nanoseconds for events of poll(2), of which it returns
// those that came; ns 0 does not wait.
func (c Conn) Poll(events int16, ns int64) (int16, error) {
	p := poller{set: unix.PollFd{Fd: int32(c.FD), Events: events}, wait: unix.NsecToTimespec(max(ns, 0))}
	var n uintptr
	var errno syscall.Errno
	if c.Raw {
		n, _, errno = syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&p.set)), 1, uintptr(unsafe.Pointer(&p.wait)), 0, 0, 0)
	} else {
		n, _, errno = syscall.Syscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&p.set)), 1, uintptr(unsafe.Pointer(&p.wait)), 0, 0, 0)
	}
	if errno == syscall.EINTR || errno == 0 && n == 0 {
		return 0, nil
	}
	if errno != 0 {
		return 0, fmt.Errorf("waiting for a socket: %w", errno)
	}
	return p.set.Revents, nil
}

type poller struct {
	set  unix.PollFd
	wait unix.Timespec
}

// NewBuffer returns memory outside of the Go heap, on pages of its own. FreeBuffer
// gives it back.
func NewBuffer(size int) ([]byte, error) {
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("getting %d bytes of memory: %w", size, err)
	}
	return b, nil
}

// FreeBuffer frees what NewBuffer returned; nil is nothing.
func FreeBuffer(b []byte) {
	if b != nil {
		_ = unix.Munmap(b)
	}
}

// Fill writes bytes that do not compress, the same for one seed.
func Fill(b []byte, seed uint64) {
	for i := range b {
		seed += 0x9e3779b97f4a7c15
		v := seed
		v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
		b[i] = byte(v >> 56)
	}
}

// ThreadCPU reads the CPU time of a thread of this process in nanoseconds, by
// the id of its clock (linux/posix-timers.h, CPUCLOCK_PERTHREAD_MASK |
// CPUCLOCK_SCHED); 0 where it has ended.
func ThreadCPU(tid int) int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^tid<<3|6), &t); err != nil {
		return 0
	}
	return t.Nano()
}
