package protocol

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	"filippo.io/edwards25519"
)

// The authentication plugins that the client knows.
const (
	nativePassword = "mysql_native_password"
	cachingSHA2    = "caching_sha2_password"
	ed25519Plugin  = "client_ed25519"
	clearPassword  = "mysql_clear_password"
)

// prove answers a plugin's challenge. known is false for a plugin that the client
// does not have, whose answer is empty: some plugins need none, as unix_socket.
func prove(plugin string, challenge []byte, password string, secure bool) (proof []byte, known bool, err error) {
	switch plugin {
	case nativePassword:
		return proveNative(challenge, password), true, nil
	case cachingSHA2:
		return proveSHA2(challenge, password), true, nil
	case ed25519Plugin:
		proof, err = proveEd25519(challenge, password)
		return proof, true, err
	case clearPassword:
		if !secure {
			return nil, true, errors.New("the server wants the password in clear; that is sent over TLS or a Unix socket only")
		}
		return append([]byte(password), 0), true, nil
	}
	return nil, false, nil
}

// proveNative is SHA1(password) XOR SHA1(challenge + SHA1(SHA1(password))).
func proveNative(challenge []byte, password string) []byte {
	if password == "" {
		return nil
	}
	once := sha1.Sum([]byte(password))
	twice := sha1.Sum(once[:])
	mix := sha1.Sum(append(append([]byte{}, challenge...), twice[:]...))
	subtle.XORBytes(once[:], once[:], mix[:])
	return once[:]
}

// proveSHA2 is SHA256(password) XOR SHA256(SHA256(SHA256(password)) + challenge).
func proveSHA2(challenge []byte, password string) []byte {
	if password == "" {
		return nil
	}
	once := sha256.Sum256([]byte(password))
	twice := sha256.Sum256(once[:])
	mix := sha256.Sum256(append(twice[:], challenge...))
	subtle.XORBytes(once[:], once[:], mix[:])
	return once[:]
}

// proveEd25519 signs the challenge as MariaDB's ed25519 plugin expects: RFC 8032,
// but with the password, of any length, in place of the 32-byte secret key.
func proveEd25519(challenge []byte, password string) ([]byte, error) {
	h := sha512.Sum512([]byte(password))
	secret, err := edwards25519.NewScalar().SetBytesWithClamping(h[:32])
	if err != nil {
		return nil, fmt.Errorf("deriving the key of %s: %w", ed25519Plugin, err)
	}
	public := new(edwards25519.Point).ScalarBaseMult(secret).Bytes()
	nonce, err := hashToScalar(h[32:], challenge)
	if err != nil {
		return nil, err
	}
	commitment := new(edwards25519.Point).ScalarBaseMult(nonce).Bytes()
	digest, err := hashToScalar(commitment, public, challenge)
	if err != nil {
		return nil, err
	}
	return append(commitment, edwards25519.NewScalar().MultiplyAdd(digest, secret, nonce).Bytes()...), nil
}

func hashToScalar(parts ...[]byte) (*edwards25519.Scalar, error) {
	h := sha512.New()
	for _, p := range parts {
		h.Write(p)
	}
	s, err := edwards25519.NewScalar().SetUniformBytes(h.Sum(nil))
	if err != nil {
		return nil, fmt.Errorf("signing for %s: %w", ed25519Plugin, err)
	}
	return s, nil
}

// encryptPassword encrypts a password for the full exchange of
// caching_sha2_password where nothing else protects it: with the server's RSA key,
// after an XOR with the challenge.
func encryptPassword(keyText, challenge []byte, password string) ([]byte, error) {
	block, _ := pem.Decode(keyText)
	if block == nil {
		return nil, errors.New("the server's public key is not PEM")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("the server's public key: %w", err)
	}
	public, ok := key.(*rsa.PublicKey)
	if !ok {
		return nil, fmt.Errorf("the server's public key is a %T; expected one of RSA", key)
	}
	if len(challenge) == 0 {
		return nil, errors.New("the server gave no challenge")
	}
	plain := append([]byte(password), 0)
	for i := range plain {
		plain[i] ^= challenge[i%len(challenge)]
	}
	out, err := rsa.EncryptOAEP(sha1.New(), rand.Reader, public, plain, nil)
	if err != nil {
		return nil, fmt.Errorf("encrypting the password: %w", err)
	}
	return out, nil
}
