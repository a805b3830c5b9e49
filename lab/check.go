package lab

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// check looks whether the parts fit together.
func (p *parser) check() {
	l := p.lab
	switch {
	case len(l.Nodes) > maxNodes || len(l.Links) > maxLinks:
		p.fault(0, "", fmt.Sprintf("%d nodes and %d links", len(l.Nodes), len(l.Links)), fmt.Sprintf("at most %d and %d", maxNodes, maxLinks), "")
		return
	case len(l.Nodes) == 0 || l.Nodes[0].Router:
		p.fault(0, "hosts", "no host", "at least one", "")
		return
	}
	p.checkEnds()
	p.checkRoutes()
}

func (p *parser) checkEnds() {
	interfaces, addresses, linked := map[string]int{}, map[netip.Addr]int{}, map[string]bool{}
	for i, link := range p.lab.Links {
		for j, e := range link.Ends {
			key := fmt.Sprintf("links[%d].ends.%s", i, e.Node)
			if p.lab.Node(e.Node) == nil {
				p.fault(e.line, key, strconv.Quote(e.Node), "a node of this lab: "+strings.Join(p.names(), ", "), "")
				continue
			}
			linked[e.Node] = true
			at := e.Node + " " + e.Interface
			if first, twice := interfaces[at]; twice {
				p.fault(e.line, key+".interface", fmt.Sprintf("%q, which line %d gives to %s too", e.Interface, first, e.Node), "a name of its own for each interface of a node", "")
			}
			interfaces[at] = e.line
			for _, a := range e.Addresses {
				if first, twice := addresses[a.Addr()]; twice {
					p.fault(e.line, key+".addresses", fmt.Sprintf("%s, which line %d has too", a.Addr(), first), "each address once in the lab", "")
				}
				addresses[a.Addr()] = e.line
				p.checkAddress(e, link, a, link.Ends[1-j], key)
			}
			if e.Shaper != nil && e.Shaper.BitsPerSecond == 0 {
				p.fault(e.line, key, "a burst or a queue without a rate", "rate, too", "")
			}
		}
		if link.Ends[0].Node == link.Ends[1].Node {
			p.fault(link.line, fmt.Sprintf("links[%d].ends", i), "one node twice", "two nodes", "")
		}
	}
	for _, n := range p.lab.Nodes {
		if !linked[n.Name] && len(p.lab.Nodes) > 1 {
			p.fault(n.line, n.Name, "a node without a link", "every node at an end of some link", "")
		}
	}
}

func (p *parser) names() []string {
	var all []string
	for _, n := range p.lab.Nodes {
		all = append(all, n.Name)
	}
	return all
}

func (p *parser) checkAddress(e End, link Link, a netip.Prefix, other End, key string) {
	if a.Addr().Is6() && link.MTU < 1280 {
		p.fault(link.line, key+".addresses", fmt.Sprintf("%s on a link of MTU %d", a, link.MTU), "an MTU of 1280 or more, as IPv6 needs (RFC 8200, 5)", "")
	}
	sameFamily := false
	for _, b := range other.Addresses {
		if b.Addr().Is4() != a.Addr().Is4() {
			continue
		}
		sameFamily = true
		if b.Masked() == a.Masked() {
			return
		}
	}
	if sameFamily {
		p.fault(e.line, key+".addresses", a.String(), "the same network at both ends of a link: "+other.Node+" has none in "+a.Masked().String(), "")
	}
}

// checkRoutes looks whether the neighbours that routes go through are there.
func (p *parser) checkRoutes() {
	for _, n := range p.lab.Nodes {
		for _, r := range n.Routes {
			if !slices.ContainsFunc(p.lab.neighbours(n.Name), func(h hop) bool { return slices.Contains(h.addresses, r.Via) }) {
				p.fault(r.line, n.Name+".routes", "via "+r.Via.String(), "an address at the other end of one of its links", "")
			}
		}
	}
}

// A hop leads from a node over one link.
type hop struct {
	to        string
	addresses []netip.Addr // of the other end
}

// neighbours lists the nodes that are one link away.
func (l *Lab) neighbours(node string) []hop {
	var all []hop
	for _, link := range l.Links {
		for i, e := range link.Ends {
			if e.Node != node {
				continue
			}
			other := link.Ends[1-i]
			h := hop{to: other.Node}
			for _, a := range other.Addresses {
				h.addresses = append(h.addresses, a.Addr())
			}
			all = append(all, h)
		}
	}
	return all
}

// networks lists the networks of the lab, in the file's order, each with the
// nodes that have an address in it.
func (l *Lab) networks() ([]netip.Prefix, map[netip.Prefix][]string) {
	var order []netip.Prefix
	in := map[netip.Prefix][]string{}
	for _, link := range l.Links {
		for _, e := range link.Ends {
			for _, a := range e.Addresses {
				network := a.Masked()
				if in[network] == nil {
					order = append(order, network)
				}
				in[network] = append(in[network], e.Node)
			}
		}
	}
	return order, in
}

// route gives nodes without routes of their own the way with the fewest links
// to every network.
func (p *parser) route() {
	networks, in := p.lab.networks()
	for i := range p.lab.Nodes {
		n := &p.lab.Nodes[i]
		if n.ownRoutes {
			continue
		}
		for _, to := range networks {
			if slices.Contains(in[to], n.Name) {
				continue
			}
			if via, ok := p.lab.way(n.Name, to, in[to]); ok {
				n.Routes = append(n.Routes, Route{To: to, Via: via})
			}
		}
	}
}

// way finds the first hop of the shortest way to a network: breadth first,
// through routers only, over links that have the network's family.
func (l *Lab) way(from string, to netip.Prefix, members []string) (netip.Addr, bool) {
	type step struct {
		node  string
		first netip.Addr
	}
	seen := map[string]bool{from: true}
	queue := []step{{node: from}}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if at.node != from && slices.Contains(members, at.node) {
			return at.first, true
		}
		if node := l.Node(at.node); at.node != from && !node.Router {
			continue
		}
		for _, h := range l.neighbours(at.node) {
			i := slices.IndexFunc(h.addresses, func(a netip.Addr) bool { return a.Is4() == to.Addr().Is4() })
			if i < 0 || seen[h.to] {
				continue
			}
			seen[h.to] = true
			first := at.first
			if at.node == from {
				first = h.addresses[i]
			}
			queue = append(queue, step{h.to, first})
		}
	}
	return netip.Addr{}, false
}
