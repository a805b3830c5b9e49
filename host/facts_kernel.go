package host

import (
	"slices"
	"strconv"
	"strings"

	"bakeoff/record"
)

func (p *part) kernel() record.Kernel {
	const clock = "/sys/devices/system/clocksource/clocksource0/"
	return record.Kernel{
		Release: p.text("/proc/sys/kernel/osrelease"), Version: p.text("/proc/sys/kernel/version"),
		CommandLine: p.words("/proc/cmdline"),
		Clocksource: p.text(clock + "current_clocksource"), Clocks: p.words(clock + "available_clocksource"),
		Tainted: p.text("/proc/sys/kernel/tainted"),
	}
}

func (p *part) system() record.OS {
	text := p.raw("/etc/os-release")
	if text == "" {
		text = p.raw("/usr/lib/os-release")
	}
	v := keyed(text, "=")
	return record.OS{
		Name: unquote(v["PRETTY_NAME"]), ID: unquote(v["ID"]), Version: unquote(v["VERSION_ID"]),
		Hostname: p.text("/proc/sys/kernel/hostname"),
	}
}

// unquote undoes the shell's quotes of os-release(5).
func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		s = s[1 : len(s)-1]
	}
	return strings.NewReplacer(`\"`, `"`, `\$`, `$`, `\\`, `\`, "\\`", "`").Replace(s)
}

// virtual says what the host runs in. Only x86 tells a guest so.
func (p *part) virtual() (v record.Virtualisation) {
	info := parseCPUInfo(p.raw("/proc/cpuinfo"))
	if len(info.flags) > 0 {
		v.Guest = new(slices.Contains(info.flags, "hypervisor"))
	}
	if v.Guest == nil || *v.Guest {
		v.Hypervisor = p.hypervisor()
	}
	v.Container = p.container()
	return v
}

// hypervisor names it by what it shows its guests: /sys/hypervisor, the maker
// and model that its firmware claims, or the clock it offers.
func (p *part) hypervisor() string {
	if kind := p.text("/sys/hypervisor/type"); kind != "" {
		return kind
	}
	const id = "/sys/class/dmi/id/"
	claims := strings.Join([]string{p.text(id + "sys_vendor"), p.text(id + "product_name"), p.text(id + "bios_vendor")}, " / ")
	for _, known := range []struct{ claim, name string }{
		{"VMware", "vmware"},
		{"Virtual Machine", "microsoft"},
		{"innotek", "oracle"},
		{"VirtualBox", "oracle"},
		{"Parallels", "parallels"},
		{"BHYVE", "bhyve"},
		{"Xen", "xen"},
		{"Apple Virtualization", "apple"},
		{"QEMU", "qemu"},
		{"KVM", "kvm"},
		{"Google Compute Engine", "kvm (Google)"},
		{"Amazon EC2", "kvm (Amazon)"},
		{"OpenStack", "kvm (OpenStack)"},
		{"Alibaba Cloud", "kvm (Alibaba)"},
		{"DigitalOcean", "kvm (DigitalOcean)"},
	} {
		if strings.Contains(claims, known.claim) {
			return known.name
		}
	}
	clocks := p.text("/sys/devices/system/clocksource/clocksource0/available_clocksource")
	for _, known := range []struct{ clock, name string }{{"kvm-clock", "kvm"}, {"hyperv", "microsoft"}, {"xen", "xen"}} {
		if strings.Contains(clocks, known.clock) {
			return known.name
		}
	}
	return ""
}

func (p *part) container() string {
	if kind := p.text("/run/systemd/container"); kind != "" {
		return kind
	}
	for _, mark := range []struct{ file, kind string }{{"/run/.containerenv", "podman"}, {"/.dockerenv", "docker"}} {
		if p.tree.exists(p.ctx, mark.file) {
			return mark.kind
		}
	}
	env, err := p.tree.read(p.ctx, "/proc/1/environ") // root's alone; without it there is no telling
	if err != nil {
		return ""
	}
	for variable := range strings.SplitSeq(env, "\x00") {
		if kind, ok := strings.CutPrefix(variable, "container="); ok {
			return kind
		}
	}
	return ""
}

// state is read last in importance: nothing in it is compared between hosts.
func (p *part) state() record.State {
	s := record.State{BootID: p.text("/proc/sys/kernel/random/boot_id")}
	if f := strings.Fields(p.raw("/proc/uptime")); len(f) > 0 {
		s.UptimeSeconds = decimal(f[0])
	}
	if f := strings.Fields(p.raw("/proc/loadavg")); len(f) > 3 {
		s.Load1, s.Load5, s.Load15 = decimal(f[0]), decimal(f[1]), decimal(f[2])
		running, _, _ := strings.Cut(f[3], "/")
		if n, err := strconv.Atoi(running); err == nil {
			s.Runnable = &n
		}
	}
	info := parseCPUInfo(p.raw("/proc/cpuinfo"))
	if info.slowest > 0 {
		s.SlowestHz, s.FastestHz = new(int64(info.slowest*1e6)), new(int64(info.fastest*1e6))
	}
	memory := parseMemInfo(p.raw("/proc/meminfo"))
	s.AvailableBytes = memory["MemAvailable"]
	if total, free := memory["SwapTotal"], memory["SwapFree"]; total != nil && free != nil {
		s.SwapUsedBytes = new(*total - *free)
	}
	return s
}

func decimal(s string) *float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil
	}
	return &v
}

// watchedDaemons are programs that change settings of the machine by
// themselves, by the names of their processes.
func watchedDaemons() []string { return []string{"irqbalance", "tuned", "power-profiles-"} }

// daemons looks for them among the processes.
func (p *part) daemons() map[string]string {
	running := map[string]bool{}
	for _, pid := range p.list("/proc") {
		if pid != "" && pid[0] >= '1' && pid[0] <= '9' {
			// A process may end between the two steps, which is no fault.
			if name, err := p.tree.read(p.ctx, "/proc/"+pid+"/comm"); err == nil {
				running[strings.TrimSpace(name)] = true
			}
		}
	}
	found := map[string]string{}
	for _, name := range watchedDaemons() {
		if running[name] {
			found[strings.TrimSuffix(name, "-")] = "running"
		}
	}
	return present(found)
}
