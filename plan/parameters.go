package plan

import (
	"slices"
	"strings"
)

// workloadKeys returns the keys that a workload may have by the engine that the
// description gives it. It returns nil where engines are not known or levels
// set them.
func workloadKeys(top *node, catalog Catalog) func(*node) []string {
	if catalog == nil {
		return nil
	}
	for _, factor := range top.pairsOf("factors") {
		for _, level := range factor.value.pairs {
			for _, p := range level.value.pairs {
				if strings.HasPrefix(p.key, "workloads.") && strings.HasSuffix(p.key, ".engine") {
					return nil
				}
			}
		}
	}
	engines := catalog.Engines()
	return func(workload *node) []string {
		i := slices.IndexFunc(engines, func(e Engine) bool { return e.Name == workload.textOf("engine") })
		if i < 0 {
			return nil
		}
		return names(append(workloadFields(), engineFields(engines[i])...))
	}
}

// checkOverridden judges the parameters of the description itself: where every
// level sets another value, no cell shows the one that is written there.
func (f *faults) checkOverridden(p *Plan, catalog Catalog) {
	if f.keys == nil {
		return
	}
	f.lenient = true
	defer func() { f.lenient = false }()
	for _, w := range p.tree.pairsOf("workloads") {
		for _, e := range catalog.Engines() {
			if e.Name == w.value.textOf("engine") {
				f.section(join("workloads", w.key), w.value, field{keys: append(workloadFields(), engineFields(e)...), rest: shapeAny})
			}
		}
	}
}
