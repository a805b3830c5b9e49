package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
	"golang.org/x/perf/benchfmt"
	"pgregory.net/rapid"

	"bakeoff/analysis"
	"bakeoff/record"
)

func toHTML(t interface{ Fatal(...any) }, markup string) string {
	var b bytes.Buffer
	if err := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithUnsafe())).Convert([]byte(markup), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Every name comes out of the Markdown as text: no link, image, HTML or emphasis.
func TestMarkdownIsInert(t *testing.T) {
	for name, r := range fixtures() {
		page := toHTML(t, string(render(t, Markdown, r)))
		for _, bad := range []string{"<script", "<a ", "<img", "<del>", "onmouseover=\"a"} {
			if strings.Contains(page, bad) {
				t.Errorf("%s: %s in %.300s", name, bad, page[strings.Index(page, bad):])
			}
		}
	}
}

func TestInline(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.StringMatching("[-a-c1.)( *_`|~$#!<>&@:/\\[\\]\\\\+=]{1,24}"), rapid.StringN(1, 24, -1)).Draw(t, "text")
		s = strings.Join(strings.Fields(cleanText(s)), " ")
		if s == "" || !utf8.ValidString(s) {
			t.Skip()
		}
		for _, around := range []string{"", "x"} { // at a line's edges, and inside
			want := strings.TrimSpace(around + " " + s + " " + around)
			page := strings.TrimSpace(toHTML(t, strings.TrimSpace(around+" "+inline(s)+" "+around)))
			var text struct {
				XMLName xml.Name
				Text    string `xml:",chardata"`
				Inner   string `xml:",innerxml"`
			}
			if err := xml.Unmarshal([]byte(page), &text); err != nil {
				t.Fatalf("%q became %q: %v", s, page, err)
			}
			if text.XMLName.Local != "p" || text.Text != want || strings.Contains(text.Inner, "<") {
				t.Fatalf("%q became %q", s, page)
			}
		}
	})
}

func TestAddressesReadRight(t *testing.T) {
	for s, want := range map[string]string{"redis+unix:///run/r.sock": "redis+unix:///run/r.sock", "at HTTP://a.b/c or www.a.b": `at HTTP:\/\/a.b/c or www\.a.b`} {
		if got := inline(s); got != want {
			t.Errorf("%q is escaped to %q, want %q", s, got, want)
		}
	}
	for s, want := range map[string]string{"tcp://[::1]:6379": "<code>tcp://[::1]:6379</code>", "a``b`": "<code>a``b`</code>", "https://a.b <x>": "<code>https://a.b &lt;x&gt;</code>"} {
		if got := toHTML(t, codeSpan(s)); !strings.Contains(got, want) {
			t.Errorf("%q as code becomes %q", s, got)
		}
	}
	for _, s := range []string{"https://a.example/b", "x ftp://a.example", "(www.example.com)", "hTTp://a.example http://b.example"} {
		if got := toHTML(t, inline(s)); strings.Contains(got, "<a ") || !strings.Contains(got, s) {
			t.Errorf("%q becomes %q", s, got)
		}
	}
}

// Tables keep their columns whatever stands in them.
func TestMarkdownTables(t *testing.T) {
	for name, r := range fixtures() {
		source := string(render(t, Markdown, r))
		rules := len(regexp.MustCompile(`(?m)^\| -`).FindAllString(source, -1))
		if tables := strings.Count(toHTML(t, source), "<table>"); tables != rules {
			t.Errorf("%s: %d tables of %d are tables to a reader", name, tables, rules)
		}
		columns := 0
		for i, line := range strings.Split(source, "\n") {
			if !strings.HasPrefix(line, "| ") {
				columns = 0
				continue
			}
			n := strings.Count(line, "|") - strings.Count(line, `\|`)
			if columns == 0 {
				columns = n
			}
			if n != columns {
				t.Errorf("%s.md:%d: %d borders where %d are expected", name, i+1, n, columns)
			}
		}
	}
}

func TestJSONReadsBack(t *testing.T) {
	for name, r := range fixtures() {
		text := render(t, JSON, r)
		var got struct {
			Format  string          `json:"format"`
			Version int             `json:"version"`
			Result  analysis.Result `json:"result"`
		}
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got.Format != JSONFormat || got.Version != JSONVersion {
			t.Errorf("%s: %s %d", name, got.Format, got.Version)
		}
		if name == "all-invalid" {
			continue // what is not a number is null, and reads back as nothing
		}
		if diff := cmp.Diff(r, &got.Result, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: lost on the way:\n%s", name, diff)
		}
	}
}

func TestJSONOfUndefinedNumbers(t *testing.T) {
	text := string(render(t, JSON, allInvalid()))
	if !strings.Contains(text, `"effect": null`) {
		t.Error("an effect that is not defined must be null")
	}
}

// For results without such numbers it is what encoding/json writes, lists that are
// and maps that are nil aside.
func TestJSONIsTheStandardEncoding(t *testing.T) {
	r := threeFactors()
	want, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Result json.RawMessage }
	if err := json.Unmarshal(render(t, JSON, r), &got); err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, got.Result); err != nil {
		t.Fatal(err)
	}
	normal := strings.NewReplacer(`:null`, `:[]`, `:{}`, `:[]`)
	a, b := normal.Replace(string(want)), normal.Replace(compact.String())
	if a != b {
		t.Errorf("differs:\n%s", cmp.Diff(a, b))
	}
}

func TestCSVIsTidy(t *testing.T) {
	for name, r := range fixtures() {
		rows, err := csv.NewReader(bytes.NewReader(render(t, CSV, r))).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		seen := map[string]bool{}
		column := map[string]int{}
		for i, h := range rows[0] {
			if seen[h] {
				t.Errorf("%s: two columns %s", name, h)
			}
			seen[h], column[h] = true, i
		}
		want := 0
		for _, trial := range r.Trials {
			want += len(trial.Values)
		}
		if len(r.Trials) == 0 {
			for _, c := range r.Cells {
				want += len(c.Values)
			}
		}
		if len(rows)-1 != want {
			t.Errorf("%s: %d rows of %d values", name, len(rows)-1, want)
		}
		for i, row := range rows[1:] {
			if i >= len(r.Trials) || len(r.Trials) == 0 || len(r.Measures) != 1 {
				break
			}
			v, err := strconv.ParseFloat(row[column["value"]], 64)
			if err != nil || v != r.Trials[i].Values[row[column["measure"]]] || row[column["counted"]] != strconv.FormatBool(r.Trials[i].Counted) {
				t.Errorf("%s: row %d is not trial %d: %v", name, i+1, i, row)
			}
		}
	}
	header := strings.SplitN(string(render(t, CSV, hostileNames())), "\n", 2)[0]
	if !strings.Contains(header, "factor.block") || !strings.Contains(header, ",block,") {
		t.Errorf("a factor named as a fixed column: %s", header)
	}
}

func TestGoBenchIsRead(t *testing.T) {
	for name, r := range fixtures() {
		reader := benchfmt.NewReader(bytes.NewReader(render(t, GoBench, r)), name)
		results := 0
		for reader.Scan() {
			switch rec := reader.Result().(type) {
			case *benchfmt.SyntaxError:
				t.Errorf("%s: %v", name, rec)
			case *benchfmt.Result:
				results++
				_, parts := rec.Name.Parts()
				for _, p := range parts {
					if !bytes.HasPrefix(p, []byte("/")) {
						t.Errorf("%s: %s has a part %s: a level was taken for GOMAXPROCS", name, rec.Name, p)
					}
				}
			}
		}
		if err := reader.Err(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		want := 0
		for _, trial := range r.Trials {
			if trial.Counted {
				want++
			}
		}
		if results != want {
			t.Errorf("%s: %d results of %d trials that count", name, results, want)
		}
	}
}

func TestGoBenchNames(t *testing.T) {
	for in, want := range map[string]string{"redis-7": "redis%2D7", "redis-7.2": "redis-7.2", "a-b": "a-b", "x": "x"} {
		if got := notProcs(in); got != want {
			t.Errorf("notProcs(%q) = %q, want %q", in, got, want)
		}
	}
	if got := benchName("a b/c=d%é"); got != "a%20b%2Fc%3Dd%25é" {
		t.Errorf("benchName: %q", got)
	}
}

func TestJUnit(t *testing.T) {
	var b bytes.Buffer
	if err := JUnit(&b, threeFactors(), []analysis.Verdict{analysis.Worse, analysis.Inconclusive}); err != nil {
		t.Fatal(err)
	}
	var s suite
	if err := xml.Unmarshal(b.Bytes(), &s); err != nil {
		t.Fatal(err)
	}
	if s.Tests != 7 || s.Failures != 3 || s.Errors != 0 {
		t.Errorf("%d tests, %d failures, %d errors", s.Tests, s.Failures, s.Errors)
	}
	b.Reset()
	if err := JUnit(&b, allInvalid(), nil); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `errors="1"`) {
		t.Errorf("an invalid finding is an error: %s", b.String())
	}
}

func TestTextFitsItsTerminal(t *testing.T) {
	for name, r := range fixtures() {
		if name == "hostile" || name == "forty-cells" || name == "three-factors" {
			continue // names longer than the line stay whole
		}
		for _, width := range []int{60, 80, 120} {
			var b bytes.Buffer
			if err := Text(&b, r, TextOptions{Width: width}); err != nil {
				t.Fatal(err)
			}
			for _, line := range strings.Split(b.String(), "\n") {
				if n := utf8.RuneCountInString(line); n > width && len(strings.Fields(line)) > 1 {
					t.Errorf("%s at %d: %d characters: %s", name, width, n, line)
				}
			}
		}
	}
}

func TestTextColours(t *testing.T) {
	var with, without bytes.Buffer
	if err := Text(&with, threeFactors(), TextOptions{Color: true}); err != nil {
		t.Fatal(err)
	}
	if err := Text(&without, threeFactors(), TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(without.String(), "\x1b") {
		t.Error("escape sequences without colour")
	}
	if stripped := regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAllString(with.String(), ""); stripped != without.String() {
		t.Errorf("colour changes more than colour:\n%s", cmp.Diff(without.String(), stripped))
	}
}

func TestReach(t *testing.T) {
	var r analysis.Result
	for _, a := range []string{"x", "y"} {
		for _, b := range []string{"1", "2", "3"} {
			r.Cells = append(r.Cells, analysis.CellSummary{Cell: cellOf("a", a, "b", b)})
		}
	}
	n := namesOf(&r)
	for _, c := range []struct {
		keys []string
		want string
	}{
		{nil, "all cells"},
		{[]string{"a=x, b=1", "a=x, b=2", "a=x, b=3"}, "a = x"},
		{[]string{"a=x, b=2", "a=y, b=2", "a=x, b=1", "a=y, b=1"}, "b = 1, 2"},
		{[]string{"a=x, b=2"}, "a=x, b=2"},
		{[]string{"a=x, b=2", "a=y, b=1"}, "a=x, b=2; a=y, b=1"},
		{[]string{"before"}, "before"},
	} {
		if got := n.reach(c.keys); got != c.want {
			t.Errorf("%v: %q, want %q", c.keys, got, c.want)
		}
	}
}

func TestTrialRange(t *testing.T) {
	for want, ids := range map[string][]record.TrialID{"": nil, "0001": {"0001"}, "0001-0003, 0007, x": {"0001", "0002", "0003", "0007", "x"}} {
		if got := trialRange(ids); got != want {
			t.Errorf("%v: %q, want %q", ids, got, want)
		}
	}
}

func TestEffectTexts(t *testing.T) {
	f := analysis.Finding{Scale: "ratio", N: 8, Effect: 0.907, Low: 0.891, High: 0.924, BaseValue: 0.11e-3, AgainstValue: 0.09977e-3, Unit: "s"}
	effect, interval := effectText(f)
	change, changes := changeText(f)
	if effect != "0.907×" || interval != "[0.891, 0.924]" || change != "9.3\u00a0% lower" || changes != "7.6 to 10.9\u00a0% lower" {
		t.Errorf("%s %s %s %s", effect, interval, change, changes)
	}
	f = analysis.Finding{Scale: "difference", N: 8, Measure: "misses", Unit: "1", Effect: 0.0012, Low: -0.0001, High: 0.0025}
	effect, interval = effectText(f)
	if change, _ = changeText(f); effect != "0.120\u00a0%" || interval != "[−0.010, 0.250]" || change != "" {
		t.Errorf("%s %s %q", effect, interval, change)
	}
	f = analysis.Finding{N: 8, Effect: math.NaN(), Low: math.NaN(), High: math.NaN()}
	if effect, interval = effectText(f); effect != "–" || interval != "" {
		t.Errorf("%s %s", effect, interval)
	}
	// No block holds both levels: JSON has zeros there, which nobody measured.
	f = analysis.Finding{Scale: "ratio", Measure: "throughput", Unit: "ops/s", Verdict: analysis.Invalid}
	effect, interval = effectText(f)
	base, against := namesOf(&analysis.Result{}).valuesText(f)
	if change, _ = changeText(f); effect != "–" || interval != "" || change != "" || base != "–" || against != "–" {
		t.Errorf("nothing was compared, and yet: %s %s %s, %s against %s", effect, interval, change, against, base)
	}
}
