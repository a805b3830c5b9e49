package main

import (
	"net"
	"net/netip"
	"slices"
	"testing"

	"bakeoff/host/advice"
	"bakeoff/plan"
)

func TestCarriers(t *testing.T) {
	loads := func(source string, targets ...string) *plan.Plan {
		p := &plan.Plan{Services: []plan.Service{{Name: "served", Endpoint: "redis://127.0.0.1:6379"}}}
		for _, target := range targets {
			w := plan.Workload{Source: source, Target: target}
			if target == "served" {
				w.Service, w.Target = target, ""
			}
			p.Workloads = append(p.Workloads, w)
		}
		return p
	}
	for name, c := range map[string]struct {
		plan  *plan.Plan
		known bool
	}{
		"loopback":       {loads("here", "redis://127.0.0.1:6379", "http://[::1]/x"), true},
		"a service":      {loads("here", "served"), true},
		"no network":     {loads("here", "redis+unix:///run/redis.sock", "sqlite:file"), true},
		"no target":      {loads("here", "served", ""), false},
		"no such name":   {loads("here", "redis://nobody.invalid:6379"), false},
		"a port to fill": {loads("here", "redis://127.0.0.1:{port}"), false},
	} {
		used, known := carriers(c.plan, "here")
		if known != c.known || len(used) > 0 {
			t.Errorf("%s: found %v, %v; want none, %v", name, used, known, c.known)
		}
	}
	own, address := outward(t)
	if own == "" {
		return // nothing but loopback here
	}
	target := "tcp://" + netip.AddrPortFrom(address, 5301).String()
	if used, known := carriers(loads("here", target), "here"); !known || len(used) > 0 {
		t.Errorf("from here to here: found %v, %v", used, known)
	}
	if used, known := carriers(loads("there", target), "here"); !known || len(used) != 1 || !used[own] {
		t.Errorf("from elsewhere to %s: found %v, %v; want %s", address, used, known, own)
	}
}

// outward is an interface of this machine beside loopback, and its address.
func outward(t *testing.T) (string, netip.Addr) {
	t.Helper()
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		addresses, err := i.Addrs()
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range addresses {
			if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().IsGlobalUnicast() && p.Addr().Is4() {
				return i.Name, p.Addr()
			}
		}
	}
	return "", netip.Addr{}
}

func TestAdviceOnTheWay(t *testing.T) {
	all := []advice.Advice{{Subject: "host"}, {Subject: "lo"}, {Subject: "nosuch0, nosuch1"}, {Subject: "lo"}}
	local := &plan.Plan{Workloads: []plan.Workload{{Source: "here", Target: "redis://127.0.0.1:6379"}}}
	kept, idle := onTheWay(local, "here", all)
	if len(kept) != 2 || !slices.Equal(idle, []string{"lo"}) {
		t.Errorf("kept %+v, left out %v", kept, idle)
	}
	unknown := &plan.Plan{Workloads: []plan.Workload{{Source: "here"}}}
	if kept, idle := onTheWay(unknown, "here", all); len(kept) != len(all) || len(idle) > 0 {
		t.Errorf("kept %+v, left out %v of what is not known", kept, idle)
	}
}
