package foreign

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// ReadSysstatJSON reads the JSON of iostat, mpstat, pidstat (-o JSON) and sadf
// (-j). withoutFirst says that iostat was told to leave out its report since
// boot (-y). Two faults of these tools are mended with a warning: a comma
// before the first report (iostat -y before 12.1.5) and an end that is missing
// because the tool was stopped.
func ReadSysstatJSON(data []byte, withoutFirst bool) (*Table, error) {
	t := &Table{Tool: "sysstat"}
	data = t.mend(data)
	var file struct {
		Sysstat struct {
			Hosts []struct {
				Nodename   string
				CPUs       int `json:"number-of-cpus"`
				Statistics []map[string]json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("sysstat JSON: %w", err)
	}
	if len(file.Sysstat.Hosts) == 0 {
		return nil, otherTool("sysstat JSON", `an object "sysstat" with "hosts"`)
	}
	if n := len(file.Sysstat.Hosts); n > 1 {
		return nil, fmt.Errorf("sysstat JSON: found %d hosts, expected 1", n)
	}
	host := file.Sysstat.Hosts[0]
	t.Host, t.CPUs = host.Nodename, host.CPUs
	r := sysstatReader{Table: t, known: columns(), skipped: withoutFirst}
	for i, report := range host.Statistics {
		if err := r.read(i, report); err != nil {
			return nil, fmt.Errorf("sysstat JSON: report %d: %w", i, err)
		}
	}
	return t, nil
}

var leadingComma = regexp.MustCompile(`\[\s*,`)

// mend removes a comma after an opening bracket and closes what is open at the end.
func (t *Table) mend(data []byte) []byte {
	if json.Valid(data) {
		return data
	}
	if mended := leadingComma.ReplaceAll(data, []byte("[")); json.Valid(mended) {
		t.warn("a comma before the first report was left out, as iostat -y of some versions writes it")
		return mended
	}
	mended := bytes.TrimRight(data, " \t\r\n,")
	var open []byte
	quoted, escaped := false, false
	for _, c := range mended {
		switch {
		case escaped:
			escaped = false
		case quoted:
			escaped, quoted = c == '\\', c != '"'
		case c == '"':
			quoted = true
		case c == '{':
			open = append(open, '}')
		case c == '[':
			open = append(open, ']')
		case (c == '}' || c == ']') && len(open) > 0:
			open = open[:len(open)-1]
		}
	}
	slices.Reverse(open)
	mended = append(slices.Clone(mended), open...)
	if len(open) > 0 && json.Valid(mended) {
		t.warn("the file ends in the middle: what it says up to there was read")
		return mended
	}
	return data
}

type sysstatReader struct {
	*Table
	known   map[string]quantity
	skipped bool
	value   Value // what all values of a report share
}

func (r *sysstatReader) read(i int, report map[string]json.RawMessage) error {
	r.value = Value{Report: i, Span: SpanInterval}
	if err := r.stamp(report["timestamp"]); err != nil {
		return err
	}
	if (report["disk"] != nil || report["avg-cpu"] != nil) && i == 0 && !r.skipped {
		r.value.Span = SpanBoot
	}
	for _, section := range slices.Sorted(maps.Keys(report)) {
		if section == "timestamp" {
			continue
		}
		var content any
		if err := json.Unmarshal(report[section], &content); err != nil {
			return fmt.Errorf("%s: %w", section, err)
		}
		from := len(r.Values)
		r.walk(section, "", content, false, false)
		if section == "disk" {
			r.markPartitions(from)
		}
	}
	return nil
}

// stamp reads the forms that the tools give a report's time: a moment, a time
// of day alone, or an object with date, time, zone and interval.
func (r *sysstatReader) stamp(raw json.RawMessage) error {
	if raw == nil {
		return nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		for _, layout := range []string{"2006-01-02T15:04:05-0700", time.RFC3339} {
			if at, err := time.Parse(layout, text); err == nil {
				r.value.At, r.value.Zoned = at, true
			}
		}
		return nil // a time of day alone is not a moment
	}
	var parts struct {
		Date, Time, TZ string
		UTC            int
		Interval       float64
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return fmt.Errorf("timestamp: %w", err)
	}
	at, err := time.Parse(time.DateTime, parts.Date+" "+parts.Time)
	if err != nil {
		return fmt.Errorf("timestamp: found %q %q, expected a date and a time", parts.Date, parts.Time)
	}
	r.value.At, r.value.Zoned, r.value.Seconds = at, parts.TZ == "UTC" || parts.UTC == 1, parts.Interval
	return nil
}

// rowKeys are the fields that say what a row is about, the best first.
func rowKeys() []string {
	return []string{"disk_device", "cpu", "node", "device", "iface", "dev", "name", "intr", "TGID"}
}

// walk takes the numbers out of a section: objects add to the path, and the
// rows of a list are told apart by what they are about.
func (r *sysstatReader) walk(path, instance string, content any, sum, part bool) {
	switch c := content.(type) {
	case []any:
		for _, row := range c {
			fields, ok := row.(map[string]any)
			if !ok {
				continue
			}
			name, rowSum, rowPart := r.rowName(fields)
			switch {
			case name == "":
				name = instance
			case instance != "":
				name = instance + "/" + name
			}
			r.walk(path, name, fields, sum || rowSum, part || rowPart)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(c)) {
			switch v := c[key].(type) {
			case float64:
				r.number(path, key, instance, v, sum, part)
			case []any, map[string]any:
				r.walk(path+"."+key, instance, v, sum, part)
			}
		}
	}
}

// rowName names a row's instance. A group of disks, all cores and all nodes are
// sums; a thread lies in its process.
func (r *sysstatReader) rowName(fields map[string]any) (name string, sum, part bool) {
	for _, key := range rowKeys() {
		text, ok := fields[key].(string)
		if !ok || text == "" {
			continue
		}
		switch key {
		case "disk_device":
			return strings.TrimSpace(text), strings.HasPrefix(text, " "), false
		case "cpu":
			name = instanceOf("cpu", text)
			return name, name == "", false
		case "node":
			if text == "all" {
				return "", true, false
			}
			return "node" + text, true, false // a mean over the node's cores
		case "device":
			if n, ok := fields["number"].(float64); ok {
				return fmt.Sprintf("%s/%v", text, n), false, false
			}
		case "TGID":
			thread, _ := fields["TID"].(string)
			if thread != "" {
				return text + "/" + thread, false, true
			}
		}
		return text, false, false
	}
	return "", false, false
}

func (r *sysstatReader) number(path, key, instance string, v float64, sum, part bool) {
	if key == "" || key == "number" || key == "cpu_nr" {
		return // what a row is about
	}
	q := meaning(r.known, key)
	// A process's cpu and memory shares are its own, not the host's.
	if strings.HasPrefix(path, "task-") || strings.HasPrefix(path, "io") || strings.Contains(path, "interrupts") {
		q = quantity{metric: key}
	}
	if path == "node-load" {
		q.metric = "node." + q.metric // a mean over the node's cores, which have rows of their own
	}
	value := r.value
	value.Metric, value.Column, value.Instance, value.Unit, value.Value = q.metric, path+"."+key, instance, q.unit, q.value(v)
	value.Sum, value.Part = sum, part
	r.Values = append(r.Values, value)
}
