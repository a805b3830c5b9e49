package analysis

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"bakeoff/plan"
	"bakeoff/record"
)

func checkSettings(c *trialCheck) sight {
	if len(c.trial.Settings) == 0 {
		return sawNothing("the plan sets nothing")
	}
	var s sight
	for _, a := range c.trial.Settings {
		if found, severity := settingFault(a); found != "" {
			s.objections = append(s.objections, objection{
				subject: a.Host + " " + a.Kind + " " + a.Target, found: found, severity: severity})
		}
	}
	return s
}

// settingFault says how a setting was not in effect, "" where it was.
func settingFault(a record.AppliedSetting) (string, record.Severity) {
	switch {
	case a.ReadBack == nil:
		return "it could not be read back, so nothing shows that it held", record.SeveritySoft
	case settingValue(*a.ReadBack) != settingValue(a.Wanted):
		return fmt.Sprintf("wanted %q, read back %q", a.Wanted, *a.ReadBack), record.SeverityHard
	case a.AtEnd == nil:
		return "it could not be read after the window", record.SeveritySoft
	case settingValue(*a.AtEnd) != settingValue(a.Wanted):
		return fmt.Sprintf("wanted %q, after the window it was %q", a.Wanted, *a.AtEnd), record.SeverityHard
	}
	return "", ""
}

// settingValue takes out what differs between writing a value and reading it:
// white space, and the list in which the kernel marks the chosen one by
// brackets ("none [mq-deadline] kyber").
func settingValue(text string) string {
	fields := strings.Fields(text)
	for _, f := range fields {
		if len(fields) > 1 && strings.HasPrefix(f, "[") && strings.HasSuffix(f, "]") {
			return strings.Trim(f, "[]")
		}
	}
	return strings.Join(fields, " ")
}

func checkServer(c *trialCheck) sight {
	s := sawNothing("no process of a service was watched")
	for _, host := range c.hostNames() {
		sig := c.hosts[host]
		for _, instance := range sig.instances("process.started") {
			if !isService(instance) {
				continue
			}
			grown, ok := sig.counter("process.started", instance, c.window)
			if !ok {
				continue
			}
			s.blind = ""
			if n := math.Round(grown.total); n >= 1 {
				s.objections = append(s.objections, objection{subject: instance + " on " + host, severity: record.SeveritySoft,
					found: fmt.Sprintf("%.0f processes started in the window; what such a process used before it was seen is not in the service's CPU time", n)})
			}
		}
		if killed, ok := sig.counter("mem.oom_kills", "", c.window); ok && math.Round(killed.total) >= 1 {
			s.blind = ""
			s.objections = append(s.objections, objection{subject: host,
				found: fmt.Sprintf("%.0f processes killed for want of memory", killed.total)})
		}
	}
	return s
}

func checkSteal(c *trialCheck) sight {
	s := sawNothing("no CPU times of a host on record")
	for _, host := range c.hostNames() {
		sig := c.hosts[host]
		_, all, ok := sig.cpuBusy(c.window)
		stolen, found := sig.counter("cpu.steal", "", c.window)
		if !ok || !found {
			continue
		}
		s.blind = ""
		share := 100 * stolen.perSecond() * c.window.seconds() / all.total
		if share <= c.limits.steal/5 {
			continue
		}
		severity := record.SeveritySoft
		if share > c.limits.steal {
			severity = record.SeverityHard
		}
		s.objections = append(s.objections, objection{subject: host, severity: severity, found: plain(share) + " % of CPU time"})
	}
	return s
}

func checkThrottle(c *trialCheck) sight {
	s := sawNothing("no throttle counters on record (the processor or hypervisor gives none)")
	for _, host := range c.hostNames() {
		sig := c.hosts[host]
		for _, metric := range []string{"throttle.core", "throttle.package"} {
			n, ok := sig.counters(metric, c.window, func(string) bool { return true })
			if !ok {
				continue
			}
			s.blind = ""
			if math.Round(n.total) >= 1 {
				s.objections = append(s.objections, objection{subject: host,
					found: fmt.Sprintf("%.0f times (%s)", n.total, metric)})
			}
		}
	}
	return s
}

func checkSwap(c *trialCheck) sight {
	s := sawNothing("no swap counters on record")
	for _, host := range c.hostNames() {
		sig := c.hosts[host]
		in, okIn := sig.counter("swap.in", "", c.window)
		out, okOut := sig.counter("swap.out", "", c.window)
		if !okIn || !okOut {
			continue
		}
		s.blind = ""
		total := in.total + out.total
		if total < maxSwapTotal {
			continue
		}
		severity := record.SeveritySoft
		if in.perSecond()+out.perSecond() >= maxSwapRate {
			severity = record.SeverityHard
		}
		s.objections = append(s.objections, objection{subject: host, severity: severity,
			found: quantity(in.total, "B") + " in, " + quantity(out.total, "B") + " out"})
	}
	return s
}

func checkNeighbour(c *trialCheck) sight {
	s := sawNothing("processes of others were not watched")
	for _, host := range c.hostNames() {
		sig := c.hosts[host]
		others, found := sig.counter("neighbour.cpu", "", c.window)
		_, all, ok := sig.cpuBusy(c.window)
		if !found || !ok {
			continue
		}
		s.blind = ""
		share := 100 * others.perSecond() * c.window.seconds() / all.total
		if share <= c.limits.neighbour/5 {
			continue
		}
		o := objection{subject: host, severity: record.SeveritySoft,
			found: fmt.Sprintf("%s %% of the host's CPU time%s", plain(share), busiest(sig, c.window))}
		switch {
		case share <= c.limits.neighbour:
		case c.knowsServers():
			o.severity = record.SeverityHard
		default:
			o.found += "; a server under test may be among them"
		}
		s.objections = append(s.objections, o)
	}
	return s
}

// knowsServers says whether telemetry tells the processes under test from their
// neighbours: those of every service were watched, and no load goes elsewhere.
func (c *trialCheck) knowsServers() bool {
	for _, s := range c.trial.Services {
		sig := c.hosts[c.names[s.Host]]
		if sig == nil || len(sig.rows[signalKey{"process.cpu.user", s.Name}]) == 0 {
			return false
		}
	}
	known := len(c.trial.Services) > 0
	for _, l := range c.trial.Loads {
		if l.Generator.Embedded { // the target is in the generator's own process
			known = true
			continue
		}
		served := slices.ContainsFunc(c.trial.Services, func(s record.Service) bool { return s.Endpoint == l.Target })
		if l.Target != "" && !served {
			return false
		}
	}
	return known
}

// busiest names the three commands that used most.
func busiest(sig *signals, w span) string {
	type user struct {
		name    string
		seconds float64
	}
	var users []user
	for _, name := range sig.instances("neighbour.cpu") {
		if used, ok := sig.counter("neighbour.cpu", name, w); ok && name != "" && used.total > 0 {
			users = append(users, user{name, used.total})
		}
	}
	slices.SortStableFunc(users, func(a, b user) int {
		switch {
		case a.seconds > b.seconds:
			return -1
		case a.seconds < b.seconds:
			return 1
		}
		return 0
	})
	var names []string
	for _, u := range users[:min(3, len(users))] {
		names = append(names, u.name)
	}
	if len(names) == 0 {
		return ""
	}
	return ", most by " + strings.Join(names, ", ")
}

func checkClock(c *trialCheck) sight {
	if len(c.trial.Loads) == 0 {
		return sawNothing("the trial has no load")
	}
	var s sight
	for _, l := range c.trial.Loads {
		ppm := math.Abs(l.Window.ClockErrorPPM)
		if ppm <= maxClockPPM {
			continue
		}
		s.objections = append(s.objections, objection{subject: subjectOf(l),
			severity: severityAbove(ppm, 10*maxClockPPM), found: plain(ppm) + " ppm"})
	}
	return s
}

func checkClockStep(c *trialCheck) sight {
	if len(c.trial.Loads) == 0 {
		return sawNothing("the trial has no load")
	}
	var s sight
	for _, l := range c.trial.Loads {
		step := math.Abs(l.Window.ClockStepSeconds)
		if step <= maxClockStep {
			continue
		}
		s.objections = append(s.objections, objection{subject: l.Host,
			severity: severityAbove(step, 10*maxClockStep), found: quantity(l.Window.ClockStepSeconds, "s")})
	}
	return s
}

func severityAbove(value, hard float64) record.Severity {
	if value > hard {
		return record.SeverityHard
	}
	return record.SeveritySoft
}

func checkTelemetry(c *trialCheck) sight {
	if len(c.hosts) == 0 && len(c.trial.Costs) == 0 {
		return sawNothing("no telemetry was taken")
	}
	var s sight
	costs := c.costs()
	for _, host := range sortedKeys(costs) {
		for _, cost := range costs[host] {
			if cost.Failures > 0 {
				s.objections = append(s.objections, objection{subject: cost.Collector + " on " + host,
					found: fmt.Sprintf("%d of %d collections failed: %s", cost.Failures, cost.Samples+cost.Failures, cost.LastError)})
			}
		}
	}
	for _, host := range c.hostNames() {
		found := uncovered(c.hosts[host], c.window)
		if found != "" {
			s.objections = append(s.objections, objection{subject: host, found: found})
		}
	}
	return s
}

// uncovered names the metrics of the whole host whose samples cover too little
// of the window, "" where none does.
func uncovered(sig *signals, w span) string {
	var names []string
	least := 1.0
	for _, metric := range []string{"cpu.idle", "mem.available"} {
		row := sig.rows[signalKey{metric, ""}]
		if len(row) == 0 {
			continue
		}
		c, ok := sig.gauge(metric, "", w)
		if !ok {
			c.coverage = 0
		}
		if c.coverage < minCoverage {
			names, least = append(names, metric), min(least, c.coverage)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("%s cover %s %% of the window", strings.Join(names, ", "), plain(100*least))
}

// checkNotes passes on what the collectors noticed. What a source of power says
// touches the measures of power alone.
func checkNotes(c *trialCheck) sight {
	if len(c.trial.Costs) == 0 {
		return sawNothing("what the collectors noticed is not on record")
	}
	var s sight
	costs := c.costs()
	for _, host := range sortedKeys(costs) {
		for _, cost := range costs[host] {
			if len(cost.Notes) == 0 {
				continue
			}
			o := objection{subject: cost.Collector + " on " + host, severity: record.SeverityNote, found: strings.Join(cost.Notes, "; ")}
			if cost.Class != "" {
				o.severity, o.measures = record.SeveritySoft, powerMeasures()
			}
			s.objections = append(s.objections, o)
		}
	}
	return s
}

// powerMeasures are those that rest on watts.
func powerMeasures() []string {
	return []string{"power", "energy", "perf_per_watt", plan.OverallMeasure}
}

func checkObserver(c *trialCheck) sight {
	if len(c.trial.Costs) == 0 || c.window.seconds() <= 0 {
		return sawNothing("the cost of the collectors is not on record")
	}
	var s sight
	costs := c.costs()
	for _, host := range sortedKeys(costs) {
		total := 0.0
		for _, cost := range costs[host] {
			total += cost.CPU
		}
		if share := 100 * total / c.window.seconds(); share > maxTelemetryCPU {
			s.objections = append(s.objections, objection{subject: host, found: plain(share) + " % of one core"})
		}
	}
	return s
}
