package http

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	nethttp "net/http"
	"strings"
	"sync"
	"sync/atomic"

	"bakeoff/load/dial"
	"bakeoff/record"
)

// Prepare asks once for everything that a GET or a HEAD of the load will ask
// for, and learns what a right answer is. It changes nothing on the target.
func (s *session) Prepare(ctx context.Context, progress func(float64)) (*record.DataSet, error) {
	start := s.c.spec.Clock.Now()
	set, err := s.c.learn(ctx, progress)
	if err != nil {
		return nil, fmt.Errorf("engine http: %w", err)
	}
	set.Seconds = float64(s.c.spec.Clock.Now()-start) / 1e9
	return &set, nil
}

// Fingerprint asks for everything again and describes it.
func (s *session) Fingerprint(ctx context.Context) (record.DataSet, error) {
	again := *s.c
	again.requests = append([]request(nil), s.c.requests...)
	set, err := again.learn(ctx, nil)
	if err != nil {
		return set, fmt.Errorf("engine http: %w", err)
	}
	return set, nil
}

// learners is how many answers are fetched at a time.
const learners = 8

// learn fetches every request that only reads.
func (c *config) learn(ctx context.Context, progress func(float64)) (record.DataSet, error) {
	client, done := c.client()
	defer done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	prints := make([]string, len(c.requests))
	var next, finished atomic.Int64
	var all sync.WaitGroup
	for range min(learners, len(c.requests)) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(prints)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				var err error
				if prints[i], err = c.fetch(ctx, client, &c.requests[i]); err != nil {
					cancel(err)
				}
				if n := finished.Add(1); progress != nil && n%1000 == 0 {
					progress(float64(n) / float64(len(prints)))
				}
			}
		})
	}
	all.Wait()
	if err := context.Cause(ctx); err != nil {
		return record.DataSet{}, err
	}
	return c.dataSet(prints), nil
}

// dataSet describes what was found: its fingerprint is that of every request,
// with the status and the content of its answer.
func (c *config) dataSet(prints []string) record.DataSet {
	set := record.DataSet{Items: uint64(len(c.requests)), Prepared: "kept"}
	h := sha256.New()
	for i := range c.requests {
		set.Bytes += c.requests[i].length
		_, _ = io.WriteString(h, prints[i]) // a hash takes everything
	}
	set.Fingerprint = fmt.Sprintf("sha256:%x", h.Sum(nil))
	return set
}

// client is one of the standard library: learning is not measured.
func (c *config) client() (client *nethttp.Client, done func()) {
	t := &nethttp.Transport{
		TLSClientConfig: c.tls.Clone(), DisableCompression: true, MaxIdleConnsPerHost: learners, MaxConnsPerHost: learners,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, c.target.network, c.target.address)
		},
	}
	follow := func(*nethttp.Request, []*nethttp.Request) error { return nethttp.ErrUseLastResponse }
	return &nethttp.Client{Transport: t, CheckRedirect: follow, Timeout: 0}, t.CloseIdleConnections
}

// fetch learns the answer to one request and returns its print.
func (c *config) fetch(ctx context.Context, client *nethttp.Client, r *request) (string, error) {
	if r.method != "GET" && r.method != "HEAD" {
		return fmt.Sprintf("%s %s\n", r.method, r.path), nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("no whole answer within %v", c.timeout))
	defer cancel()
	answer, err := c.ask(ctx, client, r)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		} else if c.tls != nil && strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") {
			err = errors.New("the target speaks HTTP in the clear on that port: write http:// in its URL")
		} else if c.tls != nil {
			err = dial.Advise(err)
		} else if strings.Contains(err.Error(), `malformed HTTP response "\x15\x03`) { // a TLS alert
			err = errTLSPort
		}
		return "", fmt.Errorf("asking for %s before the load: %w", r.path, err)
	}
	defer answer.Body.Close()
	if !c.right(answer.StatusCode) {
		if answer.StatusCode == nethttp.StatusBadRequest && c.tls == nil && speaksOfHTTPS(answer.Body) {
			return "", fmt.Errorf("asking for %s before the load: %w", r.path, errTLSPort)
		}
		return "", fmt.Errorf("%s %s is answered with status %d, which the parameter \"status\" does not have: mend the path, or name the status", r.method, r.path, answer.StatusCode)
	}
	content, sum := sha256.New(), crc32.New(castagnoli())
	n, err := io.Copy(io.MultiWriter(content, sum), answer.Body)
	if err != nil {
		return "", fmt.Errorf("reading the answer to %s before the load: %w", r.path, err)
	}
	if r.method == "GET" {
		r.known, r.length, r.sum = c.length, uint64(n), sum.Sum32()
	}
	if !c.length {
		return fmt.Sprintf("%s %s %d\n", r.method, r.path, answer.StatusCode), nil
	}
	return fmt.Sprintf("%s %s %d %d %x\n", r.method, r.path, answer.StatusCode, n, content.Sum(nil)), nil
}

var errTLSPort = errors.New("the target speaks TLS on that port: write https:// in its URL")

// speaksOfHTTPS reports whether an answer says what web servers say to those who
// speak in the clear on a port for TLS.
func speaksOfHTTPS(body io.Reader) bool {
	text, err := io.ReadAll(io.LimitReader(body, 4<<10))
	return err == nil && bytes.Contains(bytes.ToUpper(text), []byte("HTTPS"))
}

// ask sends a request as the load does.
func (c *config) ask(ctx context.Context, client *nethttp.Client, r *request) (*nethttp.Response, error) {
	scheme := "http"
	if c.tls != nil {
		scheme = "https"
	}
	q, err := nethttp.NewRequestWithContext(ctx, r.method, scheme+"://"+c.target.host+r.path, nil)
	if err != nil {
		return nil, err
	}
	q.Header.Set("User-Agent", "") // the load sends none
	for _, h := range c.headers {
		name, value, _ := strings.Cut(h, ":")
		value = strings.TrimSpace(value)
		if strings.EqualFold(name, "host") {
			q.Host = value
			continue
		}
		q.Header.Add(name, value)
	}
	answer, err := client.Do(q)
	if err == nil && answer.ProtoMajor != 1 {
		return nil, errors.Join(fmt.Errorf("the target speaks %s", answer.Proto), answer.Body.Close())
	}
	return answer, err
}
