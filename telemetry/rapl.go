package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// raplCollector reads the energy counters of the processor.
type raplCollector struct {
	source
	energy *RAPLEnergy
}

func newRAPL(root string) *raplCollector {
	return &raplCollector{newSource(raplMetrics()), NewRAPLEnergy(root)}
}

func (c *raplCollector) Describe() Description {
	return Description{
		Name: "rapl", Summary: "energy of processor packages and memory, as the processor estimates or measures it",
		Source: "/sys/class/powercap/intel-rapl:* (Documentation/power/powercap/powercap.rst)", Metrics: raplMetrics(),
	}
}

func (c *raplCollector) Probe(context.Context) Probed {
	domains, err := RAPLDomains(c.energy.root)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return Probed{Unsupported, "the energy counters may be read by root only: " + err.Error()}
	case err != nil:
		return Probed{Unsupported, err.Error()}
	case len(domains) == 0:
		return Probed{Unsupported, "/sys/class/powercap has no RAPL domain"}
	}
	return Probed{Support: Supported}
}

func (c *raplCollector) Collect(_ context.Context, dst []Sample) ([]Sample, error) {
	domains, err := c.energy.Read()
	for _, d := range domains {
		dst = c.value(dst, "rapl.energy", d.Name, d.Joules)
	}
	return dst, err
}

// RAPLEnergy remembers the energy counters of a host between readings, and
// takes their wraps out.
type RAPLEnergy struct {
	root    string
	memory  source
	counted map[string]float64 // joules of additive domains, as last read
}

// NewRAPLEnergy returns a reader of the domains below root.
func NewRAPLEnergy(root string) *RAPLEnergy {
	return &RAPLEnergy{root, newSource(raplMetrics()), make(map[string]float64)}
}

// DomainEnergy is what a domain has counted, in joules. It never falls.
type DomainEnergy struct {
	RAPLDomain
	Joules float64
}

// Read reads every domain. It must be called more often than a counter wraps,
// which at 300 W takes a quarter of an hour.
func (e *RAPLEnergy) Read() ([]DomainEnergy, error) {
	domains, err := RAPLDomains(e.root)
	all := make([]DomainEnergy, 0, len(domains))
	for _, d := range domains {
		total := e.memory.grow("rapl.energy", d.Name, d.Microjoules, d.growth())
		all = append(all, DomainEnergy{d, scaled(total, 1e-6)})
		if d.Additive {
			e.counted[d.Name] = scaled(total, 1e-6)
		}
	}
	return all, err
}

// Joules is the sum of the domains that lie in no other, those that went away
// included with what they had counted. It is 0 before the first Read.
func (e *RAPLEnergy) Joules() float64 {
	var sum float64
	for _, name := range slices.Sorted(maps.Keys(e.counted)) {
		sum += e.counted[name]
	}
	return sum
}

// A RAPLDomain is one energy counter of a processor, as read.
type RAPLDomain struct {
	Name        string // with its parent's, as "package-0/dram"
	Microjoules uint64
	Range       uint64 // highest value before the counter goes to 0, in microjoules; 0 if unknown
	// Additive says that the domain lies in no other: packages, and dram,
	// which sysfs shows below its package but whose energy the package's
	// counter does not hold. core and uncore lie in a package, and packages in
	// psys (Intel SDM volume 3B, section 16.10).
	Additive bool
}

func (d RAPLDomain) growth() growth {
	if d.Range == 0 {
		return restarts
	}
	return wrapsAt(d.Range)
}

// RAPLDomains reads the domains below root, in order of their directories. The
// same domains shown again by another interface (intel-rapl-mmio) are left out.
func RAPLDomains(root string) ([]RAPLDomain, error) {
	const control = "intel-rapl:" // AMD's processors show theirs under the same name
	base := filepath.Join(root, "sys/class/powercap")
	entries, err := os.ReadDir(base)
	if err != nil {
		return nil, err
	}
	var zones []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), control) {
			zones = append(zones, e.Name())
		}
	}
	slices.Sort(zones)
	var domains []RAPLDomain
	for _, zone := range zones {
		d, err := readRAPLDomain(base, zone)
		if errors.Is(err, fs.ErrNotExist) {
			continue // went away with its package
		}
		if err != nil {
			return domains, err
		}
		domains = append(domains, d)
	}
	return domains, nil
}

func readRAPLDomain(base, zone string) (RAPLDomain, error) {
	name, err := raplName(base, zone)
	if err != nil {
		return RAPLDomain{}, err
	}
	d := RAPLDomain{Name: name}
	if d.Microjoules, err = readUint(filepath.Join(base, zone, "energy_uj")); err != nil {
		return d, err
	}
	d.Range, err = readUint(filepath.Join(base, zone, "max_energy_range_uj"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return d, err
	}
	if d.Range != 0 && d.Microjoules > d.Range {
		return d, fmt.Errorf("RAPL domain %s: its counter reads %d uJ, above its own range of %d uJ", name, d.Microjoules, d.Range)
	}
	top, inner, nested := strings.Cut(name, "/")
	d.Additive = strings.HasPrefix(top, "package") && (!nested || inner == "dram")
	return d, nil
}

// raplName is a zone's name after its parent's: intel-rapl:0:1 lies in intel-rapl:0.
func raplName(base, zone string) (string, error) {
	data, err := os.ReadFile(filepath.Join(base, zone, "name"))
	if err != nil {
		return "", err
	}
	name := strings.TrimSpace(string(data))
	parent := zone[:strings.LastIndexByte(zone, ':')]
	if !strings.Contains(parent, ":") {
		return name, nil
	}
	above, err := raplName(base, parent)
	if err != nil {
		return "", err
	}
	return above + "/" + name, nil
}

// packageName is the instance of a processor package.
func packageName(id uint64) string { return "package-" + strconv.FormatUint(id, 10) }
