package analysis

import (
	"errors"
	"fmt"
	"slices"

	"bakeoff/plan"
	"bakeoff/record"
)

// Analyse computes everything that a report prints of one run. It reads the
// record and nothing else: the same record gives the same result anywhere.
func Analyse(run *record.Run, p *plan.Plan, o Options) (*Result, error) {
	a, err := newAnalyst(run, p, o)
	if err != nil {
		return nil, err
	}
	if err := a.shape(); err != nil {
		return nil, err
	}
	return a.result(), nil
}

// newAnalyst reads a run and decides which of its trials count.
func newAnalyst(run *record.Run, p *plan.Plan, o Options) (*analyst, error) {
	a := &analyst{run: run, plan: adopt(run, p), options: o, objections: map[record.TrialID][]judged{}, looked: map[string]*look{}}
	if err := a.read(); err != nil {
		return nil, err
	}
	if err := a.count(); err != nil {
		return nil, err
	}
	for _, o := range overall(a.plan, a.measured(record.RoleMeasure)) {
		a.obs[o.Trial] = append(a.obs[o.Trial], o)
	}
	return a, nil
}

// adopt returns the plan with what the run itself decided: the seed, which of a
// redacted plan cannot be told from its hash, and whether the baseline is run
// against itself.
func adopt(run *record.Run, p *plan.Plan) *plan.Plan {
	adopted := *p
	adopted.Seed = run.Manifest.Seed
	adopted.AA = p.AA || run.Manifest.AA
	return &adopted
}

// analyst holds what is found out about one run, step by step.
type analyst struct {
	run     *record.Run
	plan    *plan.Plan
	options Options

	obs        map[record.TrialID][]record.Observation
	objections map[record.TrialID][]judged // by trial, in the gates' order
	looked     map[string]*look
	facts      *factBook
	ledger     *ledgerBook               // of meters, interfaces and disks
	strains    map[record.TrialID]strain // of the trials of a peak search
	searches   []plan.Search
	shapes     *shapeBook // of the trials that count, for the charts

	counted map[record.TrialID]bool
	reasons map[record.TrialID]string // why a trial does not count
	lost    string                    // why no trial could be told to count, "" where it could
	differ  []FactDiff
}

// look is what a gate looked at over the whole run.
type look struct {
	checked, objected int
	blind             string
}

// saw notes a gate's look at one trial or finding.
func (a *analyst) saw(gate string, objected bool, blind string) {
	l := a.looked[gate]
	if l == nil {
		l = &look{}
		a.looked[gate] = l
	}
	if blind != "" {
		l.blind = blind
		return
	}
	l.checked++
	if objected {
		l.objected++
	}
}

// read takes in every trial, one after the other.
func (a *analyst) read() error {
	a.obs = map[record.TrialID][]record.Observation{}
	a.facts, a.ledger, a.strains = newFactBook(a.run), newLedgerBook(a.run), map[record.TrialID]strain{}
	for _, t := range a.run.Trials {
		d, err := loadTrial(a.run, a.plan, t)
		if err != nil {
			return err
		}
		a.obs[t.ID] = d.observe()
		if err := errors.Join(a.facts.add(t), a.ledger.add(d)); err != nil {
			return err
		}
		a.inspect(d)
		if t.Role == record.RoleSearch {
			a.strains[t.ID] = d.strain(a.ledger.flows[t.ID])
		}
	}
	a.checkDataSets()
	a.checkChanges()
	return nil
}

// inspect runs the gates on one trial.
func (a *analyst) inspect(d *trialData) {
	if len(d.trial.Loads) == 0 {
		return // failed or interrupted: nothing to look at
	}
	check := &trialCheck{trial: d.trial, hosts: d.machines, names: d.names, limits: limitsOf(a.plan.Limits), window: d.window}
	for _, g := range gates() {
		if g.trial == nil {
			continue
		}
		a.noteSight(g, d.trial, g.trial(check))
	}
	a.noteSight(gateNamed(gateCores), d.trial, a.checkCores(d))
	a.noteSight(gateNamed(gateGeneratorNIC), d.trial, a.checkGeneratorNIC(d))
	a.noteSight(gateNamed(gatePower), d.trial, checkPower(d))
	a.noteSight(gateNamed(gateDigits), d.trial, checkDigits(d, a.obs[d.trial.ID]))
}

func (a *analyst) noteSight(g gate, t record.Trial, s sight) {
	if t.Role != record.RoleSearch { // the validity page is of what may be judged
		a.saw(g.name, len(s.objections) > 0, s.blind)
	}
	for _, o := range s.objections {
		a.objections[t.ID] = append(a.objections[t.ID], g.warn(o, limitsOf(a.plan.Limits), t))
	}
}

// heard are all objections to a trial: what the gates say now, and what the run
// recorded beside that, such as a verification that failed.
func (a *analyst) heard(t record.Trial) []judged {
	out := slices.Clone(a.objections[t.ID])
	for _, w := range t.Warnings {
		known := slices.ContainsFunc(out, func(j judged) bool { return j.Gate == w.Gate && j.Subject == w.Subject })
		if !known {
			out = append(out, judged{Warning: w})
		}
	}
	return out
}

// warnings are a trial's as they are printed beside it.
func (a *analyst) warnings(t record.Trial) []record.Warning {
	var out []record.Warning
	for _, j := range a.heard(t) {
		w := j.Warning
		if len(j.measures) > 0 && w.Severity == record.SeverityHard {
			w.Severity = record.SeveritySoft // hard only for findings on these measures
		}
		out = append(out, w)
	}
	return out
}

// count decides which trials stand behind the verdicts: those that the plan
// counts, without those that a hard gate objects to now.
func (a *analyst) count() error {
	a.counted, a.reasons = map[record.TrialID]bool{}, map[record.TrialID]string{}
	outcomes := a.outcomes()
	counted, err := plan.Counted(a.plan, outcomes)
	var givenUp *plan.GivenUpError
	switch {
	case errors.As(err, &givenUp):
		a.lost = givenUp.Error()
	case err != nil:
		return fmt.Errorf("run %s: matching its trials with its plan: %w", a.run.Manifest.ID, err)
	}
	if a.searches, err = plan.Searches(a.plan, outcomes); givenUp == nil && err != nil {
		return err
	}
	for _, t := range a.run.Trials {
		a.reasons[t.ID] = a.whyNot(t, counted[t.ID])
		a.counted[t.ID] = a.reasons[t.ID] == ""
	}
	return nil
}

// whyNot says why a trial does not count, "" where it does.
func (a *analyst) whyNot(t record.Trial, counted bool) string {
	if t.Status != record.StatusComplete {
		if t.Reason != "" {
			return t.Reason
		}
		return "it is " + string(t.Status)
	}
	for _, w := range a.warnings(t) {
		if w.Severity == record.SeverityHard {
			return fmt.Sprintf("%s: %s", gateNamed(w.Gate).title, w.Found)
		}
	}
	if t.Role == record.RoleSearch {
		return "it looked for the peak of its cell, at a load of " + t.At + ": such trials are never judged"
	}
	if !counted {
		if a.lost != "" {
			return "the run was given up: " + a.lost
		}
		return fmt.Sprintf("block %d was measured again, since another trial of attempt %d was spoiled", t.Block, t.Attempt)
	}
	return ""
}

// outcomes are the trials as plan.Next sees them.
func (a *analyst) outcomes() []plan.Outcome {
	was := map[record.TrialID]record.Status{}
	for _, x := range a.run.Exclusions {
		if _, known := was[x.Trial]; !known {
			was[x.Trial] = x.Was
		}
	}
	out := make([]plan.Outcome, 0, len(a.run.Trials))
	for _, t := range a.run.Trials {
		o := plan.Outcome{
			Trial: planTrial(t), Status: t.Status, Reason: t.Reason, Values: Values(a.plan, a.obs[t.ID]),
		}
		if t.Status == record.StatusExcluded {
			o.Excluded, o.Status = true, was[t.ID]
		}
		out = append(out, o)
	}
	return out
}

// measured are the observations that count, of one role.
func (a *analyst) measured(role record.Role) []record.Observation {
	var out []record.Observation
	for _, t := range a.run.Trials {
		if a.counted[t.ID] && t.Role == role {
			out = append(out, a.obs[t.ID]...)
		}
	}
	return out
}

// trial finds a trial by its ID.
func (a *analyst) trial(id record.TrialID) record.Trial {
	i := slices.IndexFunc(a.run.Trials, func(t record.Trial) bool { return t.ID == id })
	if i < 0 {
		return record.Trial{}
	}
	return a.run.Trials[i]
}

// result puts the report together.
func (a *analyst) result() *Result {
	obs := a.measured(record.RoleMeasure)
	s := newSamples(obs)
	a.differ = a.differs()
	r := &Result{
		Title: a.plan.Title, Question: a.plan.Question, Run: a.runInfo(),
		Measures: a.measures(s), Cells: cellSummaries(a.plan, s),
		Shared: a.facts.shared(), Differs: a.differ, Settings: a.settingRows(), Services: a.serviceRows(),
		Method: a.method(), Commands: a.commands(),
	}
	r.Findings = a.findings(obs)
	r.Noise = a.noiseFloor(s)
	a.checkRun(r, s)
	r.Trials = a.trialRows()
	r.Gates = a.gateResults()
	tables, charts := economics(a.plan, obs, a.ledger)
	found, curves := a.peakParts(s)
	kinds, stacks := a.kindParts(s)
	r.Charts = slices.Concat(a.charts(r, s), stacks, curves, charts)
	r.Tables = slices.Concat(a.ladderTables(r, s), found, a.scaling(r), a.work(r), kinds, tables, a.tables())
	r.Answer = Answer(r)
	if climbs := a.climbs(r.Findings); len(climbs) > 0 {
		r.Answer = ladderAnswer(climbs)
	}
	stabilise(r)
	return r
}
