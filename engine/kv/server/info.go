package server

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// serverVersion is the version of the commands' behaviour, not of bakeoff.
const serverVersion = "1"

// sums adds up what the threads told.
func (s *server) sums() (c counts, clients uint64) {
	for _, t := range s.threads {
		c.commands += t.stats.commands.Load()
		c.hits += t.stats.hits.Load()
		c.misses += t.stats.misses.Load()
		clients += t.stats.clients.Load()
	}
	return c, clients
}

// cpuSeconds is the process's own.
func cpuSeconds() (user, system float64) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, 0
	}
	return float64(u.Utime.Nano()) / 1e9, float64(u.Stime.Nano()) / 1e9
}

// info answers with the counters of Redis's INFO that loads read.
func (t *thread) info(c *client) {
	t.tell()
	n, clients := t.s.sums()
	user, system := cpuSeconds()
	var b strings.Builder
	line := func(name string, value any) { fmt.Fprintf(&b, "%s:%v\r\n", name, value) }
	b.WriteString("# Server\r\n")
	line("server_name", "bakeoff")
	line("server_version", serverVersion)
	line("process_id", os.Getpid())
	line("io_threads", len(t.s.threads))
	line("event_loop", t.loop.Backend())
	b.WriteString("\r\n# Clients\r\n")
	line("connected_clients", clients)
	b.WriteString("\r\n# Memory\r\n")
	line("used_memory", t.s.store.used.Load())
	line("maxmemory", t.s.cfg.Memory)
	b.WriteString("\r\n# Stats\r\n")
	line("total_commands_processed", n.commands)
	line("keyspace_hits", n.hits)
	line("keyspace_misses", n.misses)
	line("expired_keys", t.s.store.expired.Load())
	line("evicted_keys", 0)
	b.WriteString("\r\n# CPU\r\n")
	line("used_cpu_sys", fmt.Sprintf("%.6f", system))
	line("used_cpu_user", fmt.Sprintf("%.6f", user))
	b.WriteString("\r\n# Keyspace\r\n")
	for i, d := range t.s.store.dbs {
		if n := d.size(); n > 0 {
			fmt.Fprintf(&b, "db%d:keys=%d\r\n", i, n)
		}
	}
	c.bulk([]byte(b.String()))
}
