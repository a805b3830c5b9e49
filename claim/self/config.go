package self

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"bakeoff/record"
)

// otherHosts is the subject of facts of the services' host, where the levels put
// them on different ones.
const otherHosts = "server under test"

// auditFacts audits the configuration disclosed: what all cells share and what
// differs must stand so in the facts on record.
func (a *auditor) auditFacts() {
	sheets := map[string]map[string]factSheet{}
	of := func(host string) map[string]factSheet {
		if sheets[host] == nil {
			first, _, _ := strings.Cut(host, ", ") // names of one machine stand together
			hostOf := func(record.Trial) string { return first }
			if host == otherHosts {
				hostOf = serviceHost
			}
			sheets[host] = a.facts.cellSheets(hostOf)
		}
		return sheets[host]
	}
	s := newSheet("facts that all levels share", a.report.at("shared_facts"))
	for _, n := range a.report.at("shared_facts").list() {
		host, path := n.str("host"), n.str("path")
		for _, cell := range slices.Sorted(maps.Keys(of(host))) {
			if value, known := of(host)[cell].values[path]; known {
				tell(n, "host", "path")
				s.same(n.at("value"), path+" of "+host, value)
			}
		}
	}
	a.add(s)
	d := newSheet("facts that differ", a.report.at("differing_facts"))
	changes := a.facts.changes()
	for _, n := range a.report.at("differing_facts").list() {
		a.auditDifference(d, n, of(n.str("host")), changes)
	}
	a.add(d)
}

func (a *auditor) auditDifference(s *sheet, n *node, cells map[string]factSheet, changes []change) {
	host, path, values := n.str("host"), n.str("path"), n.at("values")
	if i := slices.IndexFunc(changes, func(c change) bool { return c.host == host && c.path == path }); values.at("after") != nil && i >= 0 {
		tell(n, "host", "path")
		s.same(values.at("before"), path+" before", changes[i].was)
		s.same(values.at("after"), path+" after", changes[i].is)
		return
	}
	for _, cell := range slices.Sorted(maps.Keys(cells)) {
		if m := values.at(cell); m != nil {
			tell(n, "host", "path")
			s.same(m, path+" of "+host+" at "+cell, cells[cell].values[path])
		}
	}
}

func orGone(s *string) string {
	if s == nil {
		return "\x00"
	}
	return *s
}

func nullable(n *node) string {
	if n == nil || n.kind != stringNode {
		return "\x00"
	}
	return n.text
}

// auditSettings audits what was set, read back and restored.
func (a *auditor) auditSettings() {
	counts, cells := map[string]int{}, map[string][]string{}
	for _, t := range a.run.Trials {
		for _, x := range t.Settings {
			key := strings.Join([]string{x.Host, x.Kind, x.Target, orGone(x.Before), x.Wanted, orGone(x.ReadBack), orGone(x.AtEnd), orGone(x.Restored)}, "\x01")
			counts[key]++
			if !slices.Contains(cells[key], t.Cell.Key()) {
				cells[key] = append(cells[key], t.Cell.Key())
			}
		}
	}
	members := []string{"host", "kind", "target", "before", "wanted", "read_back", "at_end", "restored"}
	for _, n := range a.report.at("settings").list() {
		parts := make([]string, len(members))
		for i, key := range members {
			parts[i] = nullable(n.at(key))
		}
		key := strings.Join(parts, "\x01")
		if counts[key] == 0 {
			continue // no trial had it so: its figures object by themselves
		}
		s := newSheet("setting "+n.str("kind")+" "+n.str("target")+" on "+n.str("host"), n)
		tell(n, members...)
		a.auditPresence(s, n, counts[key], cells[key])
		a.add(s)
	}
}

// auditPresence audits in how many trials, and in which cells, something was so.
func (a *auditor) auditPresence(s *sheet, n *node, trials int, cells []string) {
	all := map[string]bool{}
	for _, t := range a.run.Trials {
		all[t.Cell.Key()] = true
	}
	if len(cells) == len(all) {
		cells = nil
	}
	s.count(n.at("trials"), "trials", trials)
	s.names(n.at("cells"), "cells", cells)
}

// serviceText is everything a report says of a server as it ran.
func serviceText(s record.Service) string {
	parts := append([]string{s.Name, s.Host, s.CPUs, s.Endpoint, s.Version}, s.Command...)
	for _, k := range slices.Sorted(maps.Keys(s.Facts)) {
		parts = append(parts, k+"="+s.Facts[k])
	}
	return strings.Join(parts, "\x01")
}

// printedService reads a server's row back.
func printedService(n *node) record.Service {
	s := record.Service{Name: n.str("name"), Host: n.str("host"), CPUs: n.str("cpus"), Endpoint: n.str("endpoint"), Version: n.str("version")}
	for _, word := range n.at("command").list() {
		s.Command = append(s.Command, word.text)
	}
	if facts := n.at("facts"); facts != nil {
		s.Facts = map[string]string{}
		for i, key := range facts.keys {
			s.Facts[key] = facts.items[i].text
		}
	}
	return s
}

// auditServices audits the servers under test, as they ran.
func (a *auditor) auditServices() {
	counts, cells := map[string]int{}, map[string][]string{}
	for _, t := range a.run.Trials {
		for _, x := range t.Services {
			key := serviceText(x)
			counts[key]++
			if !slices.Contains(cells[key], t.Cell.Key()) {
				cells[key] = append(cells[key], t.Cell.Key())
			}
		}
	}
	for _, n := range a.report.at("services").list() {
		key := serviceText(printedService(n))
		if counts[key] == 0 {
			continue // no trial had it so: its figures object by themselves
		}
		s := newSheet("service "+n.str("name"), n)
		tell(n, "name", "host", "cpus", "endpoint", "version")
		for _, word := range n.at("command").list() {
			word.told = true
		}
		if facts := n.at("facts"); facts != nil {
			tell(facts, facts.keys...)
		}
		a.auditPresence(s, n, counts[key], cells[key])
		a.add(s)
	}
}

// auditMethod audits the numbers in the words that a reader repeats the run by,
// and the command lines.
func (a *auditor) auditMethod() {
	s := newSheet("the method", a.report.at("method"))
	workloads := map[string][]piece{}
	for _, w := range a.plan.Workloads {
		workloads["Workload "+w.Name+":"] = a.loadPieces(w.Name)
	}
	for i, n := range a.report.at("method").list() {
		pieces := a.methodPieces(n.text)
		for start, of := range workloads {
			if strings.HasPrefix(n.text, start) {
				pieces = of
			}
		}
		s.speaks(n, fmt.Sprintf("paragraph %d", i+1), pieces...)
	}
	a.add(s)
	a.auditCommands()
}

// methodPieces are the figures of the paragraph that begins in this way.
func (a *auditor) methodPieces(text string) []piece {
	has := func(words string) bool { return strings.Contains(text, words) }
	switch {
	case has("measured at its own peak"):
		return a.peakPieces()
	case has("measured in blocks"):
		return a.designPieces()
	case has("The number of blocks"):
		return a.repetitionPieces()
	case has("Servers under test"):
		return a.serverPieces()
	case has("Throughput counts"):
		return nil
	case has("Judged are"):
		return a.judgingPieces()
	case has(" trials count"):
		return a.validityPieces()
	case has("The plan has the hash"):
		return saysWords(a.run.Manifest.PlanHash, a.run.RootHash)
	}
	return nil
}

func (a *auditor) designPieces() []piece {
	out := []piece{saysNumber("the number of cells", countTruth(len(a.plan.Cells())))}
	for _, f := range a.plan.Factors {
		out = append(out, saysWords(f.Name)...)
		for _, l := range f.Levels {
			out = append(out, saysWords(l.Name)...)
		}
	}
	return append(out, saysWords(fmt.Sprint(a.plan.Seed))...)
}

func (a *auditor) repetitionPieces() []piece {
	r := a.plan.Repeat
	out := []piece{saysNumber("the number of blocks", countTruth(r.Blocks))}
	if r.Pilot > 0 {
		out = []piece{saysNumber("the pilot's blocks", countTruth(r.Pilot)), saysNumber("the half-width wanted", percentTruth(r.Until)), saysNumber("the most blocks", countTruth(r.Max)),
			saysNumber("how much more all blocks may spread", plainTruth(luckyPilot))}
	}
	out = append(out, saysNumber("the number of retries", countTruth(a.plan.Retries)))
	return append(out, a.hardNames()...)
}

func (a *auditor) serverPieces() (out []piece) {
	seen := map[string]bool{}
	for _, t := range a.run.Trials {
		for _, x := range t.Services {
			text := strings.Join([]string{x.Name, x.Host, x.Version, x.CPUs}, "\x01")
			if !seen[text] {
				seen[text] = true
				out = append(out, saysWords(x.Name, x.Host, x.Version, x.CPUs)...)
			}
		}
	}
	return out
}

func (a *auditor) judgingPieces() (out []piece) {
	for _, m := range a.plan.Primary {
		out = append(out, saysWords(m.Measure)...)
		out = append(out, saysNumber("the margin", percentTruth(m.Margin)))
	}
	family := max(a.plan.Family(), 1)
	return append(out, saysNumber("the number of comparisons", countTruth(family)), saysNumber("the error shared", percentTruth(familyError)),
		saysNumber("the confidence", percentTruth(1-familyError/float64(family))))
}

func (a *auditor) validityPieces() []piece {
	counted, all := 0, 0
	for _, t := range a.run.Trials {
		if t.Role == record.RoleMeasure {
			all++
			if a.counted[t.ID] {
				counted++
			}
		}
	}
	return []piece{saysNumber("the trials that count", countTruth(counted)), saysNumber("the trials", countTruth(all))}
}

// loadPieces are the figures of the paragraph on one workload, as its first load
// ran.
func (a *auditor) loadPieces(workload string) []piece {
	var first *record.Load
	for _, t := range a.run.Trials {
		for i := range t.Loads {
			if t.Loads[i].Workload == workload && first == nil {
				first = &t.Loads[i]
			}
		}
	}
	if first == nil {
		return nil
	}
	out := saysWords(workload, first.Engine, first.Host, first.Target)
	out = append(out, saysNumber("the warm-up", truth{value: first.Window.Warmup, unit: "s"}), saysNumber("the window", truth{value: first.Window.Seconds, unit: "s"}))
	for _, key := range slices.Sorted(maps.Keys(first.Parameters)) {
		out = append(out, saysWords(key, first.Parameters[key])...)
	}
	if d := first.DataSet; d != nil {
		out = append(out, saysWords(fmt.Sprint(d.Items))...)
		out = append(out, saysNumber("the bytes of the data set", truth{value: float64(d.Bytes), unit: "B"}))
		out = append(out, saysWords(d.Fingerprint)...)
	}
	return out
}

// auditCommands audits the command lines: the run's own, those of its servers,
// each once, and the one that verifies it.
func (a *auditor) auditCommands() {
	var want []string
	if len(a.run.Manifest.Command) > 0 {
		want = append(want, shellText(a.run.Manifest.Command))
	}
	for _, t := range a.run.Trials {
		for _, x := range t.Services {
			if line := shellText(x.Command); len(x.Command) > 0 && !slices.Contains(want, line) {
				want = append(want, line)
			}
		}
	}
	s := newSheet("the commands", a.report.at("commands"))
	s.names(a.report.at("commands"), "commands", append(want, "bakeoff verify "+shellText([]string{a.folder()})))
	a.add(s)
}

// folder is the run with the folder that its command line names, runs where it
// names none.
func (a *auditor) folder() string {
	in := "runs"
	line := a.run.Manifest.Command
	for i := range line {
		switch {
		case strings.HasPrefix(line[i], "--dir="):
			in = strings.TrimPrefix(line[i], "--dir=")
		case i > 0 && line[i-1] == "--dir":
			in = line[i]
		}
	}
	return path.Join(in, a.run.Manifest.ID)
}

// shellText writes a command as a POSIX shell reads it.
func shellText(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w
		special := func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@+%", r)
		}
		if w == "" || strings.ContainsFunc(w, special) {
			out[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}
