package report

import (
	"encoding/xml"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A tag is one start tag of a page.
type tag struct {
	name  string
	attrs map[string]string
}

// parsePage reads a page as the XML that it happens to be, but for its meta tags
// and doctype, and reports what does not nest.
func parsePage(t *testing.T, page string) []tag {
	t.Helper()
	page = strings.TrimPrefix(page, "<!DOCTYPE html>\n")
	page = regexp.MustCompile(`<meta [^>]*>`).ReplaceAllString(page, "")
	start, end := strings.Index(page, "<style>"), strings.Index(page, "</style>")
	page = page[:start] + page[end+len("</style>"):]
	dec := xml.NewDecoder(strings.NewReader(page))
	dec.Entity = xml.HTMLEntity
	var tags []tag
	for {
		token, err := dec.Token()
		if err == io.EOF {
			return tags
		}
		if err != nil {
			t.Fatalf("the page is not well formed: %v", err)
		}
		if s, ok := token.(xml.StartElement); ok {
			one := tag{s.Name.Local, map[string]string{}}
			for _, a := range s.Attr {
				one.attrs[a.Name.Local] = a.Value
			}
			tags = append(tags, one)
		}
	}
}

func TestHTMLIsWellFormed(t *testing.T) {
	allowed := strings.Fields("html head title style body a header main nav section footer aside div p span strong h1 h2 h3 h4 ul ol li dl dt dd table caption thead tbody tr th td " +
		"figure figcaption details summary pre code svg desc defs pattern path rect circle text")
	for name, r := range fixtures() {
		for _, one := range parsePage(t, string(render(t, HTML, r))) {
			if !slices.Contains(allowed, one.name) {
				t.Errorf("%s: an element that the page does not use: %s", name, one.name)
			}
			for a, v := range one.attrs {
				if strings.HasPrefix(a, "on") || a == "style" || a == "src" {
					t.Errorf("%s: attribute %s=%q", name, a, v)
				}
				if a == "href" && !strings.HasPrefix(v, "#") {
					t.Errorf("%s: a link out of the page: %q", name, v)
				}
			}
		}
	}
}

// The page fetches nothing: it opens offline and tells nobody that it was read.
func TestHTMLFetchesNothing(t *testing.T) {
	for name, r := range fixtures() {
		page := string(render(t, HTML, r))
		style := page[strings.Index(page, "<style>"):strings.Index(page, "</style>")]
		for _, bad := range []string{"@import", "url(", "expression", "http:", "https:", "//"} {
			if strings.Contains(style, bad) {
				t.Errorf("%s: %q in the style sheet", name, bad)
			}
		}
		for _, m := range regexp.MustCompile(`url\([^)]*\)`).FindAllString(page, -1) {
			if !strings.HasPrefix(m, "url(#") {
				t.Errorf("%s: %s", name, m)
			}
		}
		if strings.Contains(page, "<script") || strings.Contains(page, "<link") || strings.Contains(page, "<img") || strings.Contains(page, "<iframe") {
			t.Errorf("%s: an element that fetches or runs something", name)
		}
	}
}

func TestHTMLIsAccessible(t *testing.T) {
	for name, r := range fixtures() {
		tags := parsePage(t, string(render(t, HTML, r)))
		ids, level, count := map[string]int{}, 0, map[string]int{}
		for _, one := range tags {
			count[one.name]++
			if id := one.attrs["id"]; id != "" {
				ids[id]++
			}
			if len(one.name) == 2 && one.name[0] == 'h' && one.name[1] >= '1' && one.name[1] <= '4' {
				if n := int(one.name[1] - '0'); n > level+1 {
					t.Errorf("%s: a heading of level %d follows one of level %d", name, n, level)
				} else {
					level = n
				}
			}
			if one.name == "th" && one.attrs["scope"] == "" {
				t.Errorf("%s: a table head without a scope", name)
			}
			if one.name == "svg" && one.attrs["aria-hidden"] != "true" && (one.attrs["role"] != "img" || one.attrs["aria-labelledby"] == "") {
				t.Errorf("%s: a drawing without a name: %v", name, one.attrs)
			}
			if one.attrs["role"] == "region" && one.attrs["aria-label"] == "" && one.attrs["aria-labelledby"] == "" {
				t.Errorf("%s: a region without a name", name)
			}
		}
		for id, n := range ids {
			if n > 1 {
				t.Errorf("%s: the id %s is used %d times", name, id, n)
			}
		}
		for _, one := range tags {
			for _, ref := range append(strings.Fields(one.attrs["aria-labelledby"]), strings.TrimPrefix(one.attrs["href"], "#")) {
				if ref != "" && ids[ref] == 0 {
					t.Errorf("%s: %s refers to %q, which is not there", name, one.name, ref)
				}
			}
		}
		if count["main"] != 1 || count["h1"] != 1 || count["nav"] != 1 || count["footer"] != 1 {
			t.Errorf("%s: landmarks: %v", name, count)
		}
	}
}

// Each section that the product promises is there, and what must stand out does.
func TestHTMLSections(t *testing.T) {
	page := string(render(t, HTML, twoCells()))
	for _, want := range []string{
		`<h2 id="answer-h">Answer</h2>`, "Over a Unix socket the embedded server completes 1.278 times", "1.278×", "[1.252, 1.305]", "27.8\u00a0% higher (25.2 to 30.5\u00a0% higher)",
		"412.3\u00a0k\u00a0ops/s", "526.9\u00a0k\u00a0ops/s", "97.5\u00a0% confidence each", "2 comparisons of the family", "±2\u00a0%", "183.0\u00a0µs",
		"busiest worker at most 90 %", "not checked: one host only", "Stop what else runs on this machine", "transport=tcp: trial 0003\ntransport=unix: trial 0011",
		"undeclared", "schedutil at transport = tcp", "bakeoff target kv --listen tcp://127.0.0.1:0 --note &#39;it&#39;\\&#39;&#39;s here&#39;",
		"bakeoff run --quick --seed 42", "sha256:4f9ac1d2", "<code>bakeoff verify 20260302T140509Z-01JQ8ZC2V9</code>", "generator-saturated: its busiest worker was 97 % busy", "its block was repeated",
		"differs by less than 1.5 %", "net.core.somaxconn", "measured window",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not in the report", want)
		}
	}
}

func TestStamps(t *testing.T) {
	for name, want := range map[string]string{"printed": "From printed figures, not measured", "all-invalid": "Incomplete run", "three-factors": "Post hoc"} {
		r := fixtures()[name]
		for ext, f := range formats() {
			if ext != ".html" && ext != ".md" && ext != ".txt" {
				continue
			}
			text := string(render(t, f, r))
			if at := strings.Index(text, want); at < 0 || strings.Contains(text[:at], "Answer\n") {
				t.Errorf("%s%s: %q must stand before the answer", name, ext, want)
			}
		}
		if strings.Contains(string(render(t, HTML, twoCells())), want) {
			t.Errorf("%q stands on a measured, complete run", want)
		}
	}
}

// A name cannot pass for another by turning the text around it.
func TestMisleadingCharactersAreShown(t *testing.T) {
	r := hostileNames()
	for ext, f := range formats() {
		if ext == ".json" || ext == ".csv" || ext == ".bench.txt" {
			continue // for programs: as it is
		}
		if text := string(render(t, f, r)); strings.ContainsAny(text, "\u202e\x1b") {
			t.Errorf("%s: a direction override reached the reader", ext)
		}
	}
}
