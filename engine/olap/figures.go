package olap

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"text/tabwriter"

	"bakeoff/engine/olap/tpch"
	"bakeoff/record"
)

// The figures. The last three are computed as the specification computes its
// metrics, and are no such metrics: nobody has audited anything.
const (
	figureGeometricMean     = "geometric_mean"
	figureGeometricWithRows = "geometric_mean_with_rows"
	figurePowerTime         = "power_time"
	figureThroughputTime    = "throughput_time"
	figurePower             = "unaudited_power_at_size"
	figureThroughput        = "unaudited_throughput_at_size"
	figureComposite         = "unaudited_queries_per_hour"
)

func figureNames() []string {
	return []string{figureGeometricMean, figureGeometricWithRows, figurePowerTime, figureThroughputTime, figurePower, figureThroughput, figureComposite,
		"load_time", "restore_time", "save_time", "validation_time"}
}

// Figures computes what the results of all streams together give. What a failed
// or missing query leaves without meaning is left out.
func (s *session) Figures(context.Context) ([]record.Figure, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.figures
	add := func(name, unit string, value float64) {
		all = append(all, record.Figure{Name: name, Unit: unit, Value: value})
	}
	scale := s.c.population.Scale()
	whole := s.c.refresh && len(s.c.queries) == tpch.Queries
	power := s.power(add)
	if power > 0 && whole {
		power *= scale
		add(figurePower, "1", power)
	}
	seconds := s.throughput()
	if seconds <= 0 {
		return all, nil
	}
	add(figureThroughputTime, "s", seconds)
	if !whole {
		return all, nil
	}
	throughput := float64(s.c.streams*tpch.Queries) * 3600 / seconds * scale
	add(figureThroughput, "1", throughput)
	if power > 0 {
		add(figureComposite, "1", math.Sqrt(power*throughput))
	}
	return all, nil
}

// power adds the figures of the power run and returns 3600 over the geometric
// mean of its queries and refresh functions (clause 5.4.1, without the scale factor); 0
// where it is not whole.
func (s *session) power(add func(name, unit string, value float64)) float64 {
	for _, st := range s.streams {
		if st.role.number != 0 || !st.succeeded() {
			continue
		}
		var all, queries, withRows mean
		for _, r := range st.results {
			seconds := r.seconds()
			all.add(seconds)
			if r.query > 0 {
				queries.add(seconds)
			}
			if r.query > 0 && r.answer.Rows > 0 {
				withRows.add(seconds)
			}
		}
		if queries.n == tpch.Queries {
			add(figureGeometricMean, "s", queries.value())
			add(figureGeometricWithRows, "s", withRows.value())
		}
		add(figurePowerTime, "s", float64(st.results[len(st.results)-1].end-st.results[0].begin)/1e9)
		return 3600 / all.value()
	}
	return 0
}

// throughput is how long the streams of the throughput run took, from the first
// begin to the last end (clause 5.3.6); 0 where there is none, or something failed.
func (s *session) throughput() float64 {
	begin, end := int64(math.MaxInt64), int64(0)
	for _, st := range s.streams {
		if st.role.number == 0 {
			continue
		}
		if !st.succeeded() {
			return 0
		}
		begin, end = min(begin, st.results[0].begin), max(end, st.results[len(st.results)-1].end)
	}
	if end == 0 {
		return 0
	}
	return float64(end-begin) / 1e9
}

// succeeded reports whether every step was done, and rightly.
func (st *stream) succeeded() bool {
	for _, r := range st.results {
		if r.err != nil {
			return false
		}
	}
	return len(st.results) == len(st.steps)
}

func (r result) seconds() float64 { return max(float64(r.end-r.begin), 1) / 1e9 }

// mean is a geometric mean.
type mean struct {
	logs float64
	n    int
}

func (m *mean) add(v float64) { m.logs, m.n = m.logs+math.Log(v), m.n+1 }

func (m *mean) value() float64 { return math.Exp(m.logs / float64(m.n)) }

// Artifacts lists the seed, as the specification's query generator takes it, and every query with its parameters and answer, so that answers to
// the same parameters can be compared between servers.
func (s *session) Artifacts() map[string][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b bytes.Buffer
	fmt.Fprintf(&b, "seed of stream 0: %d (stream s: plus s)\n", tpch.Seed(s.c.spec.Seed))
	w := tabwriter.NewWriter(&b, 0, 0, 1, ' ', 0)
	fmt.Fprintln(w, "stream\tkind\tbegin_s\tseconds\trows\tanswer\tparameters\terror")
	first := int64(math.MaxInt64)
	for _, st := range s.streams {
		if len(st.results) > 0 {
			first = min(first, st.results[0].begin)
		}
	}
	for _, st := range s.streams {
		for _, r := range st.results {
			name, answer, fault := fmt.Sprintf("q%d", r.query), r.answer.String(), "-"
			if r.query == 0 {
				name, answer = fmt.Sprintf("rf%d", r.kind-kindRefresh1+1), "-"
			}
			if r.err != nil {
				fault = strings.Join(strings.Fields(r.err.Error()), " ")
			}
			fmt.Fprintf(w, "%d\t%s\t%.6f\t%.6f\t%d\t%s\t%s\t%s\n", st.role.number, name, float64(r.begin-first)/1e9, r.seconds(), r.answer.Rows, answer, strings.Join(r.parameters, "|"), fault)
		}
	}
	_ = w.Flush()
	return map[string][]byte{"queries.txt": b.Bytes()}
}
