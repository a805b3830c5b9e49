package ring

import (
	"errors"
	"fmt"
	"io"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// epoll is the fallback: edge-triggered, so that a request costs no epoll_ctl.
// Only a socket whose buffer is full is watched for room, and no longer than that.
type epoll struct {
	l      *Loop
	fd     int
	wakeF  int
	events []unix.EpollEvent
	arena  []byte // received data of one wait, from the front, so that it stays in cache
	used   int
	least  int     // the least room worth a receive
	ready  []*Conn // those that may have something to read
	raw    bool
	stamps bool
	inbox  inbox

	discards bool
	scratch  []byte // what is thrown away would be written to: never touched

	coarse bool // the kernel has no epoll_pwait2 (before 5.11)
	ts     unix.Timespec
}

const (
	edge     = uint32(unix.EPOLLIN|unix.EPOLLRDHUP) | 1<<31 // EPOLLET
	wakeSlot = -1
	// dataAlign starts each receive on a cache line of its own.
	dataAlign = 64
)

func newEpoll(l *Loop, cfg Config) (*epoll, error) {
	e := &epoll{
		l: l, fd: -1, wakeF: -1, raw: cfg.Raw, stamps: cfg.Stamps, discards: cfg.Discards, least: cfg.BufferSize,
		events: make([]unix.EpollEvent, min(cfg.Conns+1, 1024)),
		arena:  make([]byte, max(64*cfg.BufferSize, 256<<10)),
		ready:  make([]*Conn, 0, cfg.Conns),
	}
	if e.discards {
		e.scratch = make([]byte, maxDiscard)
	}
	var err error
	if e.fd, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, err
	}
	if e.wakeF, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		e.close()
		return nil, fmt.Errorf("making an eventfd: %w", err)
	}
	ev := unix.EpollEvent{Events: unix.EPOLLIN, Fd: wakeSlot}
	if err := unix.EpollCtl(e.fd, unix.EPOLL_CTL_ADD, e.wakeF, &ev); err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

func (e *epoll) add(c *Conn) error {
	if e.stamps {
		stampReceives(c.fd)
	}
	ev := unix.EpollEvent{Events: edge, Fd: c.slot}
	return unix.EpollCtl(e.fd, unix.EPOLL_CTL_ADD, c.fd, &ev)
}

func (e *epoll) remove(c *Conn) bool {
	_ = unix.EpollCtl(e.fd, unix.EPOLL_CTL_DEL, c.fd, nil) // closing does it too, unless the descriptor was copied
	_ = unix.Close(c.fd)
	return true
}

func (e *epoll) wait(timeout int64, least int) error {
	if err := e.flush(); err != nil {
		return err
	}
	if least == endless && timeout > 0 && len(e.l.events) == 0 && len(e.ready) == 0 {
		e.pause(timeout)
		timeout = 0
	}
	e.used = 0
	if len(e.ready) > 0 {
		timeout = 0
	}
	n, err := e.poll(timeout)
	if err != nil {
		return err
	}
	for i := range e.events[:n] {
		if err := e.note(&e.events[i]); err != nil {
			return err
		}
	}
	e.receive()
	return nil
}

// flush sends the output of every connection that has some.
func (e *epoll) flush() error {
	for _, c := range e.l.takeDirty() {
		if c.closed {
			continue
		}
		e.l.stats.Sends++
		n, errno := send(c.fd, c.Out)
		if errno != 0 && errno != syscall.EAGAIN {
			e.l.failed(c, errno)
			continue
		}
		if e.l.sent(c, n) {
			continue
		}
		e.l.stats.Short++
		c.blocked = true
		if err := e.watch(c, edge|unix.EPOLLOUT); err != nil {
			return err
		}
	}
	return nil
}

func (e *epoll) watch(c *Conn, events uint32) error {
	ev := unix.EpollEvent{Events: events, Fd: c.slot}
	if err := unix.EpollCtl(e.fd, unix.EPOLL_CTL_MOD, c.fd, &ev); err != nil {
		return fmt.Errorf("watching a full socket: %w", err)
	}
	return nil
}

// poll waits for events. Where waiting costs a word to the runtime, it asks
// without waiting first.
func (e *epoll) poll(timeout int64) (int, error) {
	if len(e.l.events) > 0 {
		timeout = 0
	}
	var n uintptr
	var errno syscall.Errno
	if timeout == 0 || !e.raw {
		n, _, errno = syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(e.fd), uintptr(unsafe.Pointer(&e.events[0])), uintptr(len(e.events)), 0, 0, 0)
	}
	if errno == 0 && n == 0 && timeout != 0 {
		n, errno = e.block(timeout)
	}
	if errno == syscall.EINTR {
		return 0, nil
	}
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// block waits for an event. Without epoll_pwait2 the wait is in whole
// milliseconds, rounded down to zero under one: the caller then spins.
func (e *epoll) block(timeout int64) (uintptr, syscall.Errno) {
	if !e.coarse {
		var ts unsafe.Pointer
		if timeout > 0 {
			e.ts = unix.NsecToTimespec(timeout)
			ts = unsafe.Pointer(&e.ts)
		}
		n, errno := e.sleep(unix.SYS_EPOLL_PWAIT2, uintptr(ts))
		if errno != syscall.ENOSYS {
			return n, errno
		}
		e.coarse = true
	}
	ms := int64(-1)
	if timeout > 0 {
		ms = min(timeout/1e6, 1<<30)
	}
	return e.sleep(unix.SYS_EPOLL_PWAIT, uintptr(ms))
}

// sleep does one of the two calls; the timeout that a pointer leads to is kept
// alive by e.
func (e *epoll) sleep(call, timeout uintptr) (n uintptr, errno syscall.Errno) {
	if e.raw {
		n, _, errno = syscall.RawSyscall6(call, uintptr(e.fd), uintptr(unsafe.Pointer(&e.events[0])), uintptr(len(e.events)), timeout, 0, 0)
		return n, errno
	}
	n, _, errno = syscall.Syscall6(call, uintptr(e.fd), uintptr(unsafe.Pointer(&e.events[0])), uintptr(len(e.events)), timeout, 0, 0)
	return n, errno
}

// pause sleeps, whatever arrives.
func (e *epoll) pause(timeout int64) {
	e.ts = unix.NsecToTimespec(timeout)
	if e.raw {
		_, _, _ = syscall.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&e.ts)), 0, 0)
		return
	}
	_, _, _ = syscall.Syscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&e.ts)), 0, 0)
}

// note takes in one event.
func (e *epoll) note(ev *unix.EpollEvent) error {
	if ev.Fd == wakeSlot {
		var b [8]byte
		_, _ = unix.Read(e.wakeF, b[:])
		return nil
	}
	c := e.l.conns[ev.Fd]
	if c == nil {
		return nil
	}
	if c.blocked && ev.Events&(unix.EPOLLOUT|unix.EPOLLERR|unix.EPOLLHUP) != 0 {
		c.blocked = false
		e.l.Send(c)
		if err := e.watch(c, edge); err != nil {
			return err
		}
	}
	c.hangup = c.hangup || ev.Events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0
	if !c.ready && (c.hangup || ev.Events&unix.EPOLLIN != 0) {
		c.ready = true
		e.ready = append(e.ready, c)
	}
	return nil
}

// receive reads from those that are ready, each until it has no more, as far
// as the arena goes; the rest stay ready for the next wait.
func (e *epoll) receive() {
	kept := e.ready[:0]
	for _, c := range e.ready {
		if c.closed {
			continue
		}
		if c.ready = !e.drain(c); c.ready {
			kept = append(kept, c)
		}
	}
	clear(e.ready[len(kept):])
	e.ready = kept
}

// drain reads what one socket has and reports whether that was all: not where the
// arena is full, or where the caller may have the rest thrown away.
func (e *epoll) drain(c *Conn) bool {
	for {
		room := e.arena[e.used:]
		if len(room) < e.least {
			return false
		}
		if e.discards {
			room = room[:e.least]
		}
		var n int
		var stamp int64
		var errno syscall.Errno
		skips := c.Discard > 0
		if skips {
			room = e.scratch[:min(c.Discard, len(e.scratch))]
			n, errno = recv(c.fd, room, unix.MSG_TRUNC)
		} else {
			n, stamp, errno = e.recv(c.fd, room)
		}
		switch {
		case errno == syscall.EAGAIN:
			return true
		case errno == syscall.EINTR:
			continue
		case errno != 0:
			e.l.failed(c, errno)
			return true
		case n == 0:
			e.l.failed(c, io.EOF)
			return true
		case skips:
			e.l.discarded(c, n)
		default:
			e.l.received(c, room[:n:n], stamp)
			e.used += (n + dataAlign - 1) &^ (dataAlign - 1)
		}
		// A short read has emptied the socket (epoll(7)), unless its end is still to be seen.
		if n < len(room) && !c.hangup {
			return true
		}
		if e.discards && !skips {
			return false
		}
	}
}

func (e *epoll) wake() error { return wakeUp(e.wakeF) }

func (e *epoll) close() error {
	var errs []error
	for _, fd := range []int{e.wakeF, e.fd} {
		if fd >= 0 {
			errs = append(errs, unix.Close(fd))
		}
	}
	return errors.Join(errs...)
}

// send and recv do not block, so the runtime need not know of them.

func send(fd int, b []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

func (e *epoll) recv(fd int, b []byte) (int, int64, syscall.Errno) {
	if e.stamps {
		return e.inbox.recv(fd, b)
	}
	n, errno := recv(fd, b, 0)
	return n, 0, errno
}

func recv(fd int, b []byte, flags uintptr) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), unix.MSG_DONTWAIT|flags, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

func wakeUp(fd int) error {
	one := [8]byte{1}
	if _, err := unix.Write(fd, one[:]); err != nil && !errors.Is(err, unix.EAGAIN) {
		return fmt.Errorf("waking the loop: %w", err)
	}
	return nil
}
