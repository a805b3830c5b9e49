package claim

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"bakeoff/record"
)

// named reads the levels that the report names without printing a row of them
// in any table. Without that key, a level that no table has is a misspelt one.
func (r *reader) named(n *yaml.Node) {
	r.figures.named = map[string][]string{}
	r.each(n, "levels", func(key, value *yaml.Node) {
		printed := r.figures.levels(key.Value)
		switch {
		case len(printed) == 0:
			r.fault(key, "levels: %w", r.factorKnown(key.Value))
		case value.Kind != yaml.SequenceNode:
			r.fault(value, "levels: %s: found %s, expected a list, as %s: [NAME]", key.Value, kindOf(value), key.Value)
		}
		for _, item := range value.Content {
			if slices.Contains(printed, item.Value) {
				r.fault(item, "levels: %s: a table has a row of %q; name only levels without one", key.Value, item.Value)
			}
			r.figures.named[key.Value] = append(r.figures.named[key.Value], item.Value)
		}
	})
}

// factorKnown says so where no table has a factor.
func (r *reader) factorKnown(name string) error {
	var known []string
	for _, t := range r.figures.Tables {
		for _, f := range t.Factors {
			if !slices.Contains(known, f) {
				known = append(known, f)
			}
		}
	}
	if name == "table" || slices.Contains(known, name) {
		return nil
	}
	return fmt.Errorf("no table has a factor %q; there are %s%s", name, orNone(known), meant(name, known))
}

// levelKnown says so where the report prints no row of a level, and the file
// does not say that it names it all the same.
func (r *reader) levelKnown(l record.Level) error {
	if err := r.factorKnown(l.Factor); err != nil {
		return err
	}
	var known []string
	if l.Factor == "table" {
		for _, t := range r.figures.Tables {
			known = append(known, t.Name)
		}
	} else {
		known = slices.Concat(r.figures.levels(l.Factor), r.figures.named[l.Factor])
	}
	if slices.Contains(known, l.Level) {
		return nil
	}
	err := fmt.Errorf("found the %s %q, expected one of %s%s", l.Factor, l.Level, orNone(known), meant(l.Level, known))
	if l.Factor == "table" {
		return err
	}
	return fmt.Errorf("%w (where the report names it and prints no row of it, say levels: {%s: [%s]})", err, l.Factor, l.Level)
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// expression reads arithmetic over figures whose levels the report has.
func (r *reader) expression(text string) (expression, error) {
	e, err := parseExpression(text)
	if err != nil {
		return nil, err
	}
	return e, r.levelsKnown(e)
}

func (r *reader) levelsKnown(e expression) error {
	switch e := e.(type) {
	case reference:
		for _, l := range e.filter {
			if err := r.levelKnown(l); err != nil {
				return fmt.Errorf("%s: %w", e, err)
			}
		}
	case operation:
		return errors.Join(r.levelsKnown(e.left), r.levelsKnown(e.right))
	case call:
		return r.levelsKnown(e.arg)
	}
	return nil
}
