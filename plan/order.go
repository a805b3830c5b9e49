package plan

import (
	"slices"

	"bakeoff/record"
)

// blockOrder returns the trials of one attempt of a block, in order and
// without ids.
//
// In blocks, the stream of (seed, block, attempt) shuffles the whole plots, each a
// combination of the hard factors' levels in written order, and then the cells
// inside each plot, one plot after the other. Without hard factors there is one
// plot. ABBA turns the order round in every second block; a ladder keeps it. The
// cells of a graded plan are shuffled at their peak, and each is followed by its
// other shares.
func (p *Plan) blockOrder(block, attempt int) []Trial {
	plots := p.plots()
	switch {
	case p.Ladder:
	case p.Order == OrderABBA:
		if block%2 == 0 {
			slices.Reverse(plots[0])
		}
	default:
		random := newStream(p.Seed, uint64(block), uint64(attempt))
		random.shuffle(len(plots), func(i, j int) { plots[i], plots[j] = plots[j], plots[i] })
		for _, plot := range plots {
			random.shuffle(len(plot), func(i, j int) { plot[i], plot[j] = plot[j], plot[i] })
		}
	}
	trials := p.grades(slices.Concat(plots...))
	seed := newStream(p.Seed, uint64(block)).next()
	for i := range trials {
		trials[i].Block, trials[i].Attempt, trials[i].Seed = block, attempt, seed
	}
	return trials
}

// plots returns the trials of a block by the levels of the hard factors, in
// written order. With AA, each baseline cell is followed by its twin.
func (p *Plan) plots() [][]Trial {
	var hard []string
	for _, f := range p.Factors {
		if f.Hard {
			hard = append(hard, f.Name)
		}
	}
	cells := matching(p.Cells(), p.atPeak())
	var plots [][]Trial
	for _, where := range combinations(p, hard) {
		var plot []Trial
		for _, c := range matching(cells, where) {
			plot = append(plot, Trial{Role: record.RoleMeasure, Cell: c})
			if p.AA && p.isBaseline(c) {
				plot = append(plot, Trial{Role: record.RoleAA, Cell: c})
			}
		}
		plots = append(plots, plot)
	}
	return plots
}
