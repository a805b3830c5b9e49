package self

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"bakeoff/analysis"
	"bakeoff/claim"
	"bakeoff/plan"
	"bakeoff/record"
)

// AuditReport audits a written JSON report (report.json, named name) against the
// record that it is of. Every number in it is a claim: cell centres, effects,
// intervals, verdicts, tables, charts, and the figures in its sentences. Each is
// worked out again from the record and must be what is printed, to the last
// digit; a number that nothing in the record gives objects too.
//
// It shares no arithmetic with the analysis that wrote the report: trial values
// come from ledgers, histogram logs and telemetry, and everything above them has
// its own numerics here. The one thing taken over is what the validity gates say
// of single trials: analysis.Observe runs them again. What only analysis.Observe
// observes is taken from there as well.
//
// An error means that the report or the record cannot be read.
func AuditReport(run *record.Run, p *plan.Plan, name string, report []byte) (claim.Audit, error) {
	a, err := newAuditor(run, p)
	if err != nil {
		return claim.Audit{}, err
	}
	return a.audit(name, report)
}

// audit audits one written report of the auditor's record.
func (a *auditor) audit(name string, report []byte) (claim.Audit, error) {
	root, err := readJSON(report)
	if err != nil {
		return claim.Audit{}, fmt.Errorf("%s: %w", name, err)
	}
	if root.str("format") != "bakeoff-report" || root.at("version") == nil || root.at("version").text != "1" || root.at("result") == nil {
		return claim.Audit{}, fmt.Errorf("%s: expected a report that bakeoff wrote: format bakeoff-report, version 1, result", name)
	}
	root.at("format").told, root.at("version").told = true, true
	if root.at("result").is("printed") {
		return claim.Audit{}, fmt.Errorf("%s: it is of printed figures, not of a record: audit their file", name)
	}
	a.report, a.outcomes, a.numbers = root.at("result"), nil, 0
	a.everything()
	root.untold("", a.unfounded)
	a.endUnfounded()
	return claim.Audit{File: name, Title: a.plan.Title, Source: fmt.Sprintf("record %s, %d figures looked at", a.run.Manifest.ID, a.numbers),
		Hash: fmt.Sprintf("sha256:%x", sha256.Sum256(report)), Outcomes: a.outcomes}, nil
}

// auditor holds what the audit of one report finds out.
type auditor struct {
	run    *record.Run
	plan   *plan.Plan
	report *node

	views    map[record.TrialID]*trialView
	observed map[record.TrialID][]record.Observation
	kinds    map[measureKey]record.Observation // the first of a measure: its unit and direction
	facts    *factBook

	gates    map[record.TrialID][]objected // what gates say now
	warnings map[record.TrialID][]objected // with what the record holds
	counted  map[record.TrialID]bool
	lost     string // why no trial counts

	samples, twins *grid
	keys           []measureKey // of the samples
	cells          []cellView
	cellAt         map[string]cellView // by cellName
	wanted         []*expected
	floors         []floor
	searches       []searchView // for peaks, by cell

	disagreed []*sheet // trials that the analysis observes otherwise
	outcomes  []claim.Outcome
	numbers   int
	unfound   *sheet // the figures of one part that nothing gives
	unfoundIn string
}

// newAuditor reads a record and works out what its report must say.
func newAuditor(run *record.Run, p *plan.Plan) (*auditor, error) {
	adopted := *p
	adopted.Seed, adopted.AA = run.Manifest.Seed, p.AA || run.Manifest.AA
	a := &auditor{run: run, plan: &adopted, views: map[record.TrialID]*trialView{},
		observed: map[record.TrialID][]record.Observation{}, cellAt: map[string]cellView{}, kinds: map[measureKey]record.Observation{},
		facts: &factBook{run: run, files: map[string]factSheet{}}}
	warnings, err := a.readTrials()
	if err != nil {
		return nil, err
	}
	if err := a.facts.readAll(); err != nil {
		return nil, err
	}
	a.gather(warnings)
	a.count()
	a.searches = a.workSearches()
	a.addOverall()
	a.samples, a.twins = a.grid(record.RoleMeasure), a.grid(record.RoleAA)
	a.keys = sortedMeasures(a.samples.values)
	a.cells, a.wanted, a.floors = a.workCells(), a.workFindings(), a.workFloors()
	for _, c := range a.cells {
		a.cellAt[cellName(c.key, c.cell.Key())] = c
	}
	return a, nil
}

// readTrials reads every trial, several at a time: reading is most of an audit.
// It returns what the gates on single trials object to.
func (a *auditor) readTrials() ([]record.Warning, error) {
	trials := a.run.Trials
	views, observed, warned := make([]*trialView, len(trials)), make([][]record.Observation, len(trials)), make([][]record.Warning, len(trials))
	faults := make([]error, len(trials))
	var all sync.WaitGroup
	places := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, t := range trials {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			if views[i], faults[i] = viewOf(a.run, a.plan, t); faults[i] == nil {
				observed[i], warned[i], faults[i] = analysis.ObserveTrial(a.run, a.plan, t)
			}
		})
	}
	all.Wait()
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	for i, t := range trials {
		a.views[t.ID], a.observed[t.ID] = views[i], observed[i]
		a.take(views[i])
	}
	return slices.Concat(warned...), nil
}

// observedShare is how far apart a trial's value here and as it was observed may
// be, as a share, beside the noise of its counters.
const observedShare = 1e-9

// take adds to a trial's own values what only the analysis observes, and
// compares the rest.
func (a *auditor) take(v *trialView) {
	s := newSheet("trial "+string(v.ID)+", as observed", nil)
	for _, o := range a.observed[v.ID] {
		key := measureKey{o.Workload, o.Measure}
		if _, known := a.kinds[key]; !known {
			a.kinds[key] = o
		}
		own, derived := v.values[key]
		switch {
		case math.IsNaN(o.Value) || math.IsInf(o.Value, 0):
		case !derived:
			v.values[key] = o.Value
		case math.Abs(own-o.Value) > observedShare*math.Abs(own)+v.noise[key]:
			s.fault("%s is observed as %v, but ledger, histograms and telemetry give %v", o.Measure, o.Value, own)
		default:
			v.values[key] = o.Value
		}
	}
	if len(s.faults) > 0 {
		a.disagreed = append(a.disagreed, s)
	}
}

// add keeps what a sheet found.
func (a *auditor) add(s *sheet) {
	a.numbers += s.numbers
	a.outcomes = append(a.outcomes, s.done())
}

// everything audits the report part by part, in its order.
func (a *auditor) everything() {
	for _, s := range a.disagreed {
		a.add(s)
	}
	a.auditRun()
	a.auditMeasures()
	a.auditCells()
	a.auditFindings()
	a.auditAnswer()
	a.auditNoise()
	a.auditCharts()
	a.auditGates()
	a.auditRunWarnings()
	a.auditTrials()
	a.auditFacts()
	a.auditSettings()
	a.auditServices()
	a.auditMethod()
	a.auditTables()
}

// unfounded notes a figure that no part of the audit has spoken about. Those of
// one object go together.
func (a *auditor) unfounded(path string, n *node) {
	const shown = 8
	in := partOf(path)
	if a.unfound == nil || a.unfoundIn != in {
		a.endUnfounded()
		a.unfound, a.unfoundIn = newSheet(in, n), in
	}
	a.unfound.numbers++
	a.unfound.showText(n.text, "")
	if len(a.unfound.faults) < shown {
		a.unfound.fault("%s: %q is printed, but nothing in the record gives it", path, shortened(n.text))
	}
}

func (a *auditor) endUnfounded() {
	if a.unfound != nil {
		a.add(a.unfound)
		a.unfound = nil
	}
}

// partOf is the path's beginning, up to the first element of a list.
func partOf(path string) string {
	for i := range path {
		if path[i] == ']' {
			return path[:i+1]
		}
	}
	return path
}

// trial finds a trial by its id.
func (a *auditor) trial(id record.TrialID) record.Trial {
	if v := a.views[id]; v != nil {
		return v.Trial
	}
	return record.Trial{}
}

// several says whether the plan has several workloads, so that figures name
// theirs.
func (a *auditor) several() bool { return len(a.plan.Workloads) > 1 }

// workloadName is a workload's name where there are several, else "".
func (a *auditor) workloadName(name string) string {
	if a.several() {
		return name
	}
	return ""
}

// A grid holds the values that count, by measure, block and cell.
type grid struct {
	values map[measureKey]map[int]map[string]gridValue
}

type gridValue struct {
	value float64
	open  float64 // that the printed digits leave open, to either side
	trial record.TrialID
}

// grid gathers the trials of one role that count.
func (a *auditor) grid(role record.Role) *grid {
	g := &grid{values: map[measureKey]map[int]map[string]gridValue{}}
	for _, t := range a.run.Trials {
		if !a.counted[t.ID] || t.Role != role {
			continue
		}
		for key, value := range a.views[t.ID].values {
			if g.values[key] == nil {
				g.values[key] = map[int]map[string]gridValue{}
			}
			if g.values[key][t.Block] == nil {
				g.values[key][t.Block] = map[string]gridValue{}
			}
			if _, taken := g.values[key][t.Block][t.Cell.Key()]; !taken {
				g.values[key][t.Block][t.Cell.Key()] = gridValue{value, a.openOf(t.ID, key), t.ID}
			}
		}
	}
	return g
}

// bareOpen is what the printed digits leave open, or where none were printed the
// last decimal of the value itself; of a whole number, half of one.
func (v gridValue) bareOpen() float64 {
	if v.open > 0 {
		return v.open
	}
	return halfDigit(strconv.FormatFloat(v.value, 'f', -1, 64))
}

// openOf is half a unit of the last digit that a figure was printed with.
func (a *auditor) openOf(id record.TrialID, key measureKey) float64 {
	for _, o := range a.observed[id] {
		if o.Workload == key.workload && o.Measure == key.measure {
			share, _ := openByDigits(o)
			return share * math.Abs(o.Value)
		}
	}
	return 0
}

// blocks lists the blocks in which a measure was observed.
func (g *grid) blocks(key measureKey) []int {
	return slices.Sorted(maps.Keys(g.values[key]))
}

// row is a measure's values in one cell, in block order.
func (g *grid) row(key measureKey, cell string) (values []float64, blocks []int) {
	for _, b := range g.blocks(key) {
		if v, ok := g.values[key][b][cell]; ok {
			values, blocks = append(values, v.value), append(blocks, b)
		}
	}
	return values, blocks
}

// find returns the key under which a measure of a workload stands: its own, or
// that of the hosts.
func (g *grid) find(workload, measure string) (measureKey, bool) {
	for _, key := range []measureKey{{workload, measure}, {"", measure}} {
		if len(g.values[key]) > 0 {
			return key, true
		}
	}
	return measureKey{workload, measure}, false
}

func textsOf[T any](list []T) []string {
	out := make([]string, len(list))
	for i, x := range list {
		out[i] = fmt.Sprint(x)
	}
	return out
}

func truthsOf(values []float64, unit string) []truth {
	out := make([]truth, len(values))
	for i, v := range values {
		out[i] = truth{value: v, unit: unit}
	}
	return out
}

func intTruths(values []int) []truth {
	out := make([]truth, len(values))
	for i, v := range values {
		out[i] = countTruth(v)
	}
	return out
}

// wholeIn is a whole number member of an object.
func wholeIn(n *node, key string) int {
	m := n.at(key)
	if m == nil {
		return 0
	}
	v, _ := strconv.Atoi(m.text)
	return v
}
