package record

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Redacted stands in place of what Redact removes, so that a reader sees that
// there was something.
const Redacted = "[redacted]"

// Redact returns a copy without names, addresses, serial numbers and UUIDs.
// Host, the plan's own name, stays: it ties the facts to the rest of the run,
// and whoever redacts a run replaces it everywhere alike. Of the kernel's
// command line the values stay that are known to matter for performance, and
// those that are numbers or switches.
func (f Facts) Redact() Facts {
	r := redactor{}
	for _, fact := range f.Flatten() {
		if fact.Identity && len(fact.Value) > 3 {
			r.known = append(r.known, fact.Value)
		}
	}
	// Longest first: a host's name may be the start of another one.
	slices.SortFunc(r.known, func(a, b string) int { return len(b) - len(a) })
	out := f
	r.copy(reflect.ValueOf(&out).Elem(), reflect.ValueOf(f), "")
	out.Kernel.CommandLine = r.commandLine(f.Kernel.CommandLine)
	for i, u := range out.Unread {
		out.Unread[i] = r.text(u)
	}
	for k := range out.Declared {
		if namesSomething(k) {
			out.Declared[k] = Redacted
		}
	}
	for k, v := range out.Versions {
		out.Versions[k] = r.names(v) // 19.3.0.0 is no address
	}
	return out
}

type redactor struct{ known []string }

// copy makes dst a deep copy of src without identities. tag is the fact tag of
// the field that holds src.
func (r redactor) copy(dst, src reflect.Value, tag string) {
	switch src.Kind() {
	case reflect.Pointer:
		if !src.IsNil() {
			dst.Set(reflect.New(src.Type().Elem()))
			dst.Elem().Set(src.Elem())
			r.copy(dst.Elem(), src.Elem(), tag)
		}
	case reflect.Struct:
		if _, ok := src.Interface().(time.Time); ok {
			return
		}
		for i := range src.NumField() {
			r.copy(dst.Field(i), src.Field(i), src.Type().Field(i).Tag.Get("fact"))
		}
	case reflect.Slice:
		if !src.IsNil() {
			dst.Set(reflect.MakeSlice(src.Type(), src.Len(), src.Len()))
		}
		for i := range src.Len() {
			dst.Index(i).Set(src.Index(i))
			r.copy(dst.Index(i), src.Index(i), tag)
		}
	case reflect.Map:
		if !src.IsNil() {
			dst.Set(reflect.MakeMapWithSize(src.Type(), src.Len()))
		}
		for _, k := range src.MapKeys() {
			dst.SetMapIndex(k, reflect.ValueOf(r.tagged(src.MapIndex(k).String(), tag)))
		}
	case reflect.String:
		dst.SetString(r.tagged(src.String(), tag))
	}
}

func (r redactor) tagged(s, tag string) string {
	switch {
	case s == "":
		return s
	case tag == "identity":
		return Redacted
	case tag == "scrub", tag == "key":
		return r.text(s)
	}
	return s
}

var (
	uuidPattern = regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
	macPattern  = regexp.MustCompile(`(?i)\b(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}\b`)
	ipv4Pattern = regexp.MustCompile(`\b(?:\d{1,3}\.){3}\d{1,3}\b`)
	ipv6Pattern = regexp.MustCompile(`(?i)(?:\b[0-9a-f]{1,4})?(?::[0-9a-f]{0,4}){2,7}(?:%\w+)?`)
	// namedByMAC matches interface names that hold their address, such as
	// enx001122334455 (systemd.net-naming-scheme(7)).
	namedByMAC = regexp.MustCompile(`\b(en|wl|ww|ib)x[0-9a-f]{12}\b`)
	pciAddress = regexp.MustCompile(`(?i)^[0-9a-f]{0,4}:[0-9a-f]{2}:[0-9a-f]{2}$`)
)

// text removes what is known to name this host, and what looks like a UUID or
// an address, from free text.
func (r redactor) text(s string) string {
	s = r.names(s)
	s = namedByMAC.ReplaceAllString(s, "${1}x"+Redacted)
	for _, p := range []*regexp.Regexp{uuidPattern, macPattern, ipv4Pattern} {
		s = p.ReplaceAllString(s, Redacted)
	}
	return ipv6Pattern.ReplaceAllStringFunc(s, func(found string) string {
		if pciAddress.MatchString(found) {
			return found
		}
		return Redacted
	})
}

// names removes what is known to name this host.
func (r redactor) names(s string) string {
	for _, k := range r.known {
		s = strings.ReplaceAll(s, k, Redacted)
	}
	return s
}

// commandLine keeps options without a value, the values of options known to
// matter for performance, and values that can name nothing; what follows "--" belongs to init, not to the kernel.
func (r redactor) commandLine(s string) string {
	words := strings.Fields(s)
	if i := slices.Index(words, "--"); i >= 0 {
		words = append(words[:i:i], "--", Redacted)
	}
	for i, w := range words {
		name, value, hasValue := strings.Cut(w, "=")
		switch {
		case hasValue && !tunesKernel(name) && !r.namesNothing(name, value):
			words[i] = name + "=" + Redacted
		default:
			words[i] = r.text(w)
		}
	}
	return strings.Join(words, " ")
}

// plainValue matches numbers, sizes, ranges of memory and switches, joined by
// separators: 1, -1, 4K@0xd0000000:5, on, k. Longer digits may be a serial number.
var plainValue = regexp.MustCompile(`(?i)^-?(?:` + plainWord + `)(?:[,:@+.-](?:` + plainWord + `))*$`)

const plainWord = `\d{1,6}[kmg]?|0x[0-9a-f]{1,16}|[a-z]|on|off|yes|no|true|false|auto|force|default|none|never|always|enabled?|disabled?`

// namesNothing reports whether the value of an option of the kernel's command
// line is neither an address, a name, a serial number, a UUID nor a path.
func (r redactor) namesNothing(name, value string) bool {
	key := strings.ToLower(name)
	if namesSomething(key) || strings.Contains(key, "host") || strings.HasSuffix(key, "id") {
		return false
	}
	return value == "" || plainValue.MatchString(value) && r.text(value) == value
}

// tunesKernel reports whether an option of the kernel's command line is about
// performance (Documentation/admin-guide/kernel-parameters.txt); its value
// then names a setting and not a machine.
func tunesKernel(name string) bool {
	name = strings.ReplaceAll(name, "-", "_")
	for _, prefix := range []string{
		"mitigations", "spec", "l1tf", "mds", "tsx", "tsa", "srbds", "mmio_stale_data", "retbleed", "gather_data_sampling",
		"reg_file_data_sampling", "vmscape", "pti", "kpti", "kvm", "nosmt", "isolcpus", "nohz", "rcu", "irqaffinity", "maxcpus", "nr_cpus",
		"possible_cpus", "skew_tick", "clocksource", "tsc", "hpet", "idle", "cpuidle", "cpufreq", "processor", "intel_", "amd_", "pcie_", "pci",
		"iommu", "swiotlb", "hugepage", "default_hugepagesz", "transparent_hugepage", "numa", "memmap", "mem", "movablecore", "kernelcore",
		"zswap", "page_", "init_on_", "slub_", "slab_", "elevator", "scsi_mod", "nvme", "preempt", "threadirqs", "sched", "psi", "audit",
		"selinux", "apparmor", "security", "lsm", "cgroup", "systemd.unified_cgroup", "nmi_watchdog", "nowatchdog", "softlockup",
		"randomize_kstack", "nokaslr", "ipv6.", "net.", "panic", "reboot", "quiet", "console", "crashkernel", "no_hash", "efi", "acpi", "random.",
	} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// namesSomething reports whether a declared fact's key says that its value
// names a machine, a part, a person or a place.
func namesSomething(key string) bool {
	key = strings.ToLower(key)
	for _, word := range []string{"name", "serial", "uuid", "address", "asset", "tag", "owner", "site", "rack", "location", "mac", "ip"} {
		if slices.Contains(strings.FieldsFunc(key, func(c rune) bool { return c < 'a' || c > 'z' }), word) {
			return true
		}
	}
	return strings.Contains(key, "hostname")
}
