package plan

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bakeoff/record"
)

// Parse reads a plan. The name is the file's, for errors. Without a catalog (a
// nil one), engines, their parameters and collectors are not checked: a record
// is read back without the engines that made it.
//
// The error is an Errors, which lists everything that is wrong, up to a bound.
func Parse(name string, src []byte, catalog Catalog) (*Plan, error) {
	f := &faults{file: name}
	top := read(src, f)
	if top == nil {
		return nil, f.err()
	}
	top = withLocalHost(top)
	f.checkTop(top)

	p := newPlan(name, src, top)
	f.keys = workloadKeys(top, catalog)
	p.Factors = f.readFactors(top, p.tree)
	f.checkCollisions(p.Factors)
	p.Factors = f.markFactors(top, p.Factors)
	p.Graded = f.graded(top)
	p.Peak = f.peak(p, top)
	p.Factors = f.withGraded(p, top)
	f.checkGraded(p, top)
	f.checkProduct(top.get("factors"), p.Factors)
	if len(f.all) > 0 { // the cells would only repeat it
		return nil, f.err()
	}
	p.Compare = f.compare(p, top)
	p.Primary = f.primary(p, top)
	p.peakMeasure()
	p.Repeat = f.repeat(p, top)
	p.Telemetry = f.telemetry(top, catalog)
	p.Money = f.money(p, top)
	f.checkDesign(p, top)
	f.checkSearchType(p, top, catalog)
	f.checkMeasures(p, top, f.checkCells(p, catalog), catalog)
	if p.Question == "" {
		p.Question = p.question()
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	return p, nil
}

// checkTop judges every key by its shape. Inside the description, what levels
// set may be missing.
func (f *faults) checkTop(top *node) {
	fields := topFields()
	for i, k := range fields {
		if n := top.get(k.name); n != nil && slices.Contains(sections(), k.name) {
			f.lenient = true
			f.check(k.name, n.line, n, k)
			f.lenient = false
			fields[i].shape = shapeAny
		}
	}
	f.section("", top, field{keys: fields})
}

// newPlan reads what stands by itself.
func newPlan(name string, src []byte, top *node) *Plan {
	sum := sha256.Sum256(src)
	p := &Plan{
		Name: name, Title: top.textOf("title"), Question: top.textOf("question"),
		Together: top.textOf("together") == "true", Ladder: top.textOf("ladder") == "true", AA: top.textOf("aa") == "true",
		Order: Order(top.textOr("order", string(OrderBlocks))), Retries: top.countOf("retries", defaultRetries),
		Limits: limits(top), Source: slices.Clone(src), Hash: "sha256:" + hex.EncodeToString(sum[:]),
		Seed: binary.BigEndian.Uint64(sum[:]), tree: top,
	}
	if seed, err := strconv.ParseUint(top.textOf("seed"), 10, 64); err == nil {
		p.Seed = seed
	}
	base := describe(top)
	p.Hosts, p.Services, p.Workloads, p.Settings = base.Hosts, base.Services, base.Workloads, base.Settings
	return p
}

// withLocalHost adds the host local to a plan that names no hosts.
func withLocalHost(top *node) *node {
	if top.get("hosts") != nil {
		return top
	}
	return top.with(&node{kind: scalar, line: top.line, text: AgentLocal}, top.line, "hosts", "local", "agent")
}

// checkCells resolves every cell, notes what does not fit together, and
// returns the cells as they will run.
func (f *faults) checkCells(p *Plan, catalog Catalog) []Resolved {
	f.checkOverridden(p, catalog)
	var out []Resolved
	used := map[string]bool{}
	lost := false // a service is misspelt: who uses what is not known
	for _, cell := range p.Cells() {
		if f.full() {
			break
		}
		tree, err := p.at(cell)
		if err != nil {
			f.add(0, "", err.Error(), "cells of the plan", "")
			break
		}
		for _, k := range topFields() {
			if n := tree.get(k.name); n != nil && slices.Contains(sections(), k.name) {
				f.check(k.name, n.line, n, k)
			}
		}
		f.checkSettings(tree)
		r := p.resolve(cell, tree, f)
		cellCheck{f, tree, r}.engines(catalog)
		for _, s := range r.Services {
			used[s.Name] = true
		}
		for _, w := range r.Workloads {
			lost = lost || w.Service != "" && tree.get("services").get(w.Service) == nil
		}
		out = append(out, r)
	}
	f.checkIncomparable(out, catalog)
	for _, s := range p.Services {
		if !used[s.Name] && !lost && !f.full() {
			f.add(p.tree.get("services").line, "services."+s.Name, "a service that no workload names", "a workload with service: "+s.Name, "remove it, or say always: true")
		}
	}
	return out
}

// question makes a question of the factors.
func (p *Plan) question() string {
	var parts []string
	for _, f := range p.compared() {
		var levels []string
		for _, l := range f.Levels {
			levels = append(levels, l.Name)
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", f.Name, oneOf(levels)))
	}
	var measures []string
	for _, m := range p.Primary {
		measures = append(measures, m.Measure)
	}
	if len(parts) == 0 {
		return "What does " + p.Title + " measure?"
	}
	return fmt.Sprintf("What does %s change in %s?", strings.Join(parts, " and "), strings.Join(measures, " and "))
}

// Baseline returns the cell with every factor at its baseline, and the first workload.
func (p *Plan) Baseline() record.Cell { return p.BaselineCells()[0] }
