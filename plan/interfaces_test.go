package plan

import (
	"strings"
	"testing"
)

const interfacesPlan = `title: interfaces
hosts: {a: {agent: local}, b: {agent: local}}
workloads: {w: {engine: "null", source: a, window: 1s}}
settings:
  a:
    ethtool: {eth0.100: {tso: on, gro: "off", tx-udp-segmentation: true}}
    rings: {eth0: {rx: 4k, tx: 1024}}
    coalesce: {eth0: {adaptive_rx: off, rx_usecs: 0}}
    pause: {eth0: {autoneg: false}}
    channels: {eth0: {combined: 8}}
    mtu: {eth0: 9000}
    qdisc: {eth0: fq}
    irq: {eth0: spread 0-3}
    rps: {eth0: off}
    xps: {eth0: 0-3}
    vfs: {eth0: 4}
    irqbalance: stopped
factors:
  offload:
    "off": {settings.*.ethtool.eth1: {tso: off, gso: off}}
    "on": {settings.*.ethtool.eth1: {tso: on, gso: on}}
primary: {throughput: {better: higher, margin: 5%}}
`

func TestSettingsOfInterfaces(t *testing.T) {
	p, err := Parse("p.yaml", []byte(interfacesPlan), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range p.Settings {
		got = append(got, strings.TrimSpace(s.Host+" "+s.Kind+" "+s.Target+": "+s.Value))
	}
	want := `a irqbalance : stopped
a mtu eth0: 9000
a qdisc eth0: fq
a irq eth0: spread 0-3
a rps eth0: off
a xps eth0: 0-3
a vfs eth0: 4
a ethtool eth0.100: tso=on gro=off tx-udp-segmentation=on
a rings eth0: rx=4000 tx=1024
a channels eth0: combined=8
a coalesce eth0: adaptive_rx=off rx_usecs=0
a pause eth0: autoneg=off`
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("settings:\n%s\nwant:\n%s", text, want)
	}
	r, err := p.Resolve(p.Cells()[1])
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, s := range r.Settings {
		if s.Kind == "ethtool" && s.Target == "eth1" && s.Value == "tso=on gso=on" {
			found++
		}
	}
	if found != 2 {
		t.Errorf("a level sets eth1 on %d hosts: %+v", found, r.Settings)
	}
}

func TestFaultsOfInterfaces(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"tso: on, gro", "tso: fast, gro", `p.yaml:6: settings.a.ethtool.eth0.100.tso: found "fast", expected true or false, or on or off`},
		{"rx: 4k", "rxx: 4k", `p.yaml:7: settings.a.rings.eth0.rxx: found the unknown key "rxx"`},
		{"tx: 1024", "tx: many", `p.yaml:7: settings.a.rings.eth0.tx: found "many"`},
		{"{eth0: {autoneg", `{"eth 0": {autoneg`, "the name of a network interface"},
		{"irqbalance: stopped", "irqbalance: off", `found "off", expected stopped or running`},
		{`"off": {settings.*.ethtool.eth1: {tso: off, gso: off}}`, `"off": {settings.*.ethtool.eth1: {tso: maybe, gso: off}}`, `found "maybe"`},
	} {
		src := strings.Replace(interfacesPlan, c.from, c.to, 1)
		if src == interfacesPlan {
			t.Fatalf("%s changes nothing", c.to)
		}
		if _, err := Parse("p.yaml", []byte(src), nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v\nwant %q", c.to, err, c.want)
		}
	}
}
