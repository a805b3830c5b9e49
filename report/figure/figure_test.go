package figure

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bakeoff/analysis"
)

// checkDrawing reports texts that run into one another or out of the picture, and
// markup that no XML reader takes.
func checkDrawing(t interface{ Errorf(string, ...any) }, d Drawing) {
	const slack = 0.5
	for i, a := range d.labels {
		if a.left < -slack || a.right > d.Width+slack || a.top < -slack || a.bottom > d.Height+slack {
			t.Errorf("%q stands outside the drawing: %.0f,%.0f to %.0f,%.0f of %.0f by %.0f", a.text, a.left, a.top, a.right, a.bottom, d.Width, d.Height)
			return
		}
		for _, b := range d.labels[i+1:] {
			if a.left < b.right-slack && b.left < a.right-slack && a.top < b.bottom-slack && b.top < a.bottom-slack {
				t.Errorf("%q and %q overlap: %+v, %+v", a.text, b.text, a, b)
				return
			}
		}
	}
	for _, svg := range []string{d.SVG, d.Standalone()} {
		if err := wellFormed(svg); err != nil {
			t.Errorf("%v in %s", err, svg)
		}
	}
	if regexp.MustCompile(` (x|y|d|cx|cy|r|width|height|viewBox)="[^"]*(NaN|Inf)`).MatchString(d.SVG) {
		t.Errorf("a position that is no number in %s", d.SVG)
	}
}

func wellFormed(text string) error {
	dec := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := dec.Token(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func names() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"", "redis", "valkey with I/O threads", "server=redis, size=4 KiB", "<script>", `"`, "名前がとても長い水準の名前です", "a\x00b\x1b", "\u202eabc", "]]>", "W" + strings.Repeat("W", 90)}),
		rapid.StringMatching(`[a-zA-Z0-9 =,./_-]{0,90}`),
		rapid.StringN(0, 40, -1))
}

func values() *rapid.Generator[float64] {
	return rapid.OneOf(
		rapid.Float64Range(0.9, 1.1), rapid.Float64Range(0, 1e6), rapid.Float64Range(1e-9, 1e-3), rapid.Float64Range(-50, 50),
		rapid.SampledFrom([]float64{0, 1, 1e12, 1e-12, 123456789, math.NaN(), math.Inf(1), math.Inf(-1)}))
}

func charts() *rapid.Generator[analysis.Chart] {
	return rapid.Custom(func(t *rapid.T) analysis.Chart {
		units := rapid.SampledFrom([]string{"", "s", "ops/s", "B/s", "B", "W", "1", "%", "CPU s/M ops"})
		c := analysis.Chart{
			Kind:  rapid.SampledFrom([]analysis.ChartKind{analysis.BarChart, analysis.PercentileChart, analysis.TimeChart, analysis.ForestChart, analysis.LineChart, analysis.StackChart, "unheard of"}).Draw(t, "kind"),
			Title: names().Draw(t, "title"), Alt: names().Draw(t, "alt"), XLabel: names().Draw(t, "x"), YLabel: names().Draw(t, "y"),
			XUnit: units.Draw(t, "xunit"), YUnit: units.Draw(t, "yunit"), XLog: rapid.Bool().Draw(t, "xlog"), YLog: rapid.Bool().Draw(t, "ylog"),
		}
		points := rapid.IntRange(0, 14).Draw(t, "points")
		axis := rapid.SampledFrom([]string{"x", "y"})
		list := func(name string) []float64 { return rapid.SliceOfN(values(), 0, points).Draw(t, name) }
		for range rapid.IntRange(0, 9).Draw(t, "series") {
			s := analysis.Series{Name: names().Draw(t, "name"), Y: list("ys")}
			if rapid.Bool().Draw(t, "labelled") {
				s.Labels = rapid.SliceOfN(names(), 0, points).Draw(t, "labels")
			}
			if c.Kind == analysis.PercentileChart {
				s.X = rapid.SliceOfN(rapid.Float64Range(0, 1), 0, points).Draw(t, "quantiles")
			} else if rapid.Bool().Draw(t, "placed") {
				s.X = list("xs")
			}
			s.Low, s.High = list("low"), list("high")
			s.Points = rapid.SliceOfN(rapid.SliceOfN(values(), 0, 4), 0, points).Draw(t, "trials")
			s.Notes = rapid.SliceOfN(rapid.SampledFrom([]string{"better", "inconclusive", ""}), 0, points).Draw(t, "notes")
			c.Series = append(c.Series, s)
		}
		for range rapid.IntRange(0, 2).Draw(t, "bands") {
			c.Bands = append(c.Bands, analysis.Band{Axis: axis.Draw(t, "axis"), From: values().Draw(t, "from"), To: values().Draw(t, "to"), Label: names().Draw(t, "band")})
		}
		for range rapid.IntRange(0, 2).Draw(t, "lines") {
			c.Lines = append(c.Lines, analysis.RefLine{Axis: axis.Draw(t, "axis"), At: values().Draw(t, "at"), Label: names().Draw(t, "line")})
		}
		return c
	})
}

// Whatever is drawn, no text covers another or leaves the picture.
func TestAnyChartIsReadable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := charts().Draw(t, "chart")
		width := rapid.SampledFrom([]float64{320, 340, 430, 760, 1000}).Draw(t, "width")
		checkDrawing(t, Draw(c, Options{Width: width, ID: "f"}))
	})
}

func TestManyCells(t *testing.T) {
	for n := 1; n <= 40; n += 13 {
		for _, kind := range []analysis.ChartKind{analysis.BarChart, analysis.ForestChart, analysis.StackChart, analysis.TimeChart, analysis.PercentileChart, analysis.LineChart} {
			c := analysis.Chart{Kind: kind, Title: "t", YLabel: "Throughput", YUnit: "ops/s"}
			for i := range n {
				s := analysis.Series{Name: fmt.Sprintf("drive=vendor-model-%02d-with-a-long-name, layout=RAID %d", i, i%7), Y: []float64{1e5 + float64(i), 2e5, 3e5}, X: []float64{0.5, 0.9, 0.99}, Low: []float64{9e4, 1.9e5, 2.9e5}, High: []float64{1.1e5, 2.1e5, 3.1e5}}
				s.Labels = []string{s.Name}
				c.Series = append(c.Series, s)
			}
			for _, width := range []float64{340, 760} {
				checkDrawing(t, Draw(c, Options{Width: width, ID: "f"}))
			}
		}
	}
}

func TestEmptyChartSaysSo(t *testing.T) {
	for _, c := range []analysis.Chart{{}, {Kind: analysis.BarChart, Series: []analysis.Series{{}}}, {Kind: analysis.TimeChart, Series: []analysis.Series{{Y: []float64{math.NaN()}}}}} {
		d := Draw(c, Options{Width: 340, ID: "f"})
		if !strings.Contains(d.SVG, "No data to draw") {
			t.Errorf("%+v: drawn as %s", c, d.SVG)
		}
		checkDrawing(t, d)
	}
}

// The text alternative is in the image, and names cannot end it.
func TestTextAlternative(t *testing.T) {
	c := analysis.Chart{Kind: analysis.BarChart, Title: `<b>"T"</b>`, Alt: "a & </desc><script>", Series: []analysis.Series{{Labels: []string{"</svg><script>"}, Y: []float64{1}}}}
	svg := Draw(c, Options{Width: 340, ID: "f9"}).SVG
	for _, want := range []string{`role="img" aria-labelledby="f9-t f9-d"`, `<title id="f9-t">&lt;b&gt;&#34;T&#34;&lt;/b&gt;</title>`, `<desc id="f9-d">a &amp; &lt;/desc&gt;&lt;script&gt;</desc>`, "&lt;/svg&gt;&lt;script&gt;"} {
		if !strings.Contains(svg, want) {
			t.Errorf("%s is missing in %s", want, svg)
		}
	}
	if strings.Contains(svg, "<script") {
		t.Error("markup of a name reached the drawing")
	}
}

// Bars are as long as their values: they begin at zero.
func TestBarsStartAtZero(t *testing.T) {
	c := analysis.Chart{Kind: analysis.BarChart, YLabel: "Throughput", YUnit: "ops/s", Series: []analysis.Series{{Labels: []string{"a", "b"}, Y: []float64{1000, 1010}}}}
	svg := Draw(c, Options{Width: 760, ID: "f"}).SVG
	var widths []float64
	for _, part := range strings.Split(svg, `<rect class="bar`)[1:] {
		var w float64
		if _, err := fmt.Sscanf(part[strings.Index(part, `width="`):], `width="%f"`, &w); err != nil {
			t.Fatal(err)
		}
		widths = append(widths, w)
	}
	if len(widths) != 2 || math.Abs(widths[1]/widths[0]-1.01) > 0.001 {
		t.Errorf("bars of 1000 and 1010 have the widths %v", widths)
	}
	if !strings.Contains(svg, "bars start at 0") {
		t.Error("the axis does not say that bars start at 0")
	}
}

// A line keeps the extremes of what it shortens.
func TestLongLinesKeepExcursions(t *testing.T) {
	s := analysis.Series{Name: "a"}
	for i := range 50000 {
		v := 100.0
		if i == 31234 {
			v = 5
		}
		s.X, s.Y = append(s.X, float64(i)), append(s.Y, v)
	}
	d := Draw(analysis.Chart{Kind: analysis.TimeChart, YLabel: "y", Series: []analysis.Series{s}}, Options{Width: 760, ID: "f"})
	if len(d.SVG) > 60000 {
		t.Errorf("a line of 50000 points takes %d bytes", len(d.SVG))
	}
	p := &plot{chart: analysis.Chart{Series: []analysis.Series{s}}, wide: 600, x: axis{from: 0, to: 50000, b: 600}}
	found := false
	for _, i := range p.kept(s) {
		found = found || i == 31234
	}
	if !found {
		t.Error("the excursion was lost")
	}
}
