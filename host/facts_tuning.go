package host

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// watchedSysctls are the keys that change what servers and loads can do. Keys
// that a kernel lacks are left out.
func watchedSysctls() []string {
	return strings.Fields(`
net.core.bpf_jit_enable net.core.busy_poll net.core.busy_read net.core.default_qdisc net.core.dev_weight
net.core.netdev_budget net.core.netdev_budget_usecs net.core.netdev_max_backlog net.core.optmem_max
net.core.rmem_default net.core.rmem_max net.core.rps_sock_flow_entries net.core.somaxconn
net.core.wmem_default net.core.wmem_max
net.ipv4.ip_early_demux net.ipv4.ip_forward net.ipv4.ip_local_port_range
net.ipv4.tcp_autocorking net.ipv4.tcp_congestion_control net.ipv4.tcp_early_demux net.ipv4.tcp_ecn
net.ipv4.tcp_fastopen net.ipv4.tcp_fin_timeout net.ipv4.tcp_limit_output_bytes net.ipv4.tcp_max_syn_backlog
net.ipv4.tcp_max_tw_buckets net.ipv4.tcp_mem net.ipv4.tcp_moderate_rcvbuf net.ipv4.tcp_mtu_probing
net.ipv4.tcp_no_metrics_save net.ipv4.tcp_notsent_lowat net.ipv4.tcp_pacing_ca_ratio net.ipv4.tcp_rmem
net.ipv4.tcp_sack net.ipv4.tcp_slow_start_after_idle net.ipv4.tcp_syncookies net.ipv4.tcp_timestamps
net.ipv4.tcp_tw_reuse net.ipv4.tcp_window_scaling net.ipv4.tcp_wmem
net.ipv4.udp_mem net.ipv4.udp_rmem_min net.ipv4.udp_wmem_min net.ipv6.conf.all.disable_ipv6
vm.compaction_proactiveness vm.dirty_background_bytes vm.dirty_background_ratio vm.dirty_bytes
vm.dirty_expire_centisecs vm.dirty_ratio vm.dirty_writeback_centisecs vm.max_map_count vm.min_free_kbytes
vm.nr_hugepages vm.nr_overcommit_hugepages vm.overcommit_memory vm.overcommit_ratio vm.page-cluster
vm.stat_interval vm.swappiness vm.vfs_cache_pressure vm.watermark_boost_factor vm.watermark_scale_factor vm.zone_reclaim_mode
kernel.io_uring_disabled kernel.nmi_watchdog kernel.numa_balancing kernel.perf_event_paranoid kernel.pid_max
kernel.randomize_va_space kernel.sched_autogroup_enabled kernel.sched_energy_aware kernel.sched_rt_period_us
kernel.sched_rt_runtime_us kernel.sched_schedstats kernel.soft_watchdog kernel.task_delayacct kernel.threads-max
kernel.timer_migration kernel.unprivileged_bpf_disabled kernel.watchdog
fs.aio-max-nr fs.file-max fs.nr_open fs.pipe-max-size`)
}

func (p *part) sysctls() map[string]string {
	found := map[string]string{}
	for _, key := range watchedSysctls() {
		if text := p.words("/proc/sys/" + strings.ReplaceAll(key, ".", "/")); text != "" {
			found[key] = text
		}
	}
	return present(found)
}

// limits reads what this process may use, which the servers that it starts
// inherit: resource limits, processors, and the cgroup's bounds.
func (p *part) limits() map[string]string {
	found := parseLimits(p.raw("/proc/self/limits"))
	if cpus, err := p.tree.allowed(p.ctx); err == nil && len(cpus) > 0 {
		found["processors"] = cpus.String()
	}
	p.cgroup(found)
	return present(found)
}

var limitLine = regexp.MustCompile(`^Max (\S.*?)\s{2,}(\S+)\s+(\S+)(?:\s+(\S+))?\s*$`)

// parseLimits reads /proc/self/limits (proc_pid_limits(5)): a name, the soft
// and the hard limit, and most times a unit.
func parseLimits(text string) map[string]string {
	found := map[string]string{}
	for line := range strings.Lines(text) {
		m := limitLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			continue
		}
		value := m[2]
		if m[3] != m[2] {
			value += " (hard " + m[3] + ")"
		}
		if m[4] != "" && value != "unlimited" {
			value += " " + m[4]
		}
		found[strings.ReplaceAll(m[1], " ", "_")] = value
	}
	return found
}

// cgroup finds the tightest bounds on the way from the process's cgroup up to
// the root (cgroup v2).
func (p *part) cgroup(found map[string]string) {
	path, ok := strings.CutPrefix(lineWith(p.raw("/proc/self/cgroup"), "0::"), "0::")
	if !ok {
		return
	}
	processors, memory := math.Inf(1), math.Inf(1)
	for {
		dir := "/sys/fs/cgroup" + strings.TrimSuffix(path, "/") + "/"
		if f := strings.Fields(p.raw(dir + "cpu.max")); len(f) == 2 {
			quota, period := decimal(f[0]), decimal(f[1])
			if quota != nil && period != nil && *period > 0 {
				processors = min(processors, *quota / *period)
			}
		}
		if limit := decimal(p.text(dir + "memory.max")); limit != nil {
			memory = min(memory, *limit)
		}
		i := strings.LastIndexByte(path, '/')
		if i < 0 || path == "/" {
			break
		}
		path = path[:max(i, 1)]
	}
	if !math.IsInf(processors, 1) {
		found["cgroup_processors"] = strconv.FormatFloat(processors, 'g', -1, 64)
	}
	if !math.IsInf(memory, 1) {
		found["cgroup_memory"] = strconv.FormatFloat(memory, 'f', 0, 64) + " bytes"
	}
}

func lineWith(text, prefix string) string {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, prefix) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}
