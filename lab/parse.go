package lab

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"bakeoff/host"
	"bakeoff/unit"
)

// Bounds of a lab's file, far above any real one.
const (
	maxSource = 256 << 10 // bytes
	maxNodes  = 64
	maxLinks  = 128
)

// Parse reads a lab's file. The error names every fault, each with its line; it
// joins errors of type *Error.
func Parse(name string, src []byte) (*Lab, error) {
	p := &parser{lab: &Lab{file: name, hash: fmt.Sprintf("sha256:%x", sha256.Sum256(src))}}
	if root := p.document(src); root != nil {
		p.top(root)
	}
	if len(p.faults) == 0 {
		p.check()
	}
	if len(p.faults) == 0 {
		p.route()
	}
	if len(p.faults) > 0 {
		return nil, errors.Join(p.faults...)
	}
	return p.lab, nil
}

type parser struct {
	lab    *Lab
	faults []error
}

const maxFaults = 20

func (p *parser) fault(line int, key, found, expected, mend string) {
	if len(p.faults) < maxFaults {
		p.faults = append(p.faults, &Error{File: p.lab.file, Line: line, Key: key, Found: found, Expected: expected, Mend: mend})
	}
}

func (p *parser) document(src []byte) *yaml.Node {
	if len(src) > maxSource {
		p.fault(0, "", fmt.Sprintf("%d bytes", len(src)), fmt.Sprintf("a lab of at most %d bytes", maxSource), "")
		return nil
	}
	var doc yaml.Node
	if err := yaml.Load(src, &doc); err != nil {
		line, text := 0, err.Error()
		if one, ok := errors.AsType[*yaml.LoadError](err); ok {
			line, text = one.Mark.Line, one.Message
		}
		p.fault(line, "", "what is not YAML ("+text+")", "YAML", "indent with spaces, never tabs, and put text with : or # in quotes")
		return nil
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		p.fault(0, "", "nothing", "a map with lab, hosts and links", "")
		return nil
	}
	return doc.Content[0]
}

// A pair is one key of a map.
type pair struct {
	key   string
	line  int
	value *yaml.Node
}

// mapping returns the pairs of a map; nothing written is an empty one.
func (p *parser) mapping(n *yaml.Node, key, what string) []pair {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		p.fault(n.Line, key, described(n), what, "")
		return nil
	}
	var pairs []pair
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode || v.Kind == yaml.AliasNode || k.Tag == "!!merge" {
			p.fault(k.Line, key, "an alias, or a key that is not plain text", "keys and values written out", "")
			continue
		}
		if first, twice := seen[k.Value]; twice {
			p.fault(k.Line, join(key, k.Value), fmt.Sprintf("%q again (it is on line %d too)", k.Value, first), "each key once", "")
			continue
		}
		seen[k.Value] = k.Line
		pairs = append(pairs, pair{k.Value, k.Line, v})
	}
	return pairs
}

func described(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	}
	return strconv.Quote(n.Value)
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "." + b
}

func (p *parser) text(n *yaml.Node, key string) string {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		p.fault(n.Line, key, described(n), "a single value", "")
		return ""
	}
	return n.Value
}

func (p *parser) unknown(at pair, key string, known ...string) {
	p.fault(at.line, join(key, at.key), "the unknown key "+strconv.Quote(at.key), "one of "+strings.Join(known, ", "), "")
}

func (p *parser) top(root *yaml.Node) {
	for _, at := range p.mapping(root, "", "a map with lab, hosts, routers and links") {
		switch at.key {
		case "lab":
			p.lab.Name = p.text(at.value, at.key)
			if !isName(p.lab.Name) {
				p.fault(at.line, at.key, strconv.Quote(p.lab.Name), "a name of at most 32 lower-case letters, digits and -", "")
			}
		case "hosts", "routers":
			for _, n := range p.mapping(at.value, at.key, "a map from names to nodes") {
				p.node(n, at.key)
			}
		case "links":
			if at.value.Kind != yaml.SequenceNode {
				p.fault(at.line, at.key, described(at.value), "a list of links", "")
				continue
			}
			for i, n := range at.value.Content {
				p.link(n, fmt.Sprintf("links[%d]", i))
			}
		default:
			p.unknown(at, "", "lab", "hosts", "routers", "links")
		}
	}
	if p.lab.Name == "" && len(p.faults) == 0 {
		p.fault(root.Line, "lab", "no name", "the lab's name, as lab: a3", "")
	}
	slices.SortStableFunc(p.lab.Nodes, func(a, b Node) int { return boolOrder(a.Router) - boolOrder(b.Router) })
}

func boolOrder(b bool) int {
	if b {
		return 1
	}
	return 0
}

// isName is what a lab's or a node's name must be: it becomes part of that of a
// network namespace.
func isName(text string) bool { return nameText().MatchString(text) }

func nameText() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`) }

func (p *parser) node(at pair, section string) {
	key := join(section, at.key)
	n := Node{Name: at.key, Router: section == "routers", line: at.line}
	switch other := p.lab.Node(at.key); {
	case !isName(at.key):
		p.fault(at.line, key, strconv.Quote(at.key), "a name of at most 32 lower-case letters, digits and -", "")
	case other != nil:
		p.fault(at.line, key, fmt.Sprintf("%q, which line %d names too", at.key, other.line), "a name of its own for each node", "")
	}
	for _, in := range p.mapping(at.value, key, "a map with sysctls and routes") {
		switch in.key {
		case "sysctls":
			for _, s := range p.mapping(in.value, join(key, in.key), "a map from kernel parameters to values") {
				n.Sysctls = append(n.Sysctls, p.sysctl(s, join(key, in.key)))
			}
		case "routes":
			n.ownRoutes = true
			if in.value.Kind != yaml.SequenceNode {
				p.fault(in.line, join(key, in.key), described(in.value), "a list, as [{to: 10.4.0.0/24, via: 10.1.0.2}]", "leave routes out to have them found")
				continue
			}
			for i, r := range in.value.Content {
				n.Routes = append(n.Routes, p.oneRoute(r, fmt.Sprintf("%s.routes[%d]", key, i)))
			}
		default:
			p.unknown(in, key, "sysctls", "routes")
		}
	}
	p.lab.Nodes = append(p.lab.Nodes, n)
}

func (p *parser) sysctl(at pair, key string) Sysctl {
	s := Sysctl{Key: at.key, Value: p.text(at.value, join(key, at.key)), line: at.line}
	if !strings.HasPrefix(s.Key, "net.") && !strings.HasPrefix(s.Key, "net/") {
		p.fault(at.line, join(key, at.key), strconv.Quote(at.key), "a parameter of the network, as net.ipv4.ip_no_pmtu_disc", "others hold for the whole machine: a plan's settings set those")
	}
	if _, err := host.NewSetting(host.SettingSpec{Kind: host.KindSysctl, Target: s.Key, Value: s.Value}); err != nil {
		p.fault(at.line, join(key, at.key), strconv.Quote(s.Value), "one line of text for a key of names joined by dots", err.Error())
	}
	return s
}

func (p *parser) oneRoute(n *yaml.Node, key string) Route {
	r := Route{line: n.Line}
	for _, at := range p.mapping(n, key, "a map with to and via") {
		text, here := p.text(at.value, join(key, at.key)), join(key, at.key)
		var err error
		switch at.key {
		case "to":
			if text == "default" {
				text = "0.0.0.0/0"
			}
			if r.To, err = netip.ParsePrefix(text); err != nil || r.To != r.To.Masked() {
				p.fault(at.line, here, strconv.Quote(text), "a network, as 10.4.0.0/24, fd04::/64 or default", "")
			}
		case "via":
			if r.Via, err = netip.ParseAddr(text); err != nil {
				p.fault(at.line, here, strconv.Quote(text), "the address of a neighbour, as 10.1.0.2", "")
			}
		case "mtu":
			r.MTU = p.mtu(at, here)
		default:
			p.unknown(at, key, "to", "via", "mtu")
		}
	}
	if !r.To.IsValid() || !r.Via.IsValid() {
		p.fault(n.Line, key, "no to or no via", "both", "")
	} else if r.To.Addr().Is4() != r.Via.Is4() {
		p.fault(n.Line, key, fmt.Sprintf("%s via %s", r.To, r.Via), "both of one family", "")
	}
	return r
}

func (p *parser) mtu(at pair, key string) int {
	text := p.text(at.value, key)
	n, err := strconv.Atoi(text)
	if err != nil || n < 68 || n > 65535 {
		p.fault(at.line, key, strconv.Quote(text), "bytes from 68 to 65535", "")
		return defaultMTU
	}
	return n
}

func (p *parser) link(n *yaml.Node, key string) {
	l := Link{MTU: defaultMTU, line: n.Line}
	var both End // what holds for both ends
	var ends []pair
	for _, at := range p.mapping(n, key, "a map with mtu and ends") {
		switch at.key {
		case "mtu":
			l.MTU = p.mtu(at, join(key, at.key))
		case "ends":
			ends = p.mapping(at.value, join(key, at.key), "a map from two nodes to their interfaces")
		case "offloads", "rate", "burst", "queue":
			p.wire(&both, at, key)
		default:
			p.unknown(at, key, "mtu", "ends", "offloads", "rate", "burst", "queue")
		}
	}
	if len(ends) != 2 {
		p.fault(n.Line, join(key, "ends"), fmt.Sprintf("%d ends", len(ends)), "two, each a node of this lab: ends: {a: {interface: eth0}, b: {interface: eth0}}", "")
		return
	}
	for i, at := range ends {
		l.Ends[i] = p.end(at, join(key, "ends"), both)
	}
	p.lab.Links = append(p.lab.Links, l)
}

func (p *parser) end(at pair, key string, both End) End {
	key = join(key, at.key)
	e := both
	e.Node, e.line, e.Offloads = at.key, at.line, slices.Clone(both.Offloads)
	if both.Shaper != nil {
		copied := *both.Shaper
		e.Shaper = &copied
	}
	for _, in := range p.mapping(at.value, key, "a map with interface and addresses") {
		switch in.key {
		case "interface":
			e.Interface = p.text(in.value, join(key, in.key))
		case "addresses":
			e.Addresses = p.addresses(in, join(key, in.key))
		case "offloads", "rate", "burst", "queue":
			p.wire(&e, in, key)
		default:
			p.unknown(in, key, "interface", "addresses", "offloads", "rate", "burst", "queue")
		}
	}
	switch {
	case e.Interface == "":
		p.fault(at.line, key, "no interface", "its name there, as interface: eth0", "")
	case len(e.Interface) > 15 || e.Interface == "lo" || !interfaceText().MatchString(e.Interface):
		p.fault(at.line, join(key, "interface"), strconv.Quote(e.Interface), "a name of 1 to 15 letters, digits, _ . and -, and not lo", "")
	}
	return e
}

func interfaceText() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`) }

func (p *parser) addresses(at pair, key string) []netip.Prefix {
	if at.value.Kind != yaml.SequenceNode {
		p.fault(at.line, key, described(at.value), `a list, as [10.1.0.1/24, "fd01::1/64"]`, "")
		return nil
	}
	var all []netip.Prefix
	for _, n := range at.value.Content {
		a, err := netip.ParsePrefix(n.Value)
		if n.Kind != yaml.ScalarNode || err != nil || a.Addr().Zone() != "" || a.Addr().Is4In6() {
			p.fault(n.Line, key, described(n), "an address with its network's length, as 10.1.0.1/24 or fd01::1/64", "")
			continue
		}
		all = append(all, a)
	}
	return all
}

// wire reads what a link or one end of it says of the medium.
func (p *parser) wire(e *End, at pair, key string) {
	key = join(key, at.key)
	if at.key == "offloads" {
		for _, f := range p.mapping(at.value, key, "a map from offloads to on or off") {
			p.offload(e, f, key)
		}
		return
	}
	if e.Shaper == nil {
		e.Shaper = &Shaper{Burst: defaultBurst, Queue: defaultQueue}
	}
	text := p.text(at.value, key)
	if at.key == "rate" {
		rate, err := unit.ParseRate(text)
		if err != nil || rate < 1000 || rate > 1e12 {
			p.fault(at.line, key, strconv.Quote(text), "bits a second from 1k to 1T, as 1G", "")
			return
		}
		e.Shaper.BitsPerSecond = uint64(rate)
		return
	}
	n, err := unit.ParseSize(text)
	if err != nil || n < 1500 || n > 1<<30 {
		p.fault(at.line, key, strconv.Quote(text), "bytes from 1500 to 1G, as 64K", "")
		return
	}
	if at.key == "burst" {
		e.Shaper.Burst = uint64(n)
		return
	}
	e.Shaper.Queue = uint64(n)
}

func (p *parser) offload(e *End, at pair, key string) {
	text := p.text(at.value, join(key, at.key))
	if !host.IsOffload(at.key) {
		p.fault(at.line, join(key, at.key), strconv.Quote(at.key), "an offload: "+strings.Join(host.OffloadNames(), ", ")+", or a feature as ethtool -k shows it", "")
		return
	}
	if text != "on" && text != "off" {
		p.fault(at.line, join(key, at.key), strconv.Quote(text), "on or off", "")
		return
	}
	o := Offload{Name: at.key, On: text == "on", line: at.line}
	if i := slices.IndexFunc(e.Offloads, func(have Offload) bool { return have.Name == o.Name }); i >= 0 {
		e.Offloads[i] = o
		return
	}
	e.Offloads = append(e.Offloads, o)
}
