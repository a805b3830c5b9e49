package self

import (
	"maps"
	"math/big"
	"slices"

	"bakeoff/plan"
	"bakeoff/record"
	"bakeoff/unit"
)

// underTest are the machines whose figures are judged: those of the services,
// or where there are none those of the loads.
func (v *trialView) underTest() []string {
	var hosts []string
	for _, s := range v.Services {
		hosts = append(hosts, s.Host)
	}
	if len(hosts) == 0 {
		for _, l := range v.Loads {
			hosts = append(hosts, l.Host)
		}
	}
	var out []string
	for _, h := range hosts {
		if m, ok := v.watch.machineOf[h]; ok && !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	slices.Sort(out)
	return out
}

// measureHosts works out the measures of the machines from telemetry over the
// window alone.
func (v *trialView) measureHosts() {
	machines := v.underTest()
	put := func(measure string, value float64) { v.values[measureKey{"", measure}] = value }
	v.hostProcessors(machines, put)
	for _, w := range v.workloads() {
		v.serviceProcessors(w)
	}
	for measure, metric := range map[string]string{"nic_rx": "nic.rx.bytes", "nic_tx": "nic.tx.bytes",
		"disk_read": "disk.read.bytes", "disk_write": "disk.write.bytes"} {
		total, noise, found, whole := 0.0, 0.0, false, true
		for _, m := range machines {
			if len(v.watch.machines[m].instances(metric)) == 0 {
				continue // a machine without such a device
			}
			f, ok := v.watch.machines[m].counters(metric, v.watch.span, everyInstance)
			total, noise = total+f.rate, noise+f.noise
			found, whole = true, whole && ok && f.coverage >= 0.9
		}
		if found && whole {
			put(measure, total)
			v.noise[measureKey{"", measure}] = noise
		}
	}
	for _, direction := range []string{"read", "write"} {
		v.diskLatency(machines, direction)
	}
	v.cpuWork()
	if watts, ok := v.power(machines); ok {
		put("power", watts)
		put("energy", watts*v.watch.span.seconds())
		v.perUnit("perf_per_watt", watts)
	}
	if price, ok := v.price(); ok {
		amount, _ := price.Amount().Float64()
		v.perUnit("perf_per_price", amount)
	}
}

// diskLatency gives the time that disks took for an operation of one direction.
func (v *trialView) diskLatency(machines []string, direction string) {
	sum := map[string]float64{}
	for _, metric := range []string{"disk." + direction + ".time", "disk." + direction + ".ops"} {
		for _, m := range machines {
			if len(v.watch.machines[m].instances(metric)) == 0 {
				continue
			}
			f, ok := v.watch.machines[m].counters(metric, v.watch.span, everyInstance)
			if !ok || f.coverage < 0.9 {
				return
			}
			sum[metric] += f.rate
			v.noise[measureKey{"", "disk_" + direction + "_latency"}] += f.noise
		}
	}
	ops := sum["disk."+direction+".ops"]
	if _, told := sum["disk."+direction+".time"]; told && ops > 0 {
		key := measureKey{"", "disk_" + direction + "_latency"}
		v.values[key] = sum["disk."+direction+".time"] / ops
		v.noise[key] *= (1 + v.values[key]) / ops
	}
}

// cpuWork gives the work for each percent of the machines' CPU time.
func (v *trialView) cpuWork() {
	key := measureKey{"", "total.throughput"}
	if names := v.workloads(); len(names) == 1 {
		key = measureKey{names[0], "throughput"}
		if v.ownThroughput(names[0]) {
			return
		}
	}
	work, done := v.values[key]
	if busy := v.values[measureKey{"", "host_cpu"}]; done && busy > 0 {
		v.values[measureKey{key.workload, "work_per_cpu_percent"}] = work / (100 * busy)
	}
}

// perUnit gives throughput per watt or price, of a trial with one workload.
func (v *trialView) perUnit(measure string, by float64) {
	if names := v.workloads(); len(names) == 1 {
		if rate, ok := v.values[measureKey{names[0], "throughput"}]; ok && !v.ownThroughput(names[0]) {
			v.values[measureKey{names[0], measure}] = rate / by
		}
	}
}

// ownThroughput says whether the engine gives a throughput in a unit of its own.
func (v *trialView) ownThroughput(workload string) bool {
	return slices.ContainsFunc(v.sources(workload), func(l record.Load) bool {
		return slices.ContainsFunc(l.Figures, func(f record.Figure) bool { return f.Name == "throughput" && f.Unit != "ops/s" })
	})
}

func (v *trialView) hostProcessors(machines []string, put func(string, float64)) {
	used, whole := 0.0, 0.0
	for _, m := range machines {
		busy, all, coverage, ok := v.watch.machines[m].processors(v.watch.span)
		if !ok || coverage < 0.9 {
			return
		}
		used, whole = used+busy, whole+all
	}
	if whole > 0 {
		put("host_cpu", used/whole)
	}
}

// serviceProcessors is the CPU time of a workload's service for its work.
func (v *trialView) serviceProcessors(workload string) {
	service := v.serviceOf(workload)
	if service == "" {
		return
	}
	seconds := 0.0
	for _, s := range v.Services {
		t := v.watch.machines[v.watch.machineOf[s.Host]]
		if s.Name != service || t == nil {
			continue
		}
		user, okUser := t.counter("process.cpu.user", service, v.watch.span)
		system, okSystem := t.counter("process.cpu.system", service, v.watch.span)
		if okUser && okSystem && min(user.coverage, system.coverage) >= 0.9 {
			seconds += user.rate + system.rate
		}
	}
	rate := 0.0
	for _, w := range v.workloads() {
		if v.serviceOf(w) != service {
			continue
		}
		for _, l := range v.sources(w) {
			rate += float64(l.Ledger.Completed) / l.Window.Seconds
		}
	}
	if seconds > 0 && rate > 0 {
		v.values[measureKey{workload, "sut_cpu"}] = 1e6 * seconds / rate
		v.values[measureKey{workload, "cpu_efficiency"}] = rate / seconds
	}
}

// serviceOf names the service that a workload works on, "" for none.
func (v *trialView) serviceOf(workload string) string {
	for _, w := range v.resolved.Workloads {
		if w.Name == workload {
			return w.Service
		}
	}
	return ""
}

// power adds the power of the machines; false where one has no usable source.
func (v *trialView) power(machines []string) (watts float64, ok bool) {
	for _, m := range machines {
		s, usable := v.powerOf(m)
		if !usable {
			return 0, false
		}
		watts += s.watts
	}
	return watts, watts > 0
}

// powerOf is the outermost source of a machine's power that covers the window.
func (v *trialView) powerOf(machine string) (source, bool) {
	for _, s := range v.powerSources(machine) {
		if s.usable(v.watch.span.seconds()) {
			return s, true
		}
	}
	return source{}, false
}

// price is that of the hosts of the services, each once; false where one has
// none.
func (v *trialView) price() (unit.Money, bool) {
	prices := map[string]unit.Money{}
	for _, s := range v.Services {
		i := slices.IndexFunc(v.resolved.Hosts, func(h plan.Host) bool { return h.Name == s.Host })
		if i < 0 {
			return unit.Money{}, false
		}
		m, err := unit.ParseMoney(v.resolved.Hosts[i].Price)
		if err != nil {
			return unit.Money{}, false
		}
		prices[s.Host] = m
	}
	var sum unit.Money
	for _, host := range slices.Sorted(maps.Keys(prices)) {
		if sum.IsZero() {
			sum = prices[host]
			continue
		}
		var err error
		if sum, err = sum.Add(prices[host]); err != nil {
			return unit.Money{}, false
		}
	}
	return sum, !sum.IsZero() && sum.Amount().Cmp(new(big.Rat)) > 0
}
