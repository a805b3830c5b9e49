package postgres

import (
	"bufio"
	"context"
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"bakeoff/load/dial"
	"bakeoff/load/ring"
)

// A login is a connection that is read and written with blocking calls, until
// it is handed over.
type login struct {
	d      *database
	socket net.Conn
	sealed *dial.Sealed // nil without TLS
	conn   io.ReadWriter
	in     *bufio.Reader
}

// connect opens a connection and logs in.
func (d *database) connect(ctx context.Context) (*login, error) {
	dialer := net.Dialer{KeepAlive: -1, Timeout: d.c.Timeout}
	socket, err := dialer.DialContext(ctx, d.network, d.address)
	if err != nil {
		return nil, fmt.Errorf("connecting to the target: %w", err)
	}
	l := &login{d: d, socket: socket, conn: socket}
	if err := l.bounded(ctx, l.enter); err != nil {
		_ = socket.Close()
		return nil, fmt.Errorf("logging in at %s: %w", d.address, advise(err, d))
	}
	return l, nil
}

// advise says what can be done about a refusal.
func advise(err error, d *database) error {
	var refused *serverError
	if !errors.As(err, &refused) {
		return err
	}
	switch refused.code {
	case stateTooMany:
		return fmt.Errorf("%w: the server takes no more connections; raise max_connections there, or lower users", err)
	case stateDiskFull:
		return fmt.Errorf("%w: the server's disk is full; make room there", err)
	case stateNoDatabase:
		return fmt.Errorf("%w: name another database in the target's URL", err)
	case statePassword, stateNoLogin:
		return fmt.Errorf("%w: user %q with the secret \"password\" (by file or environment) was refused", err, d.user)
	}
	return err
}

// bounded does an exchange that must be over within the operation's timeout.
func (l *login) bounded(ctx context.Context, exchange func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, l.d.c.Timeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = l.socket.SetDeadline(time.Unix(1, 0)) })
	err := exchange(ctx)
	if stop() {
		return err
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %v", l.d.c.Timeout)
	}
	return context.Cause(ctx)
}

const (
	protocolVersion = 3 << 16
	requestTLS      = 80877103
)

// enter negotiates TLS, starts up and authenticates.
func (l *login) enter(ctx context.Context) error {
	if l.d.c.TLS != nil {
		if err := l.encrypt(ctx); err != nil {
			return err
		}
	}
	l.in = bufio.NewReader(l.conn)
	m := []byte{0, 0, 0, 0}
	m = binary.BigEndian.AppendUint32(m, protocolVersion)
	for _, s := range []string{"user", l.d.user, "database", l.d.name, "application_name", "bakeoff", "client_encoding", "UTF8"} {
		m = appendString(m, s)
	}
	m = append(m, 0)
	binary.BigEndian.PutUint32(m, uint32(len(m)))
	if _, err := l.conn.Write(m); err != nil {
		return fmt.Errorf("starting up: %w", err)
	}
	return l.authenticate()
}

func (l *login) encrypt(ctx context.Context) error {
	m := binary.BigEndian.AppendUint32([]byte{0, 0, 0, 8}, requestTLS)
	if _, err := l.socket.Write(m); err != nil {
		return fmt.Errorf("asking for TLS: %w", err)
	}
	var answer [1]byte
	if _, err := io.ReadFull(l.socket, answer[:]); err != nil {
		return fmt.Errorf("asking for TLS: %w", err)
	}
	if answer[0] != 'S' {
		return errors.New("the server takes no TLS: turn ssl on there, or leave out tls")
	}
	l.sealed = dial.Seal(l.socket, l.d.c.TLS)
	l.conn = l.sealed.TLS()
	if err := l.sealed.TLS().HandshakeContext(ctx); err != nil {
		return dial.Advise(err)
	}
	return nil
}

// receive reads the next message.
func (l *login) receive() (byte, []byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(l.in, head[:]); err != nil {
		return 0, nil, fmt.Errorf("reading from the server: %w", err)
	}
	n, err := messageLength(head[:])
	if err != nil {
		return 0, nil, err
	}
	body := make([]byte, n-len(head))
	if _, err := io.ReadFull(l.in, body); err != nil {
		return 0, nil, fmt.Errorf("reading from the server: %w", err)
	}
	if head[0] == 'E' {
		return 0, nil, readError(body)
	}
	return head[0], body, nil
}

// Kinds of authentication, in an Authentication message.
const (
	authOK           = 0
	authClear        = 3
	authMD5          = 5
	authSASL         = 10
	authSASLContinue = 11
	authSASLFinal    = 12
)

// authenticate answers what the server asks for, until it is ready.
func (l *login) authenticate() error {
	var s *scram
	for {
		kind, body, err := l.receive()
		switch {
		case err != nil:
			return err
		case kind == 'Z':
			return nil
		case kind != 'R':
			continue // parameters, the key to cancel with, notices
		case len(body) < 4:
			return errShort
		}
		what, rest := binary.BigEndian.Uint32(body), body[4:]
		switch what {
		case authOK:
			continue
		case authClear:
			err = l.password(l.d.c.Password)
		case authMD5:
			err = l.password(md5Password(l.d.user, l.d.c.Password, rest))
		case authSASL:
			s, err = l.beginSASL(rest)
		case authSASLContinue:
			err = l.continueSASL(s, rest)
		case authSASLFinal:
			err = s.verify(rest)
		default:
			err = fmt.Errorf("the server asks for authentication of kind %d, expected a password in the clear, md5 or SCRAM-SHA-256", what)
		}
		if err != nil {
			return err
		}
	}
}

func (l *login) password(answer string) error {
	out, start := open(nil, 'p')
	if _, err := l.conn.Write(closed(appendString(out, answer), start)); err != nil {
		return fmt.Errorf("sending the password: %w", err)
	}
	return nil
}

func md5Password(user, password string, salt []byte) string {
	inner := md5.Sum([]byte(password + user))
	outer := md5.Sum(append([]byte(hex.EncodeToString(inner[:])), salt...))
	return "md5" + hex.EncodeToString(outer[:])
}

func (l *login) beginSASL(mechanisms []byte) (*scram, error) {
	var offered []string
	for len(mechanisms) > 1 {
		end := slices.Index(mechanisms, 0)
		if end <= 0 {
			break
		}
		offered = append(offered, string(mechanisms[:end]))
		mechanisms = mechanisms[end+1:]
	}
	if !slices.Contains(offered, scramName) {
		return nil, fmt.Errorf("the server offers the mechanisms %v, expected %s", offered, scramName)
	}
	s, err := newSCRAM(l.d.c.Password)
	if err != nil {
		return nil, err
	}
	first := s.first()
	out, start := open(nil, 'p')
	out = appendString(out, scramName)
	out = append(binary.BigEndian.AppendUint32(out, uint32(len(first))), first...)
	if _, err := l.conn.Write(closed(out, start)); err != nil {
		return nil, fmt.Errorf("authenticating: %w", err)
	}
	return s, nil
}

func (l *login) continueSASL(s *scram, challenge []byte) error {
	if s == nil {
		return errors.New("the server goes on with an authentication that was not begun")
	}
	final, err := s.final(challenge)
	if err != nil {
		return err
	}
	out, start := open(nil, 'p')
	if _, err := l.conn.Write(closed(append(out, final...), start)); err != nil {
		return fmt.Errorf("authenticating: %w", err)
	}
	return nil
}

// batch sends messages that end with a Sync or are a simple query, and waits
// until the server is ready again.
func (l *login) batch(messages []byte) error {
	if _, err := l.conn.Write(messages); err != nil {
		return fmt.Errorf("writing to the server: %w", err)
	}
	var refused error
	for {
		kind, _, err := l.receive()
		var e *serverError
		switch {
		case errors.As(err, &e) && !e.fatal():
			if refused == nil {
				refused = err
			}
		case err != nil:
			return err
		case kind == 'Z':
			return refused
		}
	}
}

// link hands the socket over.
func (l *login) link() (dial.Link, error) {
	if n := l.in.Buffered(); n > 0 {
		_ = l.socket.Close()
		return dial.Link{}, fmt.Errorf("the server sent %d bytes that nothing asked for", n)
	}
	fd, err := ring.Take(l.socket)
	if err != nil {
		return dial.Link{}, err
	}
	if l.sealed != nil {
		l.sealed.Detach()
	}
	return dial.Link{FD: fd, Sealed: l.sealed}, nil
}
