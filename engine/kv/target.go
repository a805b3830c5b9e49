package kv

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// family is the kind of server that a target's scheme names.
type family string

const (
	redis     family = "redis"
	memcached family = "memcached"
)

// target is where the load goes.
type target struct {
	family   family
	network  string // tcp or unix
	address  string // host:port, or a socket's path
	host     string // for the certificate
	tls      bool
	username string
	database int // Redis, as SELECT takes it
}

type scheme struct {
	family  family
	network string
	tls     bool
	port    string
}

func schemes() map[string]scheme {
	return map[string]scheme{
		"redis":         {redis, "tcp", false, "6379"},
		"rediss":        {redis, "tcp", true, "6379"},
		"redis+unix":    {redis, "unix", false, ""},
		"unix+redis":    {redis, "unix", false, ""},
		"memcache":      {memcached, "tcp", false, "11211"},
		"memcaches":     {memcached, "tcp", true, "11211"},
		"memcache+unix": {memcached, "unix", false, ""},
		"unix+memcache": {memcached, "unix", false, ""},
	}
}

const targetForms = "redis://HOST:PORT/DB, rediss:// (TLS), redis+unix:///PATH?db=N, memcache://HOST:PORT, memcaches:// or memcache+unix:///PATH"

// parseTarget reads a target's URL.
func parseTarget(s string) (target, error) {
	if s == "" {
		return target{}, fmt.Errorf("no target: expected %s", targetForms)
	}
	u, err := url.Parse(s)
	if err != nil {
		var parse *url.Error
		if errors.As(err, &parse) {
			err = parse.Err // without the URL, which may hold a password
		}
		return target{}, fmt.Errorf("the target is no URL (%w): expected %s", err, targetForms)
	}
	sc, ok := schemes()[u.Scheme]
	if !ok {
		return target{}, fmt.Errorf("target %q: unknown scheme %q: expected %s", u.Redacted(), u.Scheme, targetForms)
	}
	if _, has := u.User.Password(); has {
		return target{}, fmt.Errorf("target %q holds a password, which the record would publish: give it as the secret \"password\" (by file or environment)", u.Redacted())
	}
	t := target{family: sc.family, network: sc.network, tls: sc.tls, username: u.User.Username()}
	if sc.network == "unix" {
		err = t.socket(u)
	} else {
		err = t.hostPort(u, sc.port)
	}
	if err != nil {
		return target{}, fmt.Errorf("target %q: %w", u.Redacted(), err)
	}
	return t, nil
}

func (t *target) socket(u *url.URL) error {
	t.address = u.Path
	if u.Host != "" || !strings.HasPrefix(u.Path, "/") {
		return fmt.Errorf("found no absolute path of a socket: write three slashes, as %s:///run/server.sock", u.Scheme)
	}
	if len(t.address) > 107 {
		return fmt.Errorf("the socket's path has %d bytes: Linux allows 107 (unix(7))", len(t.address))
	}
	q := u.Query()
	db := q.Get("db")
	q.Del("db")
	if len(q) > 0 {
		return fmt.Errorf("unknown options %q: expected only db=N", q.Encode())
	}
	return t.selectDB(db)
}

func (t *target) hostPort(u *url.URL, port string) error {
	t.host = u.Hostname()
	if t.host == "" {
		return errors.New("it names no host")
	}
	if u.Port() != "" {
		port = u.Port()
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return fmt.Errorf("port %q: expected 1 to 65535", port)
	}
	if u.RawQuery != "" {
		return fmt.Errorf("unknown options %q", u.RawQuery)
	}
	t.address = net.JoinHostPort(t.host, port)
	return t.selectDB(strings.TrimPrefix(u.Path, "/"))
}

func (t *target) selectDB(s string) error {
	if s == "" {
		return nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return fmt.Errorf("database %q: expected a number from 0", s)
	}
	if t.family != redis {
		return fmt.Errorf("database %q: memcached has none", s)
	}
	t.database = n
	return nil
}
