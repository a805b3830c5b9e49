package foreign

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// ReadVmstat reads vmstat's text: the default, wide (-w), active (-a), stamped
// (-t) and disk (-d) forms, in its default units. The first row of all but -d is
// about the time since boot; the rows of -d are counts since then.
func ReadVmstat(data []byte) (*Table, error) {
	r := vmstatReader{Table: &Table{Tool: "vmstat"}}
	for i, line := range strings.Split(string(data), "\n") {
		if err := r.line(strings.Fields(line)); err != nil {
			return nil, fmt.Errorf("vmstat: line %d: %w", i+1, err)
		}
	}
	if len(r.Values) == 0 {
		return nil, otherTool("vmstat", "a head with the columns r b swpd free, or of disks")
	}
	return r.Table, nil
}

type vmstatReader struct {
	*Table
	columns []string
	stamped bool
	disks   bool
	report  int
}

// vmstatColumns are vmstat(8)'s, in its default unit of 1024 bytes.
func vmstatColumns() map[string]quantity {
	const kib = 1 << 10
	return map[string]quantity{
		"r": {"runnable", "1", 0, 0}, "b": {"blocked", "1", 0, 0},
		"swpd": {"swap.used", "B", kib, 0}, "free": {"mem.free", "B", kib, 0}, "buff": {"mem.buffers", "B", kib, 0}, "cache": {"mem.cached", "B", kib, 0},
		"inact": {"mem.inactive", "B", kib, 0}, "active": {"mem.active", "B", kib, 0},
		"si": {"swap.in.rate", "B/s", kib, 0}, "so": {"swap.out.rate", "B/s", kib, 0}, "bi": {"read.rate", "B/s", kib, 0}, "bo": {"write.rate", "B/s", kib, 0},
		"in": {"irq.rate", "1/s", 0, 0}, "cs": {"switches.rate", "1/s", 0, 0},
		"us": {"cpu.user", "1", 0, 100}, "sy": {"cpu.system_and_irq", "1", 0, 100}, "id": {"cpu.idle", "1", 0, 100}, "wa": {"cpu.iowait", "1", 0, 100}, "st": {"cpu.steal", "1", 0, 100},
		"gu": {"cpu.guest", "1", 0, 100},
	}
}

// vmstatMoments are the columns that are levels, also in the first row.
func vmstatMoments() []string {
	return []string{"r", "b", "swpd", "free", "buff", "cache", "inact", "active"}
}

func (r *vmstatReader) line(fields []string) error {
	switch {
	case len(fields) == 0:
		return nil
	case fields[0] == "r" && slices.Contains(fields, "swpd"):
		// With -t the last column is the zone's abbreviation, which two zones
		// may share: only UTC is taken for one.
		end := slices.IndexFunc(fields, func(f string) bool { return f != strings.ToLower(f) })
		r.columns, r.stamped = fields, end >= 0
		return nil
	case fields[0] == "total" && slices.Contains(fields, "sectors"):
		r.disks = true
		return nil
	case r.disks && len(fields) == 11:
		return r.disk(fields)
	case r.columns != nil && strings.Trim(fields[0], "0123456789") == "":
		return r.row(fields)
	}
	return nil // the head above the head
}

func (r *vmstatReader) row(fields []string) error {
	columns := r.columns
	var at time.Time
	var zoned bool
	if r.stamped {
		zone := columns[len(columns)-1]
		columns = columns[:len(columns)-1]
		if len(fields) != len(columns)+2 {
			return fmt.Errorf("found %d values for %d columns and a stamp", len(fields), len(columns))
		}
		var err error
		if at, err = time.Parse(time.DateTime, fields[len(columns)]+" "+fields[len(columns)+1]); err != nil {
			return fmt.Errorf("found %q, expected a stamp", fields[len(columns):])
		}
		zoned = zone == "UTC"
		fields = fields[:len(columns)]
	}
	if len(fields) != len(columns) {
		return fmt.Errorf("found %d values for %d columns", len(fields), len(columns))
	}
	known, moments := vmstatColumns(), vmstatMoments()
	for i, column := range columns {
		v, err := number(fields[i])
		if err != nil {
			return fmt.Errorf("%s: %w", column, err)
		}
		span := SpanInterval
		switch {
		case slices.Contains(moments, column):
			span = SpanMoment
		case r.report == 0:
			span = SpanBoot
		}
		q := meaning(known, column)
		r.Values = append(r.Values, Value{
			Report: r.report, At: at, Zoned: zoned, Span: span, Metric: q.metric, Column: column, Unit: q.unit, Value: q.value(v),
		})
	}
	r.report++
	return nil
}

// disk reads a row of -d.
func (r *vmstatReader) disk(fields []string) error {
	columns := []quantity{
		{"read.ops", "1", 0, 0}, {"read.merges", "1", 0, 0}, {"read.bytes", "B", 512, 0}, {"read.time", "s", 0, 1e3},
		{"write.ops", "1", 0, 0}, {"write.merges", "1", 0, 0}, {"write.bytes", "B", 512, 0}, {"write.time", "s", 0, 1e3},
		{"in_flight", "1", 0, 0}, {"busy", "s", 0, 0},
	}
	for i, q := range columns {
		v, err := number(fields[i+1])
		if err != nil {
			return fmt.Errorf("%s: %s: %w", fields[0], q.metric, err)
		}
		r.Values = append(r.Values, Value{
			Span: SpanBoot, Metric: q.metric, Column: q.metric, Instance: fields[0], Unit: q.unit, Value: q.value(v),
			// Device-mapper disks are made from the others.
			Part: strings.HasPrefix(fields[0], "dm-"),
		})
	}
	return nil
}
