package postgres

import (
	"bytes"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/text/secure/precis"
)

// scramName is the mechanism that PostgreSQL has since version 10.
const scramName = "SCRAM-SHA-256"

// maxIterations bounds what a server can have a client compute.
const maxIterations = 10_000_000

// scram is the client's side of SCRAM-SHA-256 (RFC 5802, RFC 7677), without
// channel binding.
type scram struct {
	password string
	nonce    string
	auth     string // what both sides sign
	salted   []byte
}

func newSCRAM(password string) (*scram, error) {
	var b [18]byte
	if _, err := rand.Read(b[:]); err != nil {
		return nil, fmt.Errorf("drawing a nonce: %w", err)
	}
	// Passwords that the profile does not allow are used as they are, as
	// PostgreSQL does.
	if prepared, err := precis.OpaqueString.String(password); err == nil {
		password = prepared
	}
	return &scram{password: password, nonce: base64.StdEncoding.EncodeToString(b[:])}, nil
}

// bare is the first message without its header. PostgreSQL takes the user's name
// from the startup message.
func (s *scram) bare() string { return "n=,r=" + s.nonce }

func (s *scram) first() []byte { return []byte("n,," + s.bare()) }

// final answers the server's challenge.
func (s *scram) final(challenge []byte) ([]byte, error) {
	var nonce, salt string
	iterations := 0
	for field := range strings.SplitSeq(string(challenge), ",") {
		key, value, _ := strings.Cut(field, "=")
		switch key {
		case "r":
			nonce = value
		case "s":
			salt = value
		case "i":
			iterations, _ = strconv.Atoi(value) // a wrong one is 0, and refused below
		}
	}
	raw, err := base64.StdEncoding.DecodeString(salt)
	if err != nil || len(raw) == 0 || !strings.HasPrefix(nonce, s.nonce) || len(nonce) == len(s.nonce) || iterations < 1 || iterations > maxIterations {
		return nil, errors.New("the server's challenge is not one of SCRAM-SHA-256")
	}
	if s.salted, err = pbkdf2.Key(sha256.New, s.password, raw, iterations, sha256.Size); err != nil {
		return nil, fmt.Errorf("deriving the key of the password: %w", err)
	}
	without := "c=biws,r=" + nonce // biws is "n,,"
	s.auth = s.bare() + "," + string(challenge) + "," + without
	key := sign(s.salted, "Client Key")
	stored := sha256.Sum256(key)
	proof := sign(stored[:], s.auth)
	for i := range proof {
		proof[i] ^= key[i]
	}
	return []byte(without + ",p=" + base64.StdEncoding.EncodeToString(proof)), nil
}

// verify checks that the server knows the password as well.
func (s *scram) verify(answer []byte) error {
	if s == nil || s.salted == nil {
		return errors.New("the server ends an authentication that was not begun")
	}
	wanted := "v=" + base64.StdEncoding.EncodeToString(sign(sign(s.salted, "Server Key"), s.auth))
	if !hmac.Equal(bytes.TrimRight(answer, "\n"), []byte(wanted)) {
		return errors.New("the server's signature is wrong: it does not know the password")
	}
	return nil
}

func sign(key []byte, message string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(message))
	return h.Sum(nil)
}
