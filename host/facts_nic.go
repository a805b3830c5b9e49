package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/safchain/ethtool"

	"bakeoff/record"
)

const netDir = "/sys/class/net/"

// driverAsker asks an interface's driver for what sysfs does not tell.
type driverAsker func(name string) (driverAnswer, error)

// driverAnswer is what a driver said; what it would not say is empty.
type driverAnswer struct {
	driver, version, firmware           string
	rings, channels, coalesce, offloads map[string]string
	pause                               map[string]string
}

// interfaces reads the network interfaces that stand for hardware, and those
// that traffic of a load may pass on its way there: loopback, bonds and VLANs.
// Containers' interfaces come and go under random names and are left out; but in
// a network namespace that is a plan's host, the virtual ones are all there is.
func (p *part) interfaces(ask driverAsker) (nics []record.NIC) {
	for _, name := range p.list(strings.TrimSuffix(netDir, "/")) {
		kind := p.interfaceKind(name)
		if kind == "" {
			continue
		}
		n := record.NIC{Name: name, Kind: kind}
		p.link(&n)
		p.slot(&n)
		if ask != nil {
			p.driver(&n, ask)
		}
		nics = append(nics, n)
	}
	return nics
}

func (p *part) interfaceKind(name string) string {
	dir := netDir + name
	if p.tree.exists(p.ctx, dir+"/device") {
		return "device"
	}
	const loopback = "772" // ARPHRD_LOOPBACK
	if p.text(dir+"/type") == loopback {
		return "loopback"
	}
	kind := keyed(p.raw(dir+"/uevent"), "=")["DEVTYPE"]
	if kind == "bond" || kind == "vlan" {
		return kind
	}
	if p.inNamespace() {
		return "virtual"
	}
	return ""
}

// inNamespace reports whether this process was started in a network namespace of
// its own, as the agent of such a host is: its parent is in another one.
func (p *part) inNamespace() bool {
	if !p.tree.live() {
		return false
	}
	mine, err := p.tree.link(p.ctx, "/proc/self/ns/net")
	outer, outerErr := p.tree.link(p.ctx, fmt.Sprintf("/proc/%d/ns/net", os.Getppid()))
	return err == nil && outerErr == nil && mine != outer
}

// link reads what the interface is set to. Speed and duplex mean nothing
// without a carrier: some drivers then show 10 Mb/s.
func (p *part) link(n *record.NIC) {
	dir := netDir + n.Name + "/"
	n.Address = p.text(dir + "address")
	if strings.Trim(n.Address, "0:") == "" {
		n.Address = ""
	}
	n.State = p.text(dir + "operstate")
	n.MTUBytes, n.TxQueueLength = p.count(dir+"mtu"), p.count(dir+"tx_queue_len")
	if carrier := p.flag(dir + "carrier"); carrier != nil && *carrier && n.Kind != "virtual" { // whose speed means nothing
		n.BitsPerSecond = linkSpeed(p.integer(dir + "speed"))
		if duplex := p.text(dir + "duplex"); duplex != "unknown" {
			n.Duplex = duplex
		}
	}
	rx, tx := 0, 0
	queues := p.list(dir + "queues")
	n.Steering = p.steering(n.Name, queues)
	for _, q := range queues {
		if strings.HasPrefix(q, "rx-") {
			rx++
		}
		if strings.HasPrefix(q, "tx-") {
			tx++
		}
	}
	if rx+tx > 0 {
		n.RxQueues, n.TxQueues = &rx, &tx
	}
}

// linkSpeed turns Mb/s into bits a second. -1, and what it looks like in
// unsigned numbers, stands for unknown.
func linkSpeed(mbps *int64) *int64 {
	if mbps == nil || *mbps <= 0 || *mbps == 0xffff || *mbps == 0xffff_ffff {
		return nil
	}
	return new(*mbps * 1_000_000)
}

// slot reads where the device is plugged in and which driver has it.
func (p *part) slot(n *record.NIC) {
	device := netDir + n.Name + "/device"
	path, ok := try(p, device, p.tree.resolve)
	if !ok {
		return
	}
	n.Driver = p.base(device + "/driver")
	function := pciParent(path)
	n.PCIe = p.pcie(function)
	n.NUMANode = p.numaNode(path)
	p.vectors(n, path)
	p.virtualFunctions(n, function)
}

// vectors reads the interface's message-signalled interrupts and the
// processors that serve them. Those of a virtio interface are its parent's.
func (p *part) vectors(n *record.NIC, path string) {
	numbers := p.list(path + "/msi_irqs")
	if parent := pciParent(path); len(numbers) == 0 && parent != "" {
		numbers = p.list(parent + "/msi_irqs")
	}
	if len(numbers) == 0 {
		return
	}
	n.Interrupts = new(len(numbers))
	var serving CPUs
	for _, irq := range numbers {
		text := p.text("/proc/irq/" + irq + "/effective_affinity_list")
		if text == "" {
			text = p.text("/proc/irq/" + irq + "/smp_affinity_list")
		}
		if cpus, err := ParseCPUs(text); err == nil {
			serving = append(serving, cpus...)
		}
	}
	slices.Sort(serving)
	n.InterruptCPUs = slices.Compact(serving).String()
}

// virtualFunctions reads SR-IOV (PCI-SIG SR-IOV specification).
func (p *part) virtualFunctions(n *record.NIC, function string) {
	if function != "" {
		n.VirtualFunctions, n.MaximumVFs = p.count(function+"/sriov_numvfs"), p.count(function+"/sriov_totalvfs")
	}
}

// steering counts the queues whose packets software spreads over processors
// (Documentation/networking/scaling.rst).
func (p *part) steering(name string, queues []string) map[string]string {
	found := map[string]string{}
	for _, s := range []struct{ prefix, file, what string }{{"rx-", "rps_cpus", "rps"}, {"tx-", "xps_cpus", "xps"}} {
		total, steered := 0, 0
		for _, q := range queues {
			if !strings.HasPrefix(q, s.prefix) {
				continue
			}
			total++
			if strings.Trim(p.text(netDir+name+"/queues/"+q+"/"+s.file), "0,") != "" {
				steered++
			}
		}
		if steered > 0 {
			found[s.what] = fmt.Sprintf("%d of %d", steered, total)
		}
	}
	return present(found)
}

func (p *part) driver(n *record.NIC, ask driverAsker) {
	a, ok := try(p, netDir+n.Name+"/ (ethtool)", func(ctx context.Context, _ string) (driverAnswer, error) {
		return within(ctx, p.tree.patience, func() (driverAnswer, error) { return ask(n.Name) })
	})
	if !ok {
		return
	}
	if n.Driver == "" {
		n.Driver = a.driver
	}
	n.DriverVersion, n.Firmware = a.version, a.firmware
	n.Rings, n.Channels, n.Coalesce, n.Offloads, n.Pause = a.rings, a.channels, a.coalesce, a.offloads, a.pause
}

// pciParent is the innermost PCI function on a device's path, "" where there
// is none. Of a device on USB, it would be the whole bus's controller.
func pciParent(path string) string {
	if strings.Contains(path, "/usb") {
		return ""
	}
	parts := strings.Split(path, "/")
	for i := len(parts) - 1; i >= 0; i-- {
		if isPCIAddress(parts[i]) {
			return strings.Join(parts[:i+1], "/")
		}
	}
	return ""
}

// isPCIAddress recognises domain:bus:device.function, as 0000:3b:00.0.
func isPCIAddress(s string) bool {
	i := strings.IndexByte(s, ':')
	if i < 4 || len(s) != i+len(":3b:00.0") {
		return false
	}
	rest := s[i:]
	return rest[3] == ':' && rest[6] == '.' && isHex(s[:i]) && isHex(rest[1:3]) && isHex(rest[4:6]) && rest[7] >= '0' && rest[7] <= '7'
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// pcie reads a PCI function's identity and its link, now and at best.
func (p *part) pcie(dir string) *record.PCIe {
	if dir == "" {
		return nil
	}
	pair := func(a, b string) string {
		x, y := strings.TrimPrefix(p.text(dir+"/"+a), "0x"), strings.TrimPrefix(p.text(dir+"/"+b), "0x")
		if x == "" && y == "" {
			return ""
		}
		return x + ":" + y
	}
	found := &record.PCIe{
		Address: dir[strings.LastIndexByte(dir, '/')+1:],
		ID:      pair("vendor", "device"), Subsystem: pair("subsystem_vendor", "subsystem_device"),
		GTs: p.transfers(dir + "/current_link_speed"), MaximumGTs: p.transfers(dir + "/max_link_speed"),
		Width: p.lanes(dir + "/current_link_width"), MaximumWidth: p.lanes(dir + "/max_link_width"),
	}
	// The port that it is plugged into is the next function up its path.
	if port := dir[:strings.LastIndexByte(dir, '/')]; isPCIAddress(port[strings.LastIndexByte(port, '/')+1:]) {
		found.SlotGTs, found.SlotWidth = p.transfers(port+"/max_link_speed"), p.lanes(port+"/max_link_width")
	}
	return found
}

// transfers reads "8.0 GT/s PCIe". A function without a link of its own says
// Unknown.
func (p *part) transfers(name string) *float64 {
	text := p.text(name)
	number, unit, _ := strings.Cut(text, " ")
	if text == "" || strings.HasPrefix(text, "Unknown") {
		return nil
	}
	v := decimal(number)
	if v == nil || !strings.HasPrefix(unit, "GT/s") {
		p.note(name, fmt.Errorf("found %.40q; expected a rate, as 8.0 GT/s PCIe", text))
		return nil
	}
	return v
}

// lanes reads a width; 0 and 255 stand for no link.
func (p *part) lanes(name string) *int {
	n := p.count(name)
	if n == nil || *n == 0 || *n == 255 {
		return nil
	}
	return n
}

// numaNode is the node of a device or of what it is plugged into; the kernel
// writes -1 where it does not know, as on most machines with one node.
func (p *part) numaNode(path string) *int {
	for strings.HasPrefix(path, "/sys/devices/") {
		if n := p.count(path + "/numa_node"); n != nil {
			return n
		}
		path = path[:strings.LastIndexByte(path, '/')]
	}
	return nil
}

// watchedOffloads are the features that are tuned, by their names in the kernel.
func watchedOffloads() []string {
	return strings.Fields(`
rx-checksum tx-checksum-ipv4 tx-checksum-ipv6 tx-checksum-ip-generic tx-scatter-gather
tx-tcp-segmentation tx-tcp6-segmentation tx-generic-segmentation tx-udp-segmentation tx-gso-partial tx-udp_tnl-segmentation
rx-gro rx-gro-hw rx-gro-list rx-lro rx-udp-gro-forwarding rx-hashing rx-ntuple-filter rx-vlan-hw-parse tx-vlan-hw-insert
tx-nocache-copy hw-tc-offload tls-hw-tx-offload tls-hw-rx-offload esp-hw-offload highdma`)
}

// offloads keeps the watched features of those that a driver has. One that is
// off and cannot be changed is marked as ethtool(8) does.
func offloads(all map[string]ethtool.FeatureState) map[string]string {
	found := map[string]string{}
	for _, name := range watchedOffloads() {
		state, has := all[name]
		switch {
		case !has:
		case state.Active:
			found[name] = "on"
		case !state.Available || state.NeverChanged:
			found[name] = "off [fixed]"
		default:
			found[name] = "off"
		}
	}
	return present(found)
}

// firstError is the first error that is not the driver's way of saying that it
// has no such thing.
func firstError(errs ...error) error {
	i := slices.IndexFunc(errs, func(err error) bool { return err != nil && !absent(err) })
	if i < 0 {
		return nil
	}
	return errors.Join(errs[i])
}
