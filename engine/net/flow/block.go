package flow

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"syscall"

	"golang.org/x/sys/unix"

	"bakeoff/engine/net/socket"
)

// Requests for blocks, as storage over a network has them: a header of 16 bytes,
// little endian: magic, tag, operation, length. A write's data follows it; a read's
// data follows the header of its answer. Answers have the same header and come in
// the order of the requests.
const (
	blockHeader  = 16
	blockMagic   = 0x314b4c42 // "BLK1"
	opRead       = 0
	opWrite      = 1
	maxBlock     = 16 << 20
	gatherParts  = 4096
	requestBytes = 64 << 10
)

// ErrProtocol says that the peer does not keep to the protocol.
var ErrProtocol = errors.New("the peer broke the protocol")

type blockRequest struct{ tag, op, length uint32 }

func putRequest(b []byte, q blockRequest) {
	binary.LittleEndian.PutUint32(b, blockMagic)
	binary.LittleEndian.PutUint32(b[4:], q.tag)
	binary.LittleEndian.PutUint32(b[8:], q.op)
	binary.LittleEndian.PutUint32(b[12:], q.length)
}

func getRequest(b []byte) (blockRequest, error) {
	q := blockRequest{binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:]), binary.LittleEndian.Uint32(b[12:])}
	if binary.LittleEndian.Uint32(b) != blockMagic || q.op > opWrite || q.length > maxBlock {
		return q, fmt.Errorf("%w: found the header % x", ErrProtocol, b[:blockHeader])
	}
	return q, nil
}

// BlockServer answers the requests of one connection from memory: what is written
// is thrown away, what is read is always the same.
type BlockServer struct {
	conn   socket.Conn
	block  int
	data   []byte
	waste  []byte // where writes end
	flags  int
	in     []byte
	have   int // bytes in it
	skip   int // bytes of a write that are still to come
	ack    blockRequest
	heads  []byte // of the answers being sent
	out    *gather
	counts Counts
	meter  *Meter
}

// NewBlockServer returns a server of blocks of up to so many bytes. With discard
// the kernel throws written data away in place of copying it.
func NewBlockServer(conn socket.Conn, block int, discard bool, meter *Meter) (*BlockServer, error) {
	s := &BlockServer{conn: conn, block: block, out: newGather(64), meter: meter}
	if discard {
		s.flags = unix.MSG_TRUNC
	}
	b, err := socket.NewBuffer(2*block + requestBytes)
	if err != nil {
		return nil, err
	}
	s.data, s.waste, s.in = b[:block], b[block:2*block], b[2*block:]
	s.heads = make([]byte, 0, 64*blockHeader)
	socket.Fill(s.data, 1)
	return s, nil
}

// Turn takes requests and answers them, waiting for up to socket.Patience for the
// first. The error is io.EOF at the stream's end.
func (s *BlockServer) Turn() error {
	into, flags := s.in[s.have:], 0
	if s.skip > 0 {
		into, flags = s.waste[:min(s.skip, len(s.waste))], s.flags
	}
	n, errno := s.conn.Receive(into, flags)
	switch {
	case errno == syscall.EAGAIN:
		return nil
	case errno != 0:
		return fmt.Errorf("receiving: %w", errno)
	case n == 0:
		return io.EOF
	}
	if s.skip > 0 {
		if s.skip -= n; s.skip > 0 {
			return nil
		}
		s.answer(s.ack)
		return s.flush()
	}
	s.have += n
	return s.take()
}

// take handles what is in the input.
func (s *BlockServer) take() error {
	b := s.in[:s.have]
	for len(b) >= blockHeader {
		q, err := getRequest(b)
		if err != nil {
			return err
		}
		if int(q.length) > s.block {
			return fmt.Errorf("%w: found a request for %d bytes, agreed on %d", ErrProtocol, q.length, s.block)
		}
		b = b[blockHeader:]
		if q.op == opWrite {
			here := min(int(q.length), len(b))
			b = b[here:]
			if s.skip = int(q.length) - here; s.skip > 0 {
				s.ack = q
				break
			}
		}
		s.answer(q)
		if s.out.room() < 2 {
			if err := s.flush(); err != nil {
				return err
			}
		}
	}
	s.have = copy(s.in, b)
	return s.flush()
}

func (s *BlockServer) answer(q blockRequest) {
	at := len(s.heads)
	s.heads = s.heads[:at+blockHeader]
	putRequest(s.heads[at:], q)
	s.out.add(s.heads[at : at+blockHeader])
	if q.op == opRead {
		s.out.add(s.data[:q.length])
	}
	s.counts.Units++
	s.counts.Bytes += uint64(q.length)
}

func (s *BlockServer) flush() error {
	for !s.out.empty() {
		_, errno := s.out.send(s.conn, 0)
		if errno == syscall.EAGAIN && socket.Gone(s.conn.FD) {
			return io.EOF
		}
		if errno != 0 && errno != syscall.EAGAIN {
			return fmt.Errorf("sending: %w", errno)
		}
	}
	s.heads = s.heads[:0]
	s.meter.Publish(&s.counts)
	return nil
}

// Close frees what the server holds; the socket is the caller's.
func (s *BlockServer) Close() error {
	if s.data != nil {
		socket.FreeBuffer(s.data[:cap(s.data)])
	}
	s.data = nil
	return nil
}

// BlockClient sends requests for blocks and takes the answers, many at a time.
type BlockClient struct {
	conn  socket.Conn
	block int
	flags int
	data  []byte // of writes
	in    []byte
	head  [blockHeader]byte // of the answer in hand
	have  int               // bytes of it
	rest  int               // bytes of its data that are still to come

	heads      []byte // of the requests, by place in the ring
	queue      []blockRequest
	first, end uint32 // of the requests that are not answered
	pending    uint32 // the first that is not given to out
	out        *gather
	counts     Counts
	meter      *Meter
}

// NewBlockClient returns a client of blocks of one size with up to so many
// requests at a time. With discard the kernel throws read data away.
func NewBlockClient(conn socket.Conn, block, depth int, discard bool, meter *Meter) (*BlockClient, error) {
	size := 1
	for size < depth {
		size *= 2
	}
	c := &BlockClient{conn: conn, block: block, meter: meter, heads: make([]byte, size*blockHeader), queue: make([]blockRequest, size), out: newGather(gatherParts)}
	if discard {
		c.flags = unix.MSG_TRUNC
	}
	b, err := socket.NewBuffer(2*block + requestBytes)
	if err != nil {
		return nil, err
	}
	c.data, c.in = b[:block], b[block:]
	socket.Fill(c.data, 2)
	return c, nil
}

// Request queues a read or a write. The caller keeps to the depth.
func (c *BlockClient) Request(write bool) {
	q := blockRequest{tag: c.end, length: uint32(c.block)}
	if write {
		q.op = opWrite
	}
	c.queue[c.end&uint32(len(c.queue)-1)] = q
	c.end++
}

// Out says whether something is to be sent.
func (c *BlockClient) Out() bool { return c.pending != c.end || !c.out.empty() }

// Push sends what the kernel takes without waiting.
func (c *BlockClient) Push() error {
	for c.Out() {
		for c.pending != c.end && c.out.room() >= 2 {
			at := int(c.pending & uint32(len(c.queue)-1))
			q := c.queue[at]
			head := c.heads[at*blockHeader : (at+1)*blockHeader]
			putRequest(head, q)
			c.out.add(head)
			if q.op == opWrite {
				c.out.add(c.data)
			}
			c.pending++
		}
		_, errno := c.out.send(c.conn, unix.MSG_DONTWAIT)
		if errno == syscall.EAGAIN {
			return nil
		}
		if errno != 0 {
			return fmt.Errorf("sending: %w", errno)
		}
	}
	return nil
}

// Pull receives once, waiting for up to socket.Patience or not at all, and calls
// done for every answer that is complete. The error is io.EOF at the stream's end.
func (c *BlockClient) Pull(wait bool, done func(write bool)) error {
	flags := 0
	if !wait {
		flags = unix.MSG_DONTWAIT
	}
	into := c.in
	if c.flags != 0 && c.rest > 0 {
		into, flags = c.in[:min(c.rest, len(c.in))], flags|c.flags
	} else if c.flags != 0 {
		into = c.in[:blockHeader-c.have]
	}
	n, errno := c.conn.Receive(into, flags)
	switch {
	case errno == syscall.EAGAIN:
		return nil
	case errno != 0:
		return fmt.Errorf("receiving: %w", errno)
	case n == 0:
		return io.EOF
	}
	return c.take(into[:n], done)
}

// take handles received bytes.
func (c *BlockClient) take(b []byte, done func(write bool)) error {
	for len(b) > 0 {
		if c.have < blockHeader {
			k := copy(c.head[c.have:], b)
			c.have += k
			b = b[k:]
			if c.have < blockHeader {
				return nil
			}
			if err := c.begin(); err != nil {
				return err
			}
		}
		k := min(c.rest, len(b))
		b = b[k:]
		if c.rest -= k; c.rest > 0 {
			return nil
		}
		c.complete(done)
	}
	return nil
}

// begin checks the header of an answer against the request.
func (c *BlockClient) begin() error {
	got, err := getRequest(c.head[:])
	if err != nil {
		return err
	}
	if want := c.queue[c.first&uint32(len(c.queue)-1)]; c.first == c.end || got != want {
		return fmt.Errorf("%w: found an answer to request %d, operation %d, %d bytes; expected %d, %d, %d", ErrProtocol, got.tag, got.op, got.length, want.tag, want.op, want.length)
	}
	if got.op == opRead {
		c.rest = int(got.length)
	}
	return nil
}

func (c *BlockClient) complete(done func(write bool)) {
	q := c.queue[c.first&uint32(len(c.queue)-1)]
	c.first++
	c.have = 0
	c.counts.Units++
	c.counts.Bytes += uint64(q.length)
	c.meter.Publish(&c.counts)
	done(q.op == opWrite)
}

// Close frees what the client holds; the socket is the caller's.
func (c *BlockClient) Close() error {
	if c.data != nil {
		socket.FreeBuffer(c.data[:cap(c.data)])
	}
	c.data = nil
	return nil
}
