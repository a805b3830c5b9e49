package claim

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"bakeoff/record"
	"bakeoff/unit"
)

// An expression is arithmetic over printed figures. Its text is canonical: two
// claims about the same arithmetic have the same text.
type expression interface {
	// eval works the expression out, taking each figure's value from pick.
	eval(f *Figures, pick func(Number) unit.Interval) (quantity, error)
	// figures appends the printed figures it rests on, by reference.
	figures(f *Figures, dst map[string]Number) error
	String() string
}

// A quantity is an interval in a unit.
type quantity struct {
	in   unit.Interval
	unit unit.Unit
}

// constant is an exact number, with a unit where one was written.
type constant struct{ number Number }

func (c constant) eval(*Figures, func(Number) unit.Interval) (quantity, error) {
	return quantity{unit.Exactly(c.number.Value), c.number.Unit}, nil
}
func (c constant) figures(*Figures, map[string]Number) error { return nil }
func (c constant) String() string                            { return c.number.Text }

// reference names one printed figure: a value, or a measure at given levels.
type reference struct {
	name   string
	filter record.Cell
}

func (r reference) String() string {
	if len(r.filter) == 0 {
		return r.name
	}
	sorted := slices.Clone(r.filter)
	slices.SortFunc(sorted, func(a, b record.Level) int { return strings.Compare(a.Factor, b.Factor) })
	return r.name + "[" + sorted.Key() + "]"
}

func (r reference) eval(f *Figures, pick func(Number) unit.Interval) (quantity, error) {
	n, err := f.lookup(r)
	if err != nil {
		return quantity{}, err
	}
	return quantity{pick(n), n.Unit}, nil
}

func (r reference) figures(f *Figures, dst map[string]Number) error {
	n, err := f.lookup(r)
	if err == nil {
		dst[r.String()] = n
	}
	return err
}

// operation joins two expressions by + - * or /.
type operation struct {
	op          byte
	left, right expression
}

func (o operation) String() string {
	return "(" + o.left.String() + " " + string(o.op) + " " + o.right.String() + ")"
}

func (o operation) figures(f *Figures, dst map[string]Number) error {
	if err := o.left.figures(f, dst); err != nil {
		return err
	}
	return o.right.figures(f, dst)
}

func (o operation) eval(f *Figures, pick func(Number) unit.Interval) (quantity, error) {
	l, err := o.left.eval(f, pick)
	if err != nil {
		return quantity{}, err
	}
	r, err := o.right.eval(f, pick)
	if err != nil {
		return quantity{}, err
	}
	switch o.op {
	case '*':
		return quantity{l.in.Mul(r.in), l.unit.Mul(r.unit)}, nil
	case '/':
		in, err := l.in.Div(r.in)
		if err != nil {
			return quantity{}, fmt.Errorf("%s: %w", o, err)
		}
		return quantity{in, l.unit.Div(r.unit)}, nil
	}
	if err := l.unit.Addable(r.unit); err != nil {
		return quantity{}, fmt.Errorf("%s: %w", o, err)
	}
	if o.op == '-' {
		return quantity{l.in.Sub(r.in), l.unit}, nil
	}
	return quantity{l.in.Add(r.in), l.unit}, nil
}

// call applies a function: ceil to one expression; sum, min, max or count to
// every row that a reference selects.
type call struct {
	name string
	arg  expression
}

func (c call) String() string { return c.name + "(" + c.arg.String() + ")" }

func (c call) rows(f *Figures) ([]Number, []string, error) {
	r, ok := c.arg.(reference)
	if !ok {
		return nil, nil, fmt.Errorf("%s: expected a measure, as %s(throughput[load=read])", c, c.name)
	}
	rows := f.selected(r.name, r.filter)
	if len(rows) == 0 {
		return nil, nil, f.missing(r)
	}
	numbers, keys := make([]Number, len(rows)), make([]string, len(rows))
	for i, row := range rows {
		numbers[i], keys[i] = row.Values[r.name], r.name+"["+row.Table+": "+row.key()+"]"
	}
	return numbers, keys, nil
}

func (c call) figures(f *Figures, dst map[string]Number) error {
	if c.name == "ceil" || c.name == "count" {
		return c.arg.figures(f, dst)
	}
	numbers, keys, err := c.rows(f)
	for i := range numbers {
		dst[keys[i]] = numbers[i]
	}
	return err
}

func (c call) eval(f *Figures, pick func(Number) unit.Interval) (quantity, error) {
	if c.name == "ceil" {
		q, err := c.arg.eval(f, pick)
		if err != nil {
			return quantity{}, err
		}
		return quantity{unit.NewInterval(ceil(q.in.Low()), ceil(q.in.High())), q.unit}, nil
	}
	numbers, _, err := c.rows(f)
	if err != nil {
		return quantity{}, err
	}
	total := quantity{pick(numbers[0]), numbers[0].Unit}
	for _, n := range numbers[1:] {
		total.in = c.join(total.in, pick(n))
	}
	return total, nil
}

func (c call) join(a, b unit.Interval) unit.Interval {
	switch {
	case c.name == "sum":
		return a.Add(b)
	case c.name == "min":
		return unit.NewInterval(lesser(a.Low(), b.Low()), lesser(a.High(), b.High()))
	}
	return unit.NewInterval(greater(a.Low(), b.Low()), greater(a.High(), b.High()))
}

func lesser(a, b *big.Rat) *big.Rat {
	if a.Cmp(b) < 0 {
		return a
	}
	return b
}

func greater(a, b *big.Rat) *big.Rat {
	if a.Cmp(b) > 0 {
		return a
	}
	return b
}

// ceil returns the least whole number that is not below v.
func ceil(v *big.Rat) *big.Rat {
	q, m := new(big.Int).DivMod(v.Num(), v.Denom(), new(big.Int))
	if m.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return new(big.Rat).SetInt(q)
}

// Derived is what the figures behind a claim give.
type Derived struct {
	Point *big.Rat      // from the printed values as they stand
	Range unit.Interval // from all values that print so
	Unit  unit.Unit
}

// maxCorners bounds the exact search for the range: 2^10 evaluations.
const maxCorners = 10

// derive works an expression out, from the values as printed and over every
// value that prints so. Up to ten figures the range is exact (each figure at
// both ends, in every combination); beyond, interval arithmetic bounds it.
func (f *Figures) derive(e expression) (Derived, error) {
	point, err := e.eval(f, func(n Number) unit.Interval { return unit.Exactly(n.Value) })
	if err != nil {
		return Derived{}, err
	}
	wide, err := f.spread(e)
	if err != nil {
		return Derived{}, err
	}
	return Derived{point.in.Low(), wide, point.unit}, nil
}

func (f *Figures) spread(e expression) (unit.Interval, error) {
	behind := map[string]Number{}
	if err := e.figures(f, behind); err != nil {
		return unit.Interval{}, err
	}
	texts := map[string]int{} // one number may stand behind several references
	for _, n := range behind {
		if _, seen := texts[n.id()]; !seen && n.Digit != nil {
			texts[n.id()] = len(texts)
		}
	}
	if len(texts) > maxCorners {
		q, err := e.eval(f, Number.Rounded)
		return q.in, err
	}
	var all *unit.Interval
	for corner := range 1 << len(texts) {
		q, err := e.eval(f, func(n Number) unit.Interval {
			at, open := texts[n.id()]
			switch {
			case !open:
				return unit.Exactly(n.Value)
			case corner>>at&1 == 1:
				return unit.Exactly(n.Rounded().High())
			}
			return unit.Exactly(n.Rounded().Low())
		})
		if err != nil {
			return unit.Interval{}, err
		}
		joined := q.in
		if all != nil {
			joined = all.Join(q.in)
		}
		all = &joined
	}
	return *all, nil
}
