package main

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"

	"bakeoff/host/advice"
	"bakeoff/plan"
)

// onTheWay leaves out advice on interfaces that no load of the plan goes through,
// and returns the names of those. Where that cannot be told, nothing is left out.
func onTheWay(p *plan.Plan, host string, all []advice.Advice) (kept []advice.Advice, idle []string) {
	used, known := carriers(p, host)
	if !known {
		return all, nil
	}
	for _, a := range all {
		i, err := net.InterfaceByName(a.Subject)
		if err != nil || used[i.Name] {
			kept = append(kept, a) // the host's, or of an interface that carries the load
		} else if !slices.Contains(idle, i.Name) {
			idle = append(idle, i.Name)
		}
	}
	return kept, idle
}

// carriers are the interfaces of this machine, the plan's host of that name, that
// its loads go through.
func carriers(p *plan.Plan, host string) (used map[string]bool, known bool) {
	used = map[string]bool{}
	for _, w := range p.Workloads {
		target := w.Target
		if i := slices.IndexFunc(p.Services, func(s plan.Service) bool { return s.Name == w.Service }); w.Service != "" && i >= 0 {
			target = p.Services[i].Endpoint
		}
		u, err := url.Parse(target)
		if err != nil || target == "" {
			return nil, false
		}
		if u.Hostname() == "" { // a Unix socket or a file
			continue
		}
		name, err := carrier(u.Hostname(), w.Source == host)
		if err != nil {
			return nil, false
		}
		if name != "" {
			used[name] = true
		}
	}
	return used, true
}

// carrier is the interface between this machine and a target; "" for one that is
// reached without one, as this machine itself is from here. Nothing is sent.
func carrier(target string, fromHere bool) (string, error) {
	conn, err := net.Dial("udp", net.JoinHostPort(target, "9")) // the port of discard: it sends nothing
	if err != nil {
		return "", fmt.Errorf("finding the way to %s: %w", target, err)
	}
	defer conn.Close()
	local, remote := address(conn.LocalAddr()), address(conn.RemoteAddr())
	if remote.IsLoopback() || fromHere && local == remote {
		return "", nil
	}
	interfaces, err := net.Interfaces()
	if err != nil {
		return "", err
	}
	for _, i := range interfaces {
		addresses, err := i.Addrs()
		if err != nil {
			return "", err
		}
		for _, a := range addresses {
			if prefix, err := netip.ParsePrefix(a.String()); err == nil && prefix.Addr().Unmap() == local {
				return i.Name, nil
			}
		}
	}
	return "", fmt.Errorf("no interface has the address %s, which leads to %s", local, target)
}

func address(a net.Addr) netip.Addr {
	udp, ok := a.(*net.UDPAddr)
	if !ok {
		return netip.Addr{}
	}
	return udp.AddrPort().Addr().Unmap().WithZone("")
}
