// Package server is bakeoff's own key-value server: an embedded target that needs
// nothing installed. It keeps values in memory and speaks the part of the Redis
// protocol (RESP2 and RESP3) and of memcached's text and meta protocols that
// loads use. It is a real server, over TCP and Unix sockets, meant to run in a
// process of its own.
package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"sync"

	"bakeoff/internal/osenv"
	"bakeoff/load/ring"
)

// Config says what a server listens on and how much it may use.
type Config struct {
	// Listen holds targets as the key-value engine takes them:
	// redis://HOST:PORT, redis+unix:///PATH, memcache://HOST:PORT or
	// memcache+unix:///PATH. Port 0 is any free one.
	Listen []string
	// Threads is how many event loops share the connections; 0 is 1. Where
	// GOMAXPROCS is above that, their waits cost less.
	Threads int
	// Memory bounds the keys and values, in bytes; what would exceed it is
	// refused. 0: no bound.
	Memory int64
	// Password is asked for, where it is not empty.
	Password string
	// Backend of the event loops; "" is io_uring, or epoll where it cannot be had.
	Backend ring.Backend
	// Ready is called once, when the server listens, with the targets in the
	// order of Listen and their real ports.
	Ready func(targets []string)
	// Clock tells when keys expire; the system's where it is nil.
	Clock osenv.Clock
}

// connections is how many clients one thread takes.
const connections = 4096

// Serve runs a server until ctx is done, which is no error.
func Serve(ctx context.Context, cfg Config) error {
	s, err := newServer(cfg)
	if err != nil {
		return fmt.Errorf("key-value server: %w", err)
	}
	if cfg.Ready != nil {
		cfg.Ready(s.targets())
	}
	if err := s.run(ctx); err != nil {
		return fmt.Errorf("key-value server: %w", err)
	}
	return nil
}

// server is one running server.
type server struct {
	cfg       Config
	store     *store
	listeners []listener
	threads   []*thread
}

// listener is one place where clients connect.
type listener struct {
	net.Listener
	target   *url.URL
	memcache bool
}

func newServer(cfg Config) (*server, error) {
	if len(cfg.Listen) == 0 {
		return nil, errors.New("nothing to listen on: expected a target as redis://127.0.0.1:0")
	}
	if cfg.Threads < 0 || cfg.Threads > 256 || cfg.Memory < 0 {
		return nil, fmt.Errorf("found %d threads and %d bytes of memory, expected up to 256 threads and no negative size", cfg.Threads, cfg.Memory)
	}
	cfg.Threads = max(cfg.Threads, 1)
	if cfg.Clock == nil {
		cfg.Clock = osenv.System{}
	}
	s := &server{cfg: cfg, store: newStore(cfg.Memory)}
	for _, target := range cfg.Listen {
		l, err := listen(target)
		if err != nil {
			return nil, errors.Join(err, s.closeListeners())
		}
		s.listeners = append(s.listeners, l)
	}
	return s, nil
}

func listen(target string) (listener, error) {
	u, err := url.Parse(target)
	if err != nil {
		return listener{}, fmt.Errorf("listening on %q: %w", target, err)
	}
	l := listener{target: u}
	network, address := "tcp", u.Host
	switch u.Scheme {
	case "redis":
	case "memcache":
		l.memcache = true
	case "redis+unix", "unix+redis":
		network, address = "unix", u.Path
	case "memcache+unix", "unix+memcache":
		network, address, l.memcache = "unix", u.Path, true
	default:
		return l, fmt.Errorf("listening on %q: expected redis://HOST:PORT, redis+unix:///PATH, memcache://HOST:PORT or memcache+unix:///PATH", target)
	}
	if address == "" {
		return l, fmt.Errorf("listening on %q: found no address in it", target)
	}
	if network == "unix" {
		removeStale(address)
	}
	if l.Listener, err = net.Listen(network, address); err != nil {
		return l, fmt.Errorf("listening on %q: %w", target, err)
	}
	return l, nil
}

// removeStale removes a socket that nobody listens on any more, as a server
// that was killed leaves behind. Anything else stays and is an error.
func removeStale(path string) {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&os.ModeSocket == 0 {
		return
	}
	conn, err := net.Dial("unix", path)
	if err == nil {
		_ = conn.Close()
		return
	}
	_ = os.Remove(path) // where it fails, listening says why
}

func (s *server) targets() []string {
	out := make([]string, len(s.listeners))
	for i, l := range s.listeners {
		u := *l.target
		if u.Host != "" {
			u.Host = l.Addr().String()
		}
		out[i] = u.String()
	}
	return out
}

func (s *server) closeListeners() error {
	var errs []error
	for _, l := range s.listeners {
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// run serves until ctx is done or a thread fails.
func (s *server) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all, threads sync.WaitGroup
	for range s.cfg.Threads {
		t := newThread(s)
		s.threads = append(s.threads, t)
		threads.Go(func() { cancel(t.run(ctx)) })
	}
	for i := range s.listeners {
		all.Go(func() { s.accept(ctx, &s.listeners[i]) })
	}
	all.Go(func() { s.store.sweep(ctx, s.cfg.Clock) })
	<-ctx.Done()
	err := s.closeListeners()
	for _, t := range s.threads {
		t.wake()
	}
	threads.Wait()
	all.Wait()
	for _, t := range s.threads {
		t.discard()
	}
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
		err = errors.Join(err, cause)
	}
	return err
}

// accept hands new clients to the threads in turn.
func (s *server) accept(ctx context.Context, l *listener) {
	for turn := 0; ; turn++ {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			if s.cfg.Clock.Sleep(ctx, acceptPause) != nil { // out of descriptors, say
				return
			}
			continue
		}
		fd, err := ring.Take(conn)
		if err != nil {
			continue // the client is gone already
		}
		s.threads[turn%len(s.threads)].give(newcomer{fd, l.memcache})
	}
}
