package power

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"bakeoff/internal/osenv"
	"bakeoff/telemetry/power/meter"
)

// csvMeter follows the file that a meter's own software writes, a row a
// reading, with the meter's clock.
type csvMeter struct {
	path    string
	columns csvColumns
	clock   osenv.Clock
	before  time.Duration // rows this much older than the first reading are left out

	header []string // nil until it was read
	offset int64    // of the first byte that was not read
	line   int      // number of the last line that was read
	from   time.Time
	last   time.Time
	rest   string // a line that has no end yet
}

// csvColumns says where a row's values are and how they are written.
type csvColumns struct {
	power   string
	times   []string // joined by a blank
	layout  string   // of time.Parse; layoutUnix, layoutUnixMs
	zone    *time.Location
	shift   time.Duration
	comma   rune
	decimal string
	unit    float64
}

// Layouts that are not text.
const (
	layoutUnix   = "unix"
	layoutUnixMs = "unix_ms"
)

func csvOptions() []Option {
	return []Option{
		{"file", "that the meter's software writes: a head with the columns' names, then a row a reading"},
		{"column", "the power's column"},
		{"unit", "of the power: W (default), mW or kW"},
		{"time", "the column with a row's time; two between commas, date and time, are joined by a blank"},
		{"format", "of the time, written as the moment 2006-01-02 15:04:05 would be, or unix or unix_ms; RFC 3339 where absent"},
		{"zone", "of the time, as Europe/Berlin or +02:00; needed unless the format has one"},
		{"shift", "added to the time: how far the meter's clock is behind this host's, as 1.5s or -2s"},
		{"delimiter", "between columns; a comma where absent; tab for a tab"},
		{"decimal", "the decimal sign: . (default) or a comma"},
	}
}

func openCSV(o *meter.Options) (meter.Meter, error) {
	o.Must("file", "the file that the meter's software writes")
	m := &csvMeter{path: o.Path("file"), clock: o.Env().Clock, before: 3 * o.Duration("cadence", csvCadence)}
	c := csvColumns{
		power: o.Must("column", "the name of the power's column"), unit: wattUnit(o),
		times: o.List("time"), layout: o.Text("format", time.RFC3339Nano),
		shift: o.Duration("shift", 0), decimal: o.Choice("decimal", ".", ","), comma: ',',
	}
	if len(c.times) == 0 {
		o.Refuse("time", "it is missing", "the name of the column with a row's time")
	}
	switch d := o.Text("delimiter", ","); {
	case d == "tab":
		c.comma = '\t'
	case len(d) == 1 && d != "\"" && d != "\n" && d != "\r":
		c.comma = rune(d[0])
	default:
		o.Refuse("delimiter", fmt.Sprintf("found %q", d), "one character, or tab")
	}
	if c.decimal == "," && c.comma == ',' {
		o.Refuse("delimiter", "a comma, as is the decimal sign", "another character, as ;")
	}
	c.zone = csvZone(o, c.layout)
	m.columns = c
	return m, nil
}

// csvZone takes the option zone. A time without one could be off by hours.
func csvZone(o *meter.Options, layout string) *time.Location {
	text := o.Text("zone", "")
	stated := layout == layoutUnix || layout == layoutUnixMs || strings.Contains(layout, "Z07") || strings.Contains(layout, "-07") || strings.Contains(layout, "MST")
	switch {
	case text == "" && !stated:
		o.Refuse("zone", "it is missing, and the format has none", "the zone of the meter's clock, as Europe/Berlin or +02:00")
		return time.UTC
	case text == "":
		return time.UTC
	}
	if at, err := time.Parse("-07:00", text); err == nil {
		_, offset := at.Zone()
		return time.FixedZone(text, offset)
	}
	zone, err := time.LoadLocation(text)
	if err != nil {
		o.Refuse("zone", fmt.Sprintf("found %q", text), "a zone's name, as Europe/Berlin, or an offset, as +02:00")
		return time.UTC
	}
	return zone
}

// Read gives the rows that were written since the last call.
func (m *csvMeter) Read(context.Context) (meter.Reading, error) {
	var reading meter.Reading
	if m.from.IsZero() {
		m.from = m.clock.Now().Add(-m.before)
	}
	text, err := m.news(&reading)
	if err != nil {
		return reading, err
	}
	for {
		line, rest, whole := strings.Cut(text, "\n")
		if !whole {
			m.rest = text // its writer may be in the middle of it
			break
		}
		text = rest
		m.line++
		if err := m.row(&reading, strings.TrimRight(line, "\r")); err != nil {
			m.rest = text
			return reading, fmt.Errorf("%s: line %d: %w", m.path, m.line, err)
		}
	}
	return reading, nil
}

// mostNews bounds what is read of the file at once.
const mostNews = 64 << 20

// news returns what was written to the file since the last call, after what
// was left over.
func (m *csvMeter) news(reading *meter.Reading) (string, error) {
	file, err := os.Open(m.path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	if info.Size() < m.offset {
		reading.Note("%s became shorter: it is read from its beginning again", m.path)
		m.offset, m.line, m.header, m.rest = 0, 0, nil, ""
	}
	data, err := io.ReadAll(io.LimitReader(io.NewSectionReader(file, m.offset, info.Size()-m.offset), mostNews))
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", m.path, err)
	}
	m.offset += int64(len(data))
	text := m.rest + string(data)
	m.rest = ""
	if m.line == 0 {
		text = strings.TrimPrefix(text, "\ufeff")
	}
	return text, nil
}

// row takes one line: the head or a reading. An error says that the file is
// not what the options say; a single bad row is noted and left out.
func (m *csvMeter) row(reading *meter.Reading, line string) error {
	if strings.TrimSpace(line) == "" {
		return nil
	}
	r := csv.NewReader(strings.NewReader(line))
	r.Comma, r.LazyQuotes, r.TrimLeadingSpace = m.columns.comma, true, m.columns.comma != '\t'
	fields, err := r.Read()
	if err != nil {
		return err
	}
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	if m.header == nil {
		return m.head(fields)
	}
	at, watts, err := m.columns.parse(m.header, fields)
	switch {
	case errors.Is(err, meter.ErrNoReading):
		reading.Note("%s has rows without a reading, the first in line %d: %v", m.path, m.line, err)
		return nil
	case err != nil:
		return err
	case at.Before(m.from):
		return nil
	case !at.After(m.last):
		reading.Note("%s: its clock went back or stood still, first in line %d: such rows are left out", m.path, m.line)
		return nil
	}
	m.last = at
	reading.Power = append(reading.Power, meter.Watts{Value: watts, At: at})
	return nil
}

// head checks that the first row names the columns that the options name.
func (m *csvMeter) head(fields []string) error {
	for _, name := range append([]string{m.columns.power}, m.columns.times...) {
		if n := countOf(fields, name); n != 1 {
			return fmt.Errorf("%d columns are named %q, expected 1 of %q", n, name, fields)
		}
	}
	m.header = fields
	return nil
}

func countOf(fields []string, name string) (n int) {
	for _, f := range fields {
		if f == name {
			n++
		}
	}
	return n
}

// parse returns a row's time, by this host's clock, and its power.
func (c *csvColumns) parse(header, fields []string) (time.Time, float64, error) {
	field := func(name string) string {
		if i := slices.Index(header, name); i < len(fields) {
			return fields[i]
		}
		return ""
	}
	text := field(c.power)
	number := text
	if c.decimal == "," {
		number = strings.ReplaceAll(strings.ReplaceAll(text, ".", ""), ",", ".")
	}
	watts, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return time.Time{}, 0, meter.NoReading("%s is %q", c.power, text)
	}
	if err := meter.Check(c.power, watts*c.unit); err != nil {
		return time.Time{}, 0, err
	}
	var parts []string
	for _, name := range c.times {
		parts = append(parts, field(name))
	}
	at, err := c.moment(strings.Join(parts, " "))
	return at.Add(c.shift), watts * c.unit, err
}

func (c *csvColumns) moment(text string) (time.Time, error) {
	if c.layout == layoutUnix || c.layout == layoutUnixMs {
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil || seconds != seconds || seconds < 0 || seconds > 1e14 {
			return time.Time{}, fmt.Errorf("found %q, expected a time in format %s", text, c.layout)
		}
		if c.layout == layoutUnixMs {
			seconds /= 1e3
		}
		whole := int64(seconds)
		return time.Unix(whole, int64((seconds-float64(whole))*1e9)), nil
	}
	at, err := time.ParseInLocation(c.layout, text, c.zone)
	if err != nil {
		return time.Time{}, fmt.Errorf("found %q, expected a time like %q", text, c.layout)
	}
	return at, nil
}

// csvCadence is between rows, where the plan says none.
const csvCadence = time.Second

func (m *csvMeter) Close(context.Context) error { return nil }
