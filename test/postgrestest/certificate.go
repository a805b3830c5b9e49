package postgrestest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"path/filepath"
	"time"
)

// certificate writes an authority's certificate and the server's, with its key.
func certificate(s *Server) {
	s.t.Helper()
	caKey, key := s.key(), s.key()
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0),
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	s.writePEM(s.CA, "CERTIFICATE", s.sign(ca, ca, &caKey.PublicKey, caKey))
	s.writePEM(filepath.Join(s.Socket, "server.pem"), "CERTIFICATE", s.sign(leaf, ca, &key.PublicKey, caKey))
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		s.t.Fatal(err)
	}
	s.writePEM(filepath.Join(s.Socket, "server.key"), "PRIVATE KEY", der)
}

func (s *Server) key() *ecdsa.PrivateKey {
	s.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	return key
}

func (s *Server) sign(c, parent *x509.Certificate, public *ecdsa.PublicKey, by *ecdsa.PrivateKey) []byte {
	s.t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, c, parent, public, by)
	if err != nil {
		s.t.Fatal(err)
	}
	return der
}

func (s *Server) writePEM(path, kind string, der []byte) {
	s.t.Helper()
	s.write(path, string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})))
	s.give(path)
}
