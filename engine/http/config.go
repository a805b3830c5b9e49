package http

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"bakeoff/load"
	"bakeoff/load/dial"
	"bakeoff/load/gather"
	"bakeoff/load/ring"
)

// config is a Spec, validated.
type config struct {
	spec   load.Spec
	target target
	tls    *tls.Config // nil without TLS; a session of it is kept for resumption

	workers, connections, pipeline int

	requests   []request
	sequential bool
	headers    []string
	body       []byte
	statuses   []statusRange
	length     bool // compare lengths
	verify     bool // compare content
	discard    bool // content is not copied out of the kernel
	budget     uint64

	buffer  int
	io      ring.Backend
	gather  gather.Policy
	timeout time.Duration
}

const (
	maxConnections = 1 << 16
	maxPipeline    = 1 << 12
	maxBody        = 64 << 20
)

// configure reads a spec. Its error holds all that is wrong, a line each.
func configure(spec load.Spec, d load.Description) (*config, error) {
	p, err := load.ReadParams("http", d, spec.Parameters)
	if err != nil {
		return nil, err
	}
	c := &config{
		spec: spec, sequential: p.String("order") == "sequential", io: ring.Backend(p.String("io")),
		length: p.String("length") == "check", verify: p.Bool("verify"), timeout: spec.Common.OpTimeout,
	}
	if c.timeout <= 0 {
		c.timeout = 5 * time.Second
	}
	var errs []error
	check := func(err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("engine http: %w", err))
		}
	}
	c.target, err = parseTarget(spec.Target)
	check(err)
	known := err == nil
	check(c.setShape(p))
	c.headers, err = parseHeaders(p)
	check(err)
	check(c.setBody(p))
	if known { // without a target its path is not known either
		check(c.setRequests(p))
	}
	c.statuses, err = parseStatuses(p)
	check(err)
	check(c.setTLS(p))
	check(c.setDiscard(p))
	if c.verify && !c.length {
		check(errors.New("verify compares content with what was there before, and length any says that it changes: leave out one of them"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return c, nil
}

// within reads a whole number and says which one is allowed.
func within(p *load.Params, name string, low, high int64) (int, error) {
	n := p.Int(name)
	if n < low || n > high {
		return 0, fmt.Errorf("parameter %q: found %d, expected %d to %d", name, n, low, high)
	}
	return int(n), nil
}

func (c *config) setShape(p *load.Params) (err error) {
	if c.connections, err = within(p, "connections", 1, maxConnections); err != nil {
		return err
	}
	if c.pipeline, err = within(p, "pipeline", 1, maxPipeline); err != nil {
		return err
	}
	budget, err := within(p, "connection_requests", 0, 1<<40)
	if err != nil {
		return err
	}
	c.budget = uint64(budget)
	if budget == 0 {
		c.budget = 1 << 62
	}
	c.workers = max(c.spec.Common.Workers, 1)
	if c.workers > c.connections {
		return fmt.Errorf("%d workers share %d connections: expected at least one each", c.workers, c.connections)
	}
	size := p.Size("receive_buffer")
	if size < 1<<10 || size > 1<<20 {
		return fmt.Errorf("parameter \"receive_buffer\": found %d B, expected 1K to 1M", size)
	}
	c.buffer = int(size)
	network := c.target.network
	if network == "" { // of a target that could not be read
		network = "tcp"
	}
	c.gather, err = gather.Read(p, c.spec.Common, network, c.connections/c.workers*c.pipeline)
	return err
}

// discardBuffer holds a header section; more of the content than that need not be copied.
const discardBuffer = 4 << 10

func (c *config) setDiscard(p *load.Params) error {
	if c.discard = p.Bool("discard"); !c.discard {
		return nil
	}
	switch {
	case c.verify:
		return errors.New("discard leaves nothing to verify: leave out one of them")
	case c.target.network == "unix" || c.target.tls:
		return errors.New("discard is for HTTP in the clear over TCP: the kernel cannot throw away what TLS or a Unix socket brings")
	case c.gather.Lazy():
		return errors.New("receives that throw away are not stamped by the kernel: leave out discard, or gather and quantum")
	}
	if !p.Given("receive_buffer") {
		c.buffer = discardBuffer
	}
	return nil
}

func parseHeaders(p *load.Params) ([]string, error) {
	list, err := p.Strings("headers")
	if err != nil {
		return nil, err
	}
	for _, h := range list {
		name, _, ok := strings.Cut(h, ":")
		if !ok || name == "" || strings.ContainsAny(name, " \t") || strings.ContainsAny(h, "\r\n\x00") {
			return nil, fmt.Errorf("parameter \"headers\": found %q, expected \"Name: value\" on one line", h)
		}
		switch strings.ToLower(name) {
		case "content-length", "transfer-encoding", "connection":
			return nil, fmt.Errorf("parameter \"headers\": found %q: the engine sends %s itself", h, name)
		}
	}
	return list, nil
}

func (c *config) setBody(p *load.Params) error {
	size, file := p.Size("body_size"), p.String("body_file")
	switch {
	case file != "" && p.Given("body_size"):
		return errors.New("body_size and body_file exclude one another")
	case file != "":
		b, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("parameter \"body_file\": %w", err)
		}
		size, c.body = int64(len(b)), b
	case size > 0 && size <= maxBody:
		c.body = slices.Repeat([]byte("x"), int(size))
	}
	if size < 0 || size > maxBody {
		return fmt.Errorf("a body of %d B: expected at most 64 MiB", size)
	}
	return nil
}

// statusRange is status codes that are right, both ends included.
type statusRange struct{ low, high int }

func parseStatuses(p *load.Params) (all []statusRange, err error) {
	list, err := p.Strings("status")
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		r := statusRange{}
		if class, ok := strings.CutSuffix(strings.ToLower(s), "xx"); ok {
			n, err := strconv.Atoi(class)
			if err == nil {
				r = statusRange{100 * n, 100*n + 99}
			}
		} else if n, err := strconv.Atoi(s); err == nil {
			r = statusRange{n, n}
		}
		if r.low < 200 || r.high > 599 {
			return nil, fmt.Errorf("parameter \"status\": found %q, expected a final status code from 200 to 599 or a class, as 2xx", s)
		}
		all = append(all, r)
	}
	if len(all) == 0 {
		return nil, errors.New("parameter \"status\": found none, expected at least one, as 2xx")
	}
	return all, nil
}

func (c *config) right(status int) bool {
	for _, r := range c.statuses {
		if status >= r.low && status <= r.high {
			return true
		}
	}
	return false
}

func (c *config) setTLS(p *load.Params) (err error) {
	if !c.target.tls {
		if p.Given("tls_resume") || p.Given("tls_version") {
			return errors.New("tls_resume and tls_version are for a target with TLS: expected https://")
		}
		return dial.NoTLS(p, "https://")
	}
	if c.tls, err = dial.TLSConfig(p, c.target.name); err != nil {
		return err
	}
	c.tls.NextProtos = []string{"http/1.1"}
	switch p.String("tls_version") {
	case "1.2":
		c.tls.MaxVersion = tls.VersionTLS12
	case "1.3":
		c.tls.MinVersion = tls.VersionTLS13
	}
	if p.Bool("tls_resume") {
		c.tls.ClientSessionCache = tls.NewLRUClientSessionCache(c.connections)
	}
	return nil
}
