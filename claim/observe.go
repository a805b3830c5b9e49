package claim

import (
	"math/big"
	"slices"

	"bakeoff/record"
)

// Observations turns the figures of one table into observations: a measure under
// its title, in its own unit, with half a unit of the last printed digit.
func (f *Figures) Observations(t Table) []record.Observation {
	var out []record.Observation
	for _, m := range f.Measures {
		for _, row := range t.Rows {
			n, printed := row.Values[m.Name]
			if !printed {
				continue
			}
			value := n.Value
			if factor, err := n.Unit.In(m.Unit); err == nil {
				value = new(big.Rat).Mul(value, factor)
			}
			o := record.Observation{
				Cell: slices.Clone(row.Levels), Role: record.RoleMeasure, Measure: m.Title, Unit: m.Unit.String(),
				Better: m.Better, Value: float(value), Text: n.Text,
			}
			if n.Digit != nil {
				o.HalfWidth = new(float(n.Rounded().Width()) / 2)
			}
			out = append(out, o)
		}
	}
	return out
}

func float(v *big.Rat) float64 {
	f, _ := v.Float64()
	return f
}
