package kv

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"bakeoff/load/dial"
	"bakeoff/load/ring"
)

// dial connects, logs in and hands over the socket.
func (c *config) dial(ctx context.Context) (dial.Link, error) {
	ctl, err := c.dialControl(ctx)
	if err != nil {
		return dial.Link{}, err
	}
	if n := ctl.in.Buffered(); n > 0 {
		ctl.close()
		return dial.Link{}, fmt.Errorf("%s sent %d bytes that nothing asked for", c.target.address, n)
	}
	fd, err := ring.Take(ctl.socket)
	if err != nil {
		return dial.Link{}, err
	}
	if ctl.sealed != nil {
		ctl.sealed.Detach()
	}
	return dial.Link{FD: fd, Sealed: ctl.sealed}, nil
}

// control is a connection that is read and written with blocking calls: for the
// login, the counters of the target and reading data back.
type control struct {
	c      *config
	socket net.Conn
	sealed *dial.Sealed // nil without TLS
	conn   net.Conn     // the socket, or TLS over it
	in     *bufio.Reader
}

// dialControl connects and logs in.
func (c *config) dialControl(ctx context.Context) (*control, error) {
	dialer := net.Dialer{KeepAlive: -1, Timeout: c.timeout}
	socket, err := dialer.DialContext(ctx, c.target.network, c.target.address)
	if err != nil {
		return nil, fmt.Errorf("connecting to the target: %w", err)
	}
	ctl := &control{c: c, socket: socket, conn: socket}
	if err := ctl.bounded(ctx, ctl.login); err != nil {
		ctl.close()
		return nil, fmt.Errorf("logging in at %s: %w", c.target.address, err)
	}
	return ctl, nil
}

func (ctl *control) close() { _ = ctl.socket.Close() }

func (ctl *control) login(ctx context.Context) error {
	if ctl.c.tls != nil {
		ctl.sealed = dial.Seal(ctl.socket, ctl.c.tls)
		if err := ctl.sealed.TLS().HandshakeContext(ctx); err != nil {
			return dial.Advise(err)
		}
		ctl.conn = ctl.sealed.TLS()
	}
	ctl.in = bufio.NewReader(ctl.conn)
	if ctl.c.target.family == memcached {
		return ctl.loginMemcached()
	}
	return ctl.loginRedis()
}

func (ctl *control) loginRedis() error {
	c := ctl.c
	var steps [][]string
	auth := []string{}
	if c.password != "" {
		user := c.username
		if user == "" && c.proto == resp3 {
			user = "default"
		}
		if user != "" {
			auth = append(auth, user)
		}
		auth = append(auth, c.password)
	}
	switch {
	case c.proto == resp3 && len(auth) > 0:
		steps = append(steps, append([]string{"HELLO", "3", "AUTH"}, auth...))
	case c.proto == resp3:
		steps = append(steps, []string{"HELLO", "3"})
	case len(auth) > 0:
		steps = append(steps, append([]string{"AUTH"}, auth...))
	}
	if c.target.database > 0 {
		steps = append(steps, []string{"SELECT", strconv.Itoa(c.target.database)})
	}
	for _, step := range steps {
		if _, err := ctl.redis(step...); err != nil {
			return fmt.Errorf("%s: %w", step[0], err)
		}
	}
	return nil
}

// loginMemcached authenticates as memcached's text protocol does: by a set of
// any key whose value is the user and the password.
func (ctl *control) loginMemcached() error {
	if ctl.c.password == "" {
		return nil
	}
	data := ctl.c.username + " " + ctl.c.password
	answer, err := ctl.memcached(fmt.Sprintf("set auth 0 0 %d\r\n%s\r\n", len(data), data))
	if err == nil && answer[0] != "STORED" {
		err = errors.New(answer[0])
	}
	return err
}

// bounded does an exchange that must be over within the operation's timeout.
func (ctl *control) bounded(ctx context.Context, exchange func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, ctl.c.timeout)
	defer cancel()
	past := time.Unix(1, 0)
	stop := context.AfterFunc(ctx, func() { _ = ctl.socket.SetDeadline(past) })
	err := exchange(ctx)
	if stop() {
		return err
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %v", ctl.c.timeout)
	}
	return context.Cause(ctx)
}
