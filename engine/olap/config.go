package olap

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"bakeoff/engine/olap/population"
	"bakeoff/engine/olap/tpch"
	"bakeoff/load"
)

// config is a Spec, validated.
type config struct {
	spec       load.Spec
	target     Target
	database   Config
	population *population.Population

	mode       string
	streams    int
	queries    []int // in the order of their numbers
	refresh    bool
	validation bool // parameters of the queries are those with known answers
	load       string
	loaders    int
	validate   string
	check      string
	restore    string
	timeout    time.Duration
}

const (
	maxStreams = 1000
	maxWidth   = 4096 // loaders, degree of parallelism
)

// configure reads a spec. Its error holds all that is wrong, a line each.
func (e Engine) configure(spec load.Spec) (*config, error) {
	p, err := load.ReadParams("olap", e.Describe(), spec.Parameters)
	if err != nil {
		return nil, err
	}
	c := &config{spec: spec, mode: p.String("mode"), refresh: p.Bool("refresh"), validation: p.String("parameters") == "validation",
		load: p.String("load"), validate: p.String("validate"), check: p.String("check"), restore: p.String("restore"), timeout: p.Duration("timeout")}
	var errs []error
	note := func(name string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("engine olap: %s: %w", name, err))
		}
	}
	if c.timeout < time.Millisecond {
		note(`parameter "timeout"`, fmt.Errorf("found %v, expected at least 1ms", c.timeout))
	}
	c.population, err = population.New(p.Float("scale"), e.text)
	note(`parameter "scale"`, err)
	c.queries, err = parseQueries(p)
	note(`parameter "queries"`, err)
	note("streams", c.setStreams(p))
	note("target", e.setTarget(c, p))
	note("refresh", c.checkRefresh())
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return c, nil
}

// parseQueries reads numbers and ranges of numbers.
func parseQueries(p *load.Params) ([]int, error) {
	words, err := p.Strings("queries")
	if err != nil {
		return nil, err
	}
	var all []int
	for _, word := range words {
		low, high, isRange := strings.Cut(strings.TrimPrefix(word, "q"), "-")
		if !isRange {
			high = low
		}
		a, errA := strconv.Atoi(low)
		b, errB := strconv.Atoi(strings.TrimPrefix(high, "q"))
		if errA != nil || errB != nil || a < 1 || b > tpch.Queries || a > b {
			return nil, fmt.Errorf("found %q, expected numbers from 1 to %d or ranges of them, as 1,6,9-12", word, tpch.Queries)
		}
		for q := a; q <= b; q++ {
			all = append(all, q)
		}
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) == 0 {
		return nil, errors.New("found none, expected at least one query")
	}
	return all, nil
}

// within reads a whole number and says which one is allowed.
func within(p *load.Params, name string, high int64) (int, error) {
	n := p.Int(name)
	if n < 0 || n > high {
		return 0, fmt.Errorf("parameter %q: found %d, expected 0 to %d", name, n, high)
	}
	return int(n), nil
}

func (c *config) setStreams(p *load.Params) (err error) {
	if c.streams, err = within(p, "streams", maxStreams); err != nil {
		return err
	}
	if c.loaders, err = within(p, "loaders", maxWidth); err != nil {
		return err
	}
	common := c.spec.Common
	switch {
	case c.mode == "power" && c.streams > 1:
		return fmt.Errorf("parameter \"streams\": found %d in a power run, which has one; expected mode throughput or both", c.streams)
	case common.Workers != 0:
		return fmt.Errorf("found %d workers: this engine has one a stream; set streams instead", common.Workers)
	case c.mode == "both" && (common.Rate > 0 || len(common.Steps) > 0):
		return errors.New("found a rate with mode both, where streams wait for the power run; leave it out")
	}
	if c.streams == 0 && c.population != nil {
		c.streams = leastStreams(c.population.Scale())
	}
	return nil
}

// leastStreams is the least number of query streams of a throughput test, clause 5.3.4.
func leastStreams(scale float64) int {
	n := 2
	for _, s := range []float64{10, 30, 100, 300, 1000, 3000, 10_000} {
		if scale >= s {
			n++
		}
	}
	return n
}

// refreshes is how many pairs of refresh functions a trial runs.
func (c *config) refreshes() int {
	switch {
	case !c.refresh:
		return 0
	case c.mode == "power":
		return 1
	case c.mode == "throughput":
		return c.streams
	}
	return 1 + c.streams
}

func (c *config) checkRefresh() error {
	if c.refresh && c.validation {
		return errors.New("the right answers are those of the data before a refresh: leave out refresh, or parameters: validation")
	}
	if c.population == nil {
		return nil
	}
	if c.validation && !tpch.Known(c.population.Scale()) {
		return fmt.Errorf("parameters: validation: the right answers are known for the scale factors %v only, found %g", tpch.KnownScales(), c.population.Scale())
	}
	if n := c.refreshes(); n > c.population.MaxRefresh() {
		return fmt.Errorf("%d streams need %d pairs of refresh functions, the population has %d", c.streams, n, c.population.MaxRefresh())
	}
	return nil
}

// setTarget finds the target of the URL; without one, it is the first one's embedded database.
func (e Engine) setTarget(c *config, p *load.Params) error {
	d := &c.database
	var err error
	if d.Parallel, err = within(p, "parallel", maxWidth); err != nil {
		return err
	}
	d.Timeout, d.Instance = c.timeout, c.spec.Instance
	d.Password = c.spec.Secrets["password"]
	if c.spec.Target == "" {
		c.target, d.URL = e.targets[0], &url.URL{Scheme: e.targets[0].Schemes()[0]}
	} else if err := e.parseTarget(c, p); err != nil {
		return err
	}
	if d.Parallel > 0 && !c.target.Parallel() {
		return fmt.Errorf("parameter \"parallel\": %s runs a query on one thread; leave it out", d.URL.Scheme)
	}
	return nil
}

func (e Engine) parseTarget(c *config, p *load.Params) error {
	d := &c.database
	u, err := url.Parse(c.spec.Target)
	if err != nil {
		var parse *url.Error
		if errors.As(err, &parse) {
			err = parse.Err // without the URL, which may hold a password
		}
		return fmt.Errorf("it is no URL (%w): expected %s", err, e.forms())
	}
	for _, t := range e.targets {
		if slices.Contains(t.Schemes(), u.Scheme) {
			c.target = t
		}
	}
	if c.target == nil {
		return fmt.Errorf("%q: unknown scheme %q: expected %s", u.Redacted(), u.Scheme, e.forms())
	}
	if _, has := u.User.Password(); has {
		return fmt.Errorf("%q holds a password, which the record would publish: give it as the secret \"password\" (by file or environment)", u.Redacted())
	}
	d.URL, d.User = u, u.User.Username()
	if name := p.String("username"); name != "" {
		d.User = name
	}
	d.TLS, err = readTLS(p, u.Hostname())
	return err
}

func readTLS(p *load.Params, host string) (*tls.Config, error) {
	if !p.Bool("tls") {
		for _, name := range []string{"tls_ca", "tls_name", "tls_insecure"} {
			if p.Given(name) {
				return nil, fmt.Errorf("parameter %q: found it without tls: true", name)
			}
		}
		return nil, nil
	}
	cfg := &tls.Config{ServerName: host, InsecureSkipVerify: p.Bool("tls_insecure"), MinVersion: tls.VersionTLS12}
	if name := p.String("tls_name"); name != "" {
		cfg.ServerName = name
	}
	if file := p.String("tls_ca"); file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading the certificates to trust: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no PEM certificate", file)
		}
	}
	return cfg, nil
}
