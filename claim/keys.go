package claim

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"bakeoff/internal/spelling"
)

// placed is an error at a node of its own, inside what is being read.
type placed struct {
	node *yaml.Node
	err  error
}

func (p *placed) Error() string { return p.err.Error() }
func (p *placed) Unwrap() error { return p.err }

func at(n *yaml.Node, format string, args ...any) error {
	return &placed{n, fmt.Errorf(format, args...)}
}

// load reads a map into a form, once its keys are those of the form and their
// values of the kinds that it takes.
func load(n *yaml.Node, form any, what string) error {
	if err := errors.Join(misfits(n, form, what)...); err != nil {
		return err
	}
	return n.Load(form, yaml.WithKnownFields())
}

// misfits lists the keys of a map that a form does not have, and the values
// that are no text, list or map where it wants one.
func misfits(n *yaml.Node, form any, what string) (faults []error) {
	t := reflect.TypeOf(form).Elem()
	known := make([]string, t.NumField())
	for i := range known {
		known[i] = t.Field(i).Tag.Get("yaml")
	}
	if n.Kind != yaml.MappingNode {
		if n.Kind != yaml.AliasNode {
			faults = append(faults, at(n, "found %s, expected a map of %s", kindOf(n), strings.Join(known, ", ")))
		}
		return faults
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch field := slices.Index(known, key.Value); {
		case key.Value == "<<": // joins another map
		case field < 0:
			faults = append(faults, at(key, "unknown key %q; %s has %s%s", key.Value, what, strings.Join(known, ", "), meant(key.Value, known)))
		default:
			if expected := expectedKind(t.Field(field).Type, value); expected != "" {
				faults = append(faults, at(value, "%s: found %s, expected %s", key.Value, kindOf(value), expected))
			}
		}
	}
	return faults
}

// expectedKind says what a field takes where the value is something else.
func expectedKind(t reflect.Type, n *yaml.Node) string {
	switch {
	case t == reflect.TypeFor[yaml.Node](), n.Kind == yaml.AliasNode, n.Tag == "!!null":
	case t == reflect.TypeFor[measureList]() && n.Kind == yaml.ScalarNode:
	case t.Kind() == reflect.Slice && n.Kind != yaml.SequenceNode:
		return "a list"
	case t.Kind() == reflect.Map && n.Kind != yaml.MappingNode:
		return "a map"
	case t.Kind() == reflect.String && n.Kind != yaml.ScalarNode:
		return "text"
	case t.Kind() == reflect.Bool && n.Tag != "!!bool":
		return "true or false"
	case t.Kind() == reflect.Int && n.Tag != "!!int":
		return "a whole number"
	}
	return ""
}

func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		return fmt.Sprintf("%q", n.Value)
	}
	return "nothing"
}

// meant suggests the name that was probably meant, nothing where none is near.
func meant(s string, names []string) string {
	if near := spelling.Nearest(s, names); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// top checks the keys of a whole file, and knows a plan where it sees one.
func top(name string, src []byte) error {
	var root yaml.Node
	if err := yaml.Load(src, &root); err != nil && !strings.Contains(err.Error(), "no documents") {
		return fmt.Errorf("%s: %w", name, err)
	}
	n := &root
	if n.Kind == yaml.DocumentNode && len(n.Content) == 1 {
		n = n.Content[0]
	}
	if n.Kind == 0 || n.Tag == "!!null" {
		return fmt.Errorf("%s: found nothing, expected a figures file: title, tables, claims", name)
	}
	faults := misfits(n, &document{}, "a figures file")
	for i, fault := range faults {
		line := n.Line
		if p, ok := errors.AsType[*placed](fault); ok {
			line = p.node.Line
		}
		faults[i] = fmt.Errorf("%s:%d: %w", name, line, fault)
	}
	if len(faults) > 0 && looksLikePlan(n) {
		return fmt.Errorf("%w; this looks like a plan: use bakeoff plan check", faults[0])
	}
	return errors.Join(faults...)
}

func looksLikePlan(n *yaml.Node) bool {
	for i := 0; i < len(n.Content); i += 2 {
		if slices.Contains([]string{"hosts", "services", "workloads", "settings", "factors", "primary"}, n.Content[i].Value) {
			return true
		}
	}
	return false
}
