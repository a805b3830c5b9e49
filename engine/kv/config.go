package kv

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"bakeoff/load"
	"bakeoff/load/dial"
	"bakeoff/load/gather"
	"bakeoff/load/gen"
	"bakeoff/load/ring"
	"bakeoff/unit"
)

// protocol is the wire protocol that a load speaks.
type protocol string

const (
	resp2     protocol = "resp2"
	resp3     protocol = "resp3"
	text      protocol = "text"
	meta      protocol = "meta"
	metaQuiet protocol = "meta-quiet"
)

// config is a Spec, validated.
type config struct {
	spec   load.Spec
	target target
	proto  protocol
	tls    *tls.Config

	username, password string

	workers, connections, pipeline int
	sets, gets                     uint64 // their ratio; both 0 where command is given
	multiGet                       int
	command                        []argument
	reconnectEvery                 uint64

	prefix           string
	first, count     uint64 // of the keys' numbers
	getKeys, setKeys gen.KeySpec
	data             dataSpec
	expiry           expiry

	preload string
	flush   bool
	verify  bool
	io      ring.Backend
	raw     bool // see ring.Config
	gather  gather.Policy
	timeout time.Duration
}

// dataSpec says what values are. Values depend on nothing but their key, so
// that a data set is the same in every trial and whatever was set in between.
type dataSpec struct {
	sizes  *gen.Sizes
	text   string // as written, for the fingerprint
	random bool
}

// expiry is a range of times to live, both ends included; zero for none.
type expiry struct{ low, high time.Duration }

const (
	maxPipeline    = 1 << 16
	maxMultiGet    = 10_000
	maxConnections = 1 << 16
	maxPrefix      = 200 // so that a key stays within memcached's 250 bytes
)

// configure reads a spec. Its error holds all that is wrong, a line each.
func configure(spec load.Spec, d load.Description) (*config, error) {
	p, err := load.ReadParams("kv", d, spec.Parameters)
	if err != nil {
		return nil, err
	}
	c := &config{spec: spec, preload: p.String("preload"), flush: p.Bool("flush"), verify: p.Bool("verify")}
	var errs []error
	check := func(name string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("engine kv: %s: %w", name, err))
		}
	}
	c.target, err = parseTarget(spec.Target)
	check("target", err)
	if err == nil {
		check("protocol", c.setProtocol(p.String("protocol")))
	}
	check("connections", c.setShape(p))
	check("keys", c.setKeyRange(p))
	c.data.random = p.String("data") == "random"
	c.data.text = p.String("value_size")
	c.data.sizes, err = parseSizes(c.data.text)
	check(`parameter "value_size"`, err)
	c.expiry, err = parseExpiry(p.String("expiry"))
	check(`parameter "expiry"`, err)
	check("operations", c.setOperations(p))
	if c.preload == "auto" {
		c.preload = "all"
		if c.command != nil {
			c.preload = "none"
		}
	}
	check("secrets", c.setUser(p))
	check("TLS", c.setTLS(p))
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *config) setProtocol(name string) error {
	c.proto = protocol(name)
	switch {
	case name == "auto" && c.target.family == redis:
		c.proto = resp2
	case name == "auto":
		c.proto = text
	case c.resp() != (c.target.family == redis):
		return fmt.Errorf("found %q for a %s target: expected auto, %s", name, c.target.family,
			map[family]string{redis: "resp2 or resp3", memcached: "text, meta or meta-quiet"}[c.target.family])
	}
	return nil
}

func (c *config) resp() bool { return c.proto == resp2 || c.proto == resp3 }

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
	if c.multiGet, err = within(p, "multi_get", 1, maxMultiGet); err != nil {
		return err
	}
	every, err := within(p, "reconnect_every", 0, 1<<40)
	if err != nil {
		return err
	}
	if every > 0 && every < c.pipeline {
		return fmt.Errorf("parameter \"reconnect_every\": found %d with a pipeline of %d, expected at least as many replies as a pipeline holds", every, c.pipeline)
	}
	c.reconnectEvery = uint64(every)
	c.workers = max(c.spec.Common.Workers, 1)
	if c.workers > c.connections {
		return fmt.Errorf("%d workers share %d connections: expected at least one each", c.workers, c.connections)
	}
	c.io, c.raw = ring.Backend(p.String("io")), true // the driver provides processors enough
	c.gather = gather.Open(c.spec.Common, c.target.network)
	c.timeout = c.spec.Common.OpTimeout
	if c.timeout <= 0 {
		c.timeout = 5 * time.Second
	}
	return nil
}

func (c *config) setKeyRange(p *load.Params) error {
	c.prefix = p.String("key_prefix")
	if len(c.prefix) > maxPrefix {
		return fmt.Errorf("parameter \"key_prefix\": found %d bytes, expected up to %d", len(c.prefix), maxPrefix)
	}
	if i := strings.IndexFunc(c.prefix, func(r rune) bool { return r <= ' ' || r == 0x7f }); i >= 0 {
		return fmt.Errorf("parameter \"key_prefix\": found %q, expected no spaces and no control characters", c.prefix)
	}
	low, high := p.Int("key_minimum"), p.Int("key_maximum")
	if low < 0 || high < low {
		return fmt.Errorf("found numbers from %d to %d, expected a key_minimum from 0 and a key_maximum not below it", low, high)
	}
	c.first, c.count = uint64(low), uint64(high-low)+1
	spec := gen.KeySpec{
		Count: c.count, Theta: p.Float("zipf_exponent"),
		Center: p.Percent("gaussian_center"), Deviation: p.Percent("gaussian_deviation"),
		HotKeys: p.Percent("hot_keys"), HotDraws: p.Percent("hot_draws"),
	}
	c.getKeys, c.setKeys = spec, spec
	c.getKeys.Pattern, c.setKeys.Pattern = gen.Pattern(p.String("get_pattern")), gen.Pattern(p.String("set_pattern"))
	for _, s := range []gen.KeySpec{c.getKeys, c.setKeys} {
		s.Workers = 1
		if s.Pattern == gen.Zipf {
			s.Count = min(s.Count, 2) // to check the rest: the table is made by the worker
		}
		if _, err := gen.NewKeys(s, gen.NewRand(0, gen.Stream{})); err != nil {
			return err
		}
	}
	return nil
}

func (c *config) setOperations(p *load.Params) (err error) {
	if p.Has("command") {
		if c.command, err = parseCommand(p.String("command")); err != nil {
			return fmt.Errorf("parameter \"command\": %w", err)
		}
		switch {
		case c.target.family != redis:
			return errors.New("parameter \"command\": only Redis takes one")
		case p.Given("ratio") || p.Given("multi_get"):
			return errors.New("a command takes the place of gets and sets: leave out ratio and multi_get")
		case c.verify:
			return errors.New("the values of a command cannot be verified: leave out verify")
		}
		return nil
	}
	if c.sets, c.gets, err = parseRatio(p.String("ratio")); err != nil {
		return fmt.Errorf("parameter \"ratio\": %w", err)
	}
	if c.multiGet > 1 && (c.proto == meta || c.proto == metaQuiet) {
		return errors.New("the meta protocol gets one key a command: use protocol text for multi_get, or meta-quiet with a pipeline")
	}
	if c.verify && c.proto == metaQuiet {
		return errors.New("meta-quiet does not say which get was missed, so it cannot be verified: use protocol meta or text")
	}
	if c.expiry.low > 0 && c.target.family == memcached && (c.expiry.low < time.Second || c.expiry.high > 30*24*time.Hour) {
		return fmt.Errorf("parameter \"expiry\": memcached takes whole seconds up to 30 days, found %v to %v", c.expiry.low, c.expiry.high)
	}
	return nil
}

// parseRatio reads "sets:gets".
func parseRatio(s string) (sets, gets uint64, err error) {
	a, b, ok := strings.Cut(s, ":")
	sets, errA := strconv.ParseUint(strings.TrimSpace(a), 10, 31)
	gets, errB := strconv.ParseUint(strings.TrimSpace(b), 10, 31)
	if !ok || errA != nil || errB != nil || sets+gets == 0 {
		return 0, 0, fmt.Errorf("found %q, expected sets:gets, as 1:10 (not both 0)", s)
	}
	return sets, gets, nil
}

// parseSizes reads one size, a range or sizes with weights.
func parseSizes(s string) (*gen.Sizes, error) {
	if !strings.ContainsAny(s, ":,") {
		low, high, _ := strings.Cut(s, "-")
		if high == "" {
			high = low
		}
		a, err := unit.ParseSize(strings.TrimSpace(low))
		if err != nil {
			return nil, err
		}
		b, err := unit.ParseSize(strings.TrimSpace(high))
		if err != nil {
			return nil, err
		}
		return gen.RangeSizes(int(a), int(b))
	}
	var list []gen.WeightedSize
	for item := range strings.SplitSeq(s, ",") {
		size, weight, ok := strings.Cut(item, ":")
		w := 1.0
		if ok {
			var err error
			if w, err = strconv.ParseFloat(strings.TrimSpace(weight), 64); err != nil {
				return nil, fmt.Errorf("found weight %q, expected a number, as in 64:80,1K:20", weight)
			}
		}
		n, err := unit.ParseSize(strings.TrimSpace(size))
		if err != nil {
			return nil, err
		}
		list = append(list, gen.WeightedSize{Size: int(n), Weight: w})
	}
	return gen.WeightedSizes(list)
}

// parseExpiry reads one duration or a range; "" is none.
func parseExpiry(s string) (expiry, error) {
	if s == "" {
		return expiry{}, nil
	}
	low, high, _ := strings.Cut(s, "-")
	if high == "" {
		high = low
	}
	a, err := unit.ParseDuration(strings.TrimSpace(low))
	if err != nil {
		return expiry{}, err
	}
	b, err := unit.ParseDuration(strings.TrimSpace(high))
	if err != nil {
		return expiry{}, err
	}
	if a < time.Millisecond || b < a {
		return expiry{}, fmt.Errorf("found %q, expected at least 1ms, the lower end first", s)
	}
	return expiry{a, b}, nil
}

func (c *config) setUser(p *load.Params) error {
	c.password = c.spec.Secrets["password"]
	c.username = c.spec.Secrets["username"]
	for _, name := range []string{c.target.username, p.String("username")} {
		if name != "" {
			c.username = name
		}
	}
	if c.username != "" && c.password == "" {
		return fmt.Errorf("user %q has no password: give it as the secret \"password\", by file or environment", c.username)
	}
	return nil
}

func (c *config) setTLS(p *load.Params) (err error) {
	if !c.target.tls {
		return dial.NoTLS(p, "rediss:// or memcaches://")
	}
	c.tls, err = dial.TLSConfig(p, c.target.host)
	return err
}
