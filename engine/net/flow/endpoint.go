package flow

import (
	"errors"
	"math"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"bakeoff/engine/net/socket"
)

// End is what one end of one connection knows at one moment.
type End struct {
	Sender  bool              `json:"sender,omitempty"`
	Untold  bool              `json:"untold,omitempty"` // a receiver that does not count reordered, duplicate and missing datagrams
	Counts  Counts            `json:"counts"`
	Info    *socket.Info      `json:"info,omitempty"`  // of TCP
	Drops   uint64            `json:"drops,omitempty"` // datagrams that the socket had no room for
	Options *socket.Effective `json:"options,omitempty"`
	Samples []Sample          `json:"samples,omitempty"`
}

// Sample is one end of a connection at one moment, about a second after the one
// before. At is in nanoseconds of that end's clock.
type Sample struct {
	At     int64        `json:"at_ns"`
	Counts Counts       `json:"counts"`
	Info   *socket.Info `json:"info,omitempty"`
}

// sampling is the time between samples, and maxSamples how many are kept.
const (
	sampling   = int64(1e9)
	maxSamples = 4096
)

// An Endpoint is one end of one connection, with what others than its own thread
// want to know of it. All methods but Tick are safe for concurrent use.
type Endpoint struct {
	Stream bool
	Sender bool
	Meter  Meter

	next int64        // when the next sample is due; of the thread alone
	due  atomic.Int64 // when the next mark is

	mu      sync.Mutex
	fd      int  // -1 once it is closed
	thread  int  // that moves its data; 0 while there is none
	ended   bool // it has moved all that it will
	cpu     int64
	samples []Sample
	times   []int64 // at which marks are to be made
	marks   []Mark
	last    End // as it was when the socket was closed
}

// Mark is how things stood at one moment, exactly: nothing that was moved later
// is in it.
type Mark struct {
	End End
	CPU int64 // ns
}

// never is beyond all times.
const never = int64(math.MaxInt64)

// NewEndpoint returns the end of a connected socket, which it closes in the end.
func NewEndpoint(fd int, stream, sender bool) *Endpoint {
	e := &Endpoint{fd: fd, Stream: stream, Sender: sender}
	e.due.Store(never)
	return e
}

// Expect has marks made at moments of the thread's clock, in rising order.
func (e *Endpoint) Expect(times ...int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.times, e.marks = times, nil
	e.due.Store(times[0])
}

// Marked returns mark i; false while it is still to be made.
func (e *Endpoint) Marked(i int) (Mark, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if i < len(e.marks) {
		return e.marks[i], true
	}
	if e.ended && i < len(e.times) {
		return e.now(), true // it moves nothing any more
	}
	return Mark{}, false
}

// now is how things stand.
func (e *Endpoint) now() Mark {
	m := Mark{End: e.last, CPU: e.cpu}
	if e.fd >= 0 {
		m.End = e.state()
	}
	if e.thread != 0 {
		m.CPU += socket.ThreadCPU(e.thread)
	}
	m.End.Sender, m.End.Counts = e.Sender, e.Meter.Read()
	return m
}

// mark makes the marks that are due.
func (e *Endpoint) mark(now int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(e.marks) < len(e.times) && e.times[len(e.marks)] <= now {
		e.marks = append(e.marks, e.now())
	}
	next := never
	if len(e.marks) < len(e.times) {
		next = e.times[len(e.marks)]
	}
	e.due.Store(next)
}

// FD is the socket; -1 once it is closed.
func (e *Endpoint) FD() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.fd
}

// Attach says that the calling thread moves the data from now on. What it had to
// wait for until after a mark was due is not in that mark.
func (e *Endpoint) Attach(clock Clock) {
	e.Meter.before = func() { e.Tick(clock.Now()) }
	e.mu.Lock()
	defer e.mu.Unlock()
	e.thread = unix.Gettid()
	e.cpu -= socket.ThreadCPU(e.thread)
}

// Detach is the end of Attach, called on the same thread.
func (e *Endpoint) Detach() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.thread != 0 {
		e.cpu += socket.ThreadCPU(e.thread)
		e.thread = 0
	}
	e.ended = true
}

// CPU is the time in nanoseconds that attached threads have used, user and system.
func (e *Endpoint) CPU() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.now().CPU
}

// Tick makes the marks that are due, and takes a sample where a second has passed
// since the last one. It is for the thread that moves the data, before it moves
// any: what a mark counts was moved before.
func (e *Endpoint) Tick(now int64) {
	if now >= e.due.Load() {
		e.mark(now)
	}
	if now >= e.next {
		e.sample(now)
	}
}

func (e *Endpoint) sample(now int64) {
	if e.next == 0 {
		e.next = now
	}
	for e.next <= now {
		e.next += sampling
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.samples) >= maxSamples {
		return
	}
	s := Sample{At: now, Counts: e.Meter.Read()}
	s.Info = e.info()
	e.samples = append(e.samples, s)
}

func (e *Endpoint) info() *socket.Info {
	if !e.Stream || e.fd < 0 {
		return nil
	}
	i, err := socket.ReadInfo(e.fd)
	if err != nil {
		return nil
	}
	return &i
}

// Read says how things stand now, with the samples where they are asked for.
func (e *Endpoint) Read(samples bool) End {
	e.mu.Lock()
	defer e.mu.Unlock()
	end := e.now().End
	if samples {
		end.Samples = append([]Sample(nil), e.samples...)
	}
	return end
}

func (e *Endpoint) state() End {
	end := End{Info: e.info()}
	if !e.Stream {
		end.Drops = socket.Drops(e.fd)
	}
	o := socket.ReadBack(e.fd, e.Stream)
	end.Options = &o
	return end
}

// Shut ends what is under way on a stream, in both directions.
func (e *Endpoint) Shut() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fd >= 0 && e.Stream {
		_ = unix.Shutdown(e.fd, unix.SHUT_RDWR) // the peer may have closed it already
	}
}

// Close closes the socket, whose last state stays readable. It is safe to call
// twice.
func (e *Endpoint) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fd < 0 {
		return nil
	}
	e.last = e.state()
	err := unix.Close(e.fd)
	e.fd = -1
	if errors.Is(err, unix.EINTR) {
		return nil
	}
	return err
}
