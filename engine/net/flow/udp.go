package flow

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"bakeoff/engine/net/socket"
)

// Clock tells the time in nanoseconds from any moment.
type Clock interface{ Now() int64 }

// Datagrams says how datagrams are sent and received.
type Datagrams struct {
	Size     int  // bytes of payload of each
	Batch    int  // messages a system call
	Segments bool // let the kernel cut one message into many datagrams, and join them again (UDP_SEGMENT, UDP_GRO, udp(7))
	Format   Format
	Six      bool // over IPv6
}

// maxSegments is how many datagrams the kernel makes of one message at most
// (UDP_MAX_SEGMENTS), and maxMessage how many bytes a message has.
const (
	maxSegments = 64
	maxMessage  = 65000
)

// PerMessage is how many datagrams one message holds at most.
func (d Datagrams) PerMessage() int {
	if !d.Segments {
		return 1
	}
	return max(1, min(maxSegments, maxMessage/d.Size))
}

// PerCall is how many datagrams one system call sends at most.
func (d Datagrams) PerCall() int { return d.Batch * d.PerMessage() }

// DatagramSender sends numbered datagrams.
type DatagramSender struct {
	d        Datagrams
	conn     socket.Conn
	segments int // datagrams a message
	buffer   []byte
	messages []socket.Message
	parts    []unix.Iovec
	number   uint64 // of the next
	tooLong  int    // refusals for length in a row
	counts   Counts
	meter    *Meter
}

// NewDatagramSender returns a sender on a connected socket.
func NewDatagramSender(conn socket.Conn, d Datagrams, meter *Meter) (*DatagramSender, error) {
	s := &DatagramSender{d: d, conn: conn, segments: d.PerMessage(), meter: meter}
	s.messages, s.parts = make([]socket.Message, d.Batch), make([]unix.Iovec, d.Batch)
	if s.segments > 1 {
		if err := unix.SetsockoptInt(conn.FD, unix.SOL_UDP, unix.UDP_SEGMENT, d.Size); err != nil {
			return nil, fmt.Errorf("asking for segmentation offload of UDP (UDP_SEGMENT, Linux 4.18): %w; set gso: off", err)
		}
	}
	var err error
	if s.buffer, err = socket.NewBuffer(d.Batch * s.segments * d.Size); err != nil {
		return nil, err
	}
	socket.Fill(s.buffer, 1)
	for i := range s.messages {
		s.parts[i].Base = &s.buffer[i*s.segments*d.Size]
		s.messages[i].Header.Iov = &s.parts[i]
		s.messages[i].Header.SetIovlen(1)
	}
	return s, nil
}

// Segmenting says whether messages of many datagrams are still being sent: the
// kernel refuses them where a datagram is longer than the path's MTU.
func (s *DatagramSender) Segmenting() bool { return s.segments > 1 }

// Send sends up to n datagrams in one system call and returns how many the kernel
// took. It waits for room for up to socket.Patience, or not at all.
func (s *DatagramSender) Send(n int, now int64, wait bool) (int, error) {
	flags := 0
	if !wait {
		flags = unix.MSG_DONTWAIT
	}
	messages := s.fill(n, now)
	took, errno := s.conn.SendMany(s.messages[:messages], flags)
	if errno != 0 {
		return 0, s.refused(errno, wait)
	}
	s.tooLong = 0
	sent, bytes := 0, 0
	for i := range took {
		length := int(s.parts[i].Len)
		bytes += length
		sent += length / s.d.Size
	}
	s.number += uint64(sent)
	s.counts.Bytes += uint64(bytes)
	s.counts.Units += uint64(sent)
	s.meter.Publish(&s.counts)
	return sent, nil
}

// fill writes the headers of the next n datagrams and returns how many messages
// they make.
func (s *DatagramSender) fill(n int, now int64) (messages int) {
	number := s.number
	for messages < len(s.messages) && n > 0 {
		k := min(s.segments, n)
		at := messages * s.segments * s.d.Size
		for range k {
			s.d.Format.put(s.buffer[at:at+s.d.Size], number, now)
			number++
			at += s.d.Size
		}
		s.parts[messages].SetLen(k * s.d.Size)
		messages++
		n -= k
	}
	return messages
}

// ErrTooLong says that datagrams are longer than the path allows.
var ErrTooLong = errors.New("the datagrams do not fit the path")

// refused handles what the kernel would not take. A connected socket reports a
// router's "packet too big" once, with EMSGSIZE, and sends the next time: by
// then the path's MTU is known, and IPv6 datagrams are fragmented to it.
func (s *DatagramSender) refused(errno syscall.Errno, wait bool) error {
	switch errno {
	case syscall.EAGAIN:
		return nil
	case syscall.ENOBUFS:
		s.counts.Refused++
		s.meter.Publish(&s.counts)
		if wait {
			_, err := s.conn.Poll(0, 50_000)
			return err
		}
		return nil
	case syscall.EMSGSIZE, syscall.EINVAL, syscall.EIO:
		if s.tooLong++; errno == syscall.EMSGSIZE && s.tooLong < 3 {
			return nil
		}
		if s.segments > 1 {
			return s.stopSegmenting()
		}
		if errno == syscall.EMSGSIZE {
			return fmt.Errorf("%w: %d bytes of payload, path MTU %d bytes; make block smaller, or set fragment: allow", ErrTooLong, s.d.Size, socket.PathMTU(s.conn.FD, s.d.Six))
		}
	}
	return fmt.Errorf("sending datagrams: %w", errno)
}

// stopSegmenting goes on with a datagram a message.
func (s *DatagramSender) stopSegmenting() error {
	if err := unix.SetsockoptInt(s.conn.FD, unix.SOL_UDP, unix.UDP_SEGMENT, 0); err != nil {
		return fmt.Errorf("ending segmentation offload: %w", err)
	}
	s.segments, s.tooLong = 1, 0
	for i := range s.messages {
		s.parts[i].Base = &s.buffer[i*s.d.Size]
	}
	return nil
}

// Close frees what the sender holds; the socket is the caller's.
func (s *DatagramSender) Close() error {
	socket.FreeBuffer(s.buffer)
	s.buffer = nil
	return nil
}

// DatagramReceiver receives numbered datagrams and judges them.
type DatagramReceiver struct {
	d        Datagrams
	conn     socket.Conn
	clock    Clock
	room     int // bytes of a message
	buffer   []byte
	control  []byte
	messages []socket.Message
	parts    []unix.Iovec
	tally    Tally
	counts   Counts
	meter    *Meter
}

// NewDatagramReceiver returns a receiver on a connected socket.
func NewDatagramReceiver(conn socket.Conn, d Datagrams, clock Clock, meter *Meter) (*DatagramReceiver, error) {
	r := &DatagramReceiver{d: d, conn: conn, clock: clock, meter: meter, room: (d.Size + 64) &^ 63}
	if d.Segments {
		r.room = 1 << 16
		if err := unix.SetsockoptInt(conn.FD, unix.SOL_UDP, unix.UDP_GRO, 1); err != nil {
			return nil, fmt.Errorf("asking for receive offload of UDP (UDP_GRO, Linux 5.0): %w; set gso: off", err)
		}
	}
	var err error
	if r.buffer, err = socket.NewBuffer(d.Batch * r.room); err != nil {
		return nil, err
	}
	space := unix.CmsgSpace(4)
	r.control = make([]byte, d.Batch*space)
	r.messages, r.parts = make([]socket.Message, d.Batch), make([]unix.Iovec, d.Batch)
	for i := range r.messages {
		r.parts[i].Base = &r.buffer[i*r.room]
		r.parts[i].SetLen(r.room)
		r.messages[i].Header.Iov = &r.parts[i]
		r.messages[i].Header.SetIovlen(1)
		r.messages[i].Header.Control = &r.control[i*space]
	}
	return r, nil
}

// Receive takes what is there, waiting for up to socket.Patience for the first
// datagram, or not at all. It returns how many came, without duplicates, and
// how many bytes.
func (r *DatagramReceiver) Receive(wait bool) (n int, bytes uint64, err error) {
	space, flags := unix.CmsgSpace(4), 0
	if !wait {
		flags = unix.MSG_DONTWAIT
	}
	for i := range r.messages {
		r.messages[i].Header.SetControllen(space)
	}
	took, errno := r.conn.ReceiveMany(r.messages, flags)
	if errno != 0 {
		if errno == syscall.EAGAIN || tooBig(errno, false) {
			return 0, 0, nil
		}
		return 0, 0, fmt.Errorf("receiving datagrams: %w", errno)
	}
	now := r.clock.Now()
	before, had := r.tally.received, r.counts.Bytes
	for i := range took {
		m := &r.messages[i]
		r.message(r.buffer[i*r.room:i*r.room+int(m.Length)], r.segment(m, i*space), now)
	}
	r.tally.Into(&r.counts)
	r.meter.Publish(&r.counts)
	return int(r.tally.received - before), r.counts.Bytes - had, nil
}

// Foreign is how many datagrams came so far that belong to no stream.
func (r *DatagramReceiver) Foreign() uint64 { return r.counts.Foreign }

// segment is the size of the datagrams that a message was joined from.
func (r *DatagramReceiver) segment(m *socket.Message, at int) int {
	if !r.d.Segments || int(m.Header.Controllen) < unix.CmsgLen(4) {
		return int(m.Length)
	}
	h := headerOf(r.control[at:])
	if h.Level != unix.SOL_UDP || h.Type != unix.UDP_GRO {
		return int(m.Length)
	}
	if n := int(int32At(r.control[at+unix.CmsgLen(0):])); n > 0 {
		return n
	}
	return int(m.Length)
}

// message judges the datagrams of one message.
func (r *DatagramReceiver) message(b []byte, segment int, now int64) {
	for len(b) > 0 {
		d := b[:min(segment, len(b))]
		b = b[len(d):]
		number, sent, ok := r.d.Format.get(d, r.tally.next)
		if !ok {
			r.counts.Foreign++
			continue
		}
		duplicates := r.tally.duplicates
		r.tally.Add(number, sent, now)
		if r.tally.duplicates == duplicates {
			r.counts.Bytes += uint64(len(d))
		}
	}
}

// Close frees what the receiver holds; the socket is the caller's.
func (r *DatagramReceiver) Close() error {
	socket.FreeBuffer(r.buffer)
	r.buffer = nil
	return nil
}
