package analysis

import (
	"fmt"
	"path"
	"strings"

	"bakeoff/plan"
	"bakeoff/record"
)

// method says how the figures came about, in words that a reader can repeat.
func (a *analyst) method() []string {
	out := []string{a.designText(), a.repetitionText()}
	if text := a.peakText(); text != "" {
		out = append(out, text)
	}
	for _, w := range a.plan.Workloads {
		if text := a.loadText(w.Name); text != "" {
			out = append(out, text)
		}
	}
	out = append(out, a.serviceText(), measureText, a.judgingText(), a.validityText())
	return append(out, fmt.Sprintf("The plan has the hash %s and the record the root hash %s. bakeoff verify recomputes every figure of this report from the record.",
		a.run.Manifest.PlanHash, a.run.RootHash))
}

const measureText = "Throughput counts the operations that completed inside the window, divided by its length on the monotonic clock. " +
	"Latency is that of the operations intended inside the window, those drained after it included; one that timed out stands with its timeout, which is a lower bound. " +
	"In a closed loop latency is the service time, from sending to completion; in an open loop it is the response time, from when the operation was due. " +
	"Percentiles come from histograms merged exactly (three significant digits), never from averages; across trials each trial's percentile is one value. " +
	"Host figures are counters interpolated at the window's edges. CPU time of a service is that of all its processes; of those that came and went between two readings it is a lower bound."

func (a *analyst) designText() string {
	var factors []string
	for _, f := range a.plan.Factors {
		var levels []string
		for _, l := range f.Levels {
			name := l.Name
			if name == f.Baseline && len(f.Levels) > 1 && f.Name != plan.WorkloadFactor {
				name += " (base)"
			}
			levels = append(levels, name)
		}
		text := f.Name + ": " + strings.Join(levels, ", ")
		if f.Hard {
			text += " (changed between whole plots only)"
		}
		factors = append(factors, text)
	}
	text := "One cell was measured in blocks of one trial."
	if n := len(a.plan.Cells()); n > 1 {
		text = fmt.Sprintf("%d cells were measured in blocks, each of which visits every cell once.", n)
	}
	if len(factors) > 0 {
		text += " Factors and levels: " + strings.Join(factors, "; ") + "."
	}
	return text + " " + a.orderText()
}

func (a *analyst) orderText() string {
	switch {
	case a.plan.Ladder:
		return "The steps of the ladder are cumulative and keep their order."
	case a.plan.Order == plan.OrderABBA:
		return "The order is turned round in every second block (ABBA), so that drift hits both cells alike."
	}
	return fmt.Sprintf("The order inside each block is a shuffle from the seed %d, so that drift hits all cells alike; every trial of a block gets the same random keys and values.", a.plan.Seed)
}

func (a *analyst) repetitionText() string {
	r := a.plan.Repeat
	text := fmt.Sprintf("The number of blocks, %d, was fixed in advance.", r.Blocks)
	if r.Pilot > 0 {
		text = fmt.Sprintf("The number of blocks was set by Stein's two stages: the first %d blocks fixed how many are needed for intervals of ± %s %% (at most %d), and the intervals use the spread and the degrees of freedom of these first blocks, unless all blocks together spread more than %s times as much, which shows that the first ones missed a long tail: then theirs, if that is the wider interval. Where the most was not enough, the intervals are wider than wanted and hold all the same, since the spread of the first blocks alone set the number: verdicts rest on them, and say that the precision was not reached.",
			r.Pilot, plain(100*r.Until), r.Max, plain(luckyPilot))
	}
	if a.plan.Retries > 0 {
		text += fmt.Sprintf(" A block with an invalid trial is measured again whole, at most %d times.", a.plan.Retries)
	}
	return text + " What was repeated: " + a.replicated("") + "."
}

// loadText describes one workload as it ran.
func (a *analyst) loadText(workload string) string {
	var loads []record.Load
	for _, t := range a.run.Trials {
		for _, l := range t.Loads {
			if l.Workload == workload {
				loads = append(loads, l)
			}
		}
	}
	if len(loads) == 0 {
		return ""
	}
	l := loads[0]
	text := fmt.Sprintf("Workload %s: engine %s on %s", workload, l.Engine, l.Host)
	if l.Target != "" {
		text += ", target " + l.Target
		for _, other := range loads {
			if other.Target != l.Target {
				text += " (others in other cells)"
				break
			}
		}
	}
	text += fmt.Sprintf("; %s of warm-up, then a window of %s.", quantity(l.Window.Warmup, "s"), quantity(l.Window.Seconds, "s"))
	if l.Ended == endedDone {
		text += " The trial ended when the work was done."
	}
	if len(l.Parameters) > 0 {
		text += " Parameters: " + loadSummary(loads) + "."
	}
	if d := l.DataSet; d != nil {
		size := ""
		if d.Bytes > 0 { // else the target does not tell
			size = ", " + quantity(float64(d.Bytes), "B")
		}
		text += fmt.Sprintf(" Data set: %d items%s, fingerprint %s.", d.Items, size, d.Fingerprint)
	}
	return text
}

func (a *analyst) serviceText() string {
	rows := a.serviceRows()
	if len(rows) == 0 {
		return "No server under test was started."
	}
	var parts []string
	for _, r := range rows {
		text := r.Name + " on " + r.Host
		if r.Version != "" {
			text += ", version " + r.Version
		}
		if r.CPUs != "" {
			text += ", pinned to cores " + r.CPUs
		}
		if len(r.Command) == 0 {
			text += ", which was running already"
		}
		parts = addOnce(parts, text)
	}
	return "Servers under test: " + strings.Join(parts, "; ") + "."
}

func (a *analyst) judgingText() string {
	if len(a.plan.Primary) == 0 {
		return "The plan names no primary measure: nothing is judged."
	}
	var names []string
	for _, m := range a.plan.Primary {
		text := m.Measure
		if m.Better != record.NoDirection {
			text += " (" + string(m.Better) + " is better"
			if m.Margin > 0 {
				text += ", margin " + plain(100*m.Margin) + " %"
			}
			text += ")"
		}
		names = append(names, text)
	}
	n := max(a.plan.Family(), 1)
	shared := fmt.Sprintf("The %d comparisons share an error of 5 %% (Bonferroni), so each interval, printed and judged alike, has %s %%.", n, percentText(1-familyAlpha/float64(n)))
	if n == 1 {
		shared = "There is one comparison, so its interval, printed and judged alike, has 95 %."
	}
	return fmt.Sprintf("Judged are %s. Cells are compared inside blocks: the effect is the mean of the blocks' log ratios (differences where a value is not above zero), other factors averaged inside the block, with its t interval. "+
		"%s "+
		"Equivalent means that the interval lies inside the margin, better or worse that it excludes no difference; equivalence is asked first. Everything else is inconclusive. "+
		"Signed ranks and bootstrap are second opinions and decide nothing.", strings.Join(names, ", "), shared)
}

func (a *analyst) validityText() string {
	counted, all := 0, 0
	for _, t := range a.run.Trials {
		if t.Role == record.RoleMeasure {
			all++
			if a.counted[t.ID] {
				counted++
			}
		}
	}
	return fmt.Sprintf("%d of %d trials count. Every trial went through the gates of the validity page; a hard one makes it invalid, whichever side it favours. Trials that do not count are listed with their reasons.", counted, all)
}

// commands are the exact command lines: the run's own, those of the servers,
// and those that repeat and check it.
func (a *analyst) commands() []string {
	var out []string
	if len(a.run.Manifest.Command) > 0 {
		out = append(out, shellLine(a.run.Manifest.Command))
	}
	for _, t := range a.run.Trials {
		for _, s := range t.Services {
			if len(s.Command) > 0 {
				out = addOnce(out, shellLine(s.Command))
			}
		}
	}
	return append(out, "bakeoff verify "+shellLine([]string{runFolder(a.run.Manifest)}))
}

// defaultFolder is where bakeoff run makes its records.
const defaultFolder = "runs"

// runFolder is the run with the folder that its command made it in.
func runFolder(m record.Manifest) string {
	folder := defaultFolder
	for i, word := range m.Command {
		if of, ok := strings.CutPrefix(word, "--dir="); ok {
			folder = of
		} else if word == "--dir" && i+1 < len(m.Command) {
			folder = m.Command[i+1]
		}
	}
	return path.Join(folder, m.ID)
}

// shellLine writes a command so that a POSIX shell reads it back.
func shellLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w
		if w == "" || strings.ContainsFunc(w, func(r rune) bool { return !strings.ContainsRune(plainInShell, r) }) {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

const plainInShell = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@+%"
