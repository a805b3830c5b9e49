package analysis

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strconv"

	"bakeoff/plan"
	"bakeoff/record"
	"bakeoff/unit"
)

// ledgerBook holds, for every trial, what economy and limits need beside the
// observations: the sources of power, and what passed each interface and disk.
type ledgerBook struct {
	run    *record.Run
	facts  map[string]record.Facts // by file
	meters map[record.TrialID][]hostMeter
	flows  map[record.TrialID][]flow
}

// hostMeter is one source of power of one machine in one trial.
type hostMeter struct {
	meter
	machine string
	under   bool // the machine is under test
	used    bool // it stands for its machine's power
}

func newLedgerBook(run *record.Run) *ledgerBook {
	return &ledgerBook{run: run, facts: map[string]record.Facts{}, meters: map[record.TrialID][]hostMeter{}, flows: map[record.TrialID][]flow{}}
}

// add takes in one trial.
func (b *ledgerBook) add(d *trialData) error {
	under := d.sutMachines()
	for _, machine := range sortedKeys(d.machines) {
		chosen, has := d.meterOf(machine)
		for _, m := range d.meters(machine) {
			isUnder := slices.Contains(under, machine)
			b.meters[d.trial.ID] = append(b.meters[d.trial.ID], hostMeter{m, machine, isUnder, isUnder && has && m.name == chosen.name})
		}
	}
	facts := map[string]record.Facts{}
	for _, host := range sortedKeys(d.trial.FactsBefore) {
		f, err := b.sheet(d.trial.FactsBefore[host])
		if err != nil {
			return err
		}
		facts[host] = f
	}
	b.flows[d.trial.ID] = d.flows(facts)
	return nil
}

// loadTelemetry reads one trial without its histograms.
func loadTelemetry(run *record.Run, p *plan.Plan, t record.Trial) (*trialData, error) {
	d := &trialData{trial: t, window: windowOf(t), costs: t.Costs}
	if r, err := p.ResolveTrial(planTrial(t)); err == nil {
		d.resolved = r
	}
	readings, err := readAll(run, t)
	if err != nil {
		return nil, err
	}
	d.machines, d.names = machines(t, readings)
	return d, nil
}

func (b *ledgerBook) sheet(file string) (record.Facts, error) {
	if f, known := b.facts[file]; known {
		return f, nil
	}
	f, err := b.run.Facts(file)
	if err == nil {
		b.facts[file] = f
	}
	return f, err
}

// economyKey names one measure in one cell.
type economyKey struct{ cell, workload, measure string }

// economist makes an Economy of what a run measured.
type economist struct {
	plan   *plan.Plan
	book   *ledgerBook
	values map[economyKey]map[int]float64 // by block
	units  map[economyKey]string
	trials map[string][]record.TrialID // by cell
}

func newEconomist(p *plan.Plan, obs []record.Observation, book *ledgerBook) *economist {
	x := &economist{plan: p, book: book, values: map[economyKey]map[int]float64{}, units: map[economyKey]string{}, trials: map[string][]record.TrialID{}}
	for _, o := range obs {
		key := economyKey{o.Cell.Key(), o.Workload, o.Measure}
		if x.values[key] == nil {
			x.values[key] = map[int]float64{}
		}
		x.values[key][o.Block], x.units[key] = o.Value, o.Unit
		if !slices.Contains(x.trials[key.cell], o.Trial) {
			x.trials[key.cell] = append(x.trials[key.cell], o.Trial)
		}
	}
	return x
}

// economy describes every system that was measured, at the peak of a graded plan.
func (x *economist) economy() *Economy {
	p := x.plan
	e := &Economy{Money: p.Money, SystemFactors: p.SystemFactors()}
	for _, l := range p.Baseline() {
		if slices.Contains(e.SystemFactors, l.Factor) {
			e.Baseline = append(e.Baseline, l)
		}
	}
	for _, cell := range p.Cells() {
		if share, graded := p.Share(cell); graded && share.Cmp(big.NewRat(1, 1)) != 0 {
			continue
		}
		e.Systems = append(e.Systems, x.systems(cell)...)
	}
	e.Notes = x.meterNotes()
	return e
}

// systems describes what was under test in a cell, once for each workload that
// ran there; workloads that run together do one work.
func (x *economist) systems(cell record.Cell) []System {
	resolved, err := x.plan.Resolve(cell)
	if err != nil || len(x.trials[cell.Key()]) == 0 {
		return nil
	}
	var groups [][]plan.Workload
	if x.plan.Together {
		groups = append(groups, resolved.Workloads)
	} else {
		for _, w := range resolved.Workloads {
			groups = append(groups, []plan.Workload{w})
		}
	}
	var out []System
	for _, g := range groups {
		s := System{Cell: cell}
		if len(x.plan.Workloads) > 1 && !x.plan.Together {
			s.Workload = g[0].Name
		}
		x.work(&s, g)
		x.power(&s)
		x.prices(&s, resolved)
		out = append(out, s)
	}
	return out
}

// work is the throughput of the workloads, added up where they run together and
// are of one kind; or the first primary measure of which more is better.
func (x *economist) work(s *System, workloads []plan.Workload) {
	measure := x.workMeasure(s.Cell, workloads[0].Name)
	if measure == "" {
		return
	}
	key := economyKey{s.Cell.Key(), workloads[0].Name, measure}
	s.WorkName, s.WorkUnit = describe(measure, x.units[key]).title, x.units[key]
	total := map[int]float64{}
	for block, v := range x.values[key] {
		total[block] = v
	}
	for _, w := range workloads[1:] {
		other := x.values[economyKey{key.cell, w.Name, measure}]
		for block := range total {
			v, ok := other[block]
			if !ok || w.Engine != workloads[0].Engine {
				delete(total, block)
				continue
			}
			total[block] += v
		}
	}
	s.Work = amountOf(total, x.plan.Money.Confidence)
	if len(workloads) == 1 {
		s.CPU = amountOf(x.values[economyKey{key.cell, workloads[0].Name, "cpu_efficiency"}], x.plan.Money.Confidence)
	}
}

func (x *economist) workMeasure(cell record.Cell, workload string) string {
	names := []string{"throughput"}
	for _, m := range x.plan.Primary {
		if m.Better == record.HigherIsBetter && m.Measure != plan.OverallMeasure {
			names = append(names, m.Measure)
		}
	}
	for _, name := range names {
		if len(x.values[economyKey{cell.Key(), workload, name}]) > 0 {
			return name
		}
	}
	return ""
}

// power is that of the hosts under test. What the meter states of its
// uncertainty does not shrink with the trials: it widens the interval whole.
func (x *economist) power(s *System) {
	cell := s.Cell.Key()
	watts := x.values[economyKey{cell, "", "power"}]
	s.Watts = amountOf(watts, x.plan.Money.Confidence)
	s.Joules = amountOf(x.values[economyKey{cell, "", "energy"}], x.plan.Money.Confidence)
	if s.Watts == nil {
		return
	}
	if s.Work != nil {
		ratios := map[int]float64{}
		for block, v := range s.Work.Blocks {
			if w, ok := watts[block]; ok && w > 0 {
				ratios[block] = v / w
			}
		}
		s.PerWatt = amountOf(ratios, x.plan.Money.Confidence)
	}
	share := x.uncertainty(cell)
	for _, a := range []*Amount{s.Watts, s.Joules, s.PerWatt} {
		if a != nil && share != nil {
			a.Estimate = a.Widened(share)
		}
	}
}

// uncertainty is the largest that the meters in use state in a cell, as a share;
// nil where they state none.
func (x *economist) uncertainty(cell string) *big.Rat {
	var most *big.Rat
	for _, t := range x.trials[cell] {
		for _, m := range x.book.meters[t] {
			if !m.used || m.uncertainty == nil {
				continue
			}
			if share := exactly(*m.uncertainty / 100); most == nil || share.Cmp(most) > 0 {
				most = share
			}
		}
	}
	return most
}

// prices adds up what the hosts under test cost; one without a price leaves it
// unknown.
func (x *economist) prices(s *System, r plan.Resolved) {
	hosts := hostsUnderTest(r)
	s.Hosts = len(hosts)
	price, support := new(big.Rat), new(big.Rat)
	priced, supported := len(hosts) > 0, len(hosts) > 0
	for _, h := range hosts {
		if m, err := unit.ParseMoney(h.Price); err == nil {
			price.Add(price, m.Amount())
		} else {
			priced = false
		}
		switch m, err := unit.ParseMoney(h.Support); {
		case err == nil:
			support.Add(support, m.Amount())
		case x.plan.Money.Support != nil:
			support.Add(support, x.plan.Money.Support)
		default:
			supported = false
		}
	}
	if priced {
		s.Price = price
	}
	if supported {
		s.Support = support
	}
}

// hostsUnderTest are the hosts of the services, or where there are none those of
// the loads.
func hostsUnderTest(r plan.Resolved) []plan.Host {
	var names []string
	for _, s := range r.Services {
		names = addOnce(names, s.Host)
	}
	if len(names) == 0 {
		for _, w := range r.Workloads {
			names = addOnce(names, cmp.Or(w.Sink, w.Source))
		}
	}
	var out []plan.Host
	for _, h := range r.Hosts {
		if slices.Contains(names, h.Name) {
			out = append(out, h)
		}
	}
	return out
}

// meterNotes says where the watts in use come from, each source once.
func (x *economist) meterNotes() []string {
	var notes []string
	seen := map[sourceKey]bool{}
	for _, cell := range x.plan.Cells() {
		for _, t := range x.trials[cell.Key()] {
			for _, m := range x.book.meters[t] {
				k := sourceKey{m.machine, m.name, m.class}
				if m.used && !seen[k] {
					seen[k] = true
					notes = append(notes, m.note())
				}
			}
		}
	}
	return notes
}

func (m hostMeter) note() string {
	text := fmt.Sprintf("Power of %s: %s, class %s, a reading every %s s", m.machine, m.name, cmp.Or(m.class, "not stated"), strconv.FormatFloat(m.seconds, 'g', 2, 64))
	if m.uncertainty != nil {
		return text + fmt.Sprintf(", uncertainty ± %s %%, which repetition does not reduce.", plain(*m.uncertainty))
	}
	return text + "; it states no uncertainty, so that the intervals hold only the scatter."
}

// sourcesTable is every source of power that was read, by class: they see the
// same watts at different places, and are never added.
func (x *economist) sourcesTable() Table {
	l := newLayout("energy-sources", "Watts by class of source", "Mean over the windows of the trials that count. Sources of one machine see the same power at different places, from the wall inwards, and are never added: "+
		"the outermost one that covers the window stands for the machine.").
		text("cell", "machine", "source", "class").numbers("power (W)", "trials", "between readings (s)", "least coverage of a window", "stated uncertainty").text("stands for the machine")
	for _, cell := range x.plan.Cells() {
		for _, r := range x.sources(cell) {
			l.row(append([]string{shortName(cell)}, r...)...)
		}
	}
	return l.finish()
}

// sourceKey names one source of power.
type sourceKey struct{ machine, name, class string }

func (x *economist) sources(cell record.Cell) [][]string {
	var order []sourceKey
	all := map[sourceKey][]hostMeter{}
	for _, t := range x.trials[cell.Key()] {
		for _, m := range x.book.meters[t] {
			k := sourceKey{m.machine, m.name, m.class}
			if all[k] == nil {
				order = append(order, k)
			}
			all[k] = append(all[k], m)
		}
	}
	var out [][]string
	for _, k := range order {
		sum, least, used := 0.0, 1.0, "no"
		for _, m := range all[k] {
			sum += m.watts
			least = min(least, m.coverage)
			if m.used {
				used = "yes"
			}
		}
		first, n := all[k][0], len(all[k])
		off := ""
		if first.uncertainty != nil {
			off = "± " + plain(*first.uncertainty) + " %"
		}
		out = append(out, []string{k.machine, k.name, cmp.Or(k.class, "not stated"), plain4(sum / float64(n)), fmt.Sprint(n), strconv.FormatFloat(first.seconds, 'g', 2, 64), plain(100*least) + " %", off, used})
	}
	return out
}
