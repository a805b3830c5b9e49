package protocol

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// A Login says who logs in and how.
type Login struct {
	User     string
	Password string
	Database string // "" for none
	// Secure says that nobody can listen on the way, as on a Unix socket. TLS
	// makes a way secure by itself.
	Secure bool
	// Upgrade turns the socket into TLS once the server agreed to it; nil is a
	// connection without TLS. A server that has no TLS then refuses the login.
	Upgrade func(context.Context, net.Conn) (io.ReadWriter, error)
}

// A Conn is a connection that is read and written with blocking calls: to log in,
// to set the session up and to prepare statements, before an event loop takes it over.
type Conn struct {
	Greeting Greeting
	socket   net.Conn
	stream   io.ReadWriter // the socket, or TLS over it
	secure   bool
	noEOF    bool
	sequence byte // of the next packet
	out      []byte
	in       []byte // received and not yet taken
}

// Connect logs in over a connected socket. The error of a server that refuses is a
// *ServerError. Closing the socket, also after an error, is the caller's business.
func Connect(ctx context.Context, socket net.Conn, l Login) (*Conn, error) {
	c := &Conn{socket: socket, stream: socket, secure: l.Secure}
	err := c.bounded(ctx, func() error { return c.login(ctx, l) })
	if err != nil {
		return nil, err
	}
	return c, nil
}

// bounded does an exchange that ends when the context does.
func (c *Conn) bounded(ctx context.Context, exchange func() error) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	past := time.Unix(1, 0)
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = c.socket.SetDeadline(past)
		close(interrupted)
	})
	err := exchange()
	if stop() {
		return err
	}
	<-interrupted
	if err != nil {
		return context.Cause(ctx)
	}
	return c.socket.SetDeadline(time.Time{})
}

func (c *Conn) login(ctx context.Context, l Login) error {
	p, err := c.read()
	if err != nil {
		return fmt.Errorf("reading the server's greeting: %w", err)
	}
	if c.Greeting, err = ParseGreeting(p); err != nil {
		return err
	}
	capabilities := c.Greeting.wanted(l)
	c.noEOF = capabilities&capNoEOF != 0
	if l.Upgrade != nil {
		if err := c.upgrade(ctx, l, capabilities); err != nil {
			return err
		}
	}
	plugin := c.Greeting.plugin
	proof, known, err := prove(plugin, c.Greeting.challenge, l.Password, c.secure)
	if err != nil {
		return err
	}
	if !known { // the server then asks to switch to the plugin of the account
		plugin = nativePassword
		proof = proveNative(c.Greeting.challenge, l.Password)
	}
	if err := c.write(appendResponse(c.out[:0], capabilities, l, plugin, proof, c.sequence)); err != nil {
		return err
	}
	return c.authenticate(l, plugin, c.Greeting.challenge)
}

func (c *Conn) upgrade(ctx context.Context, l Login, capabilities uint32) error {
	if capabilities&capTLS == 0 {
		return errors.New("the server has no TLS; expected one that has (set ssl_cert and ssl_key on the server, or use no TLS)")
	}
	if err := c.write(appendTLSRequest(c.out[:0], capabilities, c.sequence)); err != nil {
		return err
	}
	if len(c.in) > 0 {
		return errors.New("the server sent something before TLS began")
	}
	stream, err := l.Upgrade(ctx, c.socket)
	if err != nil {
		return err
	}
	c.stream, c.secure = stream, true
	return nil
}

// authenticate answers what the server asks until it is content.
func (c *Conn) authenticate(l Login, plugin string, challenge []byte) error {
	for range 8 { // far more than any plugin needs
		p, err := c.read()
		if err != nil {
			return fmt.Errorf("reading the answer to the login: %w", err)
		}
		switch p[0] {
		case 0x00:
			return nil
		case 0xff:
			refusal, err := parseError(p)
			if err != nil {
				return err
			}
			return refusal
		case 0xfe:
			plugin, challenge, err = c.change(p[1:], l)
		case 0x01:
			err = c.more(p[1:], l, plugin, challenge)
		default:
			err = fmt.Errorf("an answer to the login that begins with %#02x", p[0])
		}
		if err != nil {
			return err
		}
	}
	return errors.New("the login does not come to an end")
}

// change follows the server's request to use another plugin.
func (c *Conn) change(p []byte, l Login) (plugin string, challenge []byte, err error) {
	name, data, ok := bytes.Cut(p, []byte{0})
	if !ok {
		return "", nil, errors.New("the server asks for the login of before version 4.1, which is not secure")
	}
	plugin = string(name)
	challenge = append([]byte{}, bytes.TrimSuffix(data, []byte{0})...)
	proof, known, err := prove(plugin, challenge, l.Password, c.secure)
	if err != nil {
		return plugin, challenge, err
	}
	if !known {
		return plugin, challenge, fmt.Errorf("the account of user %q logs in by %s; expected one of %s, %s, %s, %s",
			l.User, plugin, nativePassword, cachingSHA2, ed25519Plugin, clearPassword)
	}
	return plugin, challenge, c.packet(proof)
}

// The words of caching_sha2_password.
const (
	askPublicKey    = 0x02
	saysKnown       = 0x03
	wantsItComplete = 0x04
)

// more goes on with caching_sha2_password: the server knows the proof, or wants
// the password itself.
func (c *Conn) more(p []byte, l Login, plugin string, challenge []byte) error {
	if plugin != cachingSHA2 || len(p) == 0 {
		return fmt.Errorf("%d bytes more of plugin %s, which expects none", len(p), plugin)
	}
	switch {
	case p[0] == saysKnown:
		return nil
	case p[0] != wantsItComplete:
		return fmt.Errorf("plugin %s says %#02x; expected 3 or 4", plugin, p[0])
	case c.secure:
		return c.packet(append([]byte(l.Password), 0))
	}
	if err := c.packet([]byte{askPublicKey}); err != nil {
		return err
	}
	key, err := c.read()
	if err != nil {
		return fmt.Errorf("reading the server's public key: %w", err)
	}
	if key[0] == 0xff {
		refusal, err := parseError(key)
		if err != nil {
			return err
		}
		return refusal
	}
	encrypted, err := encryptPassword(key[1:], challenge, l.Password)
	if err != nil {
		return err
	}
	return c.packet(encrypted)
}

// packet sends a payload as the next packet of the exchange.
func (c *Conn) packet(payload []byte) error {
	b, at := begin(c.out[:0])
	return c.write(finish(append(b, payload...), at, c.sequence))
}

func (c *Conn) write(b []byte) error {
	c.out = b[:0]
	c.sequence++
	if _, err := c.stream.Write(b); err != nil {
		return fmt.Errorf("writing to the server: %w", err)
	}
	return nil
}

// read reads one packet of the login and returns its payload, which is not empty
// and is the caller's.
func (c *Conn) read() ([]byte, error) {
	if err := c.fill(headerSize); err != nil {
		return nil, err
	}
	size := int(c.in[0]) | int(c.in[1])<<8 | int(c.in[2])<<16
	if size > 64<<10 || size == 0 {
		return nil, fmt.Errorf("a packet of %d bytes in the login; expected 1 to 65536 (is it a MariaDB or MySQL server?)", size)
	}
	c.sequence = c.in[3] + 1
	if err := c.fill(headerSize + size); err != nil {
		return nil, err
	}
	p := append([]byte{}, c.in[headerSize:headerSize+size]...)
	c.in = c.in[headerSize+size:]
	return p, nil
}

// fill receives until n bytes are there.
func (c *Conn) fill(n int) error {
	for len(c.in) < n {
		if err := c.receive(); err != nil {
			return err
		}
	}
	return nil
}

func (c *Conn) receive() error {
	var b [4096]byte
	n, err := c.stream.Read(b[:])
	c.in = append(c.in, b[:n]...)
	if n > 0 {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// NoEOF says how a Stream must decode this connection's answers: see Stream.NoEOF.
func (c *Conn) NoEOF() bool { return c.noEOF }

// Exec sends a query (or several, divided by semicolons) and reads its answer,
// without the rows. A refusal is a *ServerError.
func (c *Conn) Exec(ctx context.Context, query string) error {
	return c.bounded(ctx, func() error {
		if err := c.write(AppendQueryString(c.out[:0], query)); err != nil {
			return err
		}
		s := Stream{NoEOF: c.noEOF}
		s.Expect(Text)
		for {
			event, err := s.Next()
			if err != nil {
				return err
			}
			switch event {
			case Done:
				return nil
			case Refused:
				return s.Refusal()
			case NeedMore:
				c.in = c.in[:0]
				if err := c.receive(); err != nil {
					return err
				}
				s.Put(c.in)
				c.in = c.in[:0]
			}
		}
	})
}

// A Statement is one that a server prepared, on one connection.
type Statement struct {
	ID         uint32
	Parameters int
}

// Prepare has a statement prepared.
func (c *Conn) Prepare(ctx context.Context, query string) (s Statement, err error) {
	err = c.bounded(ctx, func() error {
		if err := c.write(appendCommand(c.out[:0], comStmtPrepare, query)); err != nil {
			return err
		}
		p, err := c.read()
		if err != nil {
			return err
		}
		if p[0] == 0xff {
			refusal, err := parseError(p)
			if err != nil {
				return err
			}
			return refusal
		}
		if p[0] != 0 || len(p) < 9 {
			return fmt.Errorf("an answer to a statement to prepare of %d bytes that begins with %#02x", len(p), p[0])
		}
		s.ID = binary.LittleEndian.Uint32(p[1:])
		s.Parameters = int(binary.LittleEndian.Uint16(p[7:]))
		return c.passOver(s.Parameters, int(binary.LittleEndian.Uint16(p[5:])))
	})
	return s, err
}

// passOver reads the definitions of parameters and columns.
func (c *Conn) passOver(groups ...int) error {
	for _, n := range groups {
		if n > 0 && !c.noEOF {
			n++
		}
		for range n {
			if _, err := c.read(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Quit tells the server that the connection is over.
func (c *Conn) Quit(ctx context.Context) error {
	return c.bounded(ctx, func() error { return c.write(appendCommand(c.out[:0], comQuit, "")) })
}
