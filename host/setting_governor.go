package host

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// governor is the frequency governor of some or all processors.
type governor struct {
	tree  tree
	cpus  CPUs // nil: all that have one
	value string
}

const cpuDir = "/sys/devices/system/cpu"

func newGovernor(t tree, spec SettingSpec) (Setting, error) {
	g := governor{tree: t, value: strings.TrimSpace(spec.Value)}
	if len(strings.Fields(spec.Value)) != 1 || strings.ContainsAny(spec.Value, ":") {
		return nil, fmt.Errorf("setting governor: found the value %q; expected one name, as performance", spec.Value)
	}
	if spec.Target == "" || spec.Target == "all" {
		return g, nil
	}
	var err error
	g.cpus, err = ParseCPUs(spec.Target)
	if err != nil {
		return nil, fmt.Errorf("setting governor: %w, or all", err)
	}
	return g, nil
}

func governorFile(cpu int) string {
	return fmt.Sprintf("%s/cpu%d/cpufreq/scaling_governor", cpuDir, cpu)
}

// present lists the processors that have a governor; of a governor asked for
// by number, each must.
func (g governor) present(ctx context.Context) (CPUs, error) {
	names, err := g.tree.names(ctx, cpuDir)
	if err != nil {
		return nil, fmt.Errorf("listing the processors: %w", err)
	}
	var found CPUs
	for _, name := range names {
		digits, isCPU := strings.CutPrefix(name, "cpu")
		n, err := cpuNumber(digits)
		if isCPU && err == nil && g.tree.exists(ctx, governorFile(n)) {
			found = append(found, n)
		}
	}
	slices.Sort(found)
	if missing := g.cpus.Without(found); len(missing) > 0 {
		return nil, fmt.Errorf("setting governor: processors %s have none; those that have: %s", missing, found)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("setting governor: no processor has one below %s: "+
			"a virtual machine has no say in its frequency; on hardware load a cpufreq driver, or allow it in the BIOS", cpuDir)
	}
	if g.cpus != nil {
		return g.cpus, nil
	}
	return found, nil
}

// Read returns the governor's name, or, where processors differ, each name with
// its processors: "performance:0-3 powersave:4-7".
func (g governor) Read(ctx context.Context) (string, error) {
	cpus, err := g.present(ctx)
	if err != nil {
		return "", err
	}
	by := map[string]CPUs{}
	for _, n := range cpus {
		text, err := g.tree.read(ctx, governorFile(n))
		if err != nil {
			return "", fmt.Errorf("reading setting governor: %w", err)
		}
		name := strings.TrimSpace(text)
		by[name] = append(by[name], n)
	}
	return byCPU(by, func(name string, c CPUs) string { return name + ":" + c.String() }, " "), nil
}

// byCPU names the one value that all processors share, or each with its own.
func byCPU(by map[string]CPUs, one func(string, CPUs) string, separator string) string {
	names := make([]string, 0, len(by))
	for name := range by {
		names = append(names, name)
	}
	if len(names) == 1 {
		return names[0]
	}
	slices.SortFunc(names, func(a, b string) int { return by[a][0] - by[b][0] })
	for i, name := range names {
		names[i] = one(name, by[name])
	}
	return strings.Join(names, separator)
}

func (g governor) Apply(ctx context.Context) error { return g.set(ctx, g.value) }

// Restore leaves governors alone that are as they were.
func (g governor) Restore(ctx context.Context, before string) error {
	if now, err := g.Read(ctx); err == nil && now == before {
		return nil
	}
	return g.set(ctx, before)
}

// writable says why a governor cannot be set, without touching it.
func (g governor) writable(ctx context.Context) error {
	cpus, err := g.present(ctx)
	if err != nil {
		return err
	}
	for _, n := range cpus {
		if err := g.tree.writable(ctx, governorFile(n), g.value); err != nil {
			return err
		}
	}
	return nil
}

func (g governor) set(ctx context.Context, value string) error {
	cpus, err := g.present(ctx)
	if err != nil {
		return err
	}
	want, err := perCPU(value, cpus)
	if err != nil {
		return err
	}
	for _, n := range cpus {
		if err := g.setOne(ctx, n, want[n]); err != nil {
			return err
		}
	}
	// Processors that share a policy share its governor: read all again.
	found, err := g.Read(ctx)
	if err != nil {
		return err
	}
	if got, err := perCPU(found, cpus); err != nil || !equalFor(cpus, got, want) {
		return &SettingError{
			Path: "the governor of processors " + cpus.String(), Asked: value, Found: found,
			Advice: "something else, such as a power daemon, may be setting it too",
		}
	}
	return nil
}

func (g governor) setOne(ctx context.Context, cpu int, name string) error {
	if name == "" {
		return nil // was not there before
	}
	file := governorFile(cpu)
	if err := g.tree.write(ctx, file, name+"\n"); err != nil {
		offered, _ := g.tree.read(ctx, strings.Replace(file, "scaling_governor", "scaling_available_governors", 1))
		return &SettingError{Path: file, Asked: name, Err: unpathed(err), Advice: adviseOn(err, file, strings.Fields(offered))}
	}
	return nil
}

// perCPU reads what Read wrote.
func perCPU(value string, all CPUs) (map[int]string, error) {
	want := map[int]string{}
	for _, word := range strings.Fields(value) {
		name, list, some := strings.Cut(word, ":")
		cpus := all
		if some {
			var err error
			if cpus, err = ParseCPUs(list); err != nil {
				return nil, fmt.Errorf("setting governor: found the value %q: %w", value, err)
			}
		}
		for _, n := range cpus {
			want[n] = name
		}
	}
	return want, nil
}

func equalFor(cpus CPUs, got, want map[int]string) bool {
	for _, n := range cpus {
		if want[n] != "" && got[n] != want[n] {
			return false
		}
	}
	return true
}
