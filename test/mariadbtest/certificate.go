package mariadbtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// certify writes an authority's certificate and the server's, with its key, and
// returns the server's arguments that name them.
func (s *Server) certify() []string {
	s.t.Helper()
	caKey, key := s.newKey(), s.newKey()
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0),
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		s.t.Fatal(err)
	}
	s.CA = filepath.Join(s.dir, "ca.pem")
	certificate, private := filepath.Join(s.dir, "server.pem"), filepath.Join(s.dir, "server.key")
	s.writePEM(s.CA, "CERTIFICATE", s.sign(ca, ca, &caKey.PublicKey, caKey))
	s.writePEM(certificate, "CERTIFICATE", s.sign(leaf, ca, &key.PublicKey, caKey))
	s.writePEM(private, "PRIVATE KEY", secret)
	return []string{"--ssl-cert=" + certificate, "--ssl-key=" + private}
}

func (s *Server) newKey() *ecdsa.PrivateKey {
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
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		s.t.Fatal(err)
	}
}
