package load

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func described() Description {
	return Description{Parameters: []Parameter{
		{Name: "pattern", Type: TypeEnum, Default: "uniform", Values: []string{"uniform", "zipf"}},
		{Name: "prefix", Type: TypeString, Default: "key:"},
		{Name: "name", Type: TypeString},
		{Name: "verify", Type: TypeBool, Default: "off"},
		{Name: "keys", Type: TypeInt, Default: "100k"},
		{Name: "theta", Type: TypeFloat, Default: "0.99"},
		{Name: "size", Type: TypeSize, Default: "4K"},
		{Name: "expiry", Type: TypeDuration},
		{Name: "refill", Type: TypeRate, Default: "1.5M"},
		{Name: "misses", Type: TypePercent, Default: "2%"},
		{Name: "sizes", Type: TypeList},
		{Name: "options", Type: TypeMap},
	}}
}

func TestParamsDefaults(t *testing.T) {
	p, err := ReadParams("x", described(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if p.String("pattern") != "uniform" || p.String("prefix") != "key:" || p.Bool("verify") || p.Int("keys") != 100_000 ||
		p.Float("theta") != 0.99 || p.Size("size") != 4096 || p.Rate("refill") != 1.5e6 || p.Percent("misses") != 0.02 {
		t.Errorf("wrong defaults: %v", p.Effective())
	}
	if p.Has("expiry") || p.Has("name") || p.Has("sizes") || p.Given("keys") || !p.Has("keys") {
		t.Error("absent and default are confused")
	}
	if p.Duration("expiry") != 0 || p.List("sizes") != nil || p.Map("options") != nil {
		t.Error("absent values are not zero")
	}
	want := map[string]string{"pattern": "uniform", "prefix": "key:", "verify": "off", "keys": "100k", "theta": "0.99",
		"size": "4K", "refill": "1.5M", "misses": "2%"}
	if got := p.Effective(); !maps.Equal(got, want) {
		t.Errorf("Effective() = %v, want %v", got, want)
	}
}

func TestParamsTakeWhatPlansAndFlagsGive(t *testing.T) {
	for _, c := range []struct {
		name, param string
		given       any
		get         func(*Params) any
		want        any
		text        string
	}{
		{"int", "keys", 7, func(p *Params) any { return p.Int("keys") }, int64(7), "7"},
		{"int64", "keys", int64(-7), func(p *Params) any { return p.Int("keys") }, int64(-7), "-7"},
		{"uint64", "keys", uint64(7), func(p *Params) any { return p.Int("keys") }, int64(7), "7"},
		{"count", "keys", "1M", func(p *Params) any { return p.Int("keys") }, int64(1e6), "1M"},
		{"float", "theta", 1.25, func(p *Params) any { return p.Float("theta") }, 1.25, "1.25"},
		{"whole float", "theta", 1, func(p *Params) any { return p.Float("theta") }, 1.0, "1"},
		{"bool", "verify", true, func(p *Params) any { return p.Bool("verify") }, true, "true"},
		{"on", "verify", "on", func(p *Params) any { return p.Bool("verify") }, true, "on"},
		{"size", "size", 32, func(p *Params) any { return p.Size("size") }, int64(32), "32"},
		{"duration", "expiry", "200us", func(p *Params) any { return p.Duration("expiry") }, 200 * time.Microsecond, "200us"},
		{"rate", "refill", 30000, func(p *Params) any { return p.Rate("refill") }, 30000.0, "30000"},
		{"percent", "misses", "0.5%", func(p *Params) any { return p.Percent("misses") }, 0.005, "0.5%"},
		{"enum", "pattern", "zipf", func(p *Params) any { return p.String("pattern") }, "zipf", "zipf"},
		{"number as text", "prefix", 12, func(p *Params) any { return p.String("prefix") }, "12", "12"},
		{"list", "sizes", []any{"32", 64}, func(p *Params) any { return p.List("sizes") }, []any{"32", 64}, `["32",64]`},
		{"list of text", "sizes", []string{"32"}, func(p *Params) any { return p.List("sizes") }, []any{"32"}, `["32"]`},
		{"list of a flag", "sizes", "32, 64", func(p *Params) any { return p.List("sizes") }, []any{"32", "64"}, `["32","64"]`},
		{"empty list", "sizes", "", func(p *Params) any { return p.List("sizes") }, []any{}, `[]`},
		{"map", "options", map[string]any{"a": 1}, func(p *Params) any { return p.Map("options") }, map[string]any{"a": 1}, `{"a":1}`},
		{"map of a flag", "options", "a=1, b=x", func(p *Params) any { return p.Map("options") }, map[string]any{"a": "1", "b": "x"}, `{"a":"1","b":"x"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := ReadParams("x", described(), map[string]any{c.param: c.given})
			if err != nil {
				t.Fatal(err)
			}
			if got := c.get(p); !reflect.DeepEqual(got, c.want) {
				t.Errorf("value %v, want %v", got, c.want)
			}
			if got := p.Effective()[c.param]; got != c.text {
				t.Errorf("text %q, want %q", got, c.text)
			}
			if !p.Given(c.param) {
				t.Error("not marked as given")
			}
		})
	}
}

func TestParamsRefuse(t *testing.T) {
	for _, c := range []struct {
		name  string
		given map[string]any
		want  string
	}{
		{"unknown", map[string]any{"patern": "zipf"}, `engine x: unknown parameter "patern": did you mean "pattern"?`},
		{"unknown, far", map[string]any{"cheese": 1}, `engine x: unknown parameter "cheese": it takes expiry, keys, misses`},
		{"enum", map[string]any{"pattern": "zapf"}, `parameter "pattern": found "zapf": did you mean "zipf"?`},
		{"enum, far", map[string]any{"pattern": "linear"}, `found "linear", expected one of uniform, zipf`},
		{"bool", map[string]any{"verify": "yes"}, `parameter "verify": found "yes", expected true or false`},
		{"int", map[string]any{"keys": "many"}, `parameter "keys": "many" is not a count`},
		{"fraction", map[string]any{"keys": 1.5}, `parameter "keys": "1.5" is not a count`},
		{"float", map[string]any{"theta": "NaN"}, `parameter "theta": found "NaN", expected a number`},
		{"nothing", map[string]any{"size": nil}, `parameter "size": found nothing, expected a size`},
		{"list for a scalar", map[string]any{"size": []any{1}}, `parameter "size": found [1], expected a size`},
		{"bare duration", map[string]any{"expiry": 5}, `parameter "expiry": "5" is not a duration`},
		{"bare percent", map[string]any{"misses": 2}, `parameter "misses": "2" is not a percentage`},
		{"map for a list", map[string]any{"sizes": map[string]any{}}, `parameter "sizes": found map[], expected a list`},
		{"text for a map", map[string]any{"options": "a"}, `parameter "options": found "a", expected key=value`},
		{"number for a map", map[string]any{"options": 1}, `parameter "options": found 1, expected a map`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ReadParams("x", described(), c.given)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want one with %q", err, c.want)
			}
		})
	}
	_, err := ReadParams("x", described(), map[string]any{"a": 1, "size": "x", "keys": "y"})
	if lines := strings.Count(err.Error(), "\n") + 1; lines != 3 {
		t.Errorf("%d problems told, want 3: %v", lines, err)
	}
	if _, err := ReadParams("x", Description{}, map[string]any{"a": 1}); err == nil || !strings.Contains(err.Error(), "takes none") {
		t.Errorf("error %v", err)
	}
}

func TestParamsOfAnotherTypePanic(t *testing.T) {
	p, err := ReadParams("x", described(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("asking for a size as a count did not panic")
		}
	}()
	p.Int("size")
}

func TestStrings(t *testing.T) {
	p, err := ReadParams("x", described(), map[string]any{"sizes": []any{"a", 1, true}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Strings("sizes")
	if err != nil || !slices.Equal(got, []string{"a", "1", "true"}) {
		t.Errorf("Strings() = %v, %v", got, err)
	}
	p, err = ReadParams("x", described(), map[string]any{"sizes": []any{[]any{}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = p.Strings("sizes"); err == nil || !strings.Contains(err.Error(), "element 1") {
		t.Errorf("error %v", err)
	}
}

func TestFlagsGiveTheSameAsAPlan(t *testing.T) {
	d := described()
	flags := Flags(d)
	given := map[string]string{"keys": "7", "sizes": "1,2", "verify": "true"}
	for _, f := range flags {
		if f.String() != f.Parameter.Default {
			t.Errorf("flag %s shows %q, want its default %q", f.Parameter.Name, f.String(), f.Parameter.Default)
		}
		if text, ok := given[f.Parameter.Name]; ok {
			if err := f.Set(text); err != nil {
				t.Fatal(err)
			}
		}
	}
	values := FlagValues(flags)
	if len(values) != len(given) {
		t.Fatalf("FlagValues() = %v, want only what was set", values)
	}
	p, err := ReadParams("x", d, values)
	if err != nil || p.Int("keys") != 7 || len(p.List("sizes")) != 2 || !p.Bool("verify") {
		t.Errorf("read %v, %v", p, err)
	}
	if err := flags[0].Set("zapf"); err == nil || flags[0].String() != "uniform" {
		t.Errorf("a wrong value was taken: %q, %v", flags[0].String(), err)
	}
	if u := flags[0].Usage(); !strings.Contains(u, "uniform, zipf") || flags[0].Type() != "enum" {
		t.Errorf("usage %q, type %q", u, flags[0].Type())
	}
}

// FuzzParams reads any text as a parameter of any type: what is taken reads back
// the same from the text that goes into the record.
func FuzzParams(f *testing.F) {
	for _, text := range []string{"", "uniform", "100k", "1.5M", "4K", "5s", "2%", "a,b", "a=1,b=2", "true", "-1", "NaN", "1e999", " ", "=", ","} {
		for i := range described().Parameters {
			f.Add(i, text)
		}
	}
	f.Fuzz(func(t *testing.T, i int, text string) {
		d := described()
		param := d.Parameters[uint(i)%uint(len(d.Parameters))]
		p, err := ReadParams("x", d, map[string]any{param.Name: text})
		if err != nil || param.Type == TypeList || param.Type == TypeMap {
			return
		}
		again, err := ReadParams("x", d, map[string]any{param.Name: p.Effective()[param.Name]})
		if err != nil || !reflect.DeepEqual(again.values[param.Name], p.values[param.Name]) {
			t.Fatalf("%s %q: read back %v, %v; want %v", param.Type, text, again, err, p.values[param.Name])
		}
	})
}
