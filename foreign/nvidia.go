package foreign

import (
	"encoding/csv"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// ReadNvidiaSMI reads the CSV of nvidia-smi --query-gpu. Units stand in the
// head or in each cell, or are left out (nounits). Stamps have no zone.
func ReadNvidiaSMI(data []byte) (*Table, error) {
	in := csv.NewReader(strings.NewReader(string(data)))
	in.TrimLeadingSpace, in.FieldsPerRecord, in.LazyQuotes = true, -1, true
	rows, err := in.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("nvidia-smi: %w", err)
	}
	if len(rows) == 0 || !slices.ContainsFunc(rows[0], func(c string) bool { return strings.Contains(c, ".") || c == "index" }) {
		return nil, otherTool("nvidia-smi", "a head with columns such as index and power.draw [W]")
	}
	r := nvidiaReader{Table: &Table{Tool: "nvidia-smi"}, buses: make(map[string]map[string]bool)}
	for _, cell := range rows[0] {
		name, unit, _ := strings.Cut(strings.TrimSpace(cell), " [")
		r.names = append(r.names, name)
		r.units = append(r.units, strings.TrimSuffix(unit, "]"))
	}
	for i, row := range rows[1:] {
		if err := r.row(row); err != nil {
			return nil, fmt.Errorf("nvidia-smi: row %d: %w", i+2, err)
		}
	}
	for _, bus := range slices.Sorted(maps.Keys(r.buses)) {
		if gpus := slices.Sorted(maps.Keys(r.buses[bus])); len(gpus) > 1 {
			r.warn("%s are all at PCI address %s: one card is listed several times, or the file is made up", strings.Join(gpus, " and "), bus)
		}
	}
	return r.Table, nil
}

type nvidiaReader struct {
	*Table
	names, units []string
	report       int
	seen         map[string]bool            // instances of this report
	buses        map[string]map[string]bool // PCI address -> instances
}

func (r *nvidiaReader) cell(row []string, name string) string {
	if i := slices.Index(r.names, name); i >= 0 && i < len(row) {
		return strings.TrimSpace(row[i])
	}
	return ""
}

func (r *nvidiaReader) row(row []string) error {
	if len(row) != len(r.names) {
		return fmt.Errorf("found %d cells for %d columns", len(row), len(r.names))
	}
	instance := "gpu" + r.cell(row, "index")
	if r.seen[instance] {
		r.report++
		r.seen = nil
	}
	if r.seen == nil {
		r.seen = make(map[string]bool)
	}
	r.seen[instance] = true
	if bus := r.cell(row, "pci.bus_id"); bus != "" {
		if r.buses[bus] == nil {
			r.buses[bus] = make(map[string]bool)
		}
		r.buses[bus][instance] = true
	}
	var at time.Time
	if text := r.cell(row, "timestamp"); text != "" {
		var err error
		if at, err = time.Parse("2006/01/02 15:04:05", text); err != nil {
			return fmt.Errorf("timestamp: found %.40q, expected one like 2022/09/28 15:36:51.680", text)
		}
	}
	for i, cell := range row {
		if value, ok := r.value(i, cell); ok {
			value.Report, value.At, value.Instance = r.report, at, instance
			r.Values = append(r.Values, value)
		}
	}
	return nil
}

// value reads a cell that holds a number. Names, states and [N/A] are none.
func (r *nvidiaReader) value(i int, cell string) (Value, bool) {
	name := r.names[i]
	if name == "index" || name == "timestamp" || name == "" {
		return Value{}, false
	}
	text, unit, _ := strings.Cut(strings.TrimSpace(cell), " ")
	v, err := number(text)
	if err != nil {
		return Value{}, false
	}
	if unit == "" {
		unit = r.units[i]
	}
	q := quantity{metric: name}
	switch unit {
	case "W":
		q.unit = "W"
	case "mW":
		q.unit, q.over = "W", 1e3
	case "MiB":
		q.unit, q.times = "B", 1<<20
	case "MHz":
		q.unit, q.times = "Hz", 1e6
	case "%":
		q.unit, q.over = "1", 100
	case "":
	default:
		return Value{}, false // a number that begins a name, as "8 x"
	}
	return Value{Span: SpanMoment, Metric: name, Column: name, Unit: q.unit, Value: q.value(v)}, true
}
