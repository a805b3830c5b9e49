package self

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"bakeoff/analysis"
	"bakeoff/plan"
	"bakeoff/record"
)

// auditRun audits what identifies the record.
func (a *auditor) auditRun() {
	n, m := a.report.at("run"), a.run.Manifest
	for _, text := range [][2]string{{"title", a.plan.Title}, {"question", a.plan.Question}} {
		s := newSheet("the "+text[0], a.report.at(text[0]))
		s.same(a.report.at(text[0]), text[0], text[1])
		a.add(s)
	}
	s := newSheet("the run", n)
	s.same(n.at("id"), "id", m.ID)
	s.same(n.at("root_hash"), "root_hash", a.run.RootHash)
	s.same(n.at("plan_hash"), "plan_hash", m.PlanHash)
	s.same(n.at("build"), "build", m.Build)
	ended, blocks := m.Created.UTC().AddDate(-9999, 0, 0), map[int]bool{}
	for i, t := range a.run.Trials {
		if end := t.Ended.UTC(); i == 0 || end.After(ended) {
			ended = end
		}
		if a.counted[t.ID] && t.Role == record.RoleMeasure {
			blocks[t.Block] = true
		}
	}
	s.same(n.at("started"), "started", m.Created.UTC().Format("2006-01-02T15:04:05.999999999Z07:00"))
	if len(a.run.Trials) > 0 {
		s.same(n.at("ended"), "ended", ended.Format("2006-01-02T15:04:05.999999999Z07:00"))
	} else {
		s.same(n.at("ended"), "ended", "0001-01-01T00:00:00Z")
	}
	s.count(n.at("blocks"), "blocks", len(blocks))
	s.flag(n.at("complete"), "complete", a.run.Complete)
	s.flag(n.at("post_hoc"), "post_hoc", m.PostHocOf != "")
	s.speaks(n.at("replicated"), "replicated", a.hardNames()...)
	hosts := make([]string, len(a.plan.Hosts))
	for i, h := range a.plan.Hosts {
		hosts[i] = h.Name
	}
	if n.at("hosts") != nil {
		s.names(n.at("hosts"), "hosts", hosts)
	}
	a.add(s)
}

// auditMeasures audits the margins, and the names and units of what was
// measured, and that nothing is left out.
func (a *auditor) auditMeasures() {
	seen := map[measureKey]bool{}
	for _, n := range a.report.at("measures").list() {
		if key, known := a.printedKey(n, "name"); known && !seen[key] {
			seen[key] = true
			a.auditMeasure(n, key)
		}
	}
	s := newSheet("measures", a.report.at("measures"))
	for _, key := range a.keys {
		if s.numbers++; !seen[key] {
			s.fault("%s is left out", key.measure)
		}
	}
	a.add(s)
}

func (a *auditor) auditMeasure(n *node, key measureKey) {
	s := newSheet("measure "+strings.TrimSpace(n.str("workload")+" "+n.str("name")), n)
	tell(n, "name", "workload", "host")
	margin, primary := 0.0, false
	for _, p := range a.plan.Primary {
		if p.Measure == key.measure {
			margin, primary = p.Margin, true
		}
	}
	s.number(n.at("margin"), "margin", plainTruth(margin))
	s.flag(n.at("primary"), "primary", primary)
	s.same(n.at("unit"), "unit", a.kinds[key].Unit)
	s.speaks(n.at("title"), "title", saysWords(key.measure)...)
	a.add(s)
}

func tell(n *node, keys ...string) {
	for _, key := range keys {
		if m := n.at(key); m != nil {
			m.told = true
		}
	}
}

// printedKey finds the measure that an object names, among those that count.
func (a *auditor) printedKey(n *node, member string) (measureKey, bool) {
	for _, key := range a.keys {
		if key.measure == n.str(member) && a.workloadName(key.workload) == n.str("workload") {
			return key, true
		}
	}
	return measureKey{}, false
}

// A cellView is one measure in one cell over the trials that count.
type cellView struct {
	key               measureKey
	cell              record.Cell
	unit              string
	values            []float64
	blocks            []int
	center, low, high float64
	ending            ending
	cv                float64 // percent; NaN where there is none
}

// ends are the ends of the interval.
func (c cellView) ends() (low, high truth) {
	return truth{value: c.low, unit: c.unit, slack: c.ending.at(c.low)}, truth{value: c.high, unit: c.unit, slack: c.ending.at(c.high)}
}

// workCell summarises a measure in a cell: by the geometric mean with the t
// interval of the logarithms, or the arithmetic one where a value has none.
func (a *auditor) workCell(key measureKey, cell record.Cell) cellView {
	values, blocks := a.samples.row(key, cell.Key())
	c := summaryOf(values, a.kinds[key].Unit)
	c.key, c.cell, c.blocks = key, cell, blocks
	return c
}

// summaryOf summarises values of one unit.
func summaryOf(values []float64, unit string) cellView {
	c := cellView{unit: unit, cv: math.NaN(), values: values}
	n := len(c.values)
	if n == 0 {
		return c
	}
	scaled, back := c.values, func(v float64) float64 { return v }
	logs, log := logsOf(c.values)
	if log {
		scaled, back = logs, math.Exp
	}
	mean := meanOf(scaled)
	c.center, c.low, c.high = back(mean), back(mean), back(mean)
	if n > 1 {
		half := basis{sd: deviationOf(scaled), df: n - 1}.half(n, familyError)
		c.low, c.high = back(mean-half), back(mean+half)
		c.ending = endingOf(half, familyError, log)
		if m := meanOf(c.values); m != 0 {
			c.cv = 100 * deviationOf(c.values) / math.Abs(m)
		}
	}
	return c
}

// workCells summarises all measures in all cells.
func (a *auditor) workCells() (out []cellView) {
	for _, key := range a.keys {
		for _, cell := range a.plan.Cells() {
			if c := a.workCell(key, cell); len(c.values) > 0 {
				out = append(out, c)
			}
		}
	}
	return out
}

// cellView finds a measure's summary in a cell; without values where there is
// none.
func (a *auditor) cellView(key measureKey, cell record.Cell) cellView {
	return a.cellAt[cellName(key, cell.Key())]
}

func cellName(key measureKey, cell string) string {
	return strings.Join([]string{key.workload, key.measure, cell}, "\x00")
}

// auditCells audits every measure in every cell, and that none is left out.
func (a *auditor) auditCells() {
	seen := map[string]bool{}
	for _, n := range a.report.at("cells").list() {
		key, known := a.printedKey(n, "measure")
		name := cellName(key, cellKey(n.at("cell")))
		if c, ok := a.cellAt[name]; known && ok && !seen[name] {
			seen[name] = true
			a.auditCell(n, c)
		}
	}
	s := newSheet("cells", a.report.at("cells"))
	for _, c := range a.cells {
		if s.numbers++; !seen[cellName(c.key, c.cell.Key())] {
			s.fault("%s of %s is left out", c.key.measure, c.cell.Key())
		}
	}
	a.add(s)
}

func (a *auditor) auditCell(n *node, c cellView) {
	s := newSheet("cell "+strings.TrimSpace(strings.Join([]string{n.str("workload"), c.key.measure, "of", c.cell.Key()}, " ")), n)
	tell(n, "workload", "measure")
	tellCell(n.at("cell"))
	of := func(v float64) truth { return truth{value: v, unit: c.unit} }
	s.same(n.at("unit"), "unit", c.unit)
	s.count(n.at("n"), "n", len(c.values))
	s.series(n.at("values"), "values", truthsOf(c.values, c.unit))
	s.series(n.at("blocks"), "blocks", intTruths(c.blocks))
	s.number(n.at("center"), "center", of(c.center))
	low, high := c.ends()
	s.number(n.at("low"), "low", low)
	s.number(n.at("high"), "high", high)
	s.number(n.at("min"), "min", of(slices.Min(c.values)))
	s.number(n.at("max"), "max", of(slices.Max(c.values)))
	if m := n.at("cv_percent"); m != nil || !math.IsNaN(c.cv) {
		s.number(m, "cv_percent", truth{value: c.cv, unit: "%"})
	}
	a.add(s)
}

// A floor is the baseline against itself on one primary measure.
type floor struct {
	key              measureKey
	n                int
	value, low, high float64
	ending           ending
	margin, level    float64
	verdict          []analysis.Verdict
}

func (f floor) differs() bool {
	return f.verdict[0] == analysis.Better || f.verdict[0] == analysis.Worse
}

// workFloors compares the baseline with its twin of the same block.
func (a *auditor) workFloors() (out []floor) {
	level := 1 - familyError/float64(max(a.plan.Family(), 1))
	for _, m := range a.plan.Primary {
		for key := range a.twins.values {
			if key.measure != m.Measure {
				continue
			}
			for _, cell := range a.plan.BaselineCells() {
				if f, ok := a.floorOf(key, cell.Key(), m.Margin, level); ok {
					out = append(out, f)
				}
			}
		}
	}
	slices.SortStableFunc(out, func(x, y floor) int { return strings.Compare(x.key.workload, y.key.workload) })
	return out
}

func (a *auditor) floorOf(key measureKey, cell string, margin, level float64) (floor, bool) {
	var base, twin []float64
	for _, b := range a.twins.blocks(key) {
		x, okX := a.samples.values[key][b][cell]
		y, okY := a.twins.values[key][b][cell]
		if okX && okY {
			base, twin = append(base, x.value), append(twin, y.value)
		}
	}
	logBase, okBase := logsOf(base)
	logTwin, okTwin := logsOf(twin)
	if !okBase || !okTwin || len(base) < 2 {
		return floor{}, false
	}
	for i := range logTwin {
		logTwin[i] -= logBase[i]
	}
	n, mean := len(base), meanOf(logTwin)
	half := basis{sd: deviationOf(logTwin), df: n - 1}.half(n, 1-level)
	f := floor{key: key, n: n, value: math.Exp(mean), low: math.Exp(mean - half), high: math.Exp(mean + half), margin: margin, level: level}
	f.ending = endingOf(half, 1-level, true)
	x := expected{contrast: contrastView{log: true}, margin: margin, better: record.HigherIsBetter, low: f.low, high: f.high}
	f.verdict = x.judged()
	return f, true
}

// pieces are the figures of a floor's sentence.
func (f floor) pieces() []piece {
	out := append(saysWords(f.key.measure), saysNumber("the ratio", plainTruth(f.value)), saysNumber("the confidence", percentTruth(f.level)),
		saysNumber("the interval's low end", plainTruth(f.low)), saysNumber("the interval's high end", plainTruth(f.high)),
		saysNumber("the number of blocks", countTruth(f.n)))
	if f.verdict[0] == analysis.Equivalent {
		return append(out, saysNumber("the margin", percentTruth(f.margin)))
	}
	return append(out, saysNumber("the least difference that can be told", percentTruth(math.Max(f.high, 1/f.low)-1)))
}

// auditNoise audits the noise floor of the lab.
func (a *auditor) auditNoise() {
	floors := a.floors
	list := a.report.at("noise_floor")
	s := newSheet("noise floor", list)
	used := make([]bool, len(floors))
	for _, n := range list.list() {
		i := slices.IndexFunc(floors, func(f floor) bool {
			return f.key.measure == n.str("measure") && a.workloadName(f.key.workload) == n.str("workload")
		})
		for i >= 0 && i < len(floors) && used[i] {
			i++ // several baseline cells of one measure stand in their order
		}
		if i < 0 || i >= len(floors) {
			continue
		}
		used[i] = true
		a.auditFloor(n, floors[i])
	}
	for i, f := range floors {
		if s.numbers++; !used[i] {
			s.fault("the noise floor of %s is left out", f.key.measure)
		}
	}
	if s.numbers > 0 {
		a.add(s)
	}
}

func (a *auditor) auditFloor(n *node, f floor) {
	s := newSheet("noise floor of "+f.key.measure, n)
	tell(n, "measure", "workload")
	s.number(n.at("effect"), "effect", plainTruth(f.value))
	s.number(n.at("low"), "low", truth{value: f.low, slack: f.ending.at(f.low)})
	s.number(n.at("high"), "high", truth{value: f.high, slack: f.ending.at(f.high)})
	s.count(n.at("n"), "n", f.n)
	s.speaks(n.at("sentence"), "the sentence", f.pieces()...)
	if s.numbers++; !slices.Contains(f.verdict, analysis.Verdict(n.str("verdict"))) {
		s.fault("the verdict is printed as %q; the interval gives %q", n.str("verdict"), f.verdict[0])
	}
	a.add(s)
}

// auditTrials audits the raw table, row by row.
func (a *auditor) auditTrials() {
	seen := map[record.TrialID]bool{}
	for _, n := range a.report.at("trials").list() {
		id := record.TrialID(n.str("trial"))
		if v := a.views[id]; v != nil && !seen[id] {
			seen[id] = true
			a.auditTrial(n, v)
		}
	}
	s := newSheet("trials", a.report.at("trials"))
	for _, t := range a.run.Trials {
		if s.numbers++; !seen[t.ID] {
			s.fault("trial %s is left out", t.ID)
		}
	}
	a.add(s)
}

func (a *auditor) auditTrial(n *node, v *trialView) {
	s := newSheet("trial "+string(v.ID), n)
	tell(n, "trial")
	s.same(n.at("role"), "role", string(v.Role))
	s.count(n.at("block"), "block", v.Block)
	s.count(n.at("attempt"), "attempt", v.Attempt)
	s.same(n.at("at"), "at", v.At)
	s.same(n.at("status"), "status", string(v.Status))
	s.flag(n.at("counted"), "counted", a.counted[v.ID])
	if got, want := cellKey(n.at("cell")), v.Cell.Key(); got != want {
		s.fault("cell is printed as %q; the record says %q", got, want)
	}
	tellCell(n.at("cell"))
	s.speaks(n.at("reason"), "reason", a.reasonPieces(v.Trial)...)
	a.matchWarnings(s, n.at("warnings"), a.warnings[v.ID])
	values := n.at("values")
	names := map[string]bool{}
	for _, key := range sortedMeasures(v.values) {
		name := key.measure
		if key.workload != "" && a.several() {
			name = key.workload + "/" + name
		}
		names[name] = true
		s.number(values.at(name), name, truth{value: v.values[key], unit: a.kinds[key].Unit})
	}
	a.add(s)
}

// sortedMeasures lists the keys by workload and name.
func sortedMeasures[V any](values map[measureKey]V) []measureKey {
	keys := make([]measureKey, 0, len(values))
	for key := range values {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(x, y measureKey) int {
		return strings.Compare(x.workload+"\x00"+x.measure, y.workload+"\x00"+y.measure)
	})
	return keys
}

// reasonPieces are the numbers that may stand in why a trial does not count.
func (a *auditor) reasonPieces(t record.Trial) []piece {
	switch {
	case a.counted[t.ID]:
		return nil
	case t.Status != record.StatusComplete:
		return saysWords(t.Reason)
	case t.Role == record.RoleSearch && !a.spoiled(t):
		return saysWords(t.At)
	}
	for _, w := range a.warnings[t.ID] {
		if w.Severity == record.SeverityHard {
			return w.said()
		}
	}
	if a.lost != "" {
		return saysWords(a.lost)
	}
	return saysWords(fmt.Sprintf("block %d, attempt %d", t.Block, t.Attempt))
}

// shortCell names a cell by its levels, without the workload's.
func shortCell(c record.Cell) string {
	var parts []string
	for _, l := range c {
		if l.Factor != plan.WorkloadFactor {
			parts = append(parts, l.Level)
		}
	}
	if len(parts) == 0 {
		return "all trials"
	}
	return strings.Join(parts, ", ")
}
