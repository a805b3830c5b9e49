package foreign

import (
	"fmt"
	"strings"
)

// ReadIostat reads iostat's text: plain, extended (-x), in MB, pretty, or
// grouped. Its first report is about the time since boot, unless it was told to
// leave that out (-y), which its text does not show.
func ReadIostat(data []byte, withoutFirst bool) (*Table, error) {
	r := iostatReader{Table: &Table{Tool: "iostat"}, known: columns(), skipped: withoutFirst}
	for i, line := range strings.Split(string(data), "\n") {
		if err := r.line(strings.TrimRight(line, "\r ")); err != nil {
			return nil, fmt.Errorf("iostat: line %d: %w", i+1, err)
		}
	}
	if len(r.Values) == 0 {
		return nil, otherTool("iostat", "tables that begin with avg-cpu: or Device")
	}
	return r.Table, nil
}

type iostatReader struct {
	*Table
	known   map[string]quantity
	skipped bool

	report int
	cpu    []string // columns of the avg-cpu table whose values come next
	disk   []string // columns of the table of devices that we are in
	last   bool     // its device is the last column
	seen   map[string]bool
	from   int // first value of this report's devices
}

func (r *iostatReader) line(line string) error {
	fields := strings.Fields(line)
	switch {
	case len(fields) == 0:
		r.endTable()
	case strings.HasPrefix(line, "Linux "):
		h, _ := r.readHead(line)
		r.Host, r.CPUs = h.host, h.cpus
	case fields[0] == "avg-cpu:":
		r.next("avg-cpu")
		r.cpu = fields[1:]
	case r.cpu != nil:
		err := r.row("", r.cpu, fields)
		r.cpu = nil
		return err
	case strings.TrimSuffix(fields[0], ":") == "Device":
		r.next("device")
		r.disk, r.last = fields[1:], false
	case fields[len(fields)-1] == "Device":
		r.next("device")
		r.disk, r.last = fields[:len(fields)-1], true
	case r.disk != nil:
		return r.device(line, fields)
	}
	return nil // a stamp, or what a later version adds
}

// next begins another report when a table comes a second time.
func (r *iostatReader) next(table string) {
	r.endTable()
	if r.seen[table] {
		r.report++
		r.seen = nil
	}
	if r.seen == nil {
		r.seen = make(map[string]bool)
	}
	r.seen[table] = true
}

func (r *iostatReader) endTable() {
	if r.disk != nil {
		r.markPartitions(r.from)
	}
	r.disk, r.from = nil, len(r.Values)
}

func (r *iostatReader) device(line string, fields []string) error {
	name, values := fields[0], fields[1:]
	if r.last {
		name, values = fields[len(fields)-1], fields[:len(fields)-1]
	}
	before := len(r.Values)
	if err := r.row(name, r.disk, values); err != nil {
		return err
	}
	// A group's row is indented (-g): it holds the devices above it.
	group := !r.last && line[0] == ' '
	for i := range r.Values[before:] {
		r.Values[before+i].Sum = group
	}
	return nil
}

func (r *iostatReader) row(instance string, columns, values []string) error {
	if len(values) != len(columns) {
		return fmt.Errorf("found %d values for %d columns", len(values), len(columns))
	}
	span := SpanInterval
	if r.report == 0 && !r.skipped {
		span = SpanBoot
	}
	for i, column := range columns {
		v, err := number(values[i])
		if err != nil {
			return fmt.Errorf("%s: %w", column, err)
		}
		q := meaning(r.known, column)
		r.Values = append(r.Values, Value{
			Report: r.report, Span: span, Metric: q.metric, Column: column, Instance: instance, Unit: q.unit, Value: q.value(v),
		})
	}
	return nil
}
