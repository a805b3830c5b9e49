package plan

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// TuningFactor is the name of the factor of a tuning ladder, and AsFound that of
// its first level.
const (
	TuningFactor = "tuning"
	AsFound      = "as found"
)

// A TuningStep is one step of a tuning ladder: a level, as a plan writes it.
type TuningStep struct {
	Name string        `json:"name"`
	Sets []TuningValue `json:"sets"`
}

// TuningValue gives one path a value, both as they stand in a plan.
type TuningValue struct {
	Path  string `json:"path"`
	Value string `json:"value"`
}

// TuningSteps reads steps of somebody's own: a map of names to levels, in order.
// Name is the file's, for errors.
func TuningSteps(name string, src []byte) ([]TuningStep, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(src, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s: expected steps by name, as \"backlog: {settings.local.sysctl.net.core.netdev_max_backlog: 250000}\"", name)
	}
	var steps []TuningStep
	pairs := doc.Content[0].Content
	for i := 0; i+1 < len(pairs); i += 2 {
		key, level := pairs[i], pairs[i+1]
		step := TuningStep{Name: key.Value}
		if level.Kind != yaml.MappingNode || len(level.Content) == 0 {
			return nil, fmt.Errorf("%s:%d: step %q: expected a map of what it sets, as {settings.local.sysctl.net.core.rmem_max: 16777216}", name, key.Line, key.Value)
		}
		for j := 0; j+1 < len(level.Content); j += 2 {
			text, err := inline(level.Content[j+1])
			if err != nil {
				return nil, fmt.Errorf("%s:%d: step %q: %w", name, level.Content[j].Line, key.Value, err)
			}
			step.Sets = append(step.Sets, TuningValue{level.Content[j].Value, text})
		}
		if slices.ContainsFunc(steps, func(s TuningStep) bool { return s.Name == step.Name }) {
			return nil, fmt.Errorf("%s:%d: a second step is called %q: names tell the steps apart in the report", name, key.Line, key.Value)
		}
		steps = append(steps, step)
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("%s holds no step", name)
	}
	return steps, nil
}

// inline writes a value on one line, as it was understood.
func inline(n *yaml.Node) (string, error) {
	if n.Kind == yaml.ScalarNode {
		return n.Value, nil
	}
	flow := *n
	flow.Style = yaml.FlowStyle
	text, err := yaml.Marshal(&flow)
	if err != nil {
		return "", fmt.Errorf("writing a value: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// TuningLadder adds a ladder of steps to a plan that has no factors: the machine
// as it is found, then one step after the other.
func TuningLadder(name string, src []byte, steps []TuningStep) ([]byte, error) {
	var top map[string]any
	if err := yaml.Unmarshal(src, &top); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, key := range []string{"factors", "compare", "ladder", "peak", "graded"} {
		if _, has := top[key]; has {
			return nil, fmt.Errorf("%s: found %q: expected a plan of one load without it, to which the steps of the tuning are added", name, key)
		}
	}
	if len(steps) == 0 {
		return nil, errors.New("no step to try")
	}
	var b bytes.Buffer
	b.Write(bytes.TrimRight(src, "\n"))
	fmt.Fprintf(&b, "\n\n# What is tried, one step after the other; each keeps what the steps before it set.\nladder: true\nfactors:\n  %s:\n    %s: {}\n", TuningFactor, AsFound)
	for _, s := range steps {
		fmt.Fprintf(&b, "    %s: %s\n", strconv.Quote(s.Name), s.Level())
	}
	return b.Bytes(), nil
}

// Level writes what a step sets as a level of a plan.
func (s TuningStep) Level() string {
	parts := make([]string, len(s.Sets))
	for i, v := range s.Sets {
		value := v.Value
		if !strings.HasPrefix(value, "{") && !strings.HasPrefix(value, "[") {
			value = strconv.Quote(value)
		}
		parts[i] = v.Path + ": " + value
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// Together is the one step that does what all of these do.
func Together(name string, steps []TuningStep) TuningStep {
	all := TuningStep{Name: name}
	for _, s := range steps {
		for _, v := range s.Sets {
			i := slices.IndexFunc(all.Sets, func(had TuningValue) bool { return had.Path == v.Path })
			if i >= 0 {
				all.Sets[i] = v // the later step has the last word, as in the ladder
				continue
			}
			all.Sets = append(all.Sets, v)
		}
	}
	return all
}
