package http

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// target is where the load goes.
type target struct {
	network string // tcp or unix
	address string // host:port, or a socket's path
	name    string // of the host, for the certificate
	host    string // the Host header field (RFC 9110 section 7.2)
	path    string // asked for where the plan names no requests
	tls     bool
}

const targetForms = "http://HOST:PORT/PATH, https://HOST:PORT/PATH or http+unix:///SOCKET?path=/PATH"

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
	if u.User != nil {
		return target{}, fmt.Errorf("target %q names a user, which the record would publish: send an Authorization header instead", u.Redacted())
	}
	switch u.Scheme {
	case "http":
		return hostPort(u, "80")
	case "https":
		return hostPort(u, "443")
	case "http+unix":
		return socket(u)
	}
	return target{}, fmt.Errorf("target %q: unknown scheme %q: expected %s", s, u.Scheme, targetForms)
}

func hostPort(u *url.URL, port string) (target, error) {
	t := target{network: "tcp", name: u.Hostname(), host: u.Host, path: requestPath(u), tls: u.Scheme == "https"}
	if t.name == "" {
		return target{}, fmt.Errorf("target %q names no host: expected %s", u, targetForms)
	}
	if u.Port() != "" {
		port = u.Port()
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return target{}, fmt.Errorf("target %q: port %q: expected 1 to 65535", u, port)
	}
	if u.Fragment != "" {
		return target{}, fmt.Errorf("target %q: a server never sees %q: leave it out", u, "#"+u.Fragment)
	}
	t.address = net.JoinHostPort(t.name, port)
	return t, nil
}

func requestPath(u *url.URL) string {
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	return path
}

func socket(u *url.URL) (target, error) {
	if u.Host != "" || !strings.HasPrefix(u.Path, "/") {
		return target{}, fmt.Errorf("target %q: found no absolute path of a socket: write three slashes, as http+unix:///run/web.sock", u)
	}
	if len(u.Path) > 107 {
		return target{}, fmt.Errorf("target %q: the socket's path has %d bytes: Linux allows 107 (unix(7))", u, len(u.Path))
	}
	q := u.Query()
	path := q.Get("path")
	q.Del("path")
	if len(q) > 0 {
		return target{}, fmt.Errorf("target %q: unknown options %q: expected only path=/PATH", u, q.Encode())
	}
	if path == "" {
		path = "/"
	}
	if !strings.HasPrefix(path, "/") {
		return target{}, fmt.Errorf("target %q: path=%s: expected one that begins with a slash", u, path)
	}
	return target{network: "unix", address: u.Path, host: "localhost", path: path}, nil
}
