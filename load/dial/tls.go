package dial

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"bakeoff/load"
)

// TLSParameters are those by which an engine's user says whom to trust.
func TLSParameters() []load.Parameter {
	return []load.Parameter{
		{Name: "tls_ca", Type: load.TypeString, Doc: "File of the PEM certificates to trust; the system's without it."},
		{Name: "tls_cert", Type: load.TypeString, Doc: "File of the client's PEM certificate."},
		{Name: "tls_key", Type: load.TypeString, Doc: "File of the client's PEM key."},
		{Name: "tls_name", Type: load.TypeString, Doc: "Name that the server's certificate must have; the target's host without it."},
		{Name: "tls_insecure", Type: load.TypeBool, Default: "false", Doc: "Take any certificate."},
	}
}

// NoTLS refuses parameters of TLS for a target that does without. Schemes says
// which targets have it, as "rediss://".
func NoTLS(p *load.Params, schemes string) error {
	for _, q := range TLSParameters() {
		if p.Given(q.Name) {
			return fmt.Errorf("parameter %q is for a target with TLS: expected %s", q.Name, schemes)
		}
	}
	return nil
}

// TLSConfig reads TLSParameters. Host is the name that the certificate must
// have unless tls_name says otherwise.
func TLSConfig(p *load.Params, host string) (*tls.Config, error) {
	c := &tls.Config{ServerName: host, InsecureSkipVerify: p.Bool("tls_insecure"), MinVersion: tls.VersionTLS12}
	if name := p.String("tls_name"); name != "" {
		c.ServerName = name
	}
	if file := p.String("tls_ca"); file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading the certificates to trust: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no PEM certificate", file)
		}
	}
	cert, key := p.String("tls_cert"), p.String("tls_key")
	if cert == "" && key == "" {
		return c, nil
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("reading the client's certificate (tls_cert and tls_key go together): %w", err)
	}
	c.Certificates = []tls.Certificate{pair}
	return c, nil
}

// Advise says how to mend what commonly goes wrong in a handshake.
func Advise(err error) error {
	var unknown *tls.CertificateVerificationError
	if errors.As(err, &unknown) {
		return fmt.Errorf("TLS: %w (name the authority's file with tls_ca, or take any certificate with tls_insecure)", err)
	}
	return fmt.Errorf("TLS: %w", err)
}
