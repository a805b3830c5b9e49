package kv

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"bakeoff/load"
)

// counterUnits lists the counters of INFO (Redis) and stats (memcached) that
// say what the target did, with their units.
func counterUnits() map[string]string {
	return map[string]string{
		"total_commands_processed": "1", "keyspace_hits": "1", "keyspace_misses": "1", "expired_keys": "1", "evicted_keys": "1",
		"used_memory": "B", "used_cpu_user": "s", "used_cpu_sys": "s", "connected_clients": "1",
		"cmd_get": "1", "cmd_set": "1", "get_hits": "1", "get_misses": "1", "evictions": "1", "curr_items": "1", "bytes": "B",
		"rusage_user": "s", "rusage_system": "s", "curr_connections": "1",
	}
}

// counters appends the target's own counts.
func (ctl *control) counters(counts []load.Count) ([]load.Count, error) {
	lines, separator, err := ctl.statistics()
	if err != nil {
		return counts, err
	}
	units := counterUnits()
	for _, line := range lines {
		name, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "STAT "), separator)
		v, err := strconv.ParseFloat(value, 64)
		if unit, ok := units[name]; ok && err == nil {
			counts = append(counts, load.Count{Name: "target." + name, Unit: unit, Value: v})
		}
	}
	return counts, nil
}

func (ctl *control) statistics() (lines []string, separator string, err error) {
	if ctl.c.target.family == memcached {
		lines, err = ctl.memcached("stats\r\n")
		return lines, " ", err
	}
	info, err := ctl.redis("INFO")
	all, _ := info.(string)
	return strings.Split(all, "\n"), ":", err
}

// flush empties the target's database.
func (ctl *control) flush() error {
	if ctl.c.target.family == redis {
		_, err := ctl.redis("FLUSHDB")
		return err
	}
	lines, err := ctl.memcached("flush_all\r\n")
	if err == nil && lines[0] != "OK" {
		err = errors.New(lines[0])
	}
	return err
}

// getMemcached reads one value.
func (ctl *control) getMemcached(key string) (value string, found bool, err error) {
	if _, err := io.WriteString(ctl.conn, "get "+key+"\r\n"); err != nil {
		return "", false, err
	}
	line, err := readLine(ctl.in)
	if err != nil || line == "END" {
		return "", false, err
	}
	fields := strings.Fields(line)
	if len(fields) < 4 || fields[0] != "VALUE" {
		return "", false, fmt.Errorf("the target answered: %s", line)
	}
	n, ok := number([]byte(fields[3]))
	if !ok || n < 0 || n > maxPayload {
		return "", false, fmt.Errorf("%w in %q", errLength, line)
	}
	const end = "\r\nEND\r\n"
	b := make([]byte, n+len(end))
	if _, err := io.ReadFull(ctl.in, b); err != nil {
		return "", false, err
	}
	if !bytes.HasSuffix(b, []byte(end)) {
		return "", false, fmt.Errorf("found %s after a value, expected END", quoted(b[n:]))
	}
	return string(b[:n]), true, nil
}
