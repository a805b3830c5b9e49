package telemetry

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Config is what the collectors of a host need to know.
type Config struct {
	Root      string    // where /proc and /sys are found; "" for "/"
	Processes []Process // the services to watch
	Self      int       // PID of bakeoff; 0 for this process
	PageSize  int       // of the host, in bytes; 0 for this machine's
}

// Table returns every collector of a host, in the order in which a sample takes
// them. Power sources are not among them: see telemetry/power.
func Table(cfg Config) []Collector {
	if cfg.Root == "" {
		cfg.Root = "/"
	}
	if cfg.Self == 0 {
		cfg.Self = os.Getpid()
	}
	if cfg.PageSize == 0 {
		cfg.PageSize = os.Getpagesize()
	}
	for i, p := range cfg.Processes {
		if len(p.PIDs) == 0 && p.Command == "" {
			cfg.Processes = slices.Clone(cfg.Processes)
			cfg.Processes[i].Command = p.Name
		}
	}
	return []Collector{
		newCPU(cfg.Root),
		newFrequency(cfg.Root),
		newMemory(cfg.Root, cfg.PageSize),
		newDisk(cfg.Root),
		newNIC(cfg.Root),
		newSoftnet(cfg.Root),
		newInterrupts(cfg.Root),
		newPressure(cfg.Root),
		newRAPL(cfg.Root),
		newThrottle(cfg.Root),
		newProcess(cfg.Root, cfg.Processes, cfg.Self, cfg.PageSize),
		newClock(linuxClock{}),
	}
}

// PowerGroup is the name that asks Select for all power sources, whose own
// names are PowerGroup, a '/' and the source's.
const PowerGroup = "power"

// Select returns the collectors that names asks for, in the table's order; no
// names ask for all. "power" asks for every power source in the table, of which
// there may be none. A name that no collector has is an error.
func Select(table []Collector, names []string) ([]Collector, error) {
	if len(names) == 0 {
		return table, nil
	}
	var chosen []Collector
	known := []string{PowerGroup}
	for _, c := range table {
		name := c.Describe().Name
		known = append(known, name)
		if slices.Contains(names, name) || strings.HasPrefix(name, PowerGroup+"/") && slices.Contains(names, PowerGroup) {
			chosen = append(chosen, c)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("collector %q is not known: expected one of %s", name, strings.Join(known, ", "))
		}
	}
	return chosen, nil
}
