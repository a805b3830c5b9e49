package report

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"bakeoff/analysis"
	"bakeoff/report/figure"
)

//go:embed page/*.gohtml page/page.css
var pageFiles embed.FS

// HTML writes the report as one self-contained page: no scripts, nothing fetched,
// light and dark, for screens from 360 pixels up and for paper.
func HTML(w io.Writer, r *analysis.Result) error {
	t, err := template.New("page.gohtml").ParseFS(pageFiles, "page/*.gohtml")
	if err != nil {
		return fmt.Errorf("reading the report's templates: %w", err)
	}
	css, err := pageFiles.ReadFile("page/page.css")
	if err != nil {
		return fmt.Errorf("reading the report's style sheet: %w", err)
	}
	p := pageOf(cleaned(r))
	p.Style = template.CSS(figure.Palette() + figure.Style() + string(css)) // our own files, no part of the result
	if err := t.Execute(w, p); err != nil {
		return fmt.Errorf("writing the HTML report: %w", err)
	}
	return nil
}

// A page is what the template prints.
type page struct {
	Result     *analysis.Result
	Style      template.CSS
	Stamps     []stamp
	Sections   []section
	Verdicts   []verdict
	Family     string
	Common     string // how all verdicts were reached, where it is the same
	ScaleNote  string
	Rest       *table // descriptive comparisons
	Figures    []figureGroup
	Values     []table
	Gates      table
	Warnings   table
	Noise      table
	Differs    table
	Settings   table
	Shared     []table
	Services   []service
	Economics  []table
	Further    []table
	Raw        []table
	Losses     []table
	Started    string
	Ended      string
	Took       string
	VerifyLine string
}

type section struct{ ID, Title string }

// A verdict is one row of the verdict table.
type verdict struct {
	Finding     analysis.Finding
	Word        string
	Measure     string
	Direction   string
	Comparison  string
	Factor      string
	Where       string
	Effect      string
	Interval    string
	Change      string
	Changes     string
	Base        string
	Against     string
	BaseName    string
	AgainstName string
	Margin      string
	Details     string
	Picture     template.HTML // the interval beside 1 and the margin
	Warnings    []string
}

type figureGroup struct {
	Paired  bool
	Figures []drawn
}

type drawn struct {
	Number  int
	ID      string
	Title   string
	Caption string
	Wide    template.HTML
	Narrow  template.HTML
	Data    table
}

type service struct {
	analysis.ServiceRow
	Line  string
	Where string
	Facts string
}

func pageOf(r *analysis.Result) *page {
	n := namesOf(r)
	p := &page{Result: r, Stamps: stamps(r), Figures: drawAll(r), Values: valueTables(r, n), Gates: gateTable(r), Warnings: warningTable(r)}
	primary, rest := primaries(r)
	p.Family = familyText(primary)
	p.Common = commonMethod(primary)
	p.Verdicts, p.ScaleNote = verdicts(primary, n, p.Common == "")
	if len(rest) > 0 {
		t := descriptiveTable(rest, n)
		p.Rest = &t
	}
	p.Noise, p.Differs, p.Settings, p.Shared = noiseTable(r, n), differsTable(r, n), settingsTable(r, n), sharedTables(r)
	for _, s := range r.Services {
		p.Services = append(p.Services, service{s, commandLine(s.Command), n.reach(s.Cells), serviceFacts(s.Facts)})
	}
	for _, t := range r.Tables {
		if economic(t.ID) {
			p.Economics = append(p.Economics, givenTable(t))
		} else {
			p.Further = append(p.Further, givenTable(t))
		}
	}
	if len(r.Trials) > 0 {
		p.Raw, p.Losses = rawTables(r, n), lossTables(r, n)
	}
	p.Started, p.Ended, p.Took = clockTimes(r.Run)
	p.VerifyLine = commandLine([]string{"bakeoff", "verify", orElse(r.Run.ID, "RUN")})
	if i := slices.IndexFunc(r.Commands, func(c string) bool { return strings.HasPrefix(c, "bakeoff verify ") }); i >= 0 {
		p.VerifyLine = r.Commands[i] // with the folder that the run is in
	}
	p.Sections = p.contents()
	return p
}

// contents lists the sections that the page has.
func (p *page) contents() []section {
	all := []struct {
		id, title string
		there     bool
	}{
		{"answer", "Answer", true},
		{"verdicts", "Verdicts", true},
		{"figures", "Figures", len(p.Figures) > 0},
		{"values", p.ValuesTitle(), len(p.Values) > 0 || p.Rest != nil},
		{"validity", "Validity", true},
		{"noise", "Noise floor", true},
		{"configuration", "Configuration", true},
		{"economics", "Efficiency, money, energy", len(p.Economics) > 0},
		{"further", "Further tables", len(p.Further) > 0},
		{"method", "Method", true},
		{"trials", "Every trial", len(p.Raw) > 0},
		{"losses", "Invalid and excluded", len(p.Losses) > 0},
		{"provenance", "Provenance", true},
	}
	var out []section
	for _, s := range all {
		if s.there {
			out = append(out, section{s.id, s.title})
		}
	}
	return out
}

// ValuesTitle is the title of the section of values.
func (p *page) ValuesTitle() string {
	if p.Result.Printed {
		return "Printed values"
	}
	return "Measured values"
}

// SharedFacts counts the facts that all trials share.
func (p *page) SharedFacts() (count int) {
	for _, t := range p.Shared {
		count += len(t.Rows)
	}
	return count
}

// Has reports whether the page has a section; for the template.
func (p *page) Has(id string) bool {
	return slices.ContainsFunc(p.Sections, func(s section) bool { return s.ID == id })
}

// economic reports whether a table belongs with efficiency, money and energy.
func economic(id string) bool {
	for _, p := range []string{"efficiency", "money", "energy", "power", "cost", "price", "tco", "consolidation", "limits"} {
		if strings.Contains(id, p) {
			return true
		}
	}
	return false
}

func verdicts(findings []analysis.Finding, n names, spelled bool) ([]verdict, string) {
	reach, clipped := effectReach(findings)
	out := make([]verdict, len(findings))
	for i, f := range findings {
		m := n.measure(f.Measure, f.Workload)
		v := verdict{Finding: f, Word: string(f.Verdict), Measure: n.title(m), Direction: better(f.Better), Comparison: comparison(f),
			Factor: f.Factor, Where: where(f), Margin: marginText(f.Margin), Details: details(f, spelled)}
		v.Effect, v.Interval = effectText(f)
		v.Change, v.Changes = changeText(f)
		v.Base, v.Against = n.valuesText(f)
		if utf8.RuneCountInString(f.Base) <= 24 && utf8.RuneCountInString(f.Against) <= 24 { // longer ones stand in the comparison
			v.BaseName, v.AgainstName = f.Base, f.Against
		}
		if f.Scale != "difference" && !math.IsNaN(f.Effect) {
			v.Picture = template.HTML(effectPicture(f, reach)) // numbers only: no text of the result
		}
		for _, w := range f.Warnings {
			if line := w.Gate + " (" + string(w.Severity) + "): " + w.Found; !slices.Contains(v.Warnings, line) {
				v.Warnings = append(v.Warnings, line)
			}
		}
		out[i] = v
	}
	note := ""
	if clipped {
		note = "An arrow marks an interval that goes on beyond the picture's scale."
	}
	return out, note
}

// drawAll draws the charts, those of a group side by side.
func drawAll(r *analysis.Result) []figureGroup {
	charts := r.Charts
	var out []figureGroup
	for i := 0; i < len(charts); {
		j := i + 1
		for charts[i].Group != "" && j < len(charts) && charts[j].Group == charts[i].Group {
			j++
		}
		group := figureGroup{Paired: j-i > 1}
		from, to := sharedX(charts[i:j])
		for k := i; k < j; k++ {
			group.Figures = append(group.Figures, drawOne(charts[k], k+1, group.Paired, figure.Options{XFrom: from, XTo: to, Printed: r.Printed}))
			if f := &group.Figures[k-i]; ofRecords(r.Findings) {
				f.Caption = apartText(f.Caption)
			}
		}
		out = append(out, group)
		i = j
	}
	return out
}

// The widths that charts are laid out for, in pixels.
const (
	wideFigure   = 760
	pairedFigure = 430
	narrowFigure = 340
)

func drawOne(c analysis.Chart, number int, paired bool, o figure.Options) drawn {
	id := "fig-" + strconv.Itoa(number)
	wide := float64(wideFigure)
	if paired {
		wide = pairedFigure
	}
	draw := func(width float64, suffix string) template.HTML {
		// figure escapes every text of the result
		o.Width, o.ID = width, id+suffix
		return template.HTML(figure.Draw(c, o).SVG)
	}
	return drawn{Number: number, ID: id, Title: c.Title, Caption: c.Caption, Wide: draw(wide, "w"), Narrow: draw(narrowFigure, "n"), Data: chartTable(c, o.Printed)}
}

// apartText corrects a caption that speaks of blocks where the records compared
// have none in common.
func apartText(caption string) string {
	return strings.NewReplacer("the verdicts rest on differences inside blocks", "the records were not interleaved",
		"means over the blocks", "means over the trials").Replace(caption)
}

// sharedX returns the span of x that charts over time of one group share.
func sharedX(charts []analysis.Chart) (from, to float64) {
	if len(charts) < 2 {
		return 0, 0
	}
	from, to = math.Inf(1), math.Inf(-1)
	for _, c := range charts {
		if c.Kind != analysis.TimeChart {
			return 0, 0
		}
		for _, s := range c.Series {
			for _, x := range s.X {
				from, to = math.Min(from, x), math.Max(to, x)
			}
		}
	}
	return from, to
}

// clockTimes writes when the run was, and how long it took.
func clockTimes(run analysis.RunInfo) (started, ended, took string) {
	if !run.Started.IsZero() {
		started = run.Started.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	if !run.Ended.IsZero() {
		ended = run.Ended.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	if started != "" && ended != "" {
		took = run.Ended.Sub(run.Started).Round(time.Second).String()
	}
	return started, ended, took
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
