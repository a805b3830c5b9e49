package claim

import (
	"os"
	"strings"
	"testing"

	"bakeoff/unit"
)

func TestParseNumber(t *testing.T) {
	tests := []struct{ text, value, digit, unit string }{
		{"8,696.1 MB/s", "86961/10", "1/10", "MB/s"},
		{"-1.56 %", "-39/25", "1/100", "%"},
		{"550K IOPS", "550000/1", "1000/1", "IOPS"},
		{"550K", "550000/1", "1000/1", "1"},
		{"550 KB", "550/1", "1/1", "KB"},
		{"2.29x", "229/100", "1/100", "x"},
		{"exactly 500 servers", "500/1", "", "servers"},
		{"about 653 servers", "653/1", "1/1", "servers"},
		{"31,823.62 USD", "1591181/50", "1/100", "USD"},
		{"14.88 Mpps", "372/25", "1/100", "Mpps"},
	}
	for _, tt := range tests {
		n, err := ParseNumber(tt.text, unit.One())
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
			continue
		}
		digit := ""
		if n.Digit != nil {
			digit = n.Digit.String()
		}
		if n.Value.String() != tt.value || digit != tt.digit || n.Unit.String() != tt.unit {
			t.Errorf("%q = %v, digit %s, in %s; want %s, %s, %s", tt.text, n.Value, digit, n.Unit, tt.value, tt.digit, tt.unit)
		}
	}
	for _, text := range []string{"", "fast", "1,23", "1.2.3", "12,3456", "5 furlongs", "- 5", "1e6 ops/s", strings.Repeat("9", 60)} {
		if n, err := ParseNumber(text, unit.One()); err == nil {
			t.Errorf("%q was read as %v %s", text, n.Value, n.Unit)
		}
	}
}

// TestCutIsTowardsZeroAndHalfOpen holds the edges that decide a verdict.
func TestCutIsTowardsZeroAndHalfOpen(t *testing.T) {
	for text, tests := range map[string]map[string]bool{
		"1.51":  {"1.51": true, "1.515": true, "1.5199": true, "1.52": false, "1.5099": false},
		"-0.21": {"-0.21": true, "-0.2191": true, "-0.22": false, "-0.2": false},
	} {
		n, err := ParseNumber(text, unit.One())
		if err != nil {
			t.Fatal(err)
		}
		for value, want := range tests {
			v, err := ParseNumber(value, unit.One())
			if err != nil {
				t.Fatal(err)
			}
			if got := n.CutFrom(v.Value); got != want {
				t.Errorf("%s cut from %s: %v, want %v", text, value, got, want)
			}
		}
	}
}

// TestFaultsAreNamed shows the reader files with one fault each.
func TestFaultsAreNamed(t *testing.T) {
	head := "title: T\nmeasures: {a: {unit: MB/s, better: higher}, b: {unit: MiB/s}, w: {unit: W}, j: {unit: J}}\ntables:\n  t: |\n    s | a | b | w | j\n    x | 1 | 2 | 3 | 4\n    y | 5 | 6 | 7 | 8\n"
	tests := map[string]struct{ src, want string }{
		"no title":            {"measures: {}\n", "no title"},
		"unknown key":         {"title: T\nmesures: {}\n", "mesures"},
		"unit":                {"title: T\nmeasures: {a: {unit: furlong}}\n", "f.yaml:2: measure a: unit \"furlong\""},
		"better":              {"title: T\nmeasures: {a: {unit: W, better: bigger}}\n", "expected higher or lower"},
		"ragged table":        {"title: T\nmeasures: {a: {unit: W}}\ntables:\n  t: |\n    s | a\n    x\n", "has 1 cells, its head has 2"},
		"no measure":          {"title: T\ntables:\n  t: |\n    s | a\n    x | 1\n", "is a measure; name it under measures"},
		"twice":               {"title: T\nmeasures: {a: {unit: W}}\ntables:\n  t: |\n    s | a\n    x | 1\n    x | 2\n", "stand in two rows"},
		"cell in other unit":  {"title: T\nmeasures: {a: {unit: MB/s}}\ntables:\n  t: |\n    s | a\n    x | 1 MiB/s\n", "different size"},
		"kind":                {head + "claims:\n  - {id: c, printed: 1 %, better_by: {}}\n", "f.yaml:9: claim c: no kind of statement \"better_by\""},
		"two kinds":           {head + "claims:\n  - {id: c, printed: 1 %, value: a, total: a}\n", "states one thing"},
		"nothing printed":     {head + "claims:\n  - {id: c, value: '1'}\n", "nothing is printed"},
		"no measure in claim": {head + "claims:\n  - {id: c, printed: 1 %, improvement: {of: z, from: {s: x}, to: {s: y}}}\n", "no measure is named \"z\""},
		"no factor":           {head + "claims:\n  - {id: c, printed: 1 %, improvement: {of: a, from: {z: x}, to: {s: y}}}\n", "no table has a factor \"z\""},
		"no direction":        {head + "claims:\n  - {id: c, printed: 1 %, improvement: {of: b, from: {s: x}, to: {s: y}}}\n", "better is not known"},
		"expression":          {head + "claims:\n  - {id: c, printed: 1, value: 'a + '}\n", "at character 5"},
		"part":                {head + "claims:\n  - {id: c, printed: 1, servers: {work: '1'}}\n", "each is missing"},
		"odd part":            {head + "claims:\n  - {id: c, printed: 1, servers: {work: '1', each: '1', by: '1'}}\n", "unknown key \"by\""},
		"range":               {head + "claims:\n  - {id: c, printed: 1x, range: {of: a, from: {s: x}, to: {s: y}}}\n", "expected a range"},
		"margin":              {head + "claims:\n  - {id: c, equivalent: {of: a, from: {s: x}, to: {s: y}, margin: '5'}}\n", "margin: found \"5\""},
		"standard":            {head + "claims:\n  - {id: c, printed: 1 Gb/s, standard: {name: pcie_lan}}\n", "no standard figure"},
		"level in no table":   {head + "claims:\n  - id: c\n    printed: 1 %\n    improvement:\n      of: a\n      from: {s: xx}\n      to: {s: y}\n", "f.yaml:13: claim c: from: found the s \"xx\", expected one of x, y; did you mean x? (where the report names it and prints no row of it, say levels: {s: [xx]})"},
		"level in arithmetic": {head + "claims:\n  - {id: c, printed: 1 MB/s, total: {of: 'a[s=z]'}}\n", "f.yaml:9: claim c: of: a[s=z]: found the s \"z\", expected one of x, y"},
		"factor in a formula": {head + "claims:\n  - {id: c, printed: 1 MB/s, value: 'a[t=x]'}\n", "no table has a factor \"t\"; there are s; did you mean s?"},
		"level over rows":     {head + "claims:\n  - {id: c, within: {of: [a], from: {s: x}, to: {s: z}, margin: 5 %}}\n", "found the s \"z\""},
		"table":               {head + "claims:\n  - {id: c, printed: 1 MB/s, value: 'a[table=u, s=x]'}\n", "found the table \"u\", expected one of t; did you mean t?"},
		"level named in vain": {"levels: {s: [x]}\n" + head, "f.yaml:1: levels: s: a table has a row of \"x\""},
		"named of no factor":  {"levels: {ss: [z]}\n" + head, "f.yaml:1: levels: no table has a factor \"ss\"; there are s; did you mean s?"},
		"named as text":       {"levels: {s: z}\n" + head, "found \"z\", expected a list, as s: [NAME]"},
		"system in no table":  {head + "economics:\n  factor: s\n  systems:\n    xx: {work: 'a[s=x]'}\n", "f.yaml:11: economics: xx: found the s \"xx\""},
		"configured level":    {head + "configuration:\n  s: {facts: {CPU: {xx: a, y: b}}}\n", "f.yaml:9: configuration of s: found the s \"xx\""},
		"baseline":            {head + "baseline: {s: xx}\n", "it has x, y; did you mean x?"},
		"neither % nor x":     {head + "claims:\n  - {id: c, printed: 45, more: {of: a, from: {s: x}, to: {s: y}}}\n", "f.yaml:9: claim c: printed: found \"45\" without a unit, expected percent or times; write 45 % or 45x"},
		"a plan":              {"title: T\nservices: {a: {}}\n", "f.yaml:2: unknown key \"services\"; a figures file has title, question, source, baseline, measures, values, tables, levels, configuration, economics, claims; this looks like a plan: use bakeoff plan check"},
		"key of a claim":      {head + "claims:\n  - {id: c, printed: 1 %, improvement: {of: a, form: {s: x}, to: {s: y}}}\n", "f.yaml:9: claim c: unknown key \"form\"; improvement has of, where, from, to, better, margin, most; did you mean from?"},
		"key of a measure":    {"title: T\nmeasures:\n  a:\n    units: W\n", "f.yaml:4: measure a: unknown key \"units\"; a measure has title, unit, better; did you mean unit?"},
		"title is a list":     {"title: [T]\n", "f.yaml:1: title: found a list, expected text"},
		"claims are a map":    {"title: T\nclaims: {id: c}\n", "f.yaml:2: claims: found a map, expected a list"},
		"text":                {"hello\n", "f.yaml:1: found \"hello\", expected a map of title"},
		"empty":               {"# nothing\n", "f.yaml: found nothing, expected a figures file"},
		"id taken":            {head + "claims:\n  - {id: c, printed: 1, value: '1'}\n  - {id: c, printed: 1, value: '1'}\n", "the id is taken"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Read("f.yaml", []byte(tt.src))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestUnitsThatDoNotMixAreRefused adds what cannot be added.
func TestUnitsThatDoNotMixAreRefused(t *testing.T) {
	head := "title: T\nmeasures: {a: {unit: MB/s}, b: {unit: MiB/s}, w: {unit: W}, j: {unit: J}}\ntables:\n  t: |\n    s | a | b | w | j\n    x | 1 | 2 | 3 | 4\nclaims:\n"
	for value, want := range map[string]string{
		"w[s=x] + j[s=x]":       "measure different things",
		"a[s=x] + b[s=x]":       "different size",
		"a[s=x] / w[s=x]":       "the claim in W",
		"nonsense + 1":          "no figure is named \"nonsense\"",
		"a[s=x] / (a[s=x] * 0)": "division by 0",
	} {
		f, err := Read("f.yaml", []byte(head+"  - {id: c, printed: 1 W, value: '"+value+"'}\n"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Audit(); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "f.yaml:8: claim c") {
			t.Errorf("%s: %v, want %q with its line", value, err, want)
		}
	}
}

// TestLevelsWithoutARow names a level that no table has, and one figure that has
// no unit: the audit says that nothing is printed, and prints no unit "1".
func TestLevelsWithoutARow(t *testing.T) {
	f, err := Read("f.yaml", []byte(`title: T
measures: {a: {unit: MB/s}}
levels: {s: [z]}
tables:
  t: |
    s | a
    x | 4
    y | 8
claims:
  - {id: gone, printed: 7x, ratio: {of: a, from: {s: z}, to: {s: y}}}
  - {id: plain, printed: 3, value: "a[s=y] / a[s=x]"}
`))
	if err != nil {
		t.Fatal(err)
	}
	a, err := f.Audit()
	if err != nil {
		t.Fatal(err)
	}
	if o := a.Outcomes[0]; o.Verdict != NotDerivable {
		t.Errorf("no row is printed, but %s: %s", o.Verdict, o.Text)
	}
	if o := a.Outcomes[1]; o.Verdict != DoesNot || o.Text != "the figures give 2, not 3" || o.Unit != "" {
		t.Errorf("%s: %q in %q", o.Verdict, o.Text, o.Unit)
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"a1-redis-three-generations", "a2-mysql-consolidation", "b3-vm-boot-storm", "c1-drive-encryption", "e6-bandwidth-arithmetic"} {
		src, err := os.ReadFile("../examples/published/" + name + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 1<<14 {
			return
		}
		figures, err := Read("fuzz.yaml", src)
		if err == nil {
			_, _ = figures.Audit() // must end, and must not panic
			_, _ = figures.Result()
		}
	})
}

func FuzzParseNumber(f *testing.F) {
	for _, text := range []string{"8,696.1 MB/s", "about 653 servers", "more than 4.7x", "-0.21 %", "550K IOPS", "exactly 10 Gb/s"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := ParseNumber(text, unit.One())
		if err == nil && !n.Rounded().Holds(n.Value) {
			t.Errorf("%q does not round to itself", text)
		}
	})
}

func FuzzParseExpression(f *testing.F) {
	for _, text := range []string{"(a - b) / a * 100", "throughput[ip=4, load=read]", "ceil(sum(tpm[system=new]) / '3 servers')"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := parseExpression(text)
		if err == nil && e.String() == "" {
			t.Errorf("%q has no canonical text", text)
		}
	})
}
