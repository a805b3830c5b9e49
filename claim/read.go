package claim

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"bakeoff/record"
	"bakeoff/unit"
)

// maxFile bounds a figures file.
const maxFile = 4 << 20

// document is the outer form of a figures file.
type document struct {
	Title         string      `yaml:"title"`
	Question      string      `yaml:"question"`
	Source        string      `yaml:"source"`
	Baseline      yaml.Node   `yaml:"baseline"`
	Measures      yaml.Node   `yaml:"measures"`
	Values        yaml.Node   `yaml:"values"`
	Tables        yaml.Node   `yaml:"tables"`
	Levels        yaml.Node   `yaml:"levels"`
	Configuration yaml.Node   `yaml:"configuration"`
	Economics     yaml.Node   `yaml:"economics"`
	Claims        []yaml.Node `yaml:"claims"`
}

type measureForm struct {
	Title  string `yaml:"title"`
	Unit   string `yaml:"unit"`
	Better string `yaml:"better"`
}

type configurationForm struct {
	Varied []string                     `yaml:"varied"`
	Facts  map[string]map[string]string `yaml:"facts"`
}

// reader collects faults, so that one run names them all.
type reader struct {
	figures *Figures
	faults  []error
}

// fault notes what is wrong at a node, or at the one that the error is placed at.
func (r *reader) fault(n *yaml.Node, format string, args ...any) {
	err := fmt.Errorf(format, args...)
	if p, ok := errors.AsType[*placed](err); ok {
		n = p.node
	}
	r.faults = append(r.faults, fmt.Errorf("%s:%d: %w", r.figures.Name, n.Line, err))
}

// Read reads a figures file. Every fault is named with its line.
func Read(name string, src []byte) (*Figures, error) {
	if len(src) > maxFile {
		return nil, fmt.Errorf("%s: %d bytes; a figures file has at most %d", name, len(src), maxFile)
	}
	if err := top(name, src); err != nil {
		return nil, err
	}
	var doc document
	if err := yaml.Load(src, &doc, yaml.WithKnownFields()); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	sum := sha256.Sum256(src)
	r := &reader{figures: &Figures{
		Name: name, Title: doc.Title, Question: doc.Question, Source: doc.Source,
		Baseline: map[string]string{}, Hash: "sha256:" + hex.EncodeToString(sum[:]),
	}}
	if doc.Title == "" {
		r.faults = append(r.faults, fmt.Errorf("%s: no title; say what was compared", name))
	}
	r.measures(&doc.Measures)
	r.values(&doc.Values)
	r.tables(&doc.Tables)
	r.named(&doc.Levels)
	r.baseline(&doc.Baseline)
	r.configuration(&doc.Configuration)
	r.economics(&doc.Economics, src)
	for i := range doc.Claims {
		r.claim(&doc.Claims[i])
	}
	if err := errors.Join(r.faults...); err != nil {
		return nil, err
	}
	return r.figures, nil
}

// each visits the keys of a mapping in their written order.
func (r *reader) each(n *yaml.Node, what string, visit func(key, value *yaml.Node)) {
	if n.Kind == 0 {
		return
	}
	if n.Kind != yaml.MappingNode {
		r.fault(n, "%s: expected a map", what)
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		visit(n.Content[i], n.Content[i+1])
	}
}

func (r *reader) measures(n *yaml.Node) {
	r.each(n, "measures", func(key, value *yaml.Node) {
		var form measureForm
		if err := load(value, &form, "a measure"); err != nil {
			r.fault(value, "measure %s: %w", key.Value, err)
			return
		}
		u, err := unit.ParseUnit(form.Unit)
		if err != nil {
			r.fault(value, "measure %s: %w", key.Value, err)
			return
		}
		m := Measure{Name: key.Value, Title: form.Title, Unit: u, Better: record.Direction(form.Better)}
		if !slices.Contains([]record.Direction{record.HigherIsBetter, record.LowerIsBetter, record.NoDirection}, m.Better) {
			r.fault(value, "measure %s: better is %q, expected higher or lower", key.Value, form.Better)
		}
		if m.Title == "" {
			m.Title = m.Name
		}
		r.figures.Measures = append(r.figures.Measures, m)
	})
}

func (r *reader) values(n *yaml.Node) {
	r.each(n, "values", func(key, value *yaml.Node) {
		number, err := ParseNumber(value.Value, unit.One())
		if err != nil || value.Kind != yaml.ScalarNode {
			r.fault(value, "value %s: %w", key.Value, orExpected(err))
			return
		}
		number.place = key.Value
		r.figures.Values = append(r.figures.Values, Value{key.Value, number})
	})
}

func orExpected(err error) error {
	if err == nil {
		return fmt.Errorf("expected a number with its unit, as 31,823.62 USD")
	}
	return err
}

func (r *reader) tables(n *yaml.Node) {
	r.each(n, "tables", func(key, value *yaml.Node) {
		t, err := parseTable(key.Value, value.Value, r.figures.Measures)
		if err != nil {
			r.fault(value, "table %s: %w", key.Value, err)
			return
		}
		r.figures.Tables = append(r.figures.Tables, t)
	})
}

func (r *reader) baseline(n *yaml.Node) {
	r.each(n, "baseline", func(key, value *yaml.Node) {
		levels := r.figures.levels(key.Value)
		if !slices.Contains(levels, value.Value) {
			r.fault(value, "baseline: the factor %s has no level %q; it has %s%s", key.Value, value.Value, orNone(levels), meant(value.Value, levels))
			return
		}
		r.figures.Baseline[key.Value] = value.Value
	})
}

func (r *reader) configuration(n *yaml.Node) {
	r.each(n, "configuration", func(key, value *yaml.Node) {
		var form configurationForm
		if err := load(value, &form, "configuration of a factor"); err != nil {
			r.fault(value, "configuration of %s: %w", key.Value, err)
			return
		}
		for _, fact := range form.Varied {
			if _, ok := form.Facts[fact]; !ok {
				r.fault(value, "configuration of %s: %q is varied, but not among its facts", key.Value, fact)
			}
		}
		facts := make([]string, 0, len(form.Facts))
		for fact := range form.Facts {
			facts = append(facts, fact)
		}
		slices.Sort(facts)
		r.disclosed(key, value, form)
		for _, fact := range facts {
			r.figures.Systems = append(r.figures.Systems, Disclosure{key.Value, fact, form.Facts[fact], slices.Contains(form.Varied, fact)})
		}
	})
}

// disclosed notes facts of levels that the report does not have. Of a factor
// without figures they may be of anything.
func (r *reader) disclosed(factor, at *yaml.Node, form configurationForm) {
	if len(r.figures.levels(factor.Value)) == 0 {
		return
	}
	levels := map[string]bool{}
	for _, fact := range form.Facts {
		for level := range fact {
			levels[level] = true
		}
	}
	for _, level := range slices.Sorted(maps.Keys(levels)) {
		if err := r.levelKnown(record.Level{Factor: factor.Value, Level: level}); err != nil {
			r.fault(at, "configuration of %s: %w", factor.Value, err)
		}
	}
}

// claim reads one claim: id, says, printed, and one key that names its kind.
func (r *reader) claim(n *yaml.Node) {
	c := Claim{Line: n.Line}
	var statement *yaml.Node
	var printed yaml.Node
	var faults []string
	r.each(n, "claim", func(key, value *yaml.Node) {
		switch key.Value {
		case "id":
			c.ID = value.Value
		case "says":
			c.Says = value.Value
		case "printed":
			printed = *value
		default:
			if statement != nil {
				faults = append(faults, fmt.Sprintf("both %s and %s; a claim states one thing", c.Kind, key.Value))
			}
			c.Kind, statement = Kind(key.Value), value
		}
	})
	if c.ID == "" {
		c.ID = fmt.Sprintf("line-%d", n.Line)
	}
	if slices.ContainsFunc(r.figures.Claims, func(o Claim) bool { return o.ID == c.ID }) {
		faults = append(faults, "the id is taken")
	}
	if statement == nil {
		faults = append(faults, fmt.Sprintf("it states nothing; expected one of %v", Kinds()))
	}
	for _, f := range faults {
		r.fault(n, "claim %s: %s", c.ID, f)
	}
	if len(faults) > 0 {
		return
	}
	if err := r.state(&c, &printed, statement); err != nil {
		r.fault(statement, "claim %s: %w", c.ID, err)
		return
	}
	r.figures.Claims = append(r.figures.Claims, c)
}

// Kinds lists every kind of statement.
func Kinds() []Kind {
	return []Kind{Improvement, More, Less, Faster, Ratio, Points, Total, PerUnit, Servers, SameWork,
		AnnualCost, Headroom, Arithmetic, Standard, Range, Within, Equivalence, EachRow, Stated}
}

func kindNames() (names []string) {
	for _, k := range Kinds() {
		names = append(names, string(k))
	}
	return names
}

// parsePrinted reads what a claim prints: one number, or two for a range.
func parsePrinted(kind Kind, text string) ([]Number, error) {
	fallback := unit.One()
	parts := []string{text}
	if kind == Range {
		low, high, ok := strings.Cut(text, " to ")
		if !ok {
			return nil, fmt.Errorf("printed: %q, expected a range such as 1.7x to 5.8x", text)
		}
		parts = []string{low, high}
	}
	if text == "" {
		if kind == Equivalence || kind == Within || kind == EachRow {
			return nil, nil
		}
		return nil, fmt.Errorf("nothing is printed; write the conclusion's number as the report has it, as printed: 13.83 %%")
	}
	numbers := make([]Number, len(parts))
	for i, p := range parts {
		n, err := ParseNumber(p, fallback)
		if err != nil {
			return nil, fmt.Errorf("printed: %w", err)
		}
		if bare(kind, n) {
			return nil, fmt.Errorf("printed: found %q without a unit, expected percent or times; write %s %% or %sx", p, p, p)
		}
		numbers[i] = n
	}
	return numbers, nil
}

// bare reports whether a comparison's number is printed without saying whether
// it is percent or times.
func bare(kind Kind, n Number) bool {
	switch kind {
	case Improvement, More, Less, Faster, Ratio, Points:
		return n.Unit.String() == unit.One().String()
	}
	return false
}
