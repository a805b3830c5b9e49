package analysis

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"bakeoff/plan"
	"bakeoff/record"
)

// checkCores looks for cores that both the generator and a server may use.
func (a *analyst) checkCores(d *trialData) sight {
	s := sawNothing("no service runs on a generator's host")
	for _, service := range d.trial.Services {
		for _, l := range d.trial.Loads {
			if !d.sameMachine(service.Host, l.Host) {
				continue
			}
			s.blind = ""
			mine := generatorCPUs(d, l)
			switch {
			case service.CPUs == "" || mine == "":
				s.objections = append(s.objections, objection{subject: service.Name + " and " + subjectOf(l),
					found: fmt.Sprintf("the service may use %s, the generator %s", coresText(service.CPUs), coresText(mine))})
			case overlap(service.CPUs, mine) != "":
				s.objections = append(s.objections, objection{subject: service.Name + " and " + subjectOf(l),
					found: "both may use " + coresText(overlap(service.CPUs, mine))})
			}
		}
	}
	return s
}

// sameMachine says whether two names of hosts are one machine.
func (d *trialData) sameMachine(a, b string) bool {
	return a == b || d.names[a] != "" && d.names[a] == d.names[b]
}

// generatorCPUs are the cores that a load's workers may use, "" for all.
func generatorCPUs(d *trialData, l record.Load) string {
	if cpus := l.Parameters["cpus"]; cpus != "" {
		return cpus
	}
	i := slices.IndexFunc(d.resolved.Hosts, func(h plan.Host) bool { return h.Name == l.Host })
	if i < 0 {
		return ""
	}
	return d.resolved.Hosts[i].CPUs
}

func coresText(cpus string) string {
	if cpus == "" {
		return "all cores"
	}
	return "cores " + cpus
}

// overlap lists the cores in both lists, as "0,2".
func overlap(a, b string) string {
	other := cores(b)
	var both []string
	for _, c := range cores(a) {
		if slices.Contains(other, c) {
			both = append(both, strconv.Itoa(c))
		}
	}
	return strings.Join(both, ",")
}

// cores reads a list such as "0-3,8". What is not one has no cores.
func cores(list string) []int {
	var out []int
	for part := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(part), "-")
		first, err := strconv.Atoi(from)
		if err != nil {
			continue
		}
		last := first
		if isRange {
			if last, err = strconv.Atoi(to); err != nil || last-first > 1<<16 {
				continue
			}
		}
		for c := first; c <= last; c++ {
			out = append(out, c)
		}
	}
	return out
}

// checkGeneratorNIC compares the flow through a generator's interfaces with the
// rate of their links.
func (a *analyst) checkGeneratorNIC(d *trialData) sight {
	s := sawNothing("the generator runs on the machine under test, or its links' rates are not known")
	under := d.sutMachines()
	for _, l := range d.trial.Loads {
		machine := d.names[l.Host]
		if machine == "" || slices.Contains(under, machine) {
			continue
		}
		for _, direction := range []string{"nic.rx.bytes", "nic.tx.bytes"} {
			for _, nic := range d.machines[machine].instances(direction) {
				link, err := strconv.ParseFloat(a.facts.before[d.trial.ID][l.Host].values["nics."+nic+".bits_per_second"], 64)
				c, ok := d.machines[machine].counter(direction, nic, d.window)
				if err != nil || link <= 0 || !ok {
					continue
				}
				s.blind = ""
				if share := 100 * 8 * c.perSecond() / link; share > maxNICShare {
					s.objections = append(s.objections, objection{subject: nic + " on " + l.Host,
						found: fmt.Sprintf("%s %% of %s (%s)", plain(share), quantity(link, "bit/s"), direction)})
				}
			}
		}
	}
	return s
}

// checkPower says why there is no figure of power, or that there is one.
func checkPower(d *trialData) sight {
	s := sawNothing("no source of power was read")
	for _, machine := range d.sutMachines() {
		for _, m := range d.meters(machine) {
			s.blind = ""
			if !m.usable(d.window.seconds()) {
				s.objections = append(s.objections, objection{subject: m.name + " on " + machine, found: fmt.Sprintf(
					"one reading in %s, %s %% of a window of %s", quantity(m.seconds, "s"), plain(100*m.coverage), quantity(d.window.seconds(), "s"))})
			}
		}
	}
	return s
}

// checkDigits looks at figures that were read from text.
func checkDigits(d *trialData, obs []record.Observation) sight {
	s := sawNothing("no figure was read from text")
	for _, o := range obs {
		half, ok := printedHalfWidth(o)
		if !ok || o.Value == 0 {
			continue
		}
		s.blind = ""
		if share := half / math.Abs(o.Value); share > maxDigitShare {
			s.objections = append(s.objections, objection{subject: o.Measure, measures: []string{o.Measure}, workload: o.Workload,
				found: fmt.Sprintf("%q leaves ± %s %% open", o.Text, plain(100*share))})
		}
	}
	return s
}

// printedHalfWidth is half a unit of the last digit that was printed.
func printedHalfWidth(o record.Observation) (float64, bool) {
	if o.HalfWidth != nil {
		return *o.HalfWidth, true
	}
	digits := strings.TrimLeft(strings.ReplaceAll(strings.TrimSpace(o.Text), ",", ""), "+-")
	printed, err := strconv.ParseFloat(digits, 64)
	if err != nil || printed == 0 || strings.ContainsAny(digits, "xXpPeEnN") {
		return 0, false
	}
	_, fraction, _ := strings.Cut(digits, ".")
	// The figure may have been scaled since, as from ms to s.
	return 0.5 * math.Pow(10, -float64(len(fraction))) * math.Abs(o.Value) / printed, true
}
