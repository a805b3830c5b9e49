package claim

import (
	"fmt"
	"slices"
	"strings"

	"bakeoff/analysis"
	"bakeoff/record"
	"bakeoff/unit"
)

// asPrinted gives the cells, findings and charts of one table the intervals that
// its digits leave, and captions that speak of figures and not of trials. A chart of a
// single figure compares nothing and is left out.
func asPrinted(r *analysis.Result, obs []record.Observation) {
	for i := range r.Cells {
		c := &r.Cells[i]
		for _, o := range obs {
			if o.Measure == c.Measure && o.Cell.Key() == c.Cell.Key() && o.HalfWidth != nil {
				c.Low, c.High = o.Value-*o.HalfWidth, o.Value+*o.HalfWidth
			}
		}
	}
	for i := range r.Findings {
		r.Findings[i].Level = 1 // the interval holds every value that prints so
	}
	for i := range r.Charts {
		chart := &r.Charts[i]
		switch chart.Kind {
		case analysis.BarChart:
			printedBars(chart, r.Cells)
			chart.Caption = "Bars are the figures as they were printed, lines what their digits leave open."
		case analysis.LineChart:
			chart.Caption = "The figures as they were printed."
		}
	}
	r.Charts = slices.DeleteFunc(r.Charts, func(c analysis.Chart) bool {
		return c.Kind == analysis.BarChart && (len(c.Series) == 0 || len(c.Series[0].Labels) < 2)
	})
}

// printedBars sets the ends of the bars of one measure, which stand in the order
// of its cells.
func printedBars(chart *analysis.Chart, cells []analysis.CellSummary) {
	if len(chart.Series) != 1 {
		return
	}
	s := &chart.Series[0]
	var words []string
	at := 0
	for _, c := range cells {
		if c.Measure != chart.YLabel || at >= len(s.Y) {
			continue
		}
		s.Low[at], s.High[at] = c.Low, c.High
		words = append(words, fmt.Sprintf("%s: %s", s.Labels[at], unit.FormatSI(c.Center, c.Unit, 0)))
		at++
	}
	s.Points = nil
	chart.Alt = strings.Join(words, "; ") + "."
}
