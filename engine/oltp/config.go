package oltp

import (
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"time"

	"bakeoff/engine/oltp/account"
	"bakeoff/engine/oltp/tpcc"
	"bakeoff/load"
	"bakeoff/load/dial"
	"bakeoff/load/ring"
)

// Embedded is a Target whose databases live in this process, each in a file: they
// have no stored routines, so their mode is ClientSQL, and the workers' CPU is their work.
type Embedded interface{ Embedded() }

const (
	maxLoaders = 64
	maxRetries = 1000
)

// How the data are restored.
const (
	restoreAuto   = "auto"
	restoreSaved  = "saved"
	restoreReload = "reload"
	restoreNone   = "none"
)

// How much is checked.
const (
	checkQuick = "quick"
	checkFull  = "full"
	checkNone  = "none"
)

// configure reads a spec and opens its target. The error holds all that is
// wrong, a line each.
func (e Engine) configure(spec load.Spec) (*session, error) {
	p, err := load.ReadParams("oltp", e.Describe(), spec.Parameters)
	if err != nil {
		return nil, err
	}
	s := &session{
		spec: spec, restore: p.String("restore"), replace: p.Bool("replace"), check: p.String("check"),
		keying: p.Bool("keying"), loaders: int(p.Int("loaders")), violated: map[int]bool{},
	}
	c := Config{
		Mode: Mode(p.String("mode")), Statements: Statements(p.String("statements")), Schema: Schema(p.String("schema")),
		Instance: spec.Instance, IO: ring.Backend(p.String("io")), Clock: spec.Clock, Timeout: spec.Common.OpTimeout,
	}
	if c.Timeout <= 0 {
		c.Timeout = 10 * time.Second
	}
	var errs []error
	note := func(name string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("engine oltp: %s: %w", name, err))
		}
	}
	note("target", e.target(s, &c))
	note("rules", s.rules(&c, p))
	note("parameters", s.numbers(&c, p))
	if s.target != nil {
		note("target", s.user(&c))
		note("TLS", encrypt(&c, p))
		note("mode", s.mode(&c))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	s.config = c
	if s.db, err = s.target.Open(c); err != nil {
		return nil, fmt.Errorf("engine oltp: target %s: %w", c.URL.Redacted(), err)
	}
	return s, s.shapeIO()
}

// target finds the kind of database that a URL names.
func (e Engine) target(s *session, c *Config) error {
	text := s.spec.Target
	if text == "" {
		text = e.targets[0].Schemes()[0] + ":"
	}
	u, err := url.Parse(text)
	if err != nil {
		var parse *url.Error
		if errors.As(err, &parse) {
			err = parse.Err // without the URL, which may hold a password
		}
		return fmt.Errorf("it is no URL (%w): expected one as %s", err, e.forms())
	}
	if _, has := u.User.Password(); has {
		return fmt.Errorf("%s holds a password, which the record would publish: give it as the secret \"password\" (by file or environment)", u.Redacted())
	}
	for _, t := range e.targets {
		if slices.Contains(t.Schemes(), u.Scheme) {
			s.target, c.URL = t, u
			return nil
		}
	}
	return fmt.Errorf("%s: unknown scheme %q: expected a URL as %s", u.Redacted(), u.Scheme, e.forms())
}

func (e Engine) forms() string {
	var all []string
	for _, t := range e.targets {
		form := t.Schemes()[0] + "://HOST/DATABASE"
		if _, file := t.(Embedded); file {
			form = t.Schemes()[0] + ":FILE"
		}
		all = append(all, form)
	}
	return strings.Join(all, ", ")
}

func (s *session) rules(c *Config, p *load.Params) error {
	c.Rules = tpcc.Rules{
		Profile: tpcc.Profile(p.String("profile")), Warehouses: int(p.Int("warehouses")), Users: int(p.Int("users")),
		Homes: tpcc.Homes(p.String("homes")), Seed: s.spec.Seed,
	}
	c.Data = tpcc.Data{Profile: c.Rules.Profile, Warehouses: c.Rules.Warehouses, Seed: uint64(p.Int("data_seed")), Tally: new(tpcc.Tally)}
	if c.Schema == HammerDBSchema && c.Rules.Profile != tpcc.HammerDB {
		return fmt.Errorf("schema hammerdb goes with profile hammerdb: HammerDB's routines do not follow the specification")
	}
	return c.Rules.Check()
}

func (s *session) numbers(c *Config, p *load.Params) error {
	retries := p.Int("retries")
	if retries < 0 || retries > maxRetries {
		return fmt.Errorf("parameter \"retries\": found %d, expected 0 to %d", retries, maxRetries)
	}
	s.account = &account.Account{Retries: int(retries), RoutinesDraw: c.Schema == HammerDBSchema}
	if s.loaders < 0 || s.loaders > maxLoaders {
		return fmt.Errorf("parameter \"loaders\": found %d, expected 0 to %d", s.loaders, maxLoaders)
	}
	if s.loaders == 0 {
		s.loaders = min(2*runtime.NumCPU(), 16)
	}
	if common := s.spec.Common; s.keying && (common.Rate > 0 || len(common.Steps) > 0) {
		return errors.New("users who type and think set the rate themselves: leave out either keying or the rate")
	}
	if c.Schema == HammerDBSchema && s.restore == restoreReload {
		return errors.New("restore reload: only HammerDB can load its own schema; use saved or none")
	}
	if c.Schema == HammerDBSchema && s.restore == restoreAuto {
		s.restore = restoreNone
	}
	return nil
}

func (s *session) user(c *Config) error {
	c.User, c.Password = c.URL.User.Username(), s.spec.Secrets["password"]
	if name := s.spec.Secrets["username"]; name != "" && c.User == "" {
		c.User = name
	}
	return nil
}

func encrypt(c *Config, p *load.Params) (err error) {
	if !p.Bool("tls") {
		if p.Given("tls") { // a plan that compares with and without
			return nil
		}
		return dial.NoTLS(p, "tls: true")
	}
	c.TLS, err = dial.TLSConfig(p, c.URL.Hostname())
	return err
}

func (s *session) mode(c *Config) error {
	_, clientOnly := s.target.(Embedded)
	switch {
	case clientOnly && c.Mode == Procedures:
		return fmt.Errorf("%s has no stored procedures: expected client-sql", s.target.Product())
	case c.Mode == "auto" && clientOnly:
		c.Mode = ClientSQL
	case c.Mode == "auto":
		c.Mode = Procedures
	}
	if c.Schema == HammerDBSchema && c.Mode == ClientSQL {
		return errors.New("schema hammerdb is driven through its routines: leave out mode client-sql")
	}
	if c.Statements == AutoStatements && c.Rules.Profile == tpcc.Spec {
		c.Statements = SetStatements
	}
	return nil
}
