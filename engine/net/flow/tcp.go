package flow

import (
	"errors"
	"fmt"
	"io"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"bakeoff/engine/net/socket"
)

// ZeroCopy names a way of sending that spares the copy into the kernel.
type ZeroCopy string

// The ways of sending a stream. With MSG_ZEROCOPY the kernel may copy all the
// same, as it does on loopback: Counts.Copied tells.
const (
	Copy        ZeroCopy = "off"
	SendFile    ZeroCopy = "sendfile"
	MsgZeroCopy ZeroCopy = "msg_zerocopy"
)

// StreamSender sends blocks of a byte stream.
type StreamSender struct {
	conn   socket.Conn
	block  int
	buffer []byte
	at     int // bytes of the block that are sent
	counts Counts
	meter  *Meter

	how    ZeroCopy
	file   int
	offset int64
	notes  *notes
}

// NewStreamSender returns a sender of blocks of so many bytes.
func NewStreamSender(conn socket.Conn, block int, how ZeroCopy, meter *Meter) (*StreamSender, error) {
	s := &StreamSender{conn: conn, block: block, how: how, meter: meter, file: -1}
	var err error
	if s.buffer, err = socket.NewBuffer(block); err != nil {
		return nil, err
	}
	socket.Fill(s.buffer, 1)
	switch how {
	case SendFile:
		err = s.makeFile()
	case MsgZeroCopy:
		s.notes = newNotes()
		if err = unix.SetsockoptInt(conn.FD, unix.SOL_SOCKET, unix.SO_ZEROCOPY, 1); err != nil {
			err = fmt.Errorf("asking for MSG_ZEROCOPY: %w", err)
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// makeFile makes a file in memory of one block to send from.
func (s *StreamSender) makeFile() (err error) {
	if s.file, err = unix.MemfdCreate("bakeoff", unix.MFD_CLOEXEC); err != nil {
		return fmt.Errorf("making a file to send from: %w", err)
	}
	for b := s.buffer; len(b) > 0; {
		n, err := unix.Write(s.file, b)
		if err != nil {
			return fmt.Errorf("filling the file to send from: %w", err)
		}
		b = b[n:]
	}
	return nil
}

// Block sends the rest of the block in hand, for up to socket.Patience, or
// without waiting at all. It reports whether the block is complete.
func (s *StreamSender) Block(wait bool) (bool, error) {
	for s.at < s.block {
		n, errno := s.send(wait)
		switch errno {
		case 0:
			s.at += n
			s.counts.Bytes += uint64(n)
			if s.at < s.block && n > 0 {
				continue
			}
		case syscall.EAGAIN:
			s.meter.Publish(&s.counts)
			return false, nil
		default:
			s.meter.Publish(&s.counts)
			return false, fmt.Errorf("sending: %w", errno)
		}
	}
	s.at = 0
	s.counts.Units++
	s.meter.Publish(&s.counts)
	return true, nil
}

// Abandon gives the block in hand up; the next one starts anew.
func (s *StreamSender) Abandon() { s.at = 0 }

func (s *StreamSender) send(wait bool) (int, syscall.Errno) {
	flags := 0
	if !wait {
		flags = unix.MSG_DONTWAIT
	}
	switch s.how {
	case SendFile:
		s.offset = int64(s.at)
		return s.conn.SendFile(s.file, &s.offset, s.block-s.at)
	case MsgZeroCopy:
		return s.sendZeroCopy(flags)
	}
	return s.conn.Send(s.buffer[s.at:], flags)
}

// sendZeroCopy keeps the number of sends that the kernel has not let go of
// within bounds: their pages count against the socket's memory.
func (s *StreamSender) sendZeroCopy(flags int) (int, syscall.Errno) {
	const most = 64
	s.counts.Copied += s.notes.read(s.conn.FD)
	for s.notes.out() >= most {
		if events, err := s.conn.Poll(unix.POLLERR, int64(socket.Patience)); err != nil || events == 0 {
			return 0, syscall.EAGAIN
		}
		s.counts.Copied += s.notes.read(s.conn.FD)
		if s.notes.out() >= most && socket.Gone(s.conn.FD) {
			return 0, syscall.EPIPE
		}
	}
	n, errno := s.conn.Send(s.buffer[s.at:], flags|unix.MSG_ZEROCOPY)
	if errno == syscall.ENOBUFS {
		return 0, syscall.EAGAIN
	}
	if errno == 0 {
		s.notes.sent++
	}
	return n, errno
}

// Close frees what the sender holds; the socket is the caller's.
func (s *StreamSender) Close() error {
	socket.FreeBuffer(s.buffer)
	s.buffer = nil
	if s.file >= 0 {
		err := unix.Close(s.file)
		s.file = -1
		return err
	}
	return nil
}

// notes reads the kernel's notifications that sends of MSG_ZEROCOPY are done
// (Documentation/networking/msg_zerocopy.rst).
type notes struct {
	sent, done uint32
	control    []byte
	message    unix.Msghdr
}

func newNotes() *notes {
	n := &notes{control: make([]byte, 256)}
	n.message.Control = &n.control[0]
	return n
}

func (n *notes) out() uint32 { return n.sent - n.done }

// extendedError is struct sock_extended_err.
type extendedError struct {
	errno              uint32
	origin, kind, code uint8
	_                  uint8
	info, data         uint32
}

const (
	originZeroCopy = 5 // SO_EE_ORIGIN_ZEROCOPY
	codeCopied     = 1 // SO_EE_CODE_ZEROCOPY_COPIED
)

// read takes the notifications that are there and returns how many sends were
// copied after all.
func (n *notes) read(fd int) (copied uint64) {
	for {
		n.message.SetControllen(len(n.control))
		_, _, errno := syscall.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&n.message)), unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
		if errno != 0 || int(n.message.Controllen) < unix.SizeofCmsghdr+int(unsafe.Sizeof(extendedError{})) {
			return copied
		}
		e := (*extendedError)(unsafe.Pointer(&n.control[unix.SizeofCmsghdr]))
		if e.origin != originZeroCopy {
			continue
		}
		many := e.data - e.info + 1
		n.done += many
		if e.code&codeCopied != 0 {
			copied += uint64(many)
		}
	}
}

// StreamReceiver receives blocks of a byte stream.
type StreamReceiver struct {
	conn   socket.Conn
	block  int
	buffer []byte
	at     int
	counts Counts
	meter  *Meter
	flags  int

	low    int    // low-water mark of the socket, in bytes
	looked int64  // when Adapt last looked, ns
	had    uint64 // bytes by then
}

// The low-water mark of a receiver's socket (SO_RCVLOWAT, socket(7)) saves it
// wake-ups: it sleeps until about a millisecond's data is there, or 128 KiB, or
// a block. What lies in the socket meanwhile is not counted yet, so it must be
// little beside what comes in a window.
const (
	maxLow   = 128 << 10
	minLow   = 8 << 10
	lowTime  = int64(1e6)   // ns of data
	adapting = int64(200e6) // ns between looks
)

// Adapt sets the low-water mark by the rate of late. It is called now and then.
func (r *StreamReceiver) Adapt(now int64) {
	if now-r.looked < adapting {
		return
	}
	took, got := now-r.looked, r.counts.Bytes-r.had
	first := r.looked == 0
	r.looked, r.had = now, r.counts.Bytes
	if first {
		return
	}
	want := int(min(float64(got)/float64(took)*float64(lowTime), float64(min(r.block, maxLow))))
	if want < minLow {
		want = 1
	}
	if want > r.low/4*3 && want < r.low/4*5 {
		return
	}
	if unix.SetsockoptInt(r.conn.FD, unix.SOL_SOCKET, unix.SO_RCVLOWAT, want) == nil {
		r.low = want
	}
}

// NewStreamReceiver returns a receiver of blocks of so many bytes. With discard
// the kernel throws the data away in place of copying it (MSG_TRUNC, tcp(7)).
func NewStreamReceiver(conn socket.Conn, block int, discard bool, meter *Meter) (*StreamReceiver, error) {
	r := &StreamReceiver{conn: conn, block: block, meter: meter}
	if discard {
		r.flags = unix.MSG_TRUNC
	}
	var err error
	r.buffer, err = socket.NewBuffer(block)
	return r, err
}

// Block receives the rest of the block in hand, for up to socket.Patience, or
// without waiting at all. It reports whether the block is complete. The error is
// io.EOF at the stream's end.
func (r *StreamReceiver) Block(wait bool) (bool, error) {
	flags := r.flags
	if !wait {
		flags |= unix.MSG_DONTWAIT
	}
	for r.at < r.block {
		// Always into the begin of the buffer: nobody wants the blocks whole.
		n, errno := r.conn.Receive(r.buffer[:r.block-r.at], flags)
		if errno == 0 && n > 0 {
			r.at += n
			r.counts.Bytes += uint64(n)
			continue
		}
		r.meter.Publish(&r.counts)
		switch {
		case errno == syscall.EAGAIN:
			return false, nil
		case errno == 0:
			return false, io.EOF
		}
		return false, fmt.Errorf("receiving: %w", errno)
	}
	r.at = 0
	r.counts.Units++
	r.meter.Publish(&r.counts)
	return true, nil
}

// Abandon gives the block in hand up; the next one starts anew.
func (r *StreamReceiver) Abandon() { r.at = 0 }

// Close frees what the receiver holds; the socket is the caller's.
func (r *StreamReceiver) Close() error {
	socket.FreeBuffer(r.buffer)
	r.buffer = nil
	return nil
}
