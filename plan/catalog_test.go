package plan

import (
	"errors"
	"strconv"
)

// testCatalog stands for the engines of the binary, which this package must
// not import.
type testCatalog struct{}

func (testCatalog) Collectors() []string { return []string{"cpu", "memory", "disk", "nic", "power"} }

func (testCatalog) Engines() []Engine {
	return []Engine{
		{
			Name: "kv", Target: true, Embedded: true, Options: []Option{{Name: "threads", Check: func(v string) error {
				_, err := strconv.Atoi(v)
				return err
			}}, {Name: "memory"}}, Kinds: []string{"get", "set"},
			Parameters: []Parameter{
				{Name: "ratio", Type: "string"}, {Name: "key_maximum", Type: "int"}, {Name: "value_size", Type: "string"},
				{Name: "connections", Type: "int"}, {Name: "pipeline", Type: "int"}, {Name: "verify", Type: "bool"},
				{Name: "get_pattern", Type: "enum", Values: []string{"uniform", "zipf"}}, {Name: "expiry", Type: "duration"},
			},
			Check: func(w Workload) error {
				if w.Parameters["ratio"] == "0:0" {
					return errors.New("a ratio of 0:0 does nothing")
				}
				return nil
			},
		},
		{Name: "null"},
		{Name: "exec", Parameters: []Parameter{{Name: "command", Type: "list"}, {Name: "figures", Type: "map"}}},
	}
}
