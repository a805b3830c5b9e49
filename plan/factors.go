package plan

import (
	"fmt"
	"slices"
	"strings"

	"bakeoff/internal/spelling"
)

// maxCells bounds the product of the factors' levels.
const maxCells = 1000

// readFactors reads the factors and notes what is wrong with them.
func (f *faults) readFactors(top, tree *node) []Factor {
	section := top.get("factors")
	if section == nil || section.kind != mapping {
		return nil
	}
	if len(section.pairs) == 0 {
		f.add(section.line, "factors", "no factor", "at least one factor with two levels", "leave factors out to measure one cell")
	}
	ladder := top.textOf("ladder") == "true"
	var factors []Factor
	for _, p := range section.pairs {
		key := join("factors", p.key)
		if expected, mend := nameFault(p.key); expected != "" {
			f.add(p.line, key, quote(p.key), expected, mend)
		}
		if p.key == WorkloadFactor {
			f.add(p.line, key, "the name "+WorkloadFactor, "another name", "several workloads are the factor "+WorkloadFactor+" by themselves")
		}
		factors = append(factors, f.readFactor(key, p, tree, ladder))
	}
	return factors
}

func (f *faults) readFactor(key string, p pair, tree *node, ladder bool) Factor {
	factor := Factor{Name: p.key, Line: p.line}
	before := len(f.all)
	if p.value.kind != mapping || len(p.value.pairs) < 2 {
		f.add(p.line, key, "fewer than two levels", "two or more levels, each a map path -> value", "write "+p.key+": {first: {path: value}, second: {path: value}}")
		return factor
	}
	for i, l := range p.value.pairs {
		at := join(key, l.key)
		if expected, mend := levelNameFault(l.key); expected != "" {
			f.add(l.line, at, quote(l.key), expected, mend)
		}
		level := Level{Name: l.key, Line: l.line}
		empty := l.value.kind != mapping || len(l.value.pairs) == 0
		switch {
		case empty && ladder && i == 0 && l.value.kind == mapping: // the state before the first step
		case empty:
			f.add(l.line, at, "an empty level", "a map path -> value", "say what the level sets, as {workloads.get.value_size: 4K}")
		default:
			level.Sets = f.readSets(at, l.value, tree)
		}
		factor.Levels = append(factor.Levels, level)
	}
	factor.Baseline = factor.Levels[0].Name
	if !ladder && len(f.all) == before { // else it would repeat what is wrong
		f.checkSamePaths(key, factor)
	}
	return factor
}

// readSets reads the paths of one level, wildcards replaced.
func (f *faults) readSets(key string, level, tree *node) []Assignment {
	var out []Assignment
	for _, p := range level.pairs {
		if p.value.null {
			f.add(p.line, join(key, p.key), "nothing", "a value", "give the path a value, or remove it from all levels")
			continue
		}
		for _, keys := range f.expand(tree, p.key, p.line) {
			for _, before := range out {
				if keys.contains(before.keys) {
					f.add(p.line, join(key, p.key), fmt.Sprintf("%s, which line %d sets too", keys, before.Line), "each value set once in a level", "remove one of the two")
				}
			}
			f.checkPath(tree, keys, p.line)
			out = append(out, Assignment{Path: keys.String(), Value: p.value.plain(), Line: p.line, keys: keys, value: p.value})
		}
	}
	return out
}

// checkSamePaths notes levels of a factor that do not set what the others set.
func (f *faults) checkSamePaths(key string, factor Factor) {
	paths := func(l Level) []string {
		var out []string
		for _, s := range l.Sets {
			out = append(out, s.Path)
		}
		return out
	}
	first := factor.Levels[0]
	for _, l := range factor.Levels[1:] {
		f.missing(join(key, l.Name), l, paths(l), paths(first), first.Name)
		f.missing(join(key, first.Name), first, paths(first), paths(l), l.Name)
	}
}

func (f *faults) missing(key string, l Level, have, want []string, other string) {
	for _, path := range want {
		if slices.Contains(have, path) {
			continue
		}
		mend := "write " + path + ": and its value in this level too"
		if near := misspelt(path, have, want); near != "" {
			mend = "is one of " + near + " and " + path + " misspelt?"
		}
		f.add(l.Line, key, "no value for "+path, fmt.Sprintf("the same paths in every level (%s sets it)", other), mend)
	}
}

// misspelt returns the path of have alone that differs from the one given by
// little more than a letter or two of its last key, "" where there is none.
func misspelt(path string, have, want []string) string {
	dot := strings.LastIndexByte(path, '.') + 1
	for _, h := range have {
		if last, same := strings.CutPrefix(h, path[:dot]); same && !slices.Contains(want, h) && spelling.Nearest(last, []string{path[dot:]}) != "" {
			return h
		}
	}
	return ""
}

// checkCollisions notes paths that two factors set.
func (f *faults) checkCollisions(factors []Factor) {
	for i, a := range factors {
		for _, b := range factors[i+1:] {
			for _, setA := range allSets(a) {
				for _, setB := range allSets(b) {
					if setA.keys.contains(setB.keys) {
						f.add(setB.Line, "factors."+b.Name, fmt.Sprintf("%s, which the factor %s sets too (%s on line %d)", setB.Path, a.Name, setA.Path, setA.Line),
							"each value set by one factor", "take it out of one of the two, or make them one factor")
					}
				}
			}
		}
	}
}

// allSets returns the assignments of a factor, each path once.
func allSets(f Factor) []Assignment {
	var out []Assignment
	seen := map[string]bool{}
	for _, l := range f.Levels {
		for _, s := range l.Sets {
			if !seen[s.Path] {
				seen[s.Path] = true
				out = append(out, s)
			}
		}
	}
	return out
}

// markFactors reads baseline and hard, and adds the workloads' factor.
func (f *faults) markFactors(top *node, factors []Factor) []Factor {
	var known []string
	for _, factor := range factors {
		known = append(known, factor.Name)
	}
	for _, p := range top.pairsOf("baseline") {
		i := slices.Index(known, p.key)
		if i < 0 {
			f.add(p.line, "baseline."+p.key, quote(p.key), oneOf(known), meant(p.key, known))
			continue
		}
		var levels []string
		for _, l := range factors[i].Levels {
			levels = append(levels, l.Name)
		}
		if !slices.Contains(levels, p.value.text) {
			f.add(p.line, "baseline."+p.key, found(p.value), "a level of "+p.key+": "+oneOf(levels), meant(p.value.text, levels))
			continue
		}
		factors[i].Baseline = p.value.text
	}
	for _, name := range top.textsOf("hard") {
		i := slices.Index(known, name)
		if i < 0 {
			f.add(top.get("hard").line, "hard", quote(name), oneOf(known), meant(name, known))
			continue
		}
		factors[i].Hard = true
	}
	workloads := top.pairsOf("workloads")
	if len(workloads) < 2 || top.textOf("together") == "true" {
		return factors
	}
	all := Factor{Name: WorkloadFactor, Baseline: workloads[0].key, Line: workloads[0].line}
	for _, p := range workloads {
		all.Levels = append(all.Levels, Level{Name: p.key, Line: p.line})
	}
	return append(factors, all)
}

// checkProduct notes a product that is too large to be meant.
func (f *faults) checkProduct(at *node, factors []Factor) {
	cells, text := 1.0, make([]string, len(factors))
	for i, factor := range factors {
		cells *= float64(len(factor.Levels))
		text[i] = fmt.Sprintf("%d (%s)", len(factor.Levels), factor.Name)
	}
	if cells > maxCells {
		line := 0
		if at != nil {
			line = at.line
		}
		f.add(line, "factors", fmt.Sprintf("%s = %.0f cells", strings.Join(text, " x "), cells), fmt.Sprintf("at most %d cells", maxCells),
			"leave levels out, or split the bake-off into several plans")
	}
}
