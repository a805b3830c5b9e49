package lab

import (
	"bytes"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"text/tabwriter"
)

// A Path is the way from one host to an address of another.
type Path struct {
	From, To string
	Address  netip.Addr
	Nodes    []string // both ends included
	MTU      int      // the smallest on the way, in bytes
	Broken   string   // why it leads nowhere; "" where it arrives
}

// Paths follows the routes from every host to the first address of each family
// of every other.
func (l *Lab) Paths() []Path {
	var all []Path
	for _, a := range l.Nodes {
		for _, b := range l.Nodes {
			if a.Router || b.Router || a.Name == b.Name {
				continue
			}
			for _, four := range []bool{true, false} {
				if addr, ok := l.addressOf(b.Name, four); ok {
					all = append(all, l.follow(a.Name, b.Name, addr))
				}
			}
		}
	}
	return all
}

func (l *Lab) addressOf(node string, four bool) (netip.Addr, bool) {
	for _, link := range l.Links {
		for _, e := range link.Ends {
			for _, a := range e.Addresses {
				if e.Node == node && a.Addr().Is4() == four {
					return a.Addr(), true
				}
			}
		}
	}
	return netip.Addr{}, false
}

// follow goes from node to node as packets do, the most specific route first.
func (l *Lab) follow(from, to string, addr netip.Addr) Path {
	p := Path{From: from, To: to, Address: addr, Nodes: []string{from}, MTU: 65535}
	for at := from; at != to; {
		next, mtu, ok := l.nextHop(at, addr)
		switch {
		case !ok:
			p.Broken = at + " has no route to it"
			return p
		case slices.Contains(p.Nodes, next):
			p.Broken = "the routes go round: " + next + " again"
			return p
		case at != from && !l.Node(at).Router:
			p.Broken = at + " is a host, which forwards nothing"
			return p
		}
		p.Nodes, p.MTU, at = append(p.Nodes, next), min(p.MTU, mtu), next
	}
	return p
}

func (l *Lab) nextHop(node string, addr netip.Addr) (next string, mtu int, ok bool) {
	via, best, limit := addr, -1, 65535
	for _, r := range l.Node(node).Routes {
		if r.To.Contains(addr) && r.To.Bits() > best {
			via, best, limit = r.Via, r.To.Bits(), 65535
			if r.MTU > 0 {
				limit = r.MTU
			}
		}
	}
	for _, link := range l.Links {
		for i, e := range link.Ends {
			other := link.Ends[1-i]
			reached := slices.ContainsFunc(e.Addresses, func(a netip.Prefix) bool { return a.Contains(via) }) &&
				slices.ContainsFunc(other.Addresses, func(a netip.Prefix) bool { return a.Addr() == via })
			if e.Node == node && reached {
				return other.Node, min(link.MTU, limit), true
			}
		}
	}
	return "", 0, false
}

// Print writes what the lab is.
func (l *Lab) Print(w io.Writer) error {
	var text bytes.Buffer
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, n := range l.Nodes {
		kind := "host"
		if n.Router {
			kind = "router"
		}
		fmt.Fprintf(t, "%s %s\t%s\t\t\t\n", kind, n.Name, l.Namespace(n.Name))
		for _, link := range l.Links {
			for i, e := range link.Ends {
				if e.Node == n.Name {
					other := link.Ends[1-i]
					fmt.Fprintf(t, "  %s\tMTU %d\t%s\tto %s (%s)\t%s\n", e.Interface, link.MTU, addressText(e), other.Node, other.Interface, wireText(e))
				}
			}
		}
	}
	for _, p := range l.Paths() {
		if p.Broken != "" {
			fmt.Fprintf(t, "path %s to %s\t%s\t%s\t\t\n", p.From, p.To, p.Address, p.Broken)
			continue
		}
		fmt.Fprintf(t, "path %s to %s\t%s\t%s\tMTU %d\t\n", p.From, p.To, p.Address, strings.Join(p.Nodes, ", "), p.MTU)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

func addressText(e End) string {
	var all []string
	for _, a := range e.Addresses {
		all = append(all, a.String())
	}
	return strings.Join(all, " ")
}

func wireText(e End) string {
	var all []string
	for _, o := range e.Offloads {
		state := "off"
		if o.On {
			state = "on"
		}
		all = append(all, o.Name+" "+state)
	}
	if e.Shaper != nil {
		all = append(all, fmt.Sprintf("%d bit/s", e.Shaper.BitsPerSecond))
	}
	return strings.Join(all, ", ")
}
