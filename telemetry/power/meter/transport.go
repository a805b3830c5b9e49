package meter

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// HTTP asks a server over HTTP or HTTPS.
type HTTP struct {
	Base   *url.URL
	client *http.Client
}

// mostBody bounds an answer: the largest that a source gives is far smaller.
const mostBody = 8 << 20

// NewHTTP takes the options url, ca_file, fingerprint and insecure.
func NewHTTP(o *Options) *HTTP {
	h := &HTTP{}
	text := o.Must("url", "the server's address, as https://bmc.example")
	base, err := url.Parse(text)
	switch {
	case text == "":
	case err != nil:
		o.Refuse("url", "it cannot be read as an address", "as https://bmc.example") // err quotes the text, which may hold a password
	case base.User != nil:
		o.Refuse("url", "a user or password in it", "user and password_env or password_file")
	case base.Scheme != "http" && base.Scheme != "https" || base.Host == "":
		o.Refuse("url", fmt.Sprintf("found %q", text), "an address that begins with https:// or http://")
	}
	h.Base = base
	transport := &http.Transport{
		TLSClientConfig: o.tlsConfig(), MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute,
		ResponseHeaderTimeout: time.Minute, TLSHandshakeTimeout: 30 * time.Second,
		ForceAttemptHTTP2: false, TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}, // BMCs stumble over HTTP/2
	}
	h.client = &http.Client{Transport: transport, CheckRedirect: sameHost}
	return h
}

// sameHost follows a redirect only to the host that was asked, so that
// credentials go nowhere else.
func sameHost(next *http.Request, before []*http.Request) error {
	if len(before) > 5 {
		return errors.New("more than 5 redirects")
	}
	if next.URL.Host != before[0].URL.Host || next.URL.Scheme != before[0].URL.Scheme {
		return fmt.Errorf("redirected from %s to %s: give that address if it is right", before[0].URL.Host, next.URL.Host)
	}
	return nil
}

// tlsConfig takes the options that say whom to trust.
func (o *Options) tlsConfig() *tls.Config {
	file, pin, insecure := o.Path("ca_file"), o.Text("fingerprint", ""), o.Bool("insecure")
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	given := 0
	for _, is := range []bool{file != "", pin != "", insecure} {
		if is {
			given++
		}
	}
	if given > 1 {
		o.Refuse("insecure", "more than one of ca_file, fingerprint and insecure", "one of them")
	}
	switch {
	case insecure:
		c.InsecureSkipVerify = true
		o.notes = append(o.notes, "insecure: anybody on the network could pose as this source")
	case pin != "":
		o.pin(c, pin)
	case file != "":
		pem, err := os.ReadFile(file)
		c.RootCAs = x509.NewCertPool()
		if err != nil || !c.RootCAs.AppendCertsFromPEM(pem) {
			o.Refuse("ca_file", fmt.Sprintf("no certificate in %s", file), "a file of PEM certificates")
		}
	}
	return c
}

// pin accepts one certificate alone, whoever signed it: BMCs sign their own.
func (o *Options) pin(c *tls.Config, text string) {
	want, err := hex.DecodeString(strings.ReplaceAll(strings.TrimPrefix(strings.ToLower(text), "sha256:"), ":", ""))
	if err != nil || len(want) != sha256.Size {
		o.Refuse("fingerprint", fmt.Sprintf("found %q", text), "the certificate's SHA-256 in hex, as openssl x509 -fingerprint -sha256 prints it")
		return
	}
	c.InsecureSkipVerify = true // VerifyConnection below decides instead
	c.VerifyConnection = func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) == 0 {
			return errors.New("the server showed no certificate")
		}
		if found := sha256.Sum256(state.PeerCertificates[0].Raw); !bytes.Equal(found[:], want) {
			return fmt.Errorf("the certificate's SHA-256 is %x, not the one that fingerprint gives", found)
		}
		return nil
	}
}

// An Answer is what a server sent.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do sends a request for a path below Base, which may carry a query, and reads
// the answer. Its errors hold the address and nothing of the request's header
// or body.
func (h *HTTP) Do(ctx context.Context, method, path string, header http.Header, body []byte) (Answer, error) {
	ref, err := url.Parse(path)
	if err != nil {
		return Answer{}, fmt.Errorf("%s: %q is no path", h.Base, path)
	}
	target := h.Base.ResolveReference(ref)
	if target.Host != h.Base.Host || target.Scheme != h.Base.Scheme {
		return Answer{}, fmt.Errorf("%s: it points to %s, which was not asked for", h.Base, target.Host)
	}
	req, err := http.NewRequestWithContext(ctx, method, target.String(), bytes.NewReader(body))
	if err != nil {
		return Answer{}, fmt.Errorf("%s %s: %w", method, target, err)
	}
	for key, values := range header {
		req.Header[key] = values
	}
	resp, err := h.client.Do(req)
	if err != nil {
		return Answer{}, fmt.Errorf("asking %s: %w", target.Host, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, mostBody+1))
	switch {
	case err != nil:
		return Answer{}, fmt.Errorf("%s %s: reading the answer: %w", method, target, err)
	case len(data) > mostBody:
		return Answer{}, fmt.Errorf("%s %s: the answer is longer than %d bytes", method, target, mostBody)
	}
	return Answer{resp.StatusCode, resp.Header, data}, nil
}

// Close ends idle connections.
func (h *HTTP) Close() { h.client.CloseIdleConnections() }
