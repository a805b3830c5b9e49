package analysis

import (
	"cmp"
	"math/big"
	"slices"
	"strings"

	"bakeoff/plan"
	"bakeoff/record"
	"bakeoff/unit"
)

// hosts observes the machines under test: CPU, network, disks, power.
func (o *observer) hosts() {
	machines := o.sutMachines()
	o.hostCPU(machines)
	for _, w := range o.workloads() {
		o.serviceCPU(w)
	}
	for _, flow := range []struct{ measure, metric string }{
		{"nic_rx", "nic.rx.bytes"}, {"nic_tx", "nic.tx.bytes"},
		{"disk_read", "disk.read.bytes"}, {"disk_write", "disk.write.bytes"},
	} {
		if rate, ok := o.flow(machines, flow.metric); ok {
			o.add("", flow.measure, "B/s", rate)
		}
	}
	for _, d := range []string{"read", "write"} {
		if latency, ok := o.diskLatency(machines, d); ok {
			o.add("", "disk_"+d+"_latency", "s", latency)
		}
	}
	o.cpuWork()
	o.power(machines)
	o.price()
}

// diskLatency is the time that the operations of one direction took on the disks
// of the machines under test, for each of them.
func (o *observer) diskLatency(machines []string, direction string) (float64, bool) {
	seconds, ok := o.flow(machines, "disk."+direction+".time")
	operations, counted := o.flow(machines, "disk."+direction+".ops")
	return seconds / operations, ok && counted && operations > 0
}

// cpuWork is the work for each percent of the CPU time of the machines under
// test, of a trial with one workload, or with several that add up.
func (o *observer) cpuWork() {
	value := func(workload, measure, unit string) (float64, bool) {
		for _, x := range o.obs {
			if x.Workload == workload && x.Measure == measure && x.Unit == unit {
				return x.Value, true
			}
		}
		return 0, false
	}
	names := o.workloads()
	workload, measure := names[0], "throughput"
	if len(names) > 1 {
		workload, measure = "", plan.TotalPrefix+measure
	}
	work, done := value(workload, measure, "ops/s")
	busy, known := value("", "host_cpu", "1")
	if done && known && busy > 0 {
		o.add(workload, "work_per_cpu_percent", opsPerPercent, work/(100*busy))
	}
}

// hostCPU is the busy fraction of all cores of the machines under test.
func (o *observer) hostCPU(machines []string) {
	var used, whole float64
	for _, m := range machines {
		busy, all, ok := o.machines[m].cpuBusy(o.window)
		if !ok || all.coverage < minCoverage {
			return
		}
		used, whole = used+busy.total, whole+all.total
	}
	if whole > 0 {
		o.add("", "host_cpu", "1", used/whole)
	}
}

// serviceCPU is the CPU time of a workload's service for its work.
func (o *observer) serviceCPU(workload string) {
	service := o.serviceOf(workload)
	i := slices.IndexFunc(o.trial.Services, func(s record.Service) bool { return s.Name == service })
	if i < 0 {
		return
	}
	machine := o.machines[o.names[o.trial.Services[i].Host]]
	if machine == nil {
		return
	}
	user, okUser := machine.counter("process.cpu.user", service, o.window)
	system, okSystem := machine.counter("process.cpu.system", service, o.window)
	if !okUser || !okSystem || min(user.coverage, system.coverage) < minCoverage {
		return
	}
	seconds := (user.perSecond() + system.perSecond()) * o.window.seconds()
	var completed float64
	for _, w := range o.sharing(service) {
		for _, l := range o.sources(w) {
			completed += float64(l.Ledger.Completed) / l.Window.Seconds * o.window.seconds()
		}
	}
	if seconds <= 0 || completed <= 0 {
		return
	}
	o.add(workload, "sut_cpu", cpuPerMillion, 1e6*seconds/completed)
	o.add(workload, "cpu_efficiency", opsPerCPU, completed/seconds)
}

// flow adds a counter's rate over the devices of the machines. It is false where
// a machine has such devices but not their readings over the window: what is left
// would be too small a sum.
func (o *observer) flow(machines []string, metric string) (float64, bool) {
	total, found := 0.0, false
	for _, m := range machines {
		if len(o.machines[m].instances(metric)) == 0 {
			continue
		}
		c, ok := o.machines[m].counters(metric, o.window, func(string) bool { return true })
		if !ok || c.coverage < minCoverage {
			return 0, false
		}
		total, found = total+c.perSecond(), true
	}
	return total, found
}

// A meter is one source of power on one machine, over the window.
type meter struct {
	name, class string
	watts       float64
	seconds     float64 // between the source's own updates
	coverage    float64
	uncertainty *float64 // percent
}

// usable says whether the window holds enough of the meter's readings.
func (m meter) usable(window float64) bool {
	return m.coverage >= minCoverage && window >= minPowerIntervals*m.seconds
}

// meterClasses are the classes from the wall inwards: the outermost that covers
// the window is the machine's power, since sources overlap.
func meterClasses() []string { return []string{"wall-meter", "psu", "bmc", "rapl"} }

// meters lists a machine's sources of power, the one to use first.
func (d *trialData) meters(machine string) []meter {
	sig := d.machines[machine]
	var out []meter
	for _, instance := range sig.instances("energy") {
		if c, ok := sig.counter("energy", instance, d.window); ok {
			out = append(out, d.meter(machine, "energy", instance, c))
		}
	}
	for _, instance := range sig.instances("power") {
		if c, ok := sig.gauge("power", instance, d.window); ok {
			out = append(out, d.meter(machine, "power", instance, c))
		}
	}
	if c, ok := sig.counters("rapl.energy", d.window, additive); ok {
		m := d.meter(machine, "rapl.energy", sig.instances("rapl.energy")[0], c)
		m.name, m.class = "RAPL (packages and memory)", cmp.Or(m.class, "rapl")
		out = append(out, m)
	}
	rank := func(m meter) int {
		if i := slices.Index(meterClasses(), m.class); i >= 0 {
			return i
		}
		return len(meterClasses())
	}
	slices.SortStableFunc(out, func(a, b meter) int { return cmp.Compare(rank(a), rank(b)) })
	return out
}

// additive says whether a RAPL domain lies in no other, so that it may be added
// to others: a package holds its core and uncore but not its dram, and psys holds
// packages (Intel SDM volume 3B, 16.10).
func additive(domain string) bool {
	inner := strings.Contains(domain, "/")
	return strings.HasPrefix(domain, "package") && (!inner || strings.HasSuffix(domain, "/dram"))
}

// meter describes one source by what its collector says of itself.
func (d *trialData) meter(machine, metric, instance string, c covered) meter {
	sig := d.machines[machine]
	m := meter{name: instance, watts: c.perSecond(), coverage: c.coverage,
		seconds: float64(cadence(sig.rows[signalKey{metric, instance}])) / 1e9}
	for _, host := range sortedKeys(d.costs) {
		if d.names[host] != machine {
			continue
		}
		for _, cost := range d.costs[host] {
			if cost.Collector == sig.classes[instance] {
				m.class, m.uncertainty = cost.Class, cost.Uncertainty
				m.seconds = max(m.seconds, cost.Cadence)
			}
		}
	}
	return m
}

// meterOf is the source that stands for a machine's power, if one does.
func (d *trialData) meterOf(machine string) (meter, bool) {
	for _, m := range d.meters(machine) {
		if m.usable(d.window.seconds()) {
			return m, true
		}
	}
	return meter{}, false
}

// power observes power, energy and work per joule over the window alone. It
// needs every machine under test.
func (o *observer) power(machines []string) {
	watts := 0.0
	for _, name := range machines {
		m, ok := o.meterOf(name)
		if !ok {
			return
		}
		watts += m.watts
	}
	if len(machines) == 0 || watts <= 0 {
		return
	}
	o.add("", "power", "W", watts)
	o.add("", "energy", "J", watts*o.window.seconds())
	if rate, ok := o.throughput(); ok && len(o.workloads()) == 1 {
		o.add(o.workloads()[0], "perf_per_watt", "ops/J", rate/watts)
	}
}

// throughput is what the first workload's observation says.
func (o *observer) throughput() (float64, bool) {
	for _, obs := range o.obs {
		if obs.Measure == "throughput" && obs.Workload == o.workloads()[0] && obs.Unit == "ops/s" {
			return obs.Value, true
		}
	}
	return 0, false
}

// priceOf is the price of the hosts of the services under test, false where one
// of them has none.
func (d *trialData) priceOf() (unit.Money, bool) {
	var sum unit.Money
	var counted []string
	for _, s := range d.trial.Services {
		if slices.Contains(counted, s.Host) {
			continue
		}
		counted = append(counted, s.Host)
		i := slices.IndexFunc(d.resolved.Hosts, func(h plan.Host) bool { return h.Name == s.Host })
		if i < 0 {
			return unit.Money{}, false
		}
		price, err := unit.ParseMoney(d.resolved.Hosts[i].Price)
		if err != nil {
			return unit.Money{}, false
		}
		if sum.IsZero() {
			sum = price
			continue
		}
		if sum, err = sum.Add(price); err != nil {
			return unit.Money{}, false
		}
	}
	return sum, !sum.IsZero() && sum.Amount().Cmp(new(big.Rat)) > 0
}

// price observes throughput for each unit of money.
func (o *observer) price() {
	price, ok := o.priceOf()
	rate, measured := o.throughput()
	if !ok || !measured || len(o.workloads()) != 1 {
		return
	}
	amount, _ := price.Amount().Float64()
	o.add(o.workloads()[0], "perf_per_price", "ops/s per "+price.Currency(), rate/amount)
}
