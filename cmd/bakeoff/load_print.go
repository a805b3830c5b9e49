package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/renameio/v2"

	"bakeoff/hist"
	"bakeoff/internal/osenv"
	"bakeoff/load"
	"bakeoff/record"
	"bakeoff/unit"
)

// liveLine shows a load's progress: a line that changes on a terminal, plain
// lines elsewhere.
type liveLine struct {
	env     *osenv.Env
	pending bool
	began   time.Time // of preparing
	told    time.Time // when a plain line last told of it
}

// show prints one second of a load.
func (l *liveLine) show(p load.Progress) {
	iv := p.Interval
	text := fmt.Sprintf("%-8s %3.0f %%", p.Phase, 100*p.Fraction)
	if iv.Seconds > 0 {
		text = fmt.Sprintf("%-8s %6.1f s  %s  p50 %s  p99 %s", p.Phase, iv.Offset+iv.Seconds,
			unit.FormatSI(float64(iv.Completed)/iv.Seconds, "ops/s", 4), nanos(iv.P50), nanos(iv.P99))
		text += optional("misses", iv.Misses) + optional("failed", iv.Failed) + optional("timed out", iv.TimedOut)
	}
	if p.Phase == "prepare" {
		text += l.timeLeft(p.Fraction)
	}
	if l.env.Terminal {
		fmt.Fprintf(l.env.Stderr, "\r\x1b[K%s", text)
		l.pending = true
		return
	}
	if now := l.env.Clock.Now(); iv.Seconds > 0 || now.Sub(l.told) >= tellEvery {
		l.told = now
		fmt.Fprintln(l.env.Stderr, text)
	}
}

// tellEvery is how often a plain line tells how far the preparing is.
const tellEvery = 10 * time.Second

// timeLeft says how long it takes to prepare the rest, once that can be told.
func (l *liveLine) timeLeft(fraction float64) string {
	now := l.env.Clock.Now()
	if l.began.IsZero() {
		l.began, l.told = now, now
	}
	spent := now.Sub(l.began)
	if fraction <= 0 || spent < time.Second {
		return ""
	}
	left := time.Duration(float64(spent) * (1 - fraction) / fraction)
	return fmt.Sprintf("  (%s left)", left.Round(time.Second))
}

// end leaves the last line standing.
func (l *liveLine) end() {
	if l.pending {
		fmt.Fprintln(l.env.Stderr)
	}
	l.pending = false
}

func optional(name string, n uint64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("  %s %d", name, n)
}

func nanos(ns int64) string { return unit.FormatSI(float64(ns)/1e9, "s", 3) }

// latencyRow is one merged histogram in numbers; all times in nanoseconds.
type latencyRow struct {
	Kind     string  `json:"kind"`
	Type     string  `json:"type"`
	Count    uint64  `json:"count"`
	Mean     float64 `json:"mean_ns"`
	Min      int64   `json:"min_ns"`
	P50      int64   `json:"p50_ns"`
	P90      int64   `json:"p90_ns"`
	P95      int64   `json:"p95_ns"`
	P99      int64   `json:"p99_ns"`
	P999     int64   `json:"p99.9_ns"`
	P9999    int64   `json:"p99.99_ns"`
	Max      int64   `json:"max_ns"`
	Censored uint64  `json:"timed_out"`
}

// writeLoad prints a load's result, and writes the files that were asked for.
func writeLoad(env *osenv.Env, r load.Result, f loadFlags) error {
	merged := map[record.Latency]*hist.Histogram{}
	var rows []latencyRow
	for _, l := range r.Load.Latencies {
		h, err := mergedLog(r.Logs[l.File])
		if err != nil {
			return fmt.Errorf("reading back the latencies of %s: %w", l.Kind, err)
		}
		merged[l] = h
		rows = append(rows, latencyRow{
			Kind: l.Kind, Type: l.Type, Count: h.Count(), Mean: h.Mean(), Min: h.Min(), P50: h.Quantile(.5), P90: h.Quantile(.9), P95: h.Quantile(.95),
			P99: h.Quantile(.99), P999: h.Quantile(.999), P9999: h.Quantile(.9999), Max: h.Max(), Censored: l.Censored,
		})
	}
	show := printLoadTable
	if f.output == "json" {
		show = printLoadJSON
	}
	return errors.Join(show(env.Stdout, r, rows), writeLatencyFiles(r, merged, f), writeArtifacts(r, f.artifacts))
}

func mergedLog(log []byte) (*hist.Histogram, error) {
	intervals, err := hist.ReadLog(bytes.NewReader(log))
	if err != nil {
		return nil, err
	}
	h := hist.New()
	for _, iv := range intervals {
		h.Merge(iv.Hist)
	}
	return h, nil
}

// headline is the latency that a user of the target sees: the response time
// of an open loop, the service time of a closed one, over all kinds.
func headline(r load.Result) (record.Latency, bool) {
	want := "service"
	if r.Load.Generator.TargetRate > 0 {
		want = "response"
	}
	for _, l := range r.Load.Latencies {
		if l.Kind == "all" && l.Type == want {
			return l, true
		}
	}
	return record.Latency{}, false
}

func writeLatencyFiles(r load.Result, merged map[record.Latency]*hist.Histogram, f loadFlags) error {
	l, ok := headline(r)
	if !ok && (f.hdr != "" || f.hgrm != "") {
		return fmt.Errorf("no operation was completed in the window, so there are no latencies to write")
	}
	if f.hdr != "" {
		if err := writeFile(f.hdr, r.Logs[l.File]); err != nil {
			return fmt.Errorf("writing the interval log: %w", err)
		}
	}
	if f.hgrm != "" {
		var table bytes.Buffer
		if err := hist.WriteHGRM(&table, merged[l], 5, 1e6); err != nil {
			return err
		}
		if err := writeFile(f.hgrm, table.Bytes()); err != nil {
			return fmt.Errorf("writing the percentile table: %w", err)
		}
	}
	return nil
}

// writeFile writes a file whole or not at all; one that is a device or a pipe
// is written to.
func writeFile(name string, data []byte) error {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return os.WriteFile(name, data, 0o644)
	}
	return renameio.WriteFile(name, data, 0o644)
}

// printFailureJSON says in JSON why there is no result.
func printFailureJSON(w io.Writer, cause error) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
		Error   string `json:"error"`
	}{"bakeoff-load", 1, cause.Error()})
}

func printLoadJSON(w io.Writer, r load.Result, rows []latencyRow) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		Format    string           `json:"format"`
		Version   int              `json:"version"`
		Load      record.Load      `json:"load"`
		Latencies []latencyRow     `json:"latencies"`
		Warnings  []record.Warning `json:"warnings"`
	}{"bakeoff-load", 1, r.Load, rows, r.Warnings})
}

func printLoadTable(w io.Writer, r load.Result, rows []latencyRow) error {
	l := r.Load
	seconds := l.Window.Seconds
	fmt.Fprintf(w, "%s of %s over %.2f s (%s, %s)\n\n", l.Engine, targetOf(l), seconds, l.Generator.Backend, counted(l.Generator.Workers, "worker"))
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "kind\tops/s\tmisses/s\tfailed\ttimed out\tin\tout\tmean\tp50\tp99\tp99.9\tmax\t")
	total := totalKind(l.Kinds)
	traffic := func(n uint64) string {
		if total.BytesIn+total.BytesOut == 0 && total.Completed > 0 { // the engine does not see it
			return "-"
		}
		return rate(n, seconds, "B/s")
	}
	for _, k := range append(l.Kinds, total) {
		line := fmt.Sprintf("%s\t%s\t%s\t%d\t%d\t%s\t%s\t", k.Kind, rate(k.Completed, seconds, ""), rate(k.Misses, seconds, ""), k.Failed, k.TimedOut, traffic(k.BytesIn), traffic(k.BytesOut))
		fmt.Fprintln(tw, line+latencyCells(r, rows, k.Kind))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	printLoadNotes(w, r)
	return nil
}

// latencyCells are the latencies of one kind, of the type that counts.
func latencyCells(r load.Result, rows []latencyRow, kind string) string {
	want, _ := headline(r)
	for _, row := range rows {
		if row.Kind == kind && row.Type == want.Type {
			return strings.Join([]string{nanos(int64(row.Mean)), nanos(row.P50), nanos(row.P99), nanos(row.P999), nanos(row.Max)}, "\t") + "\t"
		}
	}
	return "-\t-\t-\t-\t-\t"
}

func totalKind(kinds []record.KindCount) record.KindCount {
	total := record.KindCount{Kind: "all"}
	for _, k := range kinds {
		total.Completed += k.Completed
		total.Failed += k.Failed
		total.TimedOut += k.TimedOut
		total.Misses += k.Misses
		total.BytesIn += k.BytesIn
		total.BytesOut += k.BytesOut
	}
	return total
}

func rate(n uint64, seconds float64, in string) string {
	if seconds <= 0 {
		return "-"
	}
	return unit.FormatSI(float64(n)/seconds, in, 4)
}

// targetOf names what was loaded.
func targetOf(l record.Load) string {
	switch product := l.Server["product"]; {
	case l.Target != "":
		return l.Target
	case product != "":
		return product + " (no target given)"
	}
	return "no target"
}

// reachedShare of the target rate is enough for it to count as reached.
const reachedShare = 0.99

// printLoadNotes prints what a reader must know beside the table.
func printLoadNotes(w io.Writer, r load.Result) {
	l, g := r.Load, r.Load.Generator
	if want, ok := headline(r); ok {
		meaning := map[string]string{"service": "from sending to the answer", "response": "from the intended start to the answer"}[want.Type]
		fmt.Fprintf(w, "\nLatency is the %s time, %s.", want.Type, meaning)
		if want.Censored > 0 {
			fmt.Fprintf(w, " Not answered in time, or never sent: %s, which count with the least they took.", counted(want.Censored, "operation"))
		}
		fmt.Fprintln(w)
	}
	who := "Generator"
	if g.Embedded {
		who = "Generator and the target within it"
	}
	cost := "-"
	if g.CPUPerMillion > 0 {
		cost = fmt.Sprintf("%.3f", g.CPUPerMillion)
	}
	busiest := "busiest worker"
	if g.Shared {
		busiest = "the cores that its workers can use"
	}
	fmt.Fprintf(w, "%s: %s CPU s a million operations (%.2f s user, %.2f s system), %s %.0f %% busy, measuring loop alone %.0f ns an operation.\n",
		who, cost, g.UserSeconds, g.SystemSeconds, busiest, 100*g.BusyFraction, g.NullNanosPerOp)
	if g.TargetRate > 0 {
		fmt.Fprintf(w, "Open loop at %s: pacing lag p50 %s, p99 %s, max %s; due and not sent by the close, warm-up included: %s, which count with the least they lagged.\n",
			unit.FormatSI(g.TargetRate, "ops/s", 4), nanos(g.PacingLagP50), nanos(g.PacingLagP99), nanos(g.PacingLagMax), counted(l.Ledger.Backlog, "operation"))
		due := g.TargetRate * l.Window.Seconds
		if reached := float64(l.Ledger.Completed) / l.Window.Seconds; float64(l.Ledger.Completed) < reachedShare*due-1 { // one may lie across an edge
			fmt.Fprintf(w, "The target rate was missed: %s of %s. The latencies are those of an overloaded target.\n",
				unit.FormatSI(reached, "ops/s", 4), unit.FormatSI(g.TargetRate, "ops/s", 4))
		}
	}
	printDataSet(w, l)
	if s := l.Steady; s != nil {
		fmt.Fprintf(w, "Steadiness over %d intervals: slope %.2f %%, largest excursion %.2f %%.\n", s.Intervals, s.SlopePercent, s.ExcursionPercent)
	}
	for _, f := range l.Figures {
		fmt.Fprintf(w, "%s: %s\n", f.Name, unit.FormatSI(f.Value, f.Unit, 6))
	}
	if line := hammerDBLine(l); line != "" {
		fmt.Fprintln(w, line)
	}
	for _, e := range l.Errors {
		fmt.Fprintf(w, "Error %s, %s: %s\n", e.Kind, counted(e.Count, "time"), e.First)
	}
	for _, x := range r.Warnings {
		fmt.Fprintf(w, "%s (%s): %s; threshold %s. %s\n", x.Gate, x.Severity, x.Found, x.Threshold, x.Advice)
	}
}

// printDataSet says what was worked on, and how the server was set that had it.
func printDataSet(w io.Writer, l record.Load) {
	if d := l.DataSet; d != nil {
		parts := []string{counted(d.Items, "item")}
		if d.Bytes > 0 {
			parts = append(parts, unit.FormatSI(float64(d.Bytes), "B", 4))
		}
		fmt.Fprintf(w, "Data set: %s\n", strings.Join(append(parts, d.Prepared, d.Fingerprint), ", "))
	}
	var settings []string
	for _, name := range slices.Sorted(maps.Keys(l.Server)) {
		settings = append(settings, name+" "+l.Server[name])
	}
	if len(settings) > 0 {
		fmt.Fprintf(w, "Server: %s\n", strings.Join(settings, "; "))
	}
}

// hammerDBLine is the result of order-entry transactions as HammerDB words it,
// for those who have its line in their scripts; "" for other loads.
func hammerDBLine(l record.Load) string {
	var nopm, tpm *float64
	for i, f := range l.Figures {
		switch f.Unit {
		case "NOPM":
			nopm = &l.Figures[i].Value
		case "TPM":
			tpm = &l.Figures[i].Value
		}
	}
	switch {
	case nopm == nil || l.Server["product"] == "":
		return ""
	case tpm == nil:
		return fmt.Sprintf("Vuser 1:TEST RESULT : System achieved %.0f NOPM (no TPM: the counters of %s came late, or began again; a window of 10 s or more mostly has one)", *nopm, l.Server["product"])
	}
	return fmt.Sprintf("Vuser 1:TEST RESULT : System achieved %.0f NOPM from %.0f %s TPM", *nopm, *tpm, l.Server["product"])
}
