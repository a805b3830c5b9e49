package host

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"bakeoff/record"
)

// cpu fills in what the kernel says of the processors.
func (p *part) cpu(c *record.CPU) {
	info := parseCPUInfo(p.raw("/proc/cpuinfo"))
	c.Vendor, c.Model, c.Signature, c.Microcode = info.vendor, info.model, info.signature, info.microcode
	c.Architecture = p.text("/proc/sys/kernel/arch") // since Linux 6.1
	if c.Architecture == "" && p.tree.live() {
		c.Architecture = runtime.GOARCH
	}
	c.Online, c.Isolated = p.text(cpuDir+"/online"), p.text(cpuDir+"/isolated")
	online, err := ParseCPUs(c.Online)
	if err != nil {
		p.note(cpuDir+"/online", err)
	}
	if len(online) > 0 {
		c.Threads = new(len(online))
	} else if info.threads > 0 {
		c.Threads = new(info.threads)
	}
	c.Sockets, c.Cores = p.topology(online)
	c.SMT, c.SMTActive = p.text(cpuDir+"/smt/control"), p.flag(cpuDir+"/smt/active")
	c.Caches = p.caches()
	p.frequency(c, online)
	c.IdleDriver, c.IdleGovernor = p.text(cpuDir+"/cpuidle/current_driver"), p.text(cpuDir+"/cpuidle/current_governor_ro")
	if c.IdleGovernor == "" {
		c.IdleGovernor = p.text(cpuDir + "/cpuidle/current_governor")
	}
	c.IdleStates, c.IdleExitSeconds = p.idleStates(online)
}

// idleStates reads the sleep states that the first core may enter, and how long
// the deepest takes to leave (Documentation/admin-guide/pm/cpuidle.rst).
func (p *part) idleStates(online CPUs) (names string, exit *float64) {
	if len(online) == 0 {
		return "", nil
	}
	dir := fmt.Sprintf("%s/cpu%d/cpuidle", cpuDir, online[0])
	states := p.list(dir)
	slices.SortFunc(states, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
	var allowed []string
	for _, s := range states {
		name, disabled := p.text(dir+"/"+s+"/name"), p.flag(dir+"/"+s+"/disable")
		if name == "" || disabled != nil && *disabled {
			continue
		}
		allowed = append(allowed, name)
		if us := p.integer(dir + "/" + s + "/latency"); us != nil {
			exit = new(float64(*us) / 1e6)
		}
	}
	return strings.Join(allowed, " "), exit
}

// cpuInfo is what is read of /proc/cpuinfo.
type cpuInfo struct {
	vendor, model, signature, microcode string
	threads                             int
	flags                               []string // of the first processor
	slowest, fastest                    float64  // MHz now; 0 where not told
}

// parseCPUInfo reads /proc/cpuinfo, whose lines differ by architecture: x86
// has model names and flags, ARM numbers for implementer and part, POWER a
// line named cpu.
func parseCPUInfo(text string) cpuInfo {
	info := cpuInfo{}
	models, signatures, microcodes := map[string]CPUs{}, map[string]CPUs{}, map[string]CPUs{}
	for block := range strings.SplitSeq(text, "\n\n") {
		v := keyed(block, ":")
		number, err := cpuNumber(v["processor"])
		if err != nil {
			continue
		}
		if info.threads == 0 {
			info.vendor, info.flags = v["vendor_id"], strings.Fields(v["flags"])
		}
		noteCPU(models, cpuModel(v), number)
		noteCPU(signatures, cpuSignature(v), number)
		noteCPU(microcodes, v["microcode"], number)
		if mhz, err := strconv.ParseFloat(v["cpu MHz"], 64); err == nil && mhz > 0 {
			info.fastest = max(info.fastest, mhz)
			if info.slowest == 0 || mhz < info.slowest {
				info.slowest = mhz
			}
		}
		info.threads++
	}
	info.model, info.signature, info.microcode = eachCPU(models), eachCPU(signatures), eachCPU(microcodes)
	return info
}

func noteCPU(by map[string]CPUs, value string, n int) {
	if value != "" {
		by[value] = append(by[value], n)
	}
}

// eachCPU is the value that all processors share, or each with those that have
// it: "performance (0-3), powersave (4-7)".
func eachCPU(by map[string]CPUs) string {
	if len(by) == 0 {
		return ""
	}
	return byCPU(by, func(value string, c CPUs) string { return value + " (" + c.String() + ")" }, ", ")
}

func cpuModel(v map[string]string) string {
	if v["model name"] != "" {
		return v["model name"]
	}
	return v["cpu"]
}

func cpuSignature(v map[string]string) string {
	switch {
	case v["cpu family"] != "":
		return v["cpu family"] + "-" + v["model"] + "-" + v["stepping"]
	case v["CPU implementer"] != "":
		return fmt.Sprintf("implementer %s part %s variant %s revision %s",
			v["CPU implementer"], v["CPU part"], v["CPU variant"], v["CPU revision"])
	}
	return v["revision"]
}

// topology counts the sockets and cores that are online. A core is known by
// the processors that share it: core numbers repeat between dies.
func (p *part) topology(online CPUs) (sockets, cores *int) {
	packages, siblings := map[string]bool{}, map[string]bool{}
	for _, n := range online {
		dir := fmt.Sprintf("%s/cpu%d/topology/", cpuDir, n)
		if id := p.text(dir + "physical_package_id"); id != "" {
			packages[id] = true
		}
		if list := p.text(dir + "thread_siblings_list"); list != "" {
			siblings[list] = true
		}
	}
	if len(packages) > 0 {
		sockets = new(len(packages))
	}
	if len(siblings) > 0 {
		cores = new(len(siblings))
	}
	return sockets, cores
}

func (p *part) caches() (all []record.Cache) {
	dir := cpuDir + "/cpu0/cache/"
	for _, index := range p.list(dir) {
		if !strings.HasPrefix(index, "index") {
			continue
		}
		level, kind := p.text(dir+index+"/level"), p.text(dir+index+"/type")
		suffix := map[string]string{"Data": "d", "Instruction": "i"}[kind]
		c := record.Cache{Name: "L" + level + suffix, SharedBy: p.text(dir + index + "/shared_cpu_list")}
		if text := p.text(dir + index + "/size"); text != "" {
			size, err := parseCacheSize(text)
			if err != nil {
				p.note(dir+index+"/size", err)
			}
			c.SizeBytes = size
		}
		all = append(all, c)
	}
	return all
}

// parseCacheSize reads "32K" or "1M"; the kernel's K is 1024 bytes.
func parseCacheSize(text string) (*int64, error) {
	shift := map[string]int{"K": 10, "M": 20, "G": 30}[text[len(text)-1:]]
	n, err := strconv.ParseInt(strings.TrimRight(text, "KMG"), 10, 32)
	if err != nil || n < 0 {
		return nil, fmt.Errorf("found %.40q; expected a size, as 32K", text)
	}
	if n == 0 {
		return nil, nil
	}
	return new(n << shift), nil
}

// frequency reads the limits of each processor and sums them up: the least
// minimum, the largest maximum, and each name with the processors that have it.
func (p *part) frequency(c *record.CPU, online CPUs) {
	governors, drivers, preferences := map[string]CPUs{}, map[string]CPUs{}, map[string]CPUs{}
	const kilohertz = 1000
	for _, n := range online {
		dir := fmt.Sprintf("%s/cpu%d/cpufreq/", cpuDir, n)
		noteCPU(governors, p.text(dir+"scaling_governor"), n)
		noteCPU(drivers, p.text(dir+"scaling_driver"), n)
		noteCPU(preferences, p.text(dir+"energy_performance_preference"), n)
		c.MinimumHz = lesser(c.MinimumHz, p.scaled(dir+"cpuinfo_min_freq", kilohertz))
		c.MaximumHz = greater(c.MaximumHz, p.scaled(dir+"cpuinfo_max_freq", kilohertz))
		c.BaseHz = greater(c.BaseHz, p.scaled(dir+"base_frequency", kilohertz))
		c.FloorHz = lesser(c.FloorHz, p.scaled(dir+"scaling_min_freq", kilohertz))
		c.CeilingHz = greater(c.CeilingHz, p.scaled(dir+"scaling_max_freq", kilohertz))
	}
	c.Governor, c.Driver, c.Preference = eachCPU(governors), eachCPU(drivers), eachCPU(preferences)
	if no := p.flag(cpuDir + "/intel_pstate/no_turbo"); no != nil {
		c.Boost = new(!*no)
	} else {
		c.Boost = p.flag(cpuDir + "/cpufreq/boost")
	}
}

func lesser(a, b *int64) *int64 {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}

func greater(a, b *int64) *int64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

func (p *part) mitigations() map[string]string {
	const dir = cpuDir + "/vulnerabilities"
	found := map[string]string{}
	for _, name := range p.list(dir) {
		if text := p.words(dir + "/" + name); text != "" {
			found[name] = text
		}
	}
	return present(found)
}

// present is nil for a map that is empty.
func present(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return m
}

func (p *part) numa() (nodes []record.NUMANode) {
	const dir = "/sys/devices/system/node"
	for _, name := range p.list(dir) {
		number, isNode := strings.CutPrefix(name, "node")
		if !isNode || number == "" || digits(number) != len(number) {
			continue
		}
		// Lines read "Node 0 MemTotal:  98765 kB".
		info := strings.ReplaceAll(p.raw(dir+"/"+name+"/meminfo"), "Node "+number+" ", "")
		nodes = append(nodes, record.NUMANode{
			Node: number, CPUs: p.text(dir + "/" + name + "/cpulist"), Distances: p.words(dir + "/" + name + "/distance"),
			Bytes: parseMemInfo(info)["MemTotal"],
		})
	}
	return slices.Clip(nodes)
}
