package net

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
)

// target is the server at the other end.
type target struct {
	iperf bool
	host  string
	port  uint16
}

const (
	targetForms = "tcp://HOST:PORT of a bakeoff server (bakeoff embedded net), or iperf3://HOST:PORT"
	iperfPort   = "5201"
)

// parseTarget reads a target's URL.
func parseTarget(s string) (target, error) {
	if s == "" {
		return target{}, fmt.Errorf("no target: expected %s", targetForms)
	}
	u, err := url.Parse(s)
	if err != nil {
		return target{}, fmt.Errorf("the target is no URL (%w): expected %s", err, targetForms)
	}
	port := u.Port()
	switch {
	case u.Scheme == "udp":
		return target{}, fmt.Errorf("target %q: the server is asked over TCP: write tcp://%s and transport: udp", s, u.Host)
	case u.Scheme != "tcp" && u.Scheme != "iperf3":
		return target{}, fmt.Errorf("target %q: unknown scheme %q: expected %s", s, u.Scheme, targetForms)
	case u.User != nil:
		return target{}, fmt.Errorf("target %q holds a user or a password, which the record would publish: the token is the secret \"token\" (by file or environment)", u.Redacted())
	case u.Hostname() == "":
		return target{}, fmt.Errorf("target %q names no host: expected %s", s, targetForms)
	case u.Path != "" && u.Path != "/" || u.RawQuery != "":
		return target{}, fmt.Errorf("target %q: found more than host and port", s)
	case port == "" && u.Scheme == "iperf3":
		port = iperfPort
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return target{}, fmt.Errorf("target %q: port %q: expected 1 to 65535", s, port)
	}
	return target{iperf: u.Scheme == "iperf3", host: u.Hostname(), port: uint16(n)}, nil
}

// resolve finds the target's address of a family: "4", "6" or "any".
func (t target) resolve(ctx context.Context, family string) (netip.AddrPort, error) {
	network := map[string]string{"any": "ip", "4": "ip4", "6": "ip6"}[family]
	if a, err := netip.ParseAddr(t.host); err == nil {
		if family == "4" && !a.Unmap().Is4() || family == "6" && !a.Is6() {
			return netip.AddrPort{}, fmt.Errorf("the target %s is no IPv%s address: give the server's IPv%s address, or its name", a, family, family)
		}
		return netip.AddrPortFrom(a.Unmap(), t.port), nil
	}
	all, err := net.DefaultResolver.LookupNetIP(ctx, network, t.host)
	if err == nil && len(all) == 0 {
		err = errors.New("no address")
	}
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("looking up %q (family %s): %w", t.host, family, err)
	}
	return netip.AddrPortFrom(all[0].Unmap(), t.port), nil
}
