package ring

import (
	"fmt"
	"io"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What a completion belongs to, in the top byte of its user data; the slot is
// in the low half. A slot is not given out again before its last completion,
// so nothing stale can be mistaken for something new.
const (
	forRecv = 1 << 56
	forSend = 2 << 56
	forPoll = 3 << 56
	forWake = 4 << 56

	kindMask = 0xff << 56
)

// uring is the io_uring backend: fixed files, a multishot receive a socket
// into a ring of provided buffers, sends that are complete, cut short or
// refused by the time that the submitting system call returns.
type uring struct {
	l     *Loop
	fd    int
	efd   int // the registered ring's index, or fd where it could not be had
	flags uintptr
	tid   int // the thread that registered it
	wakeF int // eventfd
	raw   bool

	stamps bool
	msg    unix.Msghdr // what a receive with a stamp asks for

	discards bool
	scratch  []byte // what is thrown away would be written to: never touched

	rings, sqeMem  []byte
	sqes           []sqe
	owners         []*Conn // by SQE: the connection whose Out it sends, else nil
	cqes           []cqe
	sqTail         *uint32
	cqHead, cqTail *uint32
	tail, queued   uint32 // SQEs made, and of those not yet submitted

	pbufMem, bufMem []byte
	pbufs           []pbuf
	bufSize         int
	bufTail         uint16
	lent            []uint16 // buffers whose data the caller sees until the next wait
	idle, spare     []*Conn  // those to receive from again once the buffers are back; the list before
	full            []*Conn  // those to watch for room
	waiting         bool     // inside wait, where completions may be taken
	wakeable        bool     // the poll of the eventfd is armed

	arg   eventsArg
	ts    timespec
	fdArg int32 // what a files update points to
}

// recycle gives the buffers that the caller saw back to the kernel.
func (u *uring) recycle() {
	if len(u.lent) == 0 {
		return
	}
	mask := uint16(len(u.pbufs) - 1)
	published := u.pbufs[0].word &^ 0xffff
	for _, bid := range u.lent {
		b := &u.pbufs[u.bufTail&mask]
		b.addr = uint64(uintptr(unsafe.Pointer(&u.bufMem[int(bid)*u.bufSize])))
		b.len = uint32(u.bufSize)
		if b == &u.pbufs[0] {
			b.word = published | uint32(bid)
		} else {
			b.word = uint32(bid)
		}
		u.bufTail++
	}
	// The tail shares a word with entry 0's buffer id; the atomic store
	// releases the entries written above to the kernel, which acquires it.
	atomic.StoreUint32(&u.pbufs[0].word, u.pbufs[0].word&0xffff|uint32(u.bufTail)<<16)
	u.lent = u.lent[:0]
}

// next returns a cleared submission entry. The ring is made for more than a
// round needs, but a full one is no error: it is submitted first.
func (u *uring) next() (*sqe, error) {
	for u.queued == uint32(len(u.sqes)) {
		if err := u.enter(0, 0); err != nil {
			return nil, err
		}
		if !u.waiting { // what came of it is for the next wait: there are no sends among it
			continue
		}
		if err := u.reap(); err != nil {
			return nil, err
		}
	}
	i := u.tail & uint32(len(u.sqes)-1)
	u.tail++
	u.queued++
	u.owners[i] = nil
	s := &u.sqes[i]
	*s = sqe{}
	return s, nil
}

func (u *uring) armWake() error {
	s, err := u.next()
	if err != nil {
		return err
	}
	s.opcode, s.fd, s.len = opPollAdd, int32(u.wakeF), pollMulti
	s.opFlags = unix.POLLIN
	s.userData = forWake
	u.wakeable = true
	return nil
}

func (u *uring) armRecv(c *Conn) error {
	s, err := u.next()
	if err != nil {
		return err
	}
	if u.discards {
		u.armOne(s, c)
		return nil
	}
	s.opcode, s.flags, s.ioprio = opRecv, sqeFixedFile|sqeBufferSelect, recvMultishot
	if u.stamps {
		s.opcode, s.addr, s.len = opRecvMsg, uint64(uintptr(unsafe.Pointer(&u.msg))), 1
	}
	s.fd, s.userData = c.slot, forRecv|uint64(c.slot)
	c.armed = true
	return nil
}

// armOne makes a receive that is over with what it brings: of one buffer, or of what
// is there to be thrown away.
func (u *uring) armOne(s *sqe, c *Conn) {
	s.opcode, s.fd, s.userData = opRecv, c.slot, forRecv|uint64(c.slot)
	c.armed, c.skips = true, c.Discard > 0
	if !c.skips {
		s.flags, s.ioprio = sqeFixedFile|sqeBufferSelect, recvPollFirst
		return
	}
	s.flags = sqeFixedFile
	s.addr, s.len = uint64(uintptr(unsafe.Pointer(&u.scratch[0]))), uint32(min(c.Discard, len(u.scratch)))
	s.opFlags = unix.MSG_TRUNC // not with MSG_WAITALL: going on, io_uring begins with the whole length again
}

func (u *uring) armPoll(c *Conn) error {
	s, err := u.next()
	if err != nil {
		return err
	}
	s.opcode, s.flags, s.fd = opPollAdd, sqeFixedFile, c.slot
	s.opFlags = unix.POLLOUT
	s.userData = forPoll | uint64(c.slot)
	c.polling = true
	return nil
}

// queueSend makes the entry that sends c.Out. MSG_DONTWAIT has the kernel
// finish with it at submission: it takes all (no completion), or completes
// with how much it took. No send is ever pending, so two sends on a socket cannot
// overtake one another and Out can be written again as soon as wait returns.
func (u *uring) queueSend(c *Conn) error {
	s, err := u.next()
	if err != nil {
		return err
	}
	s.opcode, s.flags, s.fd = opSend, sqeFixedFile|sqeSkipSuccess, c.slot
	s.addr, s.len = uint64(uintptr(unsafe.Pointer(&c.Out[0]))), uint32(len(c.Out))
	s.opFlags = unix.MSG_NOSIGNAL | unix.MSG_WAITALL | unix.MSG_DONTWAIT
	s.userData = forSend | uint64(c.slot)
	u.owners[(u.tail-1)&uint32(len(u.sqes)-1)] = c
	return nil
}

// setFile puts a descriptor, or none (-1), into the table of fixed files.
func (u *uring) setFile(slot int32, fd int) error {
	u.fdArg = int32(fd)
	up := rsrcUpdate{offset: uint32(slot), data: uint64(uintptr(unsafe.Pointer(&u.fdArg)))}
	_, err := u.register(registerFilesUpdate, unsafe.Pointer(&up), 1)
	return err
}

func (u *uring) add(c *Conn) error {
	if u.stamps {
		stampReceives(c.fd)
	}
	if err := u.setFile(c.slot, c.fd); err != nil {
		return err
	}
	return u.armRecv(c)
}

// remove closes the socket. An outstanding receive keeps the slot until its
// last completion, which the shutdown brings about.
func (u *uring) remove(c *Conn) bool {
	_ = unix.Shutdown(c.fd, unix.SHUT_RDWR) // fails on a socket that was reset, which is done already
	_ = u.setFile(c.slot, -1)
	_ = unix.Close(c.fd)
	return !c.armed && !c.polling
}

func (u *uring) wait(timeout int64, least int) error {
	u.waiting = true
	defer func() { u.waiting = false }()
	u.recycle()
	if err := u.rearm(); err != nil {
		return err
	}
	for _, c := range u.l.takeDirty() {
		if c.closed {
			continue
		}
		if err := u.queueSend(c); err != nil {
			return err
		}
	}
	for first := true; first || u.queued > 0; first = false {
		if err := u.enter(timeout, least); err != nil {
			return err
		}
		if err := u.reap(); err != nil {
			return err
		}
		if err := u.armPolls(); err != nil {
			return err
		}
		if len(u.l.events) > 0 {
			timeout = 0
		}
	}
	return nil
}

// rearm receives again where the buffers had run out, and looks for wake-ups.
func (u *uring) rearm() error {
	if !u.wakeable {
		if err := u.armWake(); err != nil {
			return err
		}
	}
	again := u.idle
	u.idle, u.spare = u.spare[:0], u.idle // the ring may be submitted, and more of them found, meanwhile
	for _, c := range again {
		if c.closed {
			continue
		}
		u.l.stats.Rearmed++
		if err := u.armRecv(c); err != nil {
			return err
		}
	}
	return nil
}

// armPolls waits for room in the sockets that were found full.
func (u *uring) armPolls() error {
	for len(u.full) > 0 {
		c := u.full[len(u.full)-1]
		u.full = u.full[:len(u.full)-1]
		if c.closed {
			continue
		}
		if err := u.armPoll(c); err != nil {
			return err
		}
	}
	return nil
}

// enter submits what is queued and waits until timeout for so many completions,
// which include those that are not events, such as a wake-up.
func (u *uring) enter(timeout int64, least int) error {
	atomic.StoreUint32(u.sqTail, u.tail)
	u.arg.timeout = 0
	if timeout > 0 {
		u.ts = timespec{sec: timeout / 1e9, nsec: timeout % 1e9}
		u.arg.timeout = uint64(uintptr(unsafe.Pointer(&u.ts)))
	}
	least = min(least, len(u.cqes))
	if timeout == 0 || atomic.LoadUint32(u.cqTail) != *u.cqHead {
		least = 0
	}
	errno, r := syscall.Errno(0), uintptr(0)
	if u.raw || least == 0 { // what does not block the runtime need not know of
		r, _, errno = syscall.RawSyscall6(sysEnter, uintptr(u.efd), uintptr(u.queued), uintptr(least), u.flags, uintptr(unsafe.Pointer(&u.arg)), unsafe.Sizeof(u.arg))
	} else {
		r, _, errno = syscall.Syscall6(sysEnter, uintptr(u.efd), uintptr(u.queued), uintptr(least), u.flags, uintptr(unsafe.Pointer(&u.arg)), unsafe.Sizeof(u.arg))
	}
	switch errno {
	case 0:
		u.submitted(uint32(r))
	case syscall.ETIME, syscall.EINTR, syscall.EAGAIN, syscall.EBUSY:
		// Nothing was submitted: time is up, a signal came, or completions must be taken first.
	default:
		return errno
	}
	return nil
}

// submitted empties the output of the connections whose sends the kernel took.
// Those that it cut short are put back by their completions, before the caller
// sees them.
func (u *uring) submitted(n uint32) {
	mask := uint32(len(u.sqes) - 1)
	for i := u.tail - u.queued; n > 0; n-- {
		if c := u.owners[i&mask]; c != nil {
			u.owners[i&mask] = nil
			u.l.stats.Sends++
			c.sending = len(c.Out)
			c.Out = c.Out[:0]
		}
		i++
		u.queued--
	}
}

// reap takes the completions that are there.
func (u *uring) reap() error {
	head, mask := *u.cqHead, uint32(len(u.cqes)-1)
	tail := atomic.LoadUint32(u.cqTail)
	var err error
	for ; head != tail && err == nil; head++ {
		q := u.cqes[head&mask]
		slot := uint32(q.userData)
		switch q.userData & kindMask {
		case forRecv:
			u.onRecv(u.l.conns[slot], q)
		case forSend:
			u.onSend(u.l.conns[slot], q.res)
		case forPoll:
			u.onPoll(u.l.conns[slot])
		case forWake:
			err = u.onWake(q)
		}
	}
	atomic.StoreUint32(u.cqHead, head)
	return err
}

func (u *uring) onRecv(c *Conn, q cqe) {
	if q.flags&cqeMore == 0 {
		c.armed = false
	}
	if q.res > 0 && c.skips {
		if !c.closed {
			u.l.discarded(c, int(q.res))
		}
	} else if q.res > 0 {
		bid := uint16(q.flags >> 16)
		u.lent = append(u.lent, bid)
		at, stamp := int(bid)*u.bufSize, int64(0)
		data := u.bufMem[at : at+int(q.res) : at+int(q.res)]
		if u.stamps {
			data, stamp = unpack(data)
			q.res = int32(len(data))
		}
		if !c.closed && len(data) > 0 {
			u.l.received(c, data, stamp)
		}
	}
	if c.closed {
		u.letGo(c)
		return
	}
	switch {
	case q.res == 0:
		u.l.failed(c, io.EOF)
	case q.res < 0 && syscall.Errno(-q.res) != syscall.ENOBUFS:
		u.l.failed(c, syscall.Errno(-q.res))
	case !c.armed:
		u.idle = append(u.idle, c)
	}
}

// onSend handles a send that the kernel did not take whole.
func (u *uring) onSend(c *Conn, res int32) {
	if c == nil || c.closed {
		return
	}
	c.Out = c.Out[:c.sending]
	if res < 0 && syscall.Errno(-res) != syscall.EAGAIN {
		u.l.failed(c, syscall.Errno(-res))
		return
	}
	u.l.stats.Short++
	if u.l.sent(c, int(max(res, 0))) {
		return
	}
	c.blocked = true
	u.full = append(u.full, c)
}

func (u *uring) onPoll(c *Conn) {
	c.polling = false
	if c.closed {
		u.letGo(c)
		return
	}
	c.blocked = false
	u.l.Send(c)
}

func (u *uring) onWake(q cqe) error {
	var b [8]byte
	_, _ = unix.Read(u.wakeF, b[:]) // EAGAIN where it was read already
	if q.res < 0 {
		return fmt.Errorf("polling the eventfd: %w", syscall.Errno(-q.res))
	}
	u.wakeable = q.flags&cqeMore != 0
	return nil
}

func (u *uring) letGo(c *Conn) {
	if !c.armed && !c.polling {
		u.l.freed(c)
	}
}
