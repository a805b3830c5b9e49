package foreign

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// ReadTurbostat reads turbostat's text. Its row of dashes is the whole host.
// Columns of a package stand only in the row of its first core, those of a core
// in that of its first thread; rows end where their columns do.
func ReadTurbostat(data []byte) (*Table, error) {
	r := turbostatReader{Table: &Table{Tool: "turbostat"}, report: -1}
	for i, line := range strings.Split(string(data), "\n") {
		if err := r.line(strings.Fields(line)); err != nil {
			return nil, fmt.Errorf("turbostat: line %d: %w", i+1, err)
		}
	}
	if r.columns == nil {
		return nil, otherTool("turbostat", "a head with columns such as CPU and Avg_MHz")
	}
	if len(r.Values) == 0 {
		r.warn("a head without values: turbostat was stopped before its first interval ended")
	}
	return r.Table, nil
}

type turbostatReader struct {
	*Table
	columns []string
	report  int
}

// turbostatKeys are the columns that say what a row is about.
func turbostatKeys() []string {
	return []string{"Package", "Die", "Node", "Core", "CPU", "APIC", "X2APIC", "usec", "Time_Of_Day_Seconds"}
}

func (r *turbostatReader) line(fields []string) error {
	switch {
	case len(fields) == 0:
		return nil
	case slices.Contains(fields, "Avg_MHz") || slices.Contains(fields, "Busy%"):
		r.columns = fields
		return nil
	case r.columns == nil:
		return nil // what turbostat says before its table
	case len(fields) > len(r.columns):
		return fmt.Errorf("found %d values for %d columns", len(fields), len(r.columns))
	}
	return r.row(fields)
}

func (r *turbostatReader) row(fields []string) error {
	key := func(name string) string {
		if i := slices.Index(r.columns, name); i >= 0 && i < len(fields) {
			return fields[i]
		}
		return ""
	}
	whole := key("CPU") == "-" || key("Core") == "-" || key("Package") == "-"
	if whole || r.report < 0 {
		r.report++
	}
	var at time.Time
	if text := key("Time_Of_Day_Seconds"); text != "" {
		seconds, err := number(text)
		if err != nil {
			return err
		}
		at = time.UnixMicro(int64(seconds*1e6 + 0.5)).UTC()
	}
	pack, keys := key("Package"), turbostatKeys()
	if pack == "" {
		pack = "0" // a host with one has no such column
	}
	for i, column := range r.columns[:len(fields)] {
		if slices.Contains(keys, column) {
			continue
		}
		v, err := number(fields[i])
		if err != nil {
			return fmt.Errorf("%s: %w", column, err)
		}
		q := turbostatColumn(column)
		value := Value{
			Report: r.report, At: at, Zoned: !at.IsZero(), Span: SpanInterval, Metric: q.metric, Column: column,
			Instance: "cpu" + key("CPU"), Unit: q.unit, Value: q.value(v), Sum: whole,
		}
		switch {
		case whole:
			value.Instance = ""
		case ofPackage(column):
			value.Instance = "package-" + pack
		}
		r.Values = append(r.Values, value)
	}
	return nil
}

// ofPackage tells the columns that are about a package.
func ofPackage(column string) bool {
	for _, prefix := range []string{"Pkg", "Pk%", "PKG", "RAM", "GFX", "SYS", "Unc", "CPUGFX", "Totl", "Any", "CorWatt", "CPU%LPI"} {
		if strings.HasPrefix(column, prefix) {
			return true
		}
	}
	return false
}

// turbostatColumn is what a column of turbostat(8) means.
func turbostatColumn(column string) quantity {
	switch {
	case strings.HasSuffix(column, "Watt"):
		return quantity{map[string]string{"PkgWatt": "power.package", "RAMWatt": "power.dram", "CorWatt": "power.core", "GFXWatt": "power.gfx"}[column], "W", 0, 0}.named(column)
	case strings.HasSuffix(column, "MHz"):
		return quantity{map[string]string{"Avg_MHz": "frequency.mean", "Bzy_MHz": "frequency.busy", "TSC_MHz": "frequency.tsc"}[column], "Hz", 1e6, 0}.named(column)
	case column == "Busy%":
		return quantity{"busy", "1", 0, 100}
	case strings.HasSuffix(column, "Tmp"):
		return quantity{column, "degC", 0, 0}
	case strings.Contains(column, "%"):
		return quantity{column, "1", 0, 100}
	}
	return quantity{metric: column}
}

// named gives a quantity the column's name where it has none of its own.
func (q quantity) named(column string) quantity {
	if q.metric == "" {
		q.metric = column
	}
	return q
}
