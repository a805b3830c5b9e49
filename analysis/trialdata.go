package analysis

import (
	"fmt"
	"slices"
	"strings"

	"bakeoff/hist"
	"bakeoff/plan"
	"bakeoff/record"
)

// trialData is one trial with everything that analysis reads of it.
type trialData struct {
	trial    record.Trial
	resolved plan.Resolved // of its cell; zero where the plan cannot say
	// machines are the telemetry, each machine once under all the names that
	// the plan gives it.
	machines map[string]*signals
	names    map[string]string // a host's name -> its machine's
	costs    map[string][]record.CollectorCost
	window   span
	hists    map[histKey]*hist.Histogram
}

type histKey struct{ workload, kind, timing string }

// loadTrial reads one trial's telemetry and histograms.
func loadTrial(run *record.Run, p *plan.Plan, t record.Trial) (*trialData, error) {
	d := &trialData{trial: t, window: windowOf(t), hists: map[histKey]*hist.Histogram{}, costs: t.Costs}
	if r, err := p.ResolveTrial(planTrial(t)); err == nil {
		d.resolved = r
	}
	readings, err := readAll(run, t)
	if err != nil {
		return nil, err
	}
	d.machines, d.names = machines(t, readings)
	for _, w := range d.workloads() {
		for _, l := range d.sources(w) {
			for _, lat := range l.Latencies {
				if err := d.addLog(run, l, lat); err != nil {
					return nil, err
				}
			}
		}
	}
	return d, nil
}

// planTrial is a trial as the plan knows it.
func planTrial(t record.Trial) plan.Trial {
	return plan.Trial{ID: t.ID, Role: t.Role, Block: t.Block, Attempt: t.Attempt, Cell: t.Cell, At: t.At, Seed: t.Seed}
}

// readAll reads the telemetry of every host, each file once.
func readAll(run *record.Run, t record.Trial) (map[string][]record.Reading, error) {
	out, seen := map[string][]record.Reading{}, map[string][]record.Reading{}
	for _, host := range sortedKeys(t.Readings) {
		rows, known := seen[t.Readings[host]]
		if !known {
			var err error
			if rows, err = run.Readings(t.ID, host); err != nil {
				return nil, err
			}
			seen[t.Readings[host]] = rows
		}
		out[host] = rows
	}
	return out, nil
}

// machines groups hosts that are one machine: several names of a plan may stand
// for one, and then share their telemetry. The machine is called by all of them.
func machines(t record.Trial, readings map[string][]record.Reading) (map[string]*signals, map[string]string) {
	var groups [][]string
	for _, host := range sortedKeys(readings) {
		i := slices.IndexFunc(groups, func(g []string) bool { return sameReadings(t, g[0], host, readings) })
		if i < 0 {
			groups = append(groups, []string{host})
			continue
		}
		groups[i] = append(groups[i], host)
	}
	byMachine, names := map[string]*signals{}, map[string]string{}
	for _, g := range groups {
		machine := strings.Join(g, ", ")
		byMachine[machine] = newSignals(readings[g[0]])
		for _, host := range g {
			names[host] = machine
		}
	}
	return byMachine, names
}

// sameReadings says whether two hosts share their telemetry: its file, or while
// the trial is being judged the rows themselves.
func sameReadings(t record.Trial, a, b string, readings map[string][]record.Reading) bool {
	fileA, fileB := t.Readings[a], t.Readings[b]
	if fileA != "" && fileB != "" {
		return fileA == fileB
	}
	rowsA, rowsB := readings[a], readings[b]
	return len(rowsA) > 0 && len(rowsA) == len(rowsB) && &rowsA[0] == &rowsB[0]
}

// addLog merges one interval log into the histogram of its workload.
func (d *trialData) addLog(run *record.Run, l record.Load, lat record.Latency) error {
	f, err := run.Log(d.trial.ID, lat.File)
	if err != nil {
		return err
	}
	defer f.Close()
	intervals, err := hist.ReadLog(f)
	if err != nil {
		return fmt.Errorf("trial %s: histogram log %s: %w", d.trial.ID, lat.File, err)
	}
	key := histKey{l.Workload, lat.Kind, lat.Type}
	if d.hists[key] == nil {
		d.hists[key] = hist.New()
	}
	total := hist.New()
	for _, i := range intervals {
		total.Merge(i.Hist)
	}
	if total.Count() == 0 {
		return fmt.Errorf("trial %s: histogram log %s holds no operation, though the trial has some: the record is damaged, bakeoff verify says where", d.trial.ID, lat.File)
	}
	d.hists[key].Merge(total)
	return nil
}

// workloads lists the trial's workloads in the order of their loads.
func (d *trialData) workloads() []string { return workloadsOf(d.trial) }

func workloadsOf(t record.Trial) []string {
	var names []string
	for _, l := range t.Loads {
		if !slices.Contains(names, l.Workload) {
			names = append(names, l.Workload)
		}
	}
	return names
}

// sources are the loads that make a workload's operations: its sources, or all
// of its parts where it has none.
func (d *trialData) sources(workload string) []record.Load { return sourcesOf(d.trial, workload) }

func sourcesOf(t record.Trial, workload string) []record.Load {
	var all, sources []record.Load
	for _, l := range t.Loads {
		if l.Workload != workload {
			continue
		}
		all = append(all, l)
		if l.Part == sourcePart || l.Part == "" {
			sources = append(sources, l)
		}
	}
	if len(sources) > 0 {
		return sources
	}
	return all
}

// sutMachines are the machines whose figures are judged: those of the services,
// or where there are none those of the loads.
func (d *trialData) sutMachines() []string {
	var hosts []string
	for _, s := range d.trial.Services {
		hosts = append(hosts, s.Host)
	}
	if len(hosts) == 0 {
		for _, l := range d.trial.Loads {
			hosts = append(hosts, l.Host)
		}
	}
	var out []string
	for _, h := range hosts {
		if m, ok := d.names[h]; ok && !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	slices.Sort(out)
	return out
}

// serviceOf names the service that a workload works on, "" where the plan names none.
func (d *trialData) serviceOf(workload string) string {
	for _, w := range d.resolved.Workloads {
		if w.Name == workload {
			return w.Service
		}
	}
	return ""
}

// sharing lists the workloads that work on the same service.
func (d *trialData) sharing(service string) []string {
	var out []string
	for _, w := range d.workloads() {
		if d.serviceOf(w) == service {
			out = append(out, w)
		}
	}
	return out
}
