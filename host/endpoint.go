package host

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// endpoint is where a service listens.
type endpoint struct {
	url     string
	scheme  string
	network string // tcp or unix
	address string // host:port, or the socket's path
}

// parseEndpoint reads a service's URL. Without a host, its path is a Unix
// socket: unix:///run/x.sock, redis:///run/x.sock, redis+unix:///run/x.sock.
func parseEndpoint(text string) (endpoint, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return endpoint{}, fmt.Errorf("endpoint %q: %w", text, err)
	case u.Scheme == "" || u.Opaque != "":
		return endpoint{}, fmt.Errorf("endpoint %q: found no scheme; expected a URL, as redis://127.0.0.1:6379 or unix:///run/x.sock", text)
	}
	e := endpoint{url: text, scheme: strings.TrimSuffix(u.Scheme, "+unix"), network: "tcp"}
	if u.Host == "" || e.scheme != u.Scheme || u.Scheme == "unix" {
		e.network, e.address = "unix", u.Path
		if u.Host != "" || !strings.HasPrefix(u.Path, "/") || u.Path == "/" {
			return endpoint{}, fmt.Errorf("endpoint %q: expected a host, or three slashes and the path of a Unix socket", text)
		}
		return e, nil
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{
			"redis": "6379", "rediss": "6379", "memcache": "11211", "memcached": "11211",
			"http": "80", "https": "443", "postgres": "5432", "postgresql": "5432", "mysql": "3306",
		}[u.Scheme]
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || u.Hostname() == "" {
		return endpoint{}, fmt.Errorf("endpoint %q: expected a host and its port, as %s://127.0.0.1:6379", text, u.Scheme)
	}
	e.address = net.JoinHostPort(u.Hostname(), port)
	return e, nil
}

// inUse returns an error when something listens at the endpoint already. What a
// load then measured would not be the server that was started.
func (e endpoint) inUse(ctx context.Context) error {
	if e.network == "tcp" {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", e.address)
		if err == nil {
			return l.Close()
		}
		if errors.Is(err, syscall.EADDRINUSE) {
			return e.taken(ctx)
		}
		// Not an address of this host, or a port for root: ask instead.
	}
	conn, err := e.dial(ctx, time.Second)
	if err != nil {
		return nil
	}
	conn.Close()
	return e.taken(ctx)
}

func (e endpoint) taken(ctx context.Context) error {
	who := "something"
	if owners, err := listeners(ctx, "/", e); err == nil && len(owners) > 0 {
		if s, err := readStat("/", owners[0]); err == nil {
			who = fmt.Sprintf("%s (pid %d)", s.name, s.pid)
		}
	}
	return fmt.Errorf("%s listens at %s already: stop it, or give the service another endpoint", who, e.url)
}

func (e endpoint) dial(ctx context.Context, d time.Duration) (net.Conn, error) {
	dialer := net.Dialer{Timeout: d}
	return dialer.DialContext(ctx, e.network, e.address)
}

// probe checks that the service answers: that it accepts a connection and, of
// protocols that it knows, that it is not still loading.
func (e endpoint) probe(ctx context.Context, d time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, d, fmt.Errorf("no answer within %v", d))
	defer cancel()
	conn, err := e.dial(ctx, d)
	if err != nil {
		return err
	}
	defer conn.Close()
	ask, accept := e.question()
	if ask == "" {
		return nil
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if _, err := io.WriteString(conn, ask); err != nil {
		return err
	}
	line, err := bufio.NewReader(io.LimitReader(conn, 512)).ReadString('\n')
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("it answered %q to %q: %w", line, strings.TrimSpace(ask), err)
	}
	for _, a := range accept {
		if strings.HasPrefix(line, a) {
			return nil
		}
	}
	return fmt.Errorf("it answered %q to %q; expected %s", strings.TrimSpace(line), strings.TrimSpace(ask), strings.Join(accept, " or "))
}

// question is what a server of the scheme answers at once when it is up. A
// Redis that wants a password is up too.
func (e endpoint) question() (ask string, accept []string) {
	switch e.scheme {
	case "redis":
		return "PING\r\n", []string{"+PONG", "-NOAUTH"}
	case "memcache", "memcached":
		return "version\r\n", []string{"VERSION "}
	}
	return "", nil
}
