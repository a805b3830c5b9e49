package plan

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"bakeoff/record"
)

// trialOverhead is what a trial takes beside its load, for estimates: services
// started and stopped, settings, facts, draining.
const trialOverhead = 2 * time.Second

// An Estimate is how long a plan will take, if all goes well.
type Estimate struct {
	Cells     int
	Blocks    int // the least: those of the pilot, where the number is not fixed
	MaxBlocks int
	// Searched and MaxSearched are the trials of the peak search, expected and
	// at most; 0 without one. Trials and times hold them too.
	Searched    int
	MaxSearched int
	Trials      int // in Blocks
	MaxTrials   int // in MaxBlocks
	Time        time.Duration
	MaxTime     time.Duration
	Assumptions []string // that the times rest on
}

// Estimate works out trials and time.
func (p *Plan) Estimate() (Estimate, error) {
	cells := p.Cells()
	e := Estimate{Cells: len(cells), Blocks: max(p.Repeat.Blocks, p.Repeat.Pilot), MaxBlocks: max(p.Repeat.Blocks, p.Repeat.Max)}
	var block time.Duration
	open := false
	trials := p.blockOrder(1, 1)
	for _, t := range trials {
		r, err := p.Resolve(t.Cell)
		if err != nil {
			return Estimate{}, err
		}
		d, ends := r.duration()
		block = add(block, d+trialOverhead)
		open = open || !ends
	}
	e.Trials, e.MaxTrials = len(trials)*e.Blocks, len(trials)*e.MaxBlocks
	e.Time, e.MaxTime = times(block, e.Blocks), times(block, e.MaxBlocks)
	if err := p.estimateSearch(&e); err != nil {
		return Estimate{}, err
	}
	e.Assumptions = []string{
		fmt.Sprintf("%v a trial for starting and stopping services, settings, facts and draining", trialOverhead),
		"no time for preparing data sets, which depends on the target",
		fmt.Sprintf("no block is repeated; each may be, up to %d times", p.Retries),
	}
	if open {
		e.Assumptions = append(e.Assumptions, "work that ends by itself takes as long as its deadline allows")
	}
	if p.Peak != nil {
		e.Assumptions = append(e.Assumptions, fmt.Sprintf("the search for peaks takes about %d trials a cell, for the doublings of the load and around the best one; at most %d", p.searchLength(), p.Peak.Trials))
	}
	return e, nil
}

// searchAround is how many trials a search takes beside doubling, as simulated
// searches do with noise of 1 to 3 %.
const searchAround = 14

// searchLength is how many trials the search of a cell is expected to take.
func (p *Plan) searchLength() int {
	doublings := 1
	for load := p.Peak.From; load < p.Peak.To; load *= 2 {
		doublings++
	}
	return min(doublings+searchAround, p.Peak.Trials)
}

// estimateSearch adds the peak search of every cell.
func (p *Plan) estimateSearch(e *Estimate) error {
	if p.Peak == nil {
		return nil
	}
	for _, cell := range p.Cells() {
		r, err := p.ResolveTrial(Trial{Role: record.RoleSearch, Cell: cell})
		if err != nil {
			return err
		}
		d, _ := r.duration()
		d = add(d, trialOverhead)
		e.Searched, e.MaxSearched = e.Searched+p.searchLength(), e.MaxSearched+p.Peak.Trials
		e.Time, e.MaxTime = add(e.Time, times(d, p.searchLength())), add(e.MaxTime, times(d, p.Peak.Trials))
	}
	e.Trials, e.MaxTrials = e.Trials+e.Searched, e.MaxTrials+e.MaxSearched
	return nil
}

// SearchLeft is how many trials of the peak search are still expected; 0
// without one.
func (p *Plan) SearchLeft(outcomes []Outcome) int {
	if p.Peak == nil {
		return 0
	}
	done := map[string]int{}
	for _, o := range outcomes {
		if o.Trial.Role == record.RoleSearch && o.Status != record.StatusInterrupted {
			done[o.Trial.Cell.Key()]++
		}
	}
	left := 0
	searches, err := Searches(p, outcomes)
	for _, cell := range p.Cells() {
		over := err != nil || slices.ContainsFunc(searches, func(s Search) bool { return s.Peak > 0 && s.Cell.Key() == cell.Key() })
		if !over {
			left += max(1, p.searchLength()-done[cell.Key()])
		}
	}
	return left
}

// add and times stay at the longest duration there is, 292 years, rather than
// turn negative.
func add(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func times(d time.Duration, n int) time.Duration {
	if n > 0 && d > math.MaxInt64/time.Duration(n) {
		return math.MaxInt64
	}
	return d * time.Duration(n)
}

// duration is how long the load of a trial takes; ends is false where that is
// only bounded, by a deadline.
func (r Resolved) duration() (d time.Duration, ends bool) {
	ends = true
	for _, w := range r.Workloads {
		d = max(d, w.Warmup+w.Window, w.Deadline)
		ends = ends && w.Window > 0
	}
	return d, ends
}

// A Table is rows of text under their columns.
type Table struct {
	Columns []string
	Rows    [][]string
}

// TrialTable lists the trials in the order in which they will run, if none is
// invalid: those of the pilot, where the number of blocks is not fixed.
func (p *Plan) TrialTable() Table {
	t := Table{Columns: []string{"trial", "block"}}
	for _, f := range p.Factors {
		t.Columns = append(t.Columns, f.Name)
	}
	if p.AA {
		t.Columns = append(t.Columns, "role")
	}
	for block := 1; block <= max(p.Repeat.Blocks, p.Repeat.Pilot); block++ {
		for _, trial := range p.blockOrder(block, 1) {
			id := fmt.Sprintf("%04d", len(t.Rows)+1)
			if p.Peak != nil {
				id = "after the search"
			}
			row := []string{id, fmt.Sprint(block)}
			row = append(row, levels(trial.Cell)...)
			if p.AA {
				row = append(row, string(trial.Role))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// CellTable lists the cells and what each sets. A value that a ladder leaves as
// it is stays empty.
func (p *Plan) CellTable() (Table, error) {
	var t Table
	var paths []string
	for _, f := range p.Factors {
		t.Columns = append(t.Columns, f.Name)
		for _, s := range allSets(f) {
			paths = append(paths, s.Path)
		}
	}
	t.Columns = append(t.Columns, paths...)
	for _, c := range p.Cells() {
		tree, err := p.at(c)
		if err != nil {
			return Table{}, err
		}
		row := levels(c)
		for _, path := range paths {
			keys, _, _ := splitPath(path)
			n := tree
			for _, k := range keys {
				n = n.get(k)
			}
			row = append(row, n.String())
		}
		t.Rows = append(t.Rows, row)
	}
	return t, nil
}

func levels(c record.Cell) []string {
	out := make([]string, len(c))
	for i, l := range c {
		out[i] = l.Level
	}
	return out
}

// String writes a value as in a flow style plan; "" for none.
func (n *node) String() string {
	if n == nil {
		return ""
	}
	var parts []string
	switch n.kind {
	case list:
		for _, item := range n.items {
			parts = append(parts, item.String())
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case mapping:
		for _, p := range n.pairs {
			parts = append(parts, p.key+": "+p.value.String())
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return n.text
}
