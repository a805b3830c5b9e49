package analysis

import (
	"fmt"
	"slices"
	"strings"

	"bakeoff/plan"
	"bakeoff/record"
	"bakeoff/stats"
	"bakeoff/unit"
	"bakeoff/unit/limit"
)

// A flow is what passed one device in one direction in one trial, with what the
// device can carry at most.
type flow struct {
	host, device, direction string
	bits                    float64 // a second, on the wire for a network interface
	how                     string  // how the rate was found
	bounds                  []bound
}

// bound is one physical limit of a device.
type bound struct {
	name string
	bits float64 // a second and direction
}

// binding is the tightest of a flow's limits.
func (f flow) binding() bound {
	return slices.MinFunc(f.bounds, func(a, b bound) int {
		switch {
		case a.bits < b.bits:
			return -1
		case a.bits > b.bits:
			return 1
		}
		return 0
	})
}

// frameExtra is what a packet takes on the wire beside the bytes that an
// interface counts: FCS, preamble and gap (IEEE 802.3).
const frameExtra = limit.FrameCheck + limit.Preamble + limit.InterFrameGap

// flows are what passed the devices whose limits are known in one trial.
func (d *trialData) flows(facts map[string]record.Facts) []flow {
	var out []flow
	for _, machine := range sortedKeys(d.machines) {
		first, _, _ := strings.Cut(machine, ", ") // facts are by host, and one machine may be several
		f, known := facts[first]
		if !known {
			continue
		}
		for _, nic := range f.NICs {
			out = append(out, d.nicFlows(machine, nic)...)
		}
		for _, disk := range f.Disks {
			out = append(out, d.diskFlows(machine, disk)...)
		}
	}
	for _, host := range sortedKeys(facts) {
		if len(facts[host].Declared) > 0 {
			out = append(out, d.declaredFlows(host, facts[host].Declared)...)
		}
	}
	return out
}

// nicFlows are one interface's two directions.
func (d *trialData) nicFlows(machine string, nic record.NIC) []flow {
	var bounds []bound
	if nic.BitsPerSecond != nil {
		bounds = append(bounds, bound{"link of " + unit.FormatSI(float64(*nic.BitsPerSecond), "bit/s", 3), float64(*nic.BitsPerSecond)})
	}
	bounds = append(bounds, slotBound(nic.PCIe)...)
	if len(bounds) == 0 || nic.Kind != "device" {
		return nil
	}
	sig := d.machines[machine]
	var out []flow
	for _, dir := range []struct{ metric, name string }{{"nic.rx", "received"}, {"nic.tx", "sent"}} {
		bytes, ok := sig.counter(dir.metric+".bytes", nic.Name, d.window)
		if !ok || bytes.coverage < minCoverage || bytes.total <= 0 {
			continue
		}
		f := flow{host: machine, device: nic.Name, direction: dir.name, bits: 8 * bytes.perSecond(), how: "bytes of frames", bounds: bounds}
		if packets, ok := sig.counter(dir.metric+".packets", nic.Name, d.window); ok && packets.coverage >= minCoverage {
			f.bits += 8 * frameExtra * packets.perSecond()
			f.how = "on the wire"
		}
		out = append(out, f)
	}
	return out
}

// slotBound is what a device's slot carries, effectively.
func slotBound(p *record.PCIe) []bound {
	if p == nil || p.GTs == nil || p.Width == nil {
		return nil
	}
	l, err := limit.PCIeAt(*p.GTs, *p.Width)
	if err != nil {
		return nil
	}
	return []bound{{fmt.Sprintf("%s, %s effective", l, unit.FormatSI(l.Effective(), "bit/s", 3)), l.Effective()}}
}

// diskFlows are one disk's reads and writes against its slot, or that of the
// controller it is on.
func (d *trialData) diskFlows(machine string, disk record.Disk) []flow {
	bounds := slotBound(disk.PCIe)
	if len(bounds) == 0 {
		return nil
	}
	if !strings.HasPrefix(disk.Driver, "nvme") {
		bounds[0].name = "controller's " + bounds[0].name
	}
	var out []flow
	for _, dir := range []struct{ metric, name string }{{"disk.read.bytes", "read"}, {"disk.write.bytes", "written"}} {
		bytes, ok := d.machines[machine].counter(dir.metric, disk.Name, d.window)
		if ok && bytes.coverage >= minCoverage && bytes.total > 0 {
			out = append(out, flow{host: machine, device: disk.Name, direction: dir.name, bits: 8 * bytes.perSecond(), how: "bytes of the device", bounds: bounds})
		}
	}
	return out
}

// The facts of a host without an agent that name a limit: of its network link,
// its slot and the interface of its drive.
const (
	factLink  = "link"  // bits a second, as 25G
	factSlot  = "pcie"  // generation and width, as 3 x8
	factDrive = "drive" // of limit.FibreChannel or limit.DriveInterfaces, as 32GFC or SATA-3
)

func declaredBound(name, value string) ([]bound, error) {
	switch name {
	case factLink:
		bits, err := unit.ParseRate(value)
		if err != nil {
			return nil, fmt.Errorf("fact %s: %w (bits a second)", name, err)
		}
		return []bound{{"declared link of " + unit.FormatSI(bits, "bit/s", 3), bits}}, nil
	case factSlot:
		var l limit.PCIeLink
		if _, err := fmt.Sscanf(value, "%d x%d", &l.Generation, &l.Lanes); err != nil {
			return nil, fmt.Errorf("fact %s: found %q, expected generation and width, as 3 x8", name, value)
		}
		if err := l.Check(); err != nil {
			return nil, fmt.Errorf("fact %s: %w", name, err)
		}
		return []bound{{fmt.Sprintf("declared %s, %s effective", l, unit.FormatSI(l.Effective(), "bit/s", 3)), l.Effective()}}, nil
	case factDrive:
		b, err := limit.FindBus(value)
		if err != nil {
			return nil, fmt.Errorf("fact %s: %w", name, err)
		}
		return []bound{{"declared " + b.Name + ", " + unit.FormatSI(b.Data, "B/s", 3), 8 * b.Data}}, nil
	}
	return nil, nil
}

// declaredFlows are what the loads moved to and from a host without an agent.
func (d *trialData) declaredFlows(host string, declared map[string]string) []flow {
	var bounds []bound
	for _, name := range []string{factLink, factSlot, factDrive} {
		if value, ok := declared[name]; ok {
			b, err := declaredBound(name, value)
			if err == nil {
				bounds = append(bounds, b...)
			}
		}
	}
	if len(bounds) == 0 {
		return nil
	}
	in, out := 0.0, 0.0
	for _, s := range d.trial.Services {
		if s.Host != host {
			continue
		}
		for _, w := range d.sharing(s.Name) {
			for _, l := range d.sources(w) {
				for _, k := range l.Kinds {
					in, out = in+float64(k.BytesIn)/l.Window.Seconds, out+float64(k.BytesOut)/l.Window.Seconds
				}
			}
		}
	}
	var all []flow
	for _, f := range []flow{{direction: "read by the load", bits: 8 * in}, {direction: "written by the load", bits: 8 * out}} {
		if f.bits > 0 {
			f.host, f.device, f.how, f.bounds = host, "declared", "data of the operations, without headers", bounds
			all = append(all, f)
		}
	}
	return all
}

// limitsTable is the share of the physical limit that binds each device, of all
// that was measured.
func limitsTable(p *plan.Plan, book *ledgerBook, trials map[string][]record.TrialID) Table {
	l := newLayout("limits-shares", "Shares of physical limits", "What passed each device in the window, as a share of the limit that binds it: the line rate of a link, or what a PCIe link carries of payload in transactions of 128 B. "+
		"A share near 100 % means that the device, and not what is compared, may set the result.").
		text("cell", "host", "device", "direction").numbers("rate (Gbit/s)", "share of the limit").text("limit that binds", "other limits", "rate is of").numbers("trials")
	for _, cell := range p.Cells() {
		var order []string
		all := map[string][]flow{}
		for _, t := range trials[cell.Key()] {
			for _, f := range book.flows[t] {
				key := strings.Join([]string{f.host, f.device, f.direction}, "\x00")
				if all[key] == nil {
					order = append(order, key)
				}
				all[key] = append(all[key], f)
			}
		}
		for _, key := range order {
			l.row(append([]string{shortName(cell)}, flowRow(all[key])...)...)
		}
	}
	return l.finish()
}

func flowRow(flows []flow) []string {
	rates := make([]float64, len(flows))
	for i, f := range flows {
		rates[i] = f.bits
	}
	first, mean := flows[0], stats.Mean(rates)
	binds := first.binding()
	var others []string
	for _, b := range first.bounds {
		if b != binds {
			others = append(others, fmt.Sprintf("%s (%s %%)", b.name, plain(100*mean/b.bits)))
		}
	}
	return []string{first.host, first.device, first.direction, plain4(mean / 1e9), plain(100*mean/binds.bits) + " %", binds.name, strings.Join(others, ", "), first.how, fmt.Sprint(len(flows))}
}
