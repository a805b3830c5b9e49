package load

import (
	"maps"
	"net/url"
	"strconv"
	"strings"
	"time"

	"bakeoff/record"
)

// result puts together what was measured.
func (m *measurement) result() Result {
	c, o := m.job.collector, &m.outcome
	load := record.Load{
		Workload: m.spec.Workload, Part: string(m.spec.Part), Host: m.spec.Host, Instance: m.spec.Instance,
		Engine: m.engine.Name(), Parameters: m.parameters(), Target: withoutPassword(m.spec.Target),
		Ended: "window", DataSet: m.dataset, Server: m.settings, Errors: o.errors.kinds,
	}
	if o.finished {
		load.Ended = "done"
	}
	open, end := m.job.edges.open, o.close
	if o.stuck > 0 || end == forever { // a window that nobody closed
		end = min(m.job.edges.close, m.ending.clock)
	}
	open = min(open, end)
	s := newScale(m.began, m.ending)
	load.Window = m.window(s, open, end)
	load.Ledger = ledger(&o.book, c.window)
	load.Kinds = kindCounts(m.kinds, c.window)
	load.Series = c.lines(s, open, end)
	if !m.shape.Done {
		rates := c.rates(end)
		load.Steady = steadiness(rates)
		load.Tenths = m.tenths(rates)
	}
	load.Generator = m.cost(load.Ledger.Completed, open, end)
	load.Counters = counters(m.opening, m.closing)
	result := Result{Load: load, Logs: map[string][]byte{}}
	m.latencies(&result)
	if source, why := m.clock.Source(); source != SourceTSC {
		m.warn("clock-source", record.SeverityNote, "the measuring clock is "+string(source)+": "+why,
			"the processor's time-stamp counter", "Reading the clock costs some 20 ns more an operation; nothing else changes.")
	}
	return result
}

// scale turns the measuring clock's nanoseconds into seconds of CLOCK_MONOTONIC.
type scale struct{ secondsPerNano, errorPPM, stepSeconds float64 }

func newScale(from, to instant) scale {
	own, mono := float64(to.clock-from.clock), float64(to.mono-from.mono)
	s := scale{secondsPerNano: 1e-9}
	if own > 0 && mono > 0 {
		s.secondsPerNano = mono / own / 1e9
		s.errorPPM = (own/mono - 1) * 1e6
	}
	wall := time.Duration(to.wall.UnixNano() - from.wall.UnixNano())
	s.stepSeconds = (wall - time.Duration(to.mono-from.mono)).Seconds()
	return s
}

func (s scale) seconds(ns int64) float64 { return float64(ns) * s.secondsPerNano }

func (m *measurement) window(s scale, open, end int64) record.Window {
	return record.Window{
		Start: m.wallAt(open), End: m.wallAt(end), Seconds: s.seconds(end - open),
		Warmup: s.seconds(open - m.job.edges.begin), Drain: s.seconds(max(m.ending.clock-end, 0)),
		ClockErrorPPM: s.errorPPM, ClockStepSeconds: s.stepSeconds,
	}
}

// ledger balances the window's operations. The two sides come from different
// counts: what was sent and came back by the workers' books, what ended in the
// window by the intervals.
func ledger(a *account, window []kindInterval) record.Ledger {
	var sum kindInterval
	for i := range window {
		sum.add(&window[i])
	}
	return record.Ledger{
		InFlightOpen: a.overOpen + a.sentBefore - a.backBefore, Offered: a.sentIn,
		Completed: sum.completed, Failed: sum.failed, TimedOut: sum.timedOut, Dropped: sum.dropped,
		InFlightClose: a.overClose + uint64(max(a.out(), 0)), Backlog: a.backlog,
	}
}

// kindCounts lists the kinds that occurred.
func kindCounts(names []string, window []kindInterval) []record.KindCount {
	var out []record.KindCount
	for i, name := range names {
		k := &window[i]
		if k.completed+k.failed+k.timedOut+k.dropped == 0 {
			continue
		}
		out = append(out, record.KindCount{
			Kind: name, Completed: k.completed, Failed: k.failed, TimedOut: k.timedOut, Dropped: k.dropped, Misses: k.misses,
			Items: k.items, BytesIn: k.bytesIn, BytesOut: k.bytesOut,
		})
	}
	return out
}

// lines returns the series, cut at the window's end.
func (c *collector) lines(s scale, open, end int64) []record.Interval {
	var out []record.Interval
	for _, slot := range c.slots() {
		sec := c.series[slot]
		if slot.phase == inWindow {
			sec.end = min(sec.end, end)
		}
		line := sec.interval
		line.Offset, line.Seconds = s.seconds(sec.start-open), s.seconds(sec.end-sec.start)
		idle := line.Completed+line.Failed+line.TimedOut == 0
		if line.Seconds <= 0 || idle && slot.phase == draining {
			continue
		}
		out = append(out, line)
	}
	return out
}

// rates returns the completions in equal parts of the window.
func (c *collector) rates(end int64) []float64 {
	length := c.edges.slice / parts
	var out []float64
	for _, slot := range c.slots() {
		if slot.phase != inWindow {
			continue
		}
		sec := c.series[slot]
		for i, n := range sec.parts {
			if sec.start+int64(i+1)*length <= end {
				out = append(out, float64(n))
			}
		}
	}
	return out
}

func (m *measurement) cost(completed uint64, open, end int64) record.GeneratorCost {
	c, cpu := m.job.collector, m.outcome.cpu
	lag := c.lag.Clone()
	lag.Merge(&c.rest) // what was never sent lagged at least until the close
	g := record.GeneratorCost{
		UserSeconds: cpu.user.Seconds(), SystemSeconds: cpu.system.Seconds(),
		CPUPerMillion: perMillion(cpu, completed), BusyFraction: m.outcome.busiest,
		Workers: m.shape.Workers, NullNanosPerOp: m.null, Backend: m.shape.Backend, Embedded: m.shape.Embedded, Shared: m.shape.Contract == Blocking,
		Stalls:       &record.Stalls{TickMax: m.ticks.longest, TickTotal: m.ticks.total, WorkerMax: m.outcome.late.longest, WorkerTotal: m.outcome.late.total},
		PacingLagP50: lag.Quantile(0.5), PacingLagP99: lag.Quantile(0.99), PacingLagMax: lag.Max(),
	}
	if m.job.schedule != nil && end > open {
		g.TargetRate = meanRate(m.job.schedule.Steps, open-m.job.edges.begin, end-m.job.edges.begin)
	}
	return g
}

// tenths are the completions in each tenth of the window, from those in its fine
// parts; nil where there are too few of these.
func (m *measurement) tenths(counts []float64) []record.Tenth {
	n := len(counts)
	if n < parts {
		return nil
	}
	warmup, length := m.job.edges.open-m.job.edges.begin, m.job.edges.slice/parts
	out := make([]record.Tenth, parts)
	for i := range out {
		from, to := i*n/parts, (i+1)*n/parts
		out[i].Seconds = time.Duration(int64(to-from) * length).Seconds()
		for _, c := range counts[from:to] {
			out[i].Completed += uint64(c)
		}
		if m.job.schedule != nil {
			out[i].Due = out[i].Seconds * meanRate(m.job.schedule.Steps, warmup+int64(from)*length, warmup+int64(to)*length)
		}
	}
	return out
}

// meanRate is the mean of a schedule's rate between two times.
func meanRate(steps []RateStep, from, to int64) float64 {
	p, err := newProfile(steps)
	if err != nil { // it paced the load a moment ago
		return 0
	}
	return (p.total(to) - p.total(from)) / time.Duration(to-from).Seconds()
}

// counters pairs the snapshots at both edges by name.
func counters(opening, closing []Count) []record.Counter {
	at := map[string]float64{}
	for _, c := range closing {
		at[c.Name] = c.Value
	}
	var out []record.Counter
	for _, c := range opening {
		if v, ok := at[c.Name]; ok {
			out = append(out, record.Counter{Name: c.Name, Unit: c.Unit, Open: c.Value, Close: v})
		}
	}
	return out
}

// latencies names the logs and adds them to the result. A load of one kind has
// one log for the kind and for all.
func (m *measurement) latencies(result *Result) {
	c := m.job.collector
	counts := result.Load.Kinds
	for _, t := range c.logs.types {
		censored := c.censored(t)
		all := m.latency(result, allKinds, t.name, censored)
		for i, kind := range m.kinds {
			switch {
			case all == nil, t.of(&interval{kinds: c.window}, i) == nil:
			case len(counts) == 1 && counts[0].Kind == kind && c.rest.Count() == 0:
				same := *all
				same.Kind = kind
				result.Load.Latencies = append(result.Load.Latencies, same)
			default:
				m.latency(result, kind, t.name, c.window[i].censored)
			}
		}
	}
}

// censored counts the operations of all kinds whose times are only bounds: the
// timed out, and in a response time those that were never sent.
func (c *collector) censored(t latencyType) (n uint64) {
	if t.name == "lag" {
		return 0
	}
	for i := range c.window {
		n += c.window[i].censored
	}
	if t.name == "response" {
		n += c.rest.Count()
	}
	return n
}

// latency adds one log; nil where it is empty.
func (m *measurement) latency(result *Result, kind, timing string, censored uint64) *record.Latency {
	log := m.job.collector.logs.get(kind, timing)
	if log == nil || log.total.Count() == 0 {
		return nil
	}
	file := m.job.collector.logs.file(kind, timing)
	result.Logs[file] = log.Bytes()
	l := record.Latency{Kind: kind, Type: timing, File: file, Censored: censored, Overflow: log.total.Overflow()}
	result.Load.Latencies = append(result.Load.Latencies, l)
	return &l
}

// parameters is every value that acted: the driver's and the engine's own.
func (m *measurement) parameters() map[string]string {
	c := m.spec.Common
	out := map[string]string{
		"workers": strconv.Itoa(m.shape.Workers), "in_flight": strconv.Itoa(m.shape.InFlight),
		"op_timeout": c.OpTimeout.String(), "drain": c.DrainTime.String(),
	}
	times := map[string]time.Duration{"warmup": c.Warmup, "window": c.Window, "quantum": c.Quantum}
	if m.shape.Done {
		times = map[string]time.Duration{"deadline": c.Deadline, "quantum": c.Quantum}
	}
	for key, d := range times {
		if d > 0 {
			out[key] = d.String()
		}
	}
	if s := m.job.schedule; s != nil {
		arrival := s.Arrival
		if arrival == "" {
			arrival = Constant
		}
		out["rate"], out["arrival"] = rateText(s.Steps), string(arrival)
		if c.MaxBurst > 0 {
			out["max_burst"] = strconv.Itoa(c.MaxBurst)
		}
	}
	if len(c.CPUs) > 0 && m.shape.Contract == Batched {
		var cpus []string
		for _, cpu := range c.CPUs {
			cpus = append(cpus, strconv.Itoa(cpu))
		}
		out["cpus"] = strings.Join(cpus, ",")
	}
	maps.Copy(out, m.params)
	return out
}

// rateText writes a rate, or the steps of one.
func rateText(steps []RateStep) string {
	var out []string
	for _, s := range steps {
		text := strconv.FormatFloat(s.From, 'f', -1, 64)
		if s.To != s.From {
			text += "-" + strconv.FormatFloat(s.To, 'f', -1, 64)
		}
		if s.Duration > 0 {
			text += " for " + s.Duration.String()
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// withoutPassword returns a target's address as it may be recorded.
func withoutPassword(target string) string {
	u, err := url.Parse(target)
	if err != nil || u.User == nil {
		return target
	}
	return u.Redacted()
}
