package analysis

import (
	"fmt"
	"slices"

	"bakeoff/plan"
	"bakeoff/record"
)

// A gate is one validity check with its stated threshold.
type gate struct {
	name      string
	title     string
	severity  record.Severity // the worst it can say
	threshold func(limits) string
	advice    string
	// trial looks at one trial; nil for the gates on a whole run or a finding.
	trial func(*trialCheck) sight
	// blind says why a gate cannot look at all, "" where it can.
	blind string
}

// sight is what a gate saw in one trial.
type sight struct {
	objections []objection
	blind      string // why it could not look; "" where it did
}

// objection is one thing that a gate found.
type objection struct {
	subject  string
	found    string
	severity record.Severity // "" is the gate's
	// measures lists the measures that it touches, as Observation.Measure
	// names them; empty for all. A hard objection to some measures makes
	// findings on them invalid, and leaves the trial as it is.
	measures []string
	workload string // "" for all
	// stateless says that the trial's value is that of no one state. It is for
	// the findings to weigh: see unsettled.
	stateless bool
}

// trialCheck is one trial with what its gates need.
type trialCheck struct {
	trial  record.Trial
	hosts  map[string]*signals // by machine, as machines names it
	names  map[string]string   // a host's name -> its machine's
	limits limits
	window span
}

func newTrialCheck(t record.Trial, readings map[string][]record.Reading, l plan.Limits) *trialCheck {
	c := &trialCheck{trial: t, limits: limitsOf(l), window: windowOf(t)}
	c.hosts, c.names = machines(t, readings)
	return c
}

// costs are what the collectors of each machine cost, each machine once.
func (c *trialCheck) costs() map[string][]record.CollectorCost {
	out := map[string][]record.CollectorCost{}
	for _, host := range sortedKeys(c.trial.Costs) {
		machine, known := c.names[host]
		if !known {
			machine = host
		}
		if out[machine] == nil {
			out[machine] = c.trial.Costs[host]
		}
	}
	return out
}

// windowOf is the stretch of time in which all of a trial's loads were measured.
func windowOf(t record.Trial) span {
	var w span
	for i, l := range t.Loads {
		from, to := l.Window.Start.UnixNano(), l.Window.End.UnixNano()
		if i == 0 {
			w = span{from, to}
			continue
		}
		w = span{max(w.from, from), min(w.to, to)}
	}
	return w
}

// hostNames lists the machines that have telemetry, in order.
func (c *trialCheck) hostNames() []string { return sortedKeys(c.hosts) }

// judged is an objection with the gate that raised it.
type judged struct {
	record.Warning
	measures  []string
	workload  string
	stateless bool
}

// warn makes the warning that travels with the numbers.
func (g gate) warn(o objection, l limits, t record.Trial) judged {
	severity := o.severity
	if severity == "" {
		severity = g.severity
	}
	return judged{
		Warning: record.Warning{
			Gate: g.name, Severity: severity, Subject: o.subject, Found: o.found,
			Threshold: g.threshold(l), Advice: g.advice, Trial: t.ID, Cell: t.Cell.Key(),
		},
		measures: o.measures, workload: o.workload, stateless: o.stateless,
	}
}

// CheckTrial runs every gate that looks at one trial alone and returns what
// they object to. Readings are the trial's, by host. A hard warning means that
// the trial is invalid and its block is to be repeated. What makes only some
// measures unusable is soft here and hard in the findings on them.
func CheckTrial(t record.Trial, readings map[string][]record.Reading, l plan.Limits) []record.Warning {
	check := newTrialCheck(t, readings, l)
	var out []record.Warning
	for _, g := range gates() {
		if g.trial == nil {
			continue
		}
		for _, o := range g.trial(check).objections {
			w := g.warn(o, check.limits, t).Warning
			if len(o.measures) > 0 && w.Severity == record.SeverityHard {
				w.Severity = record.SeveritySoft
			}
			out = append(out, w)
		}
	}
	return out
}

// sawNothing says that a gate could not look.
func sawNothing(format string, args ...any) sight { return sight{blind: fmt.Sprintf(format, args...)} }

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
