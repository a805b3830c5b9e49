package claim

import (
	"fmt"
	"math/big"
	"slices"

	"go.yaml.in/yaml/v4"

	"bakeoff/analysis"
	"bakeoff/analysis/cost"
	"bakeoff/plan"
	"bakeoff/record"
	"bakeoff/unit"
)

// economics is what a figures file says of money and energy: each system by
// expressions over the figures, and the terms in a plan's own keys.
type economics struct {
	factor  string
	work    string // what it is called
	systems []systemFigures
	money   plan.Money
	line    int
}

type systemFigures struct {
	name               string
	work, price, power expression // nil where it is not printed
	hosts              int
	line               int
}

type economicsForm struct {
	Factor  string    `yaml:"factor"`
	Work    string    `yaml:"work"`
	Systems yaml.Node `yaml:"systems"`
	Money   yaml.Node `yaml:"money"`
}

type systemForm struct {
	Work  string `yaml:"work"`
	Price string `yaml:"price"`
	Power string `yaml:"power"`
	Hosts int    `yaml:"hosts"`
}

// economics reads the section of that name.
func (r *reader) economics(n *yaml.Node, src []byte) {
	if n.Kind == 0 {
		return
	}
	var form economicsForm
	if err := load(n, &form, "economics"); err != nil {
		r.fault(n, "economics: %w", err)
		return
	}
	e := &economics{factor: form.Factor, work: form.Work, line: n.Line}
	levels := r.figures.levels(e.factor)
	if len(levels) == 0 {
		r.fault(n, "economics: no table has a factor %q; say factor: NAME, the one whose levels are the systems", form.Factor)
		return
	}
	factor := plan.Factor{Name: e.factor}
	r.each(&form.Systems, "economics: systems", func(key, value *yaml.Node) {
		if s, err := r.system(e.factor, key.Value, value); err != nil {
			r.fault(value, "economics: %s: %w", key.Value, err)
		} else {
			e.systems = append(e.systems, s)
			factor.Levels = append(factor.Levels, plan.Level{Name: s.name})
		}
	})
	if len(e.systems) == 0 {
		r.fault(n, "economics: no systems; write systems: {%s: {work: ..., price: ..., power: ...}}", levels[0])
		return
	}
	factor.Baseline = e.systems[0].name
	money, err := plan.MoneyOf(r.figures.Name, src, []string{"economics", "money"}, factor)
	if err != nil {
		r.faults = append(r.faults, err)
		return
	}
	e.money = money
	r.figures.economics = e
}

func (r *reader) system(factor, name string, n *yaml.Node) (systemFigures, error) {
	form := systemForm{Hosts: 1}
	if err := load(n, &form, "a system"); err != nil {
		return systemFigures{}, err
	}
	s := systemFigures{name: name, hosts: form.Hosts, line: n.Line}
	if err := r.levelKnown(record.Level{Factor: factor, Level: name}); err != nil {
		return s, err
	}
	if form.Hosts < 1 {
		return s, fmt.Errorf("hosts: found %d, expected 1 or more", form.Hosts)
	}
	for _, part := range []struct {
		key, text string
		into      *expression
	}{{"work", form.Work, &s.work}, {"price", form.Price, &s.price}, {"power", form.Power, &s.power}} {
		if part.text == "" {
			continue
		}
		e, err := r.expression(part.text)
		if err != nil {
			return s, fmt.Errorf("%s: %w", part.key, err)
		}
		*part.into = e
	}
	return s, nil
}

// Economy works out each system's figures with the intervals that their printed
// digits allow, nil where the file has no economics.
func (f *Figures) Economy() (*analysis.Economy, error) {
	e := f.economics
	if e == nil {
		return nil, nil
	}
	out := &analysis.Economy{
		Money: e.money, SystemFactors: []string{e.factor}, Printed: true,
	}
	out.Baseline = record.Cell{{Factor: e.factor, Level: e.baseline(f)}}
	workUnit, err := e.workUnit(f)
	if err != nil {
		return nil, err
	}
	for _, s := range e.systems {
		system, err := f.system(e, s, workUnit)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: economics: %s: %w", f.Name, s.line, s.name, err)
		}
		out.Systems = append(out.Systems, system)
	}
	return out, nil
}

// baseline is the level that the file names, or the first system.
func (e *economics) baseline(f *Figures) string {
	name := f.Baseline[e.factor]
	if slices.ContainsFunc(e.systems, func(s systemFigures) bool { return s.name == name }) {
		return name
	}
	return e.systems[0].name
}

// workUnit is the unit of the first system's work: all are given in it.
func (e *economics) workUnit(f *Figures) (unit.Unit, error) {
	for _, s := range e.systems {
		if s.work == nil {
			continue
		}
		d, err := f.derive(s.work)
		if err != nil {
			return unit.Unit{}, fmt.Errorf("%s:%d: economics: %s: work: %w", f.Name, s.line, s.name, err)
		}
		return d.Unit, nil
	}
	return unit.One(), nil
}

func (f *Figures) system(e *economics, s systemFigures, workUnit unit.Unit) (analysis.System, error) {
	out := analysis.System{
		Cell:     record.Cell{{Factor: e.factor, Level: s.name}},
		WorkName: e.work, WorkUnit: workUnit.String(), Hosts: s.hosts,
	}
	var price *analysis.Amount
	for _, part := range []struct {
		key  string
		expr expression
		unit string
		into **analysis.Amount
	}{{"work", s.work, workUnit.String(), &out.Work}, {"power", s.power, "W", &out.Watts}, {"price", s.price, e.money.Currency, &price}} {
		if part.expr == nil {
			continue
		}
		u, err := unit.ParseUnit(part.unit)
		if err != nil {
			return out, fmt.Errorf("%s: %w (money.currency says what prices are in)", part.key, err)
		}
		d, err := f.derivedIn(part.expr, u)
		if err != nil {
			return out, fmt.Errorf("%s: %w", part.key, err)
		}
		*part.into = analysis.Given(cost.Estimate{Point: d.Point, Range: d.Range})
	}
	if price != nil {
		out.Price = price.Point
	}
	if e.money.Support != nil {
		out.Support = new(big.Rat).Mul(e.money.Support, big.NewRat(int64(s.hosts), 1))
	}
	return out, nil
}
