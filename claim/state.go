package claim

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"bakeoff/record"
	"bakeoff/unit"
)

// comparisonForm is what a comparison compares: a measure at levels, or two
// expressions.
type comparisonForm struct {
	Of     measureList `yaml:"of"`
	Where  yaml.Node   `yaml:"where"`
	From   yaml.Node   `yaml:"from"`
	To     yaml.Node   `yaml:"to"`
	Better string      `yaml:"better"`
	Margin string      `yaml:"margin"`
	Most   bool        `yaml:"most"`
}

// measureList is one measure's name, or several.
type measureList []string

// UnmarshalYAML reads a name or a list of names.
func (m *measureList) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*m = measureList{n.Value}
		return nil
	}
	var names []string
	if err := n.Load(&names); err != nil {
		return err
	}
	*m = names
	return nil
}

// state reads a claim's statement and builds its arithmetic.
func (r *reader) state(c *Claim, printed, n *yaml.Node) (err error) {
	if !slices.Contains(Kinds(), c.Kind) {
		return fmt.Errorf("no kind of statement %q; expected one of %v%s", c.Kind, Kinds(), meant(string(c.Kind), kindNames()))
	}
	if c.Printed, err = parsePrinted(c.Kind, printed.Value); err != nil {
		if printed.Kind != 0 {
			err = &placed{printed, err}
		}
		return err
	}
	switch c.Kind {
	case Improvement, More, Less, Faster, Ratio, Points, Equivalence:
		return r.comparison(c, n)
	case Range, Within:
		return r.overRows(c, n)
	case EachRow:
		return r.identity(c, n)
	case Standard:
		return r.standard(c, n)
	case Stated:
		c.About = strings.TrimSpace(n.Value)
		return nil
	case Arithmetic:
		c.expr, err = r.expression(n.Value)
		return err
	}
	return r.formula(c, n)
}

// formula reads the kinds whose arithmetic is fixed and whose parts are named.
func (r *reader) formula(c *Claim, n *yaml.Node) error {
	forms := map[Kind]struct{ text, optional string }{
		Total:      {"of", ""},
		PerUnit:    {"of / by", ""},
		Servers:    {"work / each", ""},
		SameWork:   {"work / each * price", ""},
		AnnualCost: {"power * hours * tariff", "overhead"},
		Headroom:   {"capacity - demand", ""},
	}
	form := forms[c.Kind]
	parts := map[string]expression{}
	var faults []string
	r.each(n, string(c.Kind), func(key, value *yaml.Node) {
		e, err := r.expression(value.Value)
		if err != nil {
			faults = append(faults, key.Value+": "+err.Error())
		}
		parts[key.Value] = e
	})
	if len(faults) > 0 {
		return fmt.Errorf("%s", strings.Join(faults, "; "))
	}
	text := form.text
	if _, given := parts[form.optional]; given && form.optional != "" {
		text += " * " + form.optional
	}
	skeleton, err := parseExpression(text)
	if err != nil {
		return err
	}
	c.expr, err = fillIn(skeleton, parts)
	if err == nil && len(parts) > 0 {
		for key := range parts {
			err = fmt.Errorf("unknown key %q; %s is %s", key, c.Kind, form.text)
		}
	}
	return err
}

// fillIn replaces the names of a skeleton by expressions, and takes those used
// out of parts.
func fillIn(skeleton expression, parts map[string]expression) (expression, error) {
	switch e := skeleton.(type) {
	case reference:
		part, ok := parts[e.name]
		if !ok {
			return nil, fmt.Errorf("%s is missing", e.name)
		}
		delete(parts, e.name)
		return part, nil
	case operation:
		left, err := fillIn(e.left, parts)
		if err != nil {
			return nil, err
		}
		right, err := fillIn(e.right, parts)
		return operation{e.op, left, right}, err
	}
	return skeleton, nil
}

func (r *reader) comparison(c *Claim, n *yaml.Node) error {
	form, err := r.comparisonForm(n, c.Kind)
	if err != nil {
		return err
	}
	if len(form.Of) > 1 {
		return fmt.Errorf("of: %v; expected one measure", form.Of)
	}
	p := &pair{better: record.Direction(form.Better)}
	if len(form.Of) == 1 {
		m, ok := r.figures.measure(form.Of[0])
		if !ok {
			return fmt.Errorf("of: no measure is named %q", form.Of[0])
		}
		if form.Better == "" {
			p.better = m.Better
		}
	}
	if p.from, err = r.side(form, &form.From, "from"); err != nil {
		return err
	}
	if p.to, err = r.side(form, &form.To, "to"); err != nil {
		return err
	}
	if (c.Kind == Improvement || c.Kind == Faster) && p.better == record.NoDirection {
		return fmt.Errorf("better is not known; say better: higher or better: lower, or claim more, less or ratio")
	}
	c.pair = p
	if c.Kind == Equivalence {
		c.expr = p.more()
		c.margin, err = percent(form.Margin, "margin")
		return err
	}
	c.expr, err = p.statement(c.Kind)
	return err
}

func (r *reader) comparisonForm(n *yaml.Node, kind Kind) (comparisonForm, error) {
	var form comparisonForm
	err := load(n, &form, string(kind))
	return form, err
}

// side reads one side of a comparison: levels of the measure, or an expression.
func (r *reader) side(form comparisonForm, n *yaml.Node, name string) (expression, error) {
	if n.Kind == yaml.ScalarNode {
		return r.expression(n.Value)
	}
	if len(form.Of) == 0 {
		return nil, fmt.Errorf("%s: expected an expression, or levels with of: MEASURE", name)
	}
	filter, err := r.filter(&form.Where, n)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return reference{form.Of[0], filter}, nil
}

// filter joins maps of factor: level.
func (r *reader) filter(nodes ...*yaml.Node) (record.Cell, error) {
	var filter record.Cell
	for _, n := range nodes {
		var err error
		r.each(n, "levels", func(key, value *yaml.Node) {
			l := record.Level{Factor: key.Value, Level: value.Value}
			if unknown := r.levelKnown(l); unknown != nil && err == nil {
				err = &placed{value, unknown}
			}
			filter = append(filter, l)
		})
		if err != nil {
			return nil, err
		}
	}
	return filter, nil
}

// overRows reads a comparison of every pair of rows that differ only in the
// levels of from and to.
func (r *reader) overRows(c *Claim, n *yaml.Node) error {
	form, err := r.comparisonForm(n, c.Kind)
	if err != nil {
		return err
	}
	from, err := r.filter(&form.Where, &form.From)
	if err != nil {
		return err
	}
	to, err := r.filter(&form.To)
	if err != nil {
		return err
	}
	for _, measure := range form.Of {
		for _, row := range r.figures.selected(measure, from) {
			if p, ok := r.partner(measure, row, to); ok {
				kind := Ratio
				if c.Kind == Within {
					kind = More
				}
				e, err := p.statement(kind)
				if err != nil {
					return err
				}
				c.rows = append(c.rows, rowClaim{name: measure + ", " + row.key(), expr: e})
			}
		}
	}
	if len(c.rows) == 0 {
		return fmt.Errorf("no two rows of %v differ only in %s and %s", form.Of, from.Key(), to.Key())
	}
	c.most = form.Most
	if c.Kind == Within {
		c.margin, err = percent(form.Margin, "margin")
	}
	return err
}

// partner returns the comparison of a row with the one whose levels are the
// same but for those given.
func (r *reader) partner(measure string, row Row, levels record.Cell) (pair, bool) {
	filter := append(record.Cell{{Factor: "table", Level: row.Table}}, slices.Clone(row.Levels)...)
	for _, l := range levels {
		i := slices.IndexFunc(filter, func(o record.Level) bool { return o.Factor == l.Factor })
		if i < 0 {
			return pair{}, false
		}
		filter[i].Level = l.Level
	}
	own := append(record.Cell{{Factor: "table", Level: row.Table}}, row.Levels...)
	ok := len(r.figures.selected(measure, filter)) == 1
	return pair{from: reference{measure, own}, to: reference{measure, filter}}, ok
}

// identity reads {measure: m, equals: expression of the row's measures}.
func (r *reader) identity(c *Claim, n *yaml.Node) error {
	var form struct {
		Measure string    `yaml:"measure"`
		Equals  string    `yaml:"equals"`
		Where   yaml.Node `yaml:"where"`
	}
	if err := load(n, &form, string(EachRow)); err != nil {
		return err
	}
	filter, err := r.filter(&form.Where)
	if err != nil {
		return err
	}
	e, err := r.expression(form.Equals)
	if err != nil {
		return err
	}
	for _, row := range r.figures.selected(form.Measure, filter) {
		at := append(record.Cell{{Factor: "table", Level: row.Table}}, row.Levels...)
		c.rows = append(c.rows, rowClaim{row.key(), r.inRow(e, at), reference{form.Measure, at}})
	}
	if len(c.rows) == 0 {
		return fmt.Errorf("no row has a value of %q", form.Measure)
	}
	return nil
}

// inRow binds the bare measures of an expression to one row.
func (r *reader) inRow(e expression, at record.Cell) expression {
	switch e := e.(type) {
	case reference:
		if _, ok := r.figures.measure(e.name); ok && len(e.filter) == 0 {
			return reference{e.name, at}
		}
	case operation:
		return operation{e.op, r.inRow(e.left, at), r.inRow(e.right, at)}
	case call:
		return call{e.name, r.inRow(e.arg, at)}
	}
	return e
}

func (r *reader) standard(c *Claim, n *yaml.Node) error {
	s := standard{params: map[string]Number{}}
	var faults []string
	r.each(n, "standard", func(key, value *yaml.Node) {
		if key.Value == "name" {
			s.name = value.Value
			return
		}
		number, err := ParseNumber("exactly "+value.Value, unit.One())
		if err != nil {
			faults = append(faults, key.Value+": "+err.Error())
		}
		number.Text = value.Value
		s.params[key.Value] = number
	})
	wanted, ok := standardNames()[s.name]
	if !ok {
		return fmt.Errorf("name: no standard figure %q; there are %v", s.name, sortedKeys(standardNames()))
	}
	for _, key := range wanted {
		if _, given := s.params[key]; !given {
			faults = append(faults, key+" is missing")
		}
	}
	if len(s.params) > len(wanted) {
		faults = append(faults, fmt.Sprintf("expected only %v", wanted))
	}
	c.expr = s
	if len(faults) > 0 {
		return fmt.Errorf("%s", strings.Join(faults, "; "))
	}
	return nil
}

func sortedKeys(m map[string][]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// percent reads a percentage exactly.
func percent(text, key string) (*big.Rat, error) {
	n, err := ParseNumber(text, unit.One())
	if err != nil || n.Unit.String() != "%" || n.Value.Sign() <= 0 {
		return nil, fmt.Errorf("%s: found %q, expected a percentage above 0, as %s: 5 %%", key, text, key)
	}
	return n.Value.Mul(n.Value, big.NewRat(1, 100)), nil
}
