package lab

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

func a3(t testing.TB) *Lab {
	t.Helper()
	src, err := os.ReadFile("../examples/a3-ipv6/lab.yaml")
	if err != nil {
		t.Fatal(err)
	}
	l, err := Parse("lab.yaml", src)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestParseA3(t *testing.T) {
	l := a3(t)
	if l.Name != "a3" || len(l.Nodes) != 5 || len(l.Links) != 4 {
		t.Fatalf("%+v", l)
	}
	var routes []string
	for _, r := range l.Node("client").Routes {
		routes = append(routes, fmt.Sprintf("%s via %s", r.To, r.Via))
	}
	want := "10.2.0.0/24 via 10.1.0.2, fd02::/64 via fd01::2, 10.3.0.0/24 via 10.1.0.2, fd03::/64 via fd01::2, 10.4.0.0/24 via 10.1.0.2, fd04::/64 via fd01::2"
	if got := strings.Join(routes, ", "); got != want {
		t.Errorf("routes of client:\n%s\nwant\n%s", got, want)
	}
	if n := len(l.Links[1].Ends[0].Offloads); n != 6 {
		t.Errorf("%d offloads at the core's end", n)
	}
	paths := l.Paths()
	if len(paths) != 4 {
		t.Fatalf("%d paths, want v4 and v6 both ways", len(paths))
	}
	for _, p := range paths {
		if p.Broken != "" || p.MTU != 1500 || len(p.Nodes) != 5 {
			t.Errorf("path %+v", p)
		}
	}
	var out bytes.Buffer
	if err := l.Print(&out); err != nil || !strings.Contains(out.String(), "bakeoff-a3-edge-b") {
		t.Errorf("printed %v\n%s", err, &out)
	}
}

const twoHosts = `lab: two
hosts: {a: , b: }
links:
  - ends:
      a: {interface: eth0, addresses: [10.0.0.1/24]}
      b: {interface: eth0, addresses: [10.0.0.2/24]}
`

func TestParseFaults(t *testing.T) {
	for name, c := range map[string]struct{ from, to, want string }{
		"no name":        {"lab: two\n", "", "lab: found no name"},
		"bad name":       {"lab: two", "lab: Two Labs", `l.yaml:1: lab: found "Two Labs", expected a name`},
		"unknown key":    {"lab: two", "lab: two\nswitches: {}", `l.yaml:2: switches: found the unknown key "switches"`},
		"unknown node":   {"      b: {interface", "      c: {interface", `l.yaml:6: links[0].ends.c: found "c", expected a node of this lab: a, b`},
		"one end":        {"      b: {interface: eth0, addresses: [10.0.0.2/24]}\n", "", "found 1 ends, expected two"},
		"no interface":   {"a: {interface: eth0, ", "a: {", "l.yaml:5: links[0].ends.a: found no interface"},
		"long interface": {"a: {interface: eth0", "a: {interface: eth0123456789abcdef", "1 to 15 letters"},
		"loopback":       {"a: {interface: eth0", "a: {interface: lo", "and not lo"},
		"address":        {"10.0.0.1/24", "10.0.0.1", `found "10.0.0.1", expected an address with its network's length`},
		"other network":  {"10.0.0.1/24", "10.0.1.1/24", "l.yaml:5: links[0].ends.a.addresses: found 10.0.1.1/24, expected the same network at both ends"},
		"address twice":  {"10.0.0.2/24", "10.0.0.1/24", "found 10.0.0.1, which line 5 has too"},
		"mtu":            {"  - ends", "  - mtu: 20\n    ends", `found "20", expected bytes from 68`},
		"mtu of ipv6":    {"10.0.0.1/24]", `10.0.0.1/24, "fd00::1/64"]`, ""},
		"small for ipv6": {"  - ends:\n      a: {interface: eth0, addresses: [10.0.0.1/24]}", "  - mtu: 1000\n    ends:\n      a: {interface: eth0, addresses: [\"fd00::1/64\"]}", "MTU of 1280 or more"},
		"offload":        {"a: {interface", "a: {offloads: {turbo: on}, interface", `offloads.turbo: found "turbo", expected an offload: gro, gso`},
		"offload state":  {"a: {interface", "a: {offloads: {tso: yes}, interface", `found "yes", expected on or off`},
		"rate":           {"a: {interface", "a: {rate: fast, interface", "expected bits a second"},
		"burst alone":    {"a: {interface", "a: {burst: 64K, interface", "a burst or a queue without a rate"},
		"sysctl":         {"{a: , b: }", "{a: {sysctls: {vm.swappiness: 1}}, b: }", `found "vm.swappiness", expected a parameter of the network`},
		"sysctl path":    {"{a: , b: }", "{a: {sysctls: {net...x: 1}}, b: }", "names joined by dots"},
		"route":          {"{a: , b: }", "{a: {routes: [{to: 10.9.0.0/24, via: 10.0.0.9}]}, b: }", "l.yaml:2: a.routes: found via 10.0.0.9, expected an address at the other end"},
		"route family":   {"{a: , b: }", "{a: {routes: [{to: 10.9.0.0/24, via: \"fd00::1\"}]}, b: }", "both of one family"},
		"route network":  {"{a: , b: }", "{a: {routes: [{to: 10.9.0.1/24, via: 10.0.0.2}]}, b: }", "expected a network"},
		"lonely":         {"{a: , b: }", "{a: , b: , c: }", "c: found a node without a link"},
		"no hosts":       {"hosts", "routers", "found no host"},
		"name twice":     {"{a: , b: }", "{a: , b: }\nrouters: {a: }", "which line 2 names too"},
		"key twice":      {"lab: two", "lab: two\nlab: three", "again (it is on line 1 too)"},
		"not YAML":       {"lab: two", "lab: [", "what is not YAML"},
		"list":           {"hosts: {a: , b: }", "hosts: [a, b]", "found a list, expected a map"},
		"empty":          {twoHosts, "", "no documents in stream"},
	} {
		t.Run(name, func(t *testing.T) {
			src := strings.Replace(twoHosts, c.from, c.to, 1)
			if src == twoHosts {
				t.Fatal("the test changes nothing")
			}
			l, err := Parse("l.yaml", []byte(src))
			switch {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && (err == nil || l != nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v\nwant %q", err, c.want)
			}
		})
	}
}

func TestPathsTellWhatIsBroken(t *testing.T) {
	src := strings.Replace(twoHosts, "{a: , b: }", "{a: , b: , c: }", 1) + `  - ends:
      b: {interface: eth1, addresses: [10.0.1.1/24]}
      c: {interface: eth0, addresses: [10.0.1.2/24]}
`
	l, err := Parse("l.yaml", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	broken := map[string]string{}
	for _, p := range l.Paths() {
		broken[p.From+" "+p.To] = p.Broken
	}
	if broken["a b"] != "" || broken["a c"] != "b is a host, which forwards nothing" {
		t.Errorf("paths %v", broken)
	}
}

// FuzzParse looks for files that crash the reader, or that it takes although
// their parts do not fit.
func FuzzParse(f *testing.F) {
	src, err := os.ReadFile("../examples/a3-ipv6/lab.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(src)
	f.Add([]byte(twoHosts))
	f.Add([]byte("lab: x\nhosts: {a: {routes: [{to: default, via: 10.0.0.1}]}}\nlinks: [{ends: {a: {rate: 1G}, b: }}]"))
	f.Fuzz(func(t *testing.T, src []byte) {
		l, err := Parse("fuzz", src)
		if err != nil {
			return
		}
		for _, link := range l.Links {
			for _, e := range link.Ends {
				if l.Node(e.Node) == nil || e.Interface == "" {
					t.Errorf("an end without its node or name: %+v", e)
				}
			}
		}
		l.Paths()
		if err := l.Print(&bytes.Buffer{}); err != nil {
			t.Error(err)
		}
	})
}

// FuzzParseState looks for states that make bakeoff touch what is not a lab's.
func FuzzParseState(f *testing.F) {
	f.Add([]byte(`{"lab":"a3","phase":"up","token":"T","boot_id":"b","namespaces":["bakeoff-a3-core"]}`))
	f.Add([]byte(`{"lab":"a3","token":"T","boot_id":"b","namespaces":["bakeoff-a3-../../etc"]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parseState(data)
		if err != nil {
			return
		}
		for _, name := range s.Namespaces {
			if !strings.HasPrefix(name, "bakeoff-") || strings.Contains(name, "/") {
				t.Errorf("namespace %q of lab %q", name, s.Lab)
			}
		}
	})
}
