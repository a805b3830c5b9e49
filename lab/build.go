package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"bakeoff/host"
)

// A step is one change that building makes.
type step struct {
	what string
	do   func() error
}

// steps lists all that building the lab does, in order. Each can be cut off at
// any moment: what it made is known by its mark.
func (l *Lab) steps(mark string) []step {
	var all []step
	add := func(what string, do func() error) { all = append(all, step{what, do}) }
	for _, n := range l.Nodes {
		name := l.Namespace(n.Name)
		add("namespace "+name, func() error { return addNamespace(name, mark) })
		add("basics of "+n.Name, func() error { return host.InNamespace(name, func() error { return l.basics(n) }) })
	}
	for _, link := range l.Links {
		add(fmt.Sprintf("link %s - %s", link.Ends[0].Node, link.Ends[1].Node), func() error { return l.addLink(link) })
		for _, e := range link.Ends {
			add("interface "+e.Interface+" of "+e.Node, func() error {
				return host.InNamespace(l.Namespace(e.Node), func() error { return l.configure(e) })
			})
		}
	}
	for _, n := range l.Nodes {
		add("routes of "+n.Name, func() error {
			return host.InNamespace(l.Namespace(n.Name), func() error { return errors.Join(l.addRoutes(n), l.setSysctls(n)) })
		})
	}
	return all
}

func hasIPv6() bool {
	_, err := os.Stat("/proc/sys/net/ipv6")
	return err == nil
}

// basics brings up what every node has. Addresses must not wait for duplicates
// to be looked for: the lab is all there is.
func (l *Lab) basics(n Node) error {
	lo, err := netlink.LinkByName("lo")
	if err == nil {
		err = netlink.LinkSetUp(lo)
	}
	if err != nil {
		return fmt.Errorf("bringing up lo of %s: %w", n.Name, err)
	}
	set := map[string]string{}
	if n.Router {
		set["net/ipv4/ip_forward"] = "1"
	}
	if hasIPv6() {
		for _, of := range []string{"all", "default"} {
			set["net/ipv6/conf/"+of+"/disable_ipv6"] = "0"
			set["net/ipv6/conf/"+of+"/accept_dad"] = "0"
			set["net/ipv6/conf/"+of+"/accept_ra"] = "0"
		}
		if n.Router {
			set["net/ipv6/conf/all/forwarding"] = "1"
		}
	}
	for key, value := range set {
		if err := writeSysctl(key, value); err != nil {
			return fmt.Errorf("setting up %s: %w", n.Name, err)
		}
	}
	return nil
}

// writeSysctl sets a parameter of the calling thread's network namespace.
func writeSysctl(path, value string) error {
	return os.WriteFile("/proc/sys/"+path, []byte(value+"\n"), 0)
}

// addLink makes the pair of interfaces, each in its node from the start: neither
// is ever seen in the machine's own namespace.
func (l *Lab) addLink(link Link) error {
	a, b := link.Ends[0], link.Ends[1]
	far, err := os.Open(namePath(l.Namespace(b.Node)))
	if err != nil {
		return fmt.Errorf("opening the namespace of %s: %w", b.Node, err)
	}
	defer far.Close()
	return host.InNamespace(l.Namespace(a.Node), func() error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.MTU = a.Interface, link.MTU
		veth := netlink.NewVeth(attrs)
		veth.PeerName, veth.PeerNamespace, veth.PeerMTU = b.Interface, netlink.NsFd(int(far.Fd())), uint32(link.MTU)
		err := netlink.LinkAdd(veth)
		if errors.Is(err, unix.EOPNOTSUPP) {
			return fmt.Errorf("this kernel has no virtual Ethernet pairs (veth): load the module (modprobe veth), or use a kernel with CONFIG_VETH: %w", err)
		}
		if err != nil {
			return fmt.Errorf("linking %s (%s) with %s (%s): %w", a.Node, a.Interface, b.Node, b.Interface, err)
		}
		return nil
	})
}

// configure gives one end what its file says, in its node's namespace.
func (l *Lab) configure(e End) error {
	fault := func(line int, what string, err error) error {
		return fmt.Errorf("%s:%d: %s of %s, interface %s: %w", l.file, line, what, e.Node, e.Interface, err)
	}
	link, err := netlink.LinkByName(e.Interface)
	if err != nil {
		return fault(e.line, "finding the link", err)
	}
	for _, o := range e.Offloads {
		if err := setOffload(e.Interface, o); err != nil {
			return fault(o.line, "offload "+o.Name, err)
		}
	}
	for _, a := range e.Addresses {
		addr := &netlink.Addr{IPNet: ipNet(a)}
		if a.Addr().Is6() {
			addr.Flags = unix.IFA_F_NODAD
		}
		if err := netlink.AddrAdd(link, addr); err != nil {
			return fault(e.line, "address "+a.String(), err)
		}
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fault(e.line, "bringing up", err)
	}
	if e.Shaper == nil {
		return nil
	}
	err = netlink.QdiscAdd(tokenBucket(link.Attrs().Index, *e.Shaper))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("this kernel has no token bucket (tbf): load the module (modprobe sch_tbf), use a kernel with CONFIG_NET_SCH_TBF, or leave rate out: %w", err)
	}
	if err != nil {
		return fault(e.line, "rate", err)
	}
	return nil
}

// setOffload switches an offload and looks whether it is switched.
func setOffload(iface string, o Offload) error {
	want := "off"
	if o.On {
		want = "on"
	}
	if err := host.SetOffload(iface, o.Name, want); err != nil {
		return err
	}
	found, err := host.ReadOffload(iface, o.Name)
	if err == nil && found != want {
		err = fmt.Errorf("it was switched %s, but reads %q afterwards", want, found)
	}
	return err
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// tokenBucket is a tbf discipline: the kernel takes the rate in bytes a second
// and the bucket in ticks at that rate (tc-tbf(8)).
func tokenBucket(index int, s Shaper) *netlink.Tbf {
	rate := s.BitsPerSecond / 8
	return &netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT},
		Rate:       rate, Limit: uint32(s.Queue), Buffer: netlink.Xmittime(rate, uint32(s.Burst)),
	}
}

func (l *Lab) addRoutes(n Node) error {
	for _, r := range n.Routes {
		route := &netlink.Route{Dst: ipNet(r.To), Gw: r.Via.AsSlice(), MTU: r.MTU}
		if err := netlink.RouteAdd(route); err != nil {
			return fmt.Errorf("%s: route of %s to %s via %s: %w", l.at(r.line, n.line), n.Name, r.To, r.Via, err)
		}
	}
	return nil
}

// at is a place in the file: the first line that is known.
func (l *Lab) at(lines ...int) string {
	for _, n := range lines {
		if n > 0 {
			return fmt.Sprintf("%s:%d", l.file, n)
		}
	}
	return l.file
}

func (l *Lab) setSysctls(n Node) error {
	for _, s := range n.Sysctls {
		path, err := host.SysctlPath(s.Key)
		if err == nil {
			err = writeSysctl(strings.TrimPrefix(path, "/proc/sys/"), s.Value)
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			err = fmt.Errorf("%w: a network namespace of this kernel has no such parameter of its own", err)
		}
		if err != nil {
			return fmt.Errorf("%s: sysctl %s of %s: %w", l.at(s.line), s.Key, n.Name, err)
		}
	}
	return nil
}
