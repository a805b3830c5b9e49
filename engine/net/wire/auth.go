package wire

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Version of the protocol. Both ends must have the same.
const Version = 1

// Hello opens a conversation.
type Hello struct {
	Version int    `json:"version"`
	Nonce   string `json:"nonce"` // hex, drawn anew each time
}

// Challenge is the server's answer to Hello.
type Challenge struct {
	Version int    `json:"version"`
	Nonce   string `json:"nonce"`
	Token   bool   `json:"token"` // the client must prove that it knows one
	Refused string `json:"refused,omitempty"`
}

// Proof shows that the client knows the token, and asks for a measurement.
type Proof struct {
	MAC  string          `json:"mac,omitempty"`
	Test json.RawMessage `json:"test"`
}

// NewNonce draws 32 bytes, in hex.
func NewNonce() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// side tells whose proof it is, so that one cannot be played back as the other.
const (
	clientSide = "bakeoff-net/1 client"
	serverSide = "bakeoff-net/1 server"
)

// mac is the HMAC-SHA-256 (RFC 2104) of a conversation under the token. The
// parts are of lengths that cannot be mistaken: nonces of 64 digits, and the rest.
func mac(token, side string, h Hello, c Challenge, test []byte) []byte {
	m := hmac.New(sha256.New, []byte(token))
	for _, part := range [][]byte{[]byte(side), []byte(h.Nonce), []byte(c.Nonce), test} {
		sum := sha256.Sum256(part)
		m.Write(sum[:])
	}
	return m.Sum(nil)
}

// ClientMAC is what a client proves itself with.
func ClientMAC(token string, h Hello, c Challenge, test []byte) string {
	return hex.EncodeToString(mac(token, clientSide, h, c, test))
}

// ServerMAC is what a server proves itself with.
func ServerMAC(token string, h Hello, c Challenge, test []byte) string {
	return hex.EncodeToString(mac(token, serverSide, h, c, test))
}

// Equal compares two MACs in constant time.
func Equal(a, b string) bool { return hmac.Equal([]byte(a), []byte(b)) }
