package self

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"bakeoff/plan"
	"bakeoff/record"
	"bakeoff/unit"
	"bakeoff/unit/limit"
)

// sourcesView is every source of power that was read, by cell and class.
func (a *auditor) sourcesView() (t tableView) {
	type key struct{ machine, name, class string }
	for _, cell := range a.plan.Cells() {
		var order []key
		all, used := map[key][]source{}, map[key]bool{}
		for _, v := range a.trialsIn(cell.Key()) {
			under := v.underTest()
			for _, machine := range slices.Sorted(maps.Keys(v.watch.machines)) {
				chosen, has := v.powerOf(machine)
				for _, s := range v.powerSources(machine) {
					k := key{machine, s.name, s.class}
					if all[k] == nil {
						order = append(order, k)
					}
					all[k] = append(all[k], s)
					used[k] = used[k] || has && s.name == chosen.name && slices.Contains(under, machine)
				}
			}
		}
		for _, k := range order {
			t.row(sourceColumns(cell, k.machine, all[k], used[k])...)
		}
	}
	return t
}

func sourceColumns(cell record.Cell, machine string, all []source, used bool) []column {
	first, least := all[0], 1.0
	watts := make([]float64, len(all))
	for i, s := range all {
		watts[i], least = s.watts, min(least, s.coverage)
	}
	stands := "no"
	if used {
		stands = "yes"
	}
	columns := []column{textIn("cell", shortCell(cell)), textIn("machine", machine), textIn("source", first.name), textIn("class", cmp.Or(first.class, "not stated")),
		figuresIn("power (W)", saysNumber("the power", plainTruth(meanOf(watts)))), figuresIn("trials", saysNumber("the trials", countTruth(len(all)))),
		figuresIn("between readings (s)", saysNumber("the cadence", plainTruth(first.cadence))),
		figuresIn("least coverage of a window", saysNumber("the coverage", percentTruth(least))), textIn("stands for the machine", stands)}
	if first.uncertainty != nil {
		columns = append(columns, figuresIn("stated uncertainty", saysNumber("the uncertainty", truth{value: *first.uncertainty, unit: "%"})))
	}
	return columns
}

// A passage is what passed one device in one direction in one trial.
type passage struct {
	host, device, direction, how string
	bits                         float64 // a second
	bounds                       []boundView
}

// A boundView is one physical limit of a device.
type boundView struct {
	name string
	bits float64 // a second
}

// limitsView is the share of the limit that binds each device.
func (a *auditor) limitsView() (t tableView) {
	for _, cell := range a.plan.Cells() {
		var order []string
		all := map[string][]passage{}
		for _, v := range a.trialsIn(cell.Key()) {
			for _, p := range a.passages(v) {
				key := strings.Join([]string{p.host, p.device, p.direction}, "\x00")
				if all[key] == nil {
					order = append(order, key)
				}
				all[key] = append(all[key], p)
			}
		}
		for _, key := range order {
			t.row(passageColumns(cell, all[key])...)
		}
	}
	return t
}

func passageColumns(cell record.Cell, all []passage) []column {
	rates := make([]float64, len(all))
	for i, p := range all {
		rates[i] = p.bits
	}
	first, mean := all[0], meanOf(rates)
	binds := slices.MinFunc(first.bounds, func(x, y boundView) int { return cmp.Compare(x.bits, y.bits) })
	var others []piece
	for _, b := range first.bounds {
		if b != binds {
			others = append(append(others, saysWords(b.name)...), saysNumber("the share", percentTruth(mean/b.bits)))
		}
	}
	return []column{textIn("cell", shortCell(cell)), textIn("host", first.host), textIn("device", first.device), textIn("direction", first.direction),
		figuresIn("rate (Gbit/s)", saysNumber("the rate", plainTruth(mean/1e9))), figuresIn("share of the limit", saysNumber("the share", percentTruth(mean/binds.bits))),
		figuresIn("limit that binds", saysWords(binds.name)...), figuresIn("other limits", others...), textIn("rate is of", first.how),
		figuresIn("trials", saysNumber("the trials", countTruth(len(all))))}
}

// passages are what passed the devices whose limits the facts tell.
func (a *auditor) passages(v *trialView) (out []passage) {
	facts := map[string]record.Facts{}
	for host, file := range v.FactsBefore {
		f, err := a.run.Facts(file)
		if err == nil {
			facts[host] = f
		}
	}
	for _, machine := range slices.Sorted(maps.Keys(v.watch.machines)) {
		first, _, _ := strings.Cut(machine, ", ")
		f, ok := facts[first]
		if !ok {
			continue
		}
		for _, nic := range f.NICs {
			out = append(out, v.nicPassages(machine, nic)...)
		}
		for _, disk := range f.Disks {
			out = append(out, v.diskPassages(machine, disk)...)
		}
	}
	for _, host := range slices.Sorted(maps.Keys(facts)) {
		if declared := facts[host].Declared; len(declared) > 0 {
			out = append(out, v.declaredPassages(host, declared)...)
		}
	}
	return out
}

// nicPassages are an interface's two directions, with what a frame takes on the
// wire beside the bytes counted: FCS 4, preamble 8, gap 12 (IEEE 802.3).
func (v *trialView) nicPassages(machine string, nic record.NIC) (out []passage) {
	var bounds []boundView
	if nic.BitsPerSecond != nil {
		bounds = append(bounds, boundView{"link of " + unit.FormatSI(float64(*nic.BitsPerSecond), "bit/s", 3), float64(*nic.BitsPerSecond)})
	}
	bounds = append(bounds, slotLimit(nic.PCIe, "")...)
	if len(bounds) == 0 || nic.Kind != "device" {
		return nil
	}
	for metric, direction := range map[string]string{"nic.rx": "received", "nic.tx": "sent"} {
		bytes, ok := v.watch.machines[machine].counter(metric+".bytes", nic.Name, v.watch.span)
		if !ok || bytes.coverage < 0.9 || bytes.total <= 0 {
			continue
		}
		p := passage{machine, nic.Name, direction, "bytes of frames", 8 * bytes.rate, bounds}
		if packets, ok := v.watch.machines[machine].counter(metric+".packets", nic.Name, v.watch.span); ok && packets.coverage >= 0.9 {
			p.bits, p.how = p.bits+8*24*packets.rate, "on the wire"
		}
		out = append(out, p)
	}
	slices.SortFunc(out, func(x, y passage) int { return cmp.Compare(x.direction, y.direction) })
	return out
}

func slotLimit(p *record.PCIe, of string) []boundView {
	if p == nil || p.GTs == nil || p.Width == nil {
		return nil
	}
	l, err := limit.PCIeAt(*p.GTs, *p.Width)
	if err != nil {
		return nil
	}
	return []boundView{{fmt.Sprintf("%s%s, %s effective", of, l, unit.FormatSI(l.Effective(), "bit/s", 3)), l.Effective()}}
}

// diskPassages are a disk's reads and writes against its slot, or that of its
// controller.
func (v *trialView) diskPassages(machine string, disk record.Disk) (out []passage) {
	of := "controller's "
	if strings.HasPrefix(disk.Driver, "nvme") {
		of = ""
	}
	bounds := slotLimit(disk.PCIe, of)
	if len(bounds) == 0 {
		return nil
	}
	for _, d := range [][2]string{{"disk.read.bytes", "read"}, {"disk.write.bytes", "written"}} {
		f, ok := v.watch.machines[machine].counter(d[0], disk.Name, v.watch.span)
		if ok && f.coverage >= 0.9 && f.total > 0 {
			out = append(out, passage{machine, disk.Name, d[1], "bytes of the device", 8 * f.rate, bounds})
		}
	}
	return out
}

// declaredPassages are what the loads moved to and from a host without an agent,
// against the limits that its facts declare.
func (v *trialView) declaredPassages(host string, declared map[string]string) (out []passage) {
	var bounds []boundView
	if bits, err := unit.ParseRate(declared["link"]); err == nil {
		bounds = append(bounds, boundView{"declared link of " + unit.FormatSI(bits, "bit/s", 3), bits})
	}
	var l limit.PCIeLink
	if _, err := fmt.Sscanf(declared["pcie"], "%d x%d", &l.Generation, &l.Lanes); err == nil && l.Check() == nil {
		bounds = append(bounds, boundView{fmt.Sprintf("declared %s, %s effective", l, unit.FormatSI(l.Effective(), "bit/s", 3)), l.Effective()})
	}
	if b, err := limit.FindBus(declared["drive"]); err == nil && declared["drive"] != "" {
		bounds = append(bounds, boundView{"declared " + b.Name + ", " + unit.FormatSI(b.Data, "B/s", 3), 8 * b.Data})
	}
	if len(bounds) == 0 {
		return nil
	}
	in, written := 0.0, 0.0
	for _, s := range v.Services {
		for _, w := range v.workloads() {
			if s.Host != host || v.serviceOf(w) != s.Name {
				continue
			}
			for _, load := range v.sources(w) {
				for _, k := range load.Kinds {
					in, written = in+float64(k.BytesIn)/load.Window.Seconds, written+float64(k.BytesOut)/load.Window.Seconds
				}
			}
		}
	}
	for _, p := range []passage{{direction: "read by the load", bits: 8 * in}, {direction: "written by the load", bits: 8 * written}} {
		if p.bits > 0 {
			out = append(out, passage{host, "declared", p.direction, "data of the operations, without headers", p.bits, bounds})
		}
	}
	return out
}

// rungs lists the cells that differ from one in the share of the peak alone,
// falling.
func (a *auditor) rungs(cell record.Cell) (out []record.Cell) {
	for _, c := range a.plan.Cells() {
		if without(c, plan.GradedFactor).Key() == without(cell, plan.GradedFactor).Key() {
			out = append(out, c)
		}
	}
	return out
}

// addOverall forms a graded plan's figure over all levels, in each block: the sum
// of the work over the sum of the watts. It stands in the trial at the peak.
func (a *auditor) addOverall() {
	if a.plan.Graded == nil || a.plan.Together && a.several() {
		return
	}
	samples := a.grid(record.RoleMeasure)
	for _, t := range a.run.Trials {
		share, graded := a.plan.Share(t.Cell)
		if !graded || share.Cmp(big.NewRat(1, 1)) != 0 || !a.counted[t.ID] || t.Role != record.RoleMeasure {
			continue
		}
		for _, w := range a.views[t.ID].workloads() {
			a.addOverallOf(samples, a.views[t.ID], w)
		}
	}
}

func (a *auditor) addOverallOf(samples *grid, v *trialView, workload string) {
	if _, ok := v.values[measureKey{workload, "throughput"}]; !ok {
		return
	}
	work, watts := 0.0, 0.0
	for _, cell := range a.rungs(v.Cell) {
		x, okX := samples.values[measureKey{workload, "throughput"}][v.Block][cell.Key()]
		y, okY := samples.values[measureKey{"", "power"}][v.Block][cell.Key()]
		if !okX || !okY {
			return
		}
		work, watts = work+x.value, watts+y.value
	}
	if watts > 0 {
		key := measureKey{workload, plan.OverallMeasure}
		v.values[key] = work / watts
		a.kinds[key] = record.Observation{Workload: workload, Measure: key.measure, Unit: "ops/J", Better: record.HigherIsBetter}
	}
}

// gradedView is the levels of each system of a graded plan, and over all of them.
func (a *auditor) gradedView() (t tableView) {
	for _, cell := range a.plan.Cells() {
		if share, graded := a.plan.Share(cell); !graded || share.Cmp(big.NewRat(1, 1)) != 0 {
			continue
		}
		for _, peak := range a.systemsIn(cell) {
			a.gradedRows(&t, peak)
		}
	}
	return t
}

func (a *auditor) gradedRows(t *tableView, peak systemView) {
	name := textIn("system", shortCell(without(peak.cell, plan.GradedFactor)))
	for _, s := range a.gradesOf(peak) {
		level, _ := s.cell.Level(plan.GradedFactor)
		columns := []column{name, textIn("target load", level)}
		if s.work != nil {
			columns = append(columns, figuresIn("work (ops/s)", s.work.says("the work")), figuresIn("blocks", saysNumber("the blocks", countTruth(s.work.trials))))
		}
		if s.watts != nil {
			columns = append(columns, figuresIn("power (W)", s.watts.says("the power")), s.watts.column("interval (W)", "the power"))
		}
		if s.perWatt != nil {
			columns = append(columns, figuresIn("work per joule (ops/J)", s.perWatt.says("the work per joule")), s.perWatt.column("interval (ops/J)", "the work per joule"))
		}
		t.row(columns...)
	}
	if all := a.overallOf(peak); all != nil {
		t.row(name, textIn("target load", "all levels"), figuresIn("work per joule (ops/J)", all.says("the work per joule")),
			all.column("interval (ops/J)", "the work per joule"), figuresIn("blocks", saysNumber("the blocks", countTruth(all.trials))))
	}
}

// gradesOf are a system's levels, falling.
func (a *auditor) gradesOf(peak systemView) (out []systemView) {
	for _, cell := range a.rungs(peak.cell) {
		for _, s := range a.systemsIn(cell) {
			if s.workload == peak.workload {
				out = append(out, s)
			}
		}
	}
	return out
}

// overallOf is a system's figure over all levels.
func (a *auditor) overallOf(peak systemView) *estimate {
	workload := peak.workload
	if workload == "" && len(a.plan.Workloads) > 0 {
		workload = a.plan.Workloads[0].Name
	}
	all := estimateOf(a.samples.byBlock(measureKey{workload, plan.OverallMeasure}, peak.cell.Key()), a.plan.Money.Confidence)
	if share := a.meterShare(peak.cell.Key()); all != nil && share != nil {
		return all.widened(share)
	}
	return all
}

// gradedChart audits power, or work per joule, over the levels from idle to peak.
func (a *auditor) gradedChart(s *sheet, n *node, base string, of func(systemView) *estimate) {
	s.units(n, "%", base)
	list := n.at("series").list()
	var words [][]piece
	i := 0
	for _, cell := range a.plan.Cells() {
		if share, graded := a.plan.Share(cell); !graded || share.Cmp(big.NewRat(1, 1)) != 0 {
			continue
		}
		for _, peak := range a.systemsIn(cell) {
			grades := slices.DeleteFunc(a.gradesOf(peak), func(g systemView) bool { return of(g) == nil })
			if len(grades) == 0 {
				continue
			}
			slices.Reverse(grades)
			name := shortCell(without(peak.cell, plan.GradedFactor))
			if i < len(list) {
				words = append(words, saysWords(name), a.gradedSeries(s, list[i], name, grades, base, of))
			}
			i++
		}
	}
	if i != len(list) {
		s.fault("it has %d series; the record gives %d", len(list), i)
	}
	s.speaks(n.at("caption"), "caption", saysWords("idle is 0")...)
	s.parts(n.at("alt"), "the text alternative", words...)
}

func (a *auditor) gradedSeries(s *sheet, n *node, name string, grades []systemView, base string, of func(systemView) *estimate) (words []piece) {
	var labels []string
	var xs, ys, lows, highs []truth
	for _, g := range grades {
		level, _ := g.cell.Level(plan.GradedFactor)
		share, _ := a.plan.Share(g.cell)
		point, low, high := of(g).truths(base)
		labels, xs, ys = append(labels, level), append(xs, plainTruth(100*floatOf(share))), append(ys, point)
		lows, highs = append(lows, low), append(highs, high)
		words = append(append(words, saysWords(level)...), saysNumber("the value", point))
	}
	s.same(n.at("name"), "name", name)
	s.names(n.at("labels"), "labels", labels)
	s.series(n.at("x"), "x", xs)
	s.series(n.at("y"), "y", ys)
	s.series(n.at("low"), "low", lows)
	s.series(n.at("high"), "high", highs)
	return words
}

// meterPieces say where the watts come from: each source in use, how often it
// reads and what it states of its uncertainty.
func (a *auditor) meterPieces() (out []piece) {
	for _, cell := range a.plan.Cells() {
		for _, v := range a.trialsIn(cell.Key()) {
			for _, machine := range v.underTest() {
				s, ok := v.powerOf(machine)
				if !ok {
					continue
				}
				out = append(append(out, saysWords(machine, s.name)...), saysNumber("the cadence", truth{value: s.cadence, unit: "s"}))
				if s.uncertainty != nil {
					out = append(out, saysNumber("the uncertainty", truth{value: *s.uncertainty, unit: "%"}))
				}
			}
		}
	}
	return out
}
