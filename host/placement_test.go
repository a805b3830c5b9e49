package host

import (
	"slices"
	"strings"
	"testing"

	"bakeoff/record"
)

// fourCores has hyper-threads: 0 and 4, 1 and 5, 2 and 6, 3 and 7.
func fourCores() Topology {
	top := Topology{Allowed: CPUs{0, 1, 2, 3, 4, 5, 6, 7}, Siblings: map[int]CPUs{}}
	for n := range 8 {
		top.Siblings[n] = CPUs{n % 4, n%4 + 4}
	}
	return top
}

func TestGeneratorProcessors(t *testing.T) {
	two := Topology{Allowed: CPUs{0, 1}}
	for name, c := range map[string]struct {
		top      Topology
		asked    string
		services map[string]string
		want     string
		found    []string // of the warnings, by service
	}{
		"whole cores left":    {fourCores(), "", map[string]string{"redis": "0-1"}, "2-3,6-7", nil},
		"asked beside":        {fourCores(), "3,7", map[string]string{"redis": "0-1"}, "3,7", nil},
		"asked the same":      {fourCores(), "1-2", map[string]string{"redis": "0-1"}, "1-2", []string{"soft share processors 1"}},
		"asked the sibling":   {fourCores(), "4", map[string]string{"redis": "0"}, "4", []string{"soft processors 4 of the generator are on the same cores as 0"}},
		"no whole core left":  {fourCores(), "", map[string]string{"redis": "0-3"}, "4-7", []string{"soft processors 4-7 of the generator are on the same cores"}},
		"nothing left":        {two, "", map[string]string{"redis": "0-1"}, "0-1", []string{"soft share processors 0-1"}},
		"two services":        {fourCores(), "", map[string]string{"b": "1", "a": "0"}, "2-3,6-7", nil},
		"no services":         {two, "", nil, "0-1", nil},
		"not bound":           {two, "", map[string]string{"redis": ""}, "0-1", []string{"note the service is not bound"}},
		"siblings not told":   {two, "", map[string]string{"redis": "0"}, "1", nil},
		"a bound, b not":      {two, "", map[string]string{"a": "0", "b": ""}, "1", []string{"note the service is not bound"}},
		"a and b in its way":  {two, "0-1", map[string]string{"b": "1", "a": "0"}, "0-1", []string{"soft share processors 0", "soft share processors 1"}},
		"outside of allowed":  {Topology{Allowed: CPUs{0, 1}}, "", map[string]string{"a": "9"}, "0-1", nil},
		"allowed not by zero": {Topology{Allowed: CPUs{4, 5}}, "", map[string]string{"a": "4"}, "5", nil},
	} {
		t.Run(name, func(t *testing.T) {
			asked, err := ParseCPUs(c.asked)
			if err != nil {
				t.Fatal(err)
			}
			services := map[string]CPUs{}
			for name, list := range c.services {
				if services[name], err = ParseCPUs(list); err != nil {
					t.Fatal(err)
				}
			}
			got, warnings := c.top.Generator(asked, services)
			if got.String() != c.want {
				t.Errorf("processors = %s; want %s", got, c.want)
			}
			if len(warnings) != len(c.found) {
				t.Fatalf("warnings = %+v; want %d", warnings, len(c.found))
			}
			for i, w := range warnings {
				severity, found, _ := strings.Cut(c.found[i], " ")
				if string(w.Severity) != severity || !strings.Contains(w.Found, found) || w.Gate == "" || w.Advice == "" || w.Threshold == "" || w.Subject == "" {
					t.Errorf("warning %d = %+v; want %s with %q", i, w, severity, found)
				}
			}
			if !slices.IsSortedFunc(warnings, func(a, b record.Warning) int { return strings.Compare(a.Subject, b.Subject) }) {
				t.Errorf("warnings are not in the order of the services: %+v", warnings)
			}
		})
	}
}

func TestReadTopology(t *testing.T) {
	root := plant(t, map[string]string{
		"proc/self/status": "Name:\tx\nCpus_allowed:\t7\nCpus_allowed_list:\t0-2\nMems_allowed_list:\t0\n",
		cpuDir[1:] + "/cpu0/topology/thread_siblings_list": "0,2\n",
		cpuDir[1:] + "/cpu2/topology/thread_siblings_list": "0,2\n",
	})
	top, err := ReadTopology(t.Context(), root)
	if err != nil || top.Allowed.String() != "0-2" || top.Siblings[2].String() != "0,2" || len(top.Siblings[1]) != 0 {
		t.Errorf("ReadTopology = %+v, %v", top, err)
	}
	if _, err := ReadTopology(t.Context(), t.TempDir()); err == nil {
		t.Error("ReadTopology without /proc: no error")
	}
	here, err := ReadTopology(t.Context(), "/")
	if err != nil || len(here.Allowed) == 0 {
		t.Errorf("ReadTopology of this host = %+v, %v", here, err)
	}
}
