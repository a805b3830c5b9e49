package plan

import (
	"fmt"
	"slices"
)

// checkIncomparable refuses levels that would be compared by figures which
// follow different rules, as an engine says of a parameter.
func (f *faults) checkIncomparable(cells []Resolved, catalog Catalog) {
	if catalog == nil || f.full() {
		return
	}
	engines := catalog.Engines()
	first := map[string]string{} // value, by workload and parameter
	for _, r := range cells {
		for _, w := range r.Workloads {
			i := slices.IndexFunc(engines, func(e Engine) bool { return e.Name == w.Engine })
			if i < 0 {
				continue
			}
			for _, p := range engines[i].Parameters {
				if !p.Incomparable {
					continue
				}
				value := p.Default
				if given, ok := w.Parameters[p.Name]; ok {
					value = fmt.Sprint(given)
				}
				key := "workloads." + w.Name + "." + p.Name
				if was, seen := first[key]; seen && was != value {
					f.add(0, key, fmt.Sprintf("%s in one cell and %s in another", quote(was), quote(value)),
						"one value in all cells: figures of different ones follow different rules and are not comparable", "make it a plan of its own")
					return
				}
				first[key] = value
			}
		}
	}
}
