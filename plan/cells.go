package plan

import (
	"strings"

	"bakeoff/record"
)

// Cells returns all combinations of levels in the order of the plan, the last
// factor changing fastest. A plan without factors has one cell, without levels.
func (p *Plan) Cells() []record.Cell {
	cells := []record.Cell{{}}
	for _, f := range p.Factors {
		var next []record.Cell
		for _, c := range cells {
			for _, l := range f.Levels {
				next = append(next, append(c[:len(c):len(c)], record.Level{Factor: f.Name, Level: l.Name}))
			}
		}
		cells = next
	}
	return cells
}

// BaselineCells returns the cells in which every factor is at its baseline:
// one for each workload.
func (p *Plan) BaselineCells() []record.Cell {
	var base []record.Cell
	for _, c := range p.Cells() {
		if p.isBaseline(c) {
			base = append(base, c)
		}
	}
	return base
}

func (p *Plan) isBaseline(c record.Cell) bool {
	for i, f := range p.Factors {
		if f.Name != WorkloadFactor && c[i].Level != f.Baseline {
			return false
		}
	}
	return true
}

// Factor returns the named factor, nil where the plan has none of that name.
func (p *Plan) Factor(name string) *Factor {
	for i := range p.Factors {
		if p.Factors[i].Name == name {
			return &p.Factors[i]
		}
	}
	return nil
}

// level returns the index of the named level, -1 where there is none.
func (f *Factor) level(name string) int {
	for i := range f.Levels {
		if f.Levels[i].Name == name {
			return i
		}
	}
	return -1
}

// workloadFactor says whether several workloads form a factor of the plan.
func (p *Plan) workloadFactor() bool { return p.Factor(WorkloadFactor) != nil }

// compared returns the factors that can be compared: all but the workloads and
// the shares of a graded plan, which are different questions, not different
// answers.
func (p *Plan) compared() []*Factor {
	var out []*Factor
	for i := range p.Factors {
		if name := p.Factors[i].Name; name != WorkloadFactor && (p.Graded == nil || name != GradedFactor) {
			out = append(out, &p.Factors[i])
		}
	}
	return out
}

// String writes a comparison as a plan does.
func (c Comparison) String() string {
	s := strings.Join(c.Factors, " x ")
	if c.Simple {
		s += " within " + strings.Join(c.Within, " x ")
	}
	return s
}
