package protocol

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// sha2Server plays the server's side of caching_sha2_password, which is of MySQL 8
// and not of MariaDB. It checks what the client proves by undoing it.
type sha2Server struct {
	conn     net.Conn
	password string
	known    bool // the password is in the server's cache
	key      *rsa.PrivateKey
	switched bool // the account's plugin is asked for by a switch
	sequence byte
}

const sha2Challenge = "12345678123456789012"

func (s *sha2Server) send(payload ...byte) error {
	_, err := s.conn.Write(packet(s.sequence, payload...))
	s.sequence++
	return err
}

func (s *sha2Server) receive() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(s.conn, head[:]); err != nil {
		return nil, err
	}
	if head[3] != s.sequence {
		return nil, fmt.Errorf("packet %d, expected %d", head[3], s.sequence)
	}
	s.sequence++
	p := make([]byte, int(head[0])|int(head[1])<<8)
	_, err := io.ReadFull(s.conn, p)
	return p, err
}

// serve logs a client in, or refuses it.
func (s *sha2Server) serve() error {
	plugin := cachingSHA2
	if s.switched {
		plugin = "sha256_password"
	}
	if err := s.send(greeting("8.0.36", plugin)...); err != nil {
		return err
	}
	response, err := s.receive()
	if err != nil {
		return err
	}
	user, rest, _ := bytes.Cut(response[32:], []byte{0})
	proof, n := readString(rest)
	if string(user) != "u" || n == 0 {
		return fmt.Errorf("a response of user %q", user)
	}
	if s.switched {
		if err := s.send(append([]byte("\xfe"+cachingSHA2+"\x00"+sha2Challenge), 0)...); err != nil {
			return err
		}
		if proof, err = s.receive(); err != nil {
			return err
		}
	}
	if !s.proves(proof) {
		return s.refuse()
	}
	if s.known {
		if err := s.send(1, saysKnown); err != nil {
			return err
		}
		return s.send(0, 0, 0, 2, 0, 0, 0)
	}
	return s.complete()
}

func (s *sha2Server) refuse() error {
	return s.send(append([]byte{0xff, 0x15, 0x04}, "#28000Access denied"...)...)
}

func (s *sha2Server) proves(proof []byte) bool {
	once := sha256.Sum256([]byte(s.password))
	twice := sha256.Sum256(once[:])
	mix := sha256.Sum256(append(twice[:], sha2Challenge...))
	if len(proof) != len(mix) {
		return len(proof) == 0 && s.password == ""
	}
	got := make([]byte, len(mix))
	subtle.XORBytes(got, proof, mix[:])
	again := sha256.Sum256(got)
	return again == twice
}

// complete wants the password itself.
func (s *sha2Server) complete() error {
	if err := s.send(1, wantsItComplete); err != nil {
		return err
	}
	p, err := s.receive()
	if err != nil {
		return err
	}
	if len(p) == 1 && p[0] == askPublicKey {
		if p, err = s.decrypt(); err != nil {
			return err
		}
	}
	if string(p) != s.password+"\x00" {
		return s.refuse()
	}
	return s.send(0, 0, 0, 2, 0, 0, 0)
}

func (s *sha2Server) decrypt() ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(&s.key.PublicKey)
	if err != nil {
		return nil, err
	}
	if err := s.send(append([]byte{1}, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})...)...); err != nil {
		return nil, err
	}
	p, err := s.receive()
	if err != nil {
		return nil, err
	}
	plain, err := rsa.DecryptOAEP(sha1.New(), nil, s.key, p, nil)
	if err != nil {
		return nil, err
	}
	for i := range plain {
		plain[i] ^= sha2Challenge[i%len(sha2Challenge)]
	}
	return plain, nil
}

func TestCachingSHA2(t *testing.T) {
	defer goleak.VerifyNone(t)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("a longer password than the challenge ", 3)
	for _, c := range []struct {
		name     string
		server   sha2Server
		password string
		secure   bool
		wrong    bool
	}{
		{name: "known", server: sha2Server{password: "secret", known: true}, password: "secret"},
		{name: "after a switch", server: sha2Server{password: "secret", known: true, switched: true}, password: "secret"},
		{name: "complete on a secure way", server: sha2Server{password: "secret"}, password: "secret", secure: true},
		{name: "complete by RSA", server: sha2Server{password: long}, password: long},
		{name: "complete by RSA after a switch", server: sha2Server{password: long, switched: true}, password: long},
		{name: "none", server: sha2Server{known: true}},
		{name: "wrong", server: sha2Server{password: "secret"}, password: "other", wrong: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			here, there := net.Pipe()
			c.server.conn, c.server.key = there, key
			served := make(chan error, 1)
			go func() { served <- c.server.serve() }()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			_, err := Connect(ctx, here, Login{User: "u", Password: c.password, Secure: c.secure})
			var refusal *ServerError
			if c.wrong && (!errors.As(err, &refusal) || refusal.Code != 1045) {
				t.Errorf("error %v, want 1045", err)
			}
			if !c.wrong && err != nil {
				t.Error(err)
			}
			if err := <-served; err != nil {
				t.Error(err)
			}
			_, _ = here.Close(), there.Close()
		})
	}
}

// TestHostileLogin checks that a peer that is no server, or none of use, is told.
func TestHostileLogin(t *testing.T) {
	old := greeting("5.0.1", nativePassword)
	copy(old[len("5.0.1")+15:], []byte{0, 0}) // the lower capabilities
	for name, c := range map[string]struct {
		sends []byte
		want  string
	}{
		"a web server":   {[]byte("HTTP/1.1 400 Bad Request\r\n\r\n"), "is it a MariaDB or MySQL server?"},
		"Redis":          {packet(0, []byte("-ERR")...), "is it a MariaDB or MySQL server?"},
		"nothing":        {nil, "unexpected EOF"},
		"an old server":  {packet(0, old...), "expected MariaDB 10.6 or MySQL 8.0 or newer"},
		"half a packet":  {packet(0, greeting("8.0.36", cachingSHA2)...)[:20], "unexpected EOF"},
		"another plugin": {joined(packet(0, greeting("8.0.36", "dialog")...), packet(2, []byte("\xfedialog\x00x")...)), "logs in by dialog"},
		"clear password": {joined(packet(0, greeting("8.0.36", "dialog")...), packet(2, []byte("\xfemysql_clear_password\x00")...)), "over TLS or a Unix socket only"},
		"old password":   {joined(packet(0, greeting("8.0.36", "dialog")...), packet(2, 0xfe)), "before version 4.1"},
		"without end": {joined(packet(0, greeting("8.0.36", nativePassword)...),
			bytes.Repeat(packet(2, []byte("\xfemysql_native_password\x0012345678123456789012\x00")...), 9)), "does not come to an end"},
	} {
		t.Run(name, func(t *testing.T) {
			here, there := net.Pipe()
			defer func() { _ = here.Close() }()
			go func() { _, _ = io.Copy(io.Discard, there) }()
			go func() {
				_, _ = there.Write(c.sends)
				if strings.HasPrefix(c.want, "unexpected") {
					_ = there.Close()
				}
			}()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			_, err := Connect(ctx, here, Login{User: "u", Password: "secret"})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}
