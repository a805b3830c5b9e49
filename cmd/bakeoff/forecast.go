package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"bakeoff/engine"
	"bakeoff/load"
	"bakeoff/plan"
	"bakeoff/record"
	"bakeoff/unit"
)

// From these sizes on, a data set is announced before it is loaded.
const (
	manyItems = 20_000_000
	manyBytes = 4 << 30
	// fastLoading is about what one server takes a second, pipelined.
	fastLoading = 1e6
)

// forecast says what is about to be loaded, "" where that is soon done and small.
// Memory is this machine's, in bytes.
func forecast(set *record.DataSet, memory uint64) string {
	if set == nil || set.Items < manyItems && set.Bytes < manyBytes && set.Bytes < memory/2 {
		return ""
	}
	seconds := time.Duration(float64(set.Items) / fastLoading * float64(time.Second))
	text := fmt.Sprintf("%s items are loaded first, %s of keys and values: at a million a second that takes %s, and the target needs more memory than they have bytes",
		grouped(set.Items), unit.FormatSI(float64(set.Bytes), "B", 4), max(seconds, time.Second).Round(time.Second))
	if set.Bytes > memory {
		text += fmt.Sprintf("; this machine has %s", unit.FormatSI(float64(memory), "B", 4))
	}
	return text
}

// grouped writes a count with commas.
func grouped(n uint64) string {
	digits := fmt.Sprint(n)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// machineMemory is this machine's memory in bytes, 0 where that is not known.
func machineMemory() uint64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	return info.Totalram * uint64(info.Unit)
}

// forecasts says of each workload of a plan what it loads before every trial,
// where that is much: of its largest cell.
func forecasts(p *plan.Plan) (out []string) {
	largest := map[string]*record.DataSet{}
	var order []string
	for _, cell := range p.Cells() {
		resolved, err := p.Resolve(cell)
		if err != nil {
			continue // the run says what is wrong
		}
		for _, w := range resolved.Workloads {
			set := forecastOf(w)
			switch was := largest[w.Name]; {
			case set == nil:
			case was == nil:
				order = append(order, w.Name)
				largest[w.Name] = set
			case set.Bytes > was.Bytes:
				largest[w.Name] = set
			}
		}
	}
	for _, name := range order {
		if text := forecast(largest[name], machineMemory()); text != "" {
			out = append(out, fmt.Sprintf("workload %s: before each trial, %s", name, text))
		}
	}
	return out
}

// forecastOf is what a workload loads before a trial; nil for nothing, or where
// that is not known.
func forecastOf(w plan.Workload) *record.DataSet {
	e, err := engine.Lookup(w.Engine)
	if err != nil {
		return nil
	}
	session, err := e.Open(context.Background(), trialSpec(w))
	if err != nil {
		return nil
	}
	defer func() { _ = session.Close() }() // nothing was opened
	if f, ok := session.(load.Forecaster); ok {
		return f.Forecast()
	}
	return nil
}
