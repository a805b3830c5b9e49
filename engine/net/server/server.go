// Package server is the other end of a network measurement: it receives, sends or
// answers as a client asks, counts, and tells. It is meant to run in a process
// of its own.
//
// Nobody is served who has not proved that he knows the token or, where there is
// none, comes from a network that is allowed. It sends only to who has asked,
// over a connection or to an address that he proved to hold, and no longer than his
// control connection lives.
package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"bakeoff/load"
)

// Config says where a server listens, whom it serves, and how much it sends at
// most.
type Config struct {
	// Listen holds tcp://HOST:PORT for bakeoff's clients and iperf3://HOST:PORT
	// for those of iperf3. Port 0 is any free one; [::] is IPv6 and IPv4.
	Listen []string
	// Token is what bakeoff's clients must prove to know; "" for none.
	Token string
	// Allow holds the networks whose clients are served without a token: iperf3's,
	// and bakeoff's where there is no token. Nil is this host alone.
	Allow []netip.Prefix
	// Connections is how many data connections there are at most over all
	// clients; 0 is 256.
	Connections int
	// Rate is how many bytes a second it sends to one client at most; 0: no limit.
	Rate float64
	// Time is how long it sends for one measurement at most; 0 is an hour.
	Time time.Duration
	// Ports are the first and last port of data connections of bakeoff's clients;
	// zeroes are any free ones.
	Ports [2]uint16
	// Version is what clients are told.
	Version string
	// Ready is called once, when the server listens, with the targets in the
	// order of Listen and their real ports.
	Ready func(targets []string)
	// Log is told of clients that are refused and of measurements that fail; nil
	// drops it.
	Log func(line string)
}

const (
	defaultConnections = 256
	defaultTime        = time.Hour
	// conversations is how many clients may talk at one time.
	conversations = 64
	// handshake is how long a client may take to say what it wants.
	handshake = 10 * time.Second
)

// Serve runs a server until ctx is done, which is no error.
func Serve(ctx context.Context, cfg Config) error {
	s, err := newServer(ctx, cfg)
	if err != nil {
		return fmt.Errorf("network server: %w", err)
	}
	if cfg.Ready != nil {
		cfg.Ready(s.targets())
	}
	return s.run(ctx)
}

type server struct {
	cfg       Config
	clock     *load.Clock
	listeners []*listener
	threads   atomic.Int64              // that move data
	taken     atomic.Int64              // data connections
	iperf     atomic.Pointer[iperfTest] // the one that is being served
	ports     ports
}

type listener struct {
	net.Listener
	target *url.URL
	serve  func(ctx context.Context, conn net.Conn, order int) error
}

func newServer(ctx context.Context, cfg Config) (*server, error) {
	if len(cfg.Listen) == 0 {
		return nil, errors.New("nothing to listen on: expected tcp://HOST:PORT")
	}
	if cfg.Connections == 0 {
		cfg.Connections = defaultConnections
	}
	if cfg.Time == 0 {
		cfg.Time = defaultTime
	}
	if cfg.Allow == nil {
		cfg.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	}
	if cfg.Log == nil {
		cfg.Log = func(string) {}
	}
	if cfg.Connections < 0 || cfg.Rate < 0 || cfg.Time < 0 || cfg.Ports[0] > cfg.Ports[1] {
		return nil, fmt.Errorf("limits that cannot be: %d connections, %g B/s, %v, ports %v", cfg.Connections, cfg.Rate, cfg.Time, cfg.Ports)
	}
	clock, err := load.NewMachine("/").NewClock(ctx)
	if err != nil {
		return nil, err
	}
	s := &server{cfg: cfg, clock: clock, ports: ports{low: cfg.Ports[0], high: cfg.Ports[1]}}
	for _, target := range cfg.Listen {
		l, err := s.listen(ctx, target)
		if err != nil {
			return nil, errors.Join(err, s.closeListeners())
		}
		s.listeners = append(s.listeners, l)
	}
	return s, nil
}

func (s *server) listen(ctx context.Context, target string) (*listener, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("listening on %q: %w", target, err)
	}
	l := &listener{target: u, serve: s.converse}
	switch u.Scheme {
	case "tcp":
	case "iperf3":
		l.serve = s.serveIPerf
	default:
		return nil, fmt.Errorf("listening on %q: expected tcp://HOST:PORT or iperf3://HOST:PORT", target)
	}
	if u.Host == "" {
		return nil, fmt.Errorf("listening on %q: found no address in it", target)
	}
	var lc net.ListenConfig
	lc.SetMultipathTCP(false)
	if l.Listener, err = lc.Listen(ctx, "tcp", u.Host); err != nil {
		return nil, fmt.Errorf("listening on %q: %w", target, err)
	}
	return l, nil
}

func (s *server) targets() []string {
	out := make([]string, len(s.listeners))
	for i, l := range s.listeners {
		u := *l.target
		u.Host = l.Addr().String()
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

// run serves until ctx is done.
func (s *server) run(ctx context.Context) error {
	var all sync.WaitGroup
	places := make(chan struct{}, conversations)
	for _, l := range s.listeners {
		all.Go(func() { s.accept(ctx, l, places, &all) })
	}
	<-ctx.Done()
	err := s.closeListeners()
	all.Wait()
	return err
}

func (s *server) accept(ctx context.Context, l *listener, places chan struct{}, all *sync.WaitGroup) {
	for order := 0; ctx.Err() == nil; order++ {
		conn, err := l.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) || !wait(ctx, 20*time.Millisecond) { // out of descriptors, say
				return
			}
			continue
		}
		select {
		case places <- struct{}{}:
		default:
			s.cfg.Log(fmt.Sprintf("refused %v: %d clients talk already", conn.RemoteAddr(), conversations))
			_ = conn.Close()
			continue
		}
		all.Go(func() {
			defer func() { <-places }()
			s.handle(ctx, l, conn, order)
		})
	}
}

func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// handle serves one connection to its end: the order'th that a listener took.
func (s *server) handle(ctx context.Context, l *listener, conn net.Conn, order int) {
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if err := l.serve(ctx, conn, order); err != nil && ctx.Err() == nil {
		s.cfg.Log(fmt.Sprintf("%v: %v", conn.RemoteAddr(), err))
	}
}

// peer is the address that a client comes from.
func peer(conn net.Conn) netip.Addr {
	a, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return a.AddrPort().Addr().Unmap().WithZone("")
}

// local is the address that a client has reached, where its data connections go.
func local(conn net.Conn) netip.Addr {
	a, ok := conn.LocalAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return a.AddrPort().Addr().Unmap()
}

// allowed says whether a client's address needs no token.
func (s *server) allowed(a netip.Addr) bool {
	for _, p := range s.cfg.Allow {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// reserve takes places for data connections, and release gives them back. It waits
// a little for those of a measurement that has just ended.
func (s *server) reserve(ctx context.Context, n int) error {
	var now int64
	for range 50 {
		if now = s.taken.Add(int64(n)); now <= int64(s.cfg.Connections) {
			return nil
		}
		s.taken.Add(int64(-n))
		if n > s.cfg.Connections || !wait(ctx, 20*time.Millisecond) {
			break
		}
	}
	return fmt.Errorf("%d connections are too many: %d of at most %d are taken", n, now-int64(n), s.cfg.Connections)
}

func (s *server) release(n int) { s.taken.Add(int64(-n)) }

// thread begins a thread that moves data. Where there are processors enough in
// the Go scheduler, it may block without telling it.
func (s *server) thread() (raw bool, end func()) {
	runtime.LockOSThread()
	raw = int(s.threads.Add(1)) < runtime.GOMAXPROCS(0)
	return raw, func() {
		s.threads.Add(-1)
		runtime.UnlockOSThread()
	}
}
