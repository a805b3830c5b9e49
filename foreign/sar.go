package foreign

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// ReadSar reads sar's text, in 24-hour or 12-hour time. Each section has a head
// with its columns; the first one that is no number names the instance. The
// rows "Average:" are over all others.
func ReadSar(data []byte) (*Table, error) {
	r := sarReader{Table: &Table{Tool: "sar"}, known: columns(), report: -1}
	for i, line := range strings.Split(string(data), "\n") {
		if err := r.line(strings.TrimRight(line, "\r ")); err != nil {
			return nil, fmt.Errorf("sar: line %d: %w", i+1, err)
		}
	}
	if len(r.Values) == 0 {
		return nil, otherTool("sar", "a head with a time and columns such as CPU and %user")
	}
	return r.Table, nil
}

type sarReader struct {
	*Table
	known    map[string]quantity
	date     time.Time
	columns  []string
	report   int
	days     int       // midnights that were passed
	last     time.Time // moment of the last line
	reported time.Time // moment of the last report's rows
}

func (r *sarReader) line(line string) error {
	if h, ok := r.readHead(line); ok {
		r.Host, r.CPUs, r.date = h.host, h.cpus, h.date
		return nil
	}
	fields := strings.Fields(line)
	if len(fields) < 2 {
		return nil
	}
	if strings.TrimSuffix(fields[0], ":") == "Average" {
		return r.row(fields[1:], time.Time{}, SpanAverage)
	}
	clock, rest, ok := clockOf(fields)
	if !ok || len(rest) == 0 {
		return nil // such as "LINUX RESTART"
	}
	if isHead(rest) {
		if !slices.Equal(rest, r.columns) {
			// Each section goes over the same time from the beginning.
			r.columns, r.report, r.days, r.last, r.reported = rest, -1, 0, time.Time{}, time.Time{}
		}
		r.last = r.moment(clock)
		return nil
	}
	if r.columns == nil {
		return nil
	}
	return r.row(rest, r.moment(clock), SpanInterval)
}

// clockOf takes a time of day off the front of a line.
func clockOf(fields []string) (clock time.Time, rest []string, ok bool) {
	if len(fields) > 1 && (fields[1] == "AM" || fields[1] == "PM") {
		clock, err := time.Parse("03:04:05 PM", fields[0]+" "+fields[1])
		return clock, fields[2:], err == nil
	}
	clock, err := time.Parse(time.TimeOnly, fields[0])
	return clock, fields[1:], err == nil
}

// isHead tells a head of columns from a row of values: it holds no number.
func isHead(fields []string) bool {
	for _, f := range fields {
		if _, err := number(f); err == nil {
			return false
		}
	}
	return true
}

// moment is a time of day on the file's date, or on a later one where the
// clock went past midnight.
func (r *sarReader) moment(clock time.Time) time.Time {
	if r.date.IsZero() {
		return time.Time{}
	}
	of := clock.Sub(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC))
	at := r.date.AddDate(0, 0, r.days).Add(of)
	if at.Before(r.last) {
		r.days++
		at = r.date.AddDate(0, 0, r.days).Add(of)
	}
	r.last = at
	return at
}

func (r *sarReader) row(fields []string, at time.Time, span Span) error {
	if len(fields) != len(r.columns) {
		return fmt.Errorf("found %d values for %d columns", len(fields), len(r.columns))
	}
	if span == SpanInterval && !at.Equal(r.reported) || r.report < 0 {
		r.report++
		r.reported = at
	}
	columns, instance, whole := r.columns, "", false
	if _, known := r.known[strings.TrimPrefix(columns[0], "%")]; !known && !strings.HasPrefix(columns[0], "%") {
		// CPU, IFACE, DEV, INTR: what the row is about.
		instance, columns, fields = instanceOf(r.columns[0], fields[0]), columns[1:], fields[1:]
		whole = instance == "" && r.columns[0] == "CPU"
	}
	for i, column := range columns {
		v, err := number(fields[i])
		if err != nil {
			return fmt.Errorf("%s: %w", column, err)
		}
		q := meaning(r.known, column)
		r.Values = append(r.Values, Value{
			Report: r.report, At: at, Span: span, Metric: q.metric, Column: column, Instance: instance, Unit: q.unit, Value: q.value(v), Sum: whole,
		})
	}
	return nil
}

// instanceOf names the instance of a row as readings do: "all" cores are the
// whole, core 3 is "cpu3".
func instanceOf(column, text string) string {
	if !strings.EqualFold(column, "CPU") {
		return text
	}
	if text == "all" || text == "-1" {
		return ""
	}
	return "cpu" + text
}
