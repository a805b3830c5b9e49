package claim

import (
	"fmt"
	"math/big"

	"bakeoff/record"
	"bakeoff/unit"
)

// Kind names what a claim states.
type Kind string

// The kinds of statement.
const (
	Improvement Kind = "improvement"     // by the measure's direction: positive is better
	More        Kind = "more"            // (to - from) / from
	Less        Kind = "less"            // (from - to) / from
	Faster      Kind = "faster"          // from / to - 1 for times, to / from - 1 for rates
	Ratio       Kind = "ratio"           // to / from
	Points      Kind = "points"          // to - from, of two percentages
	Total       Kind = "total"           // a sum
	PerUnit     Kind = "per_unit"        // of / by
	Servers     Kind = "servers"         // work / each, in whole ones
	SameWork    Kind = "same_work_price" // work / each x price
	AnnualCost  Kind = "annual_cost"     // power x hours x tariff x overhead
	Headroom    Kind = "headroom"        // capacity - demand
	Arithmetic  Kind = "value"           // any expression
	Standard    Kind = "standard"        // a figure that a standard fixes
	Range       Kind = "range"           // least and greatest ratio over a table's rows
	Within      Kind = "within"          // rows within p % of one another
	Equivalence Kind = "equivalent"      // inside a margin
	EachRow     Kind = "rows"            // an identity that every row keeps
	Stated      Kind = "stated"          // printed without the figures behind it
)

// A Claim is one printed conclusion.
type Claim struct {
	ID      string
	Says    string // in words
	Line    int    // in the figures file
	Kind    Kind
	Printed []Number // one; two for a range; none for an equivalence in words
	About   string   // what a stated claim is about: two about one thing must agree

	expr   expression // of the scalar kinds
	pair   *pair      // of those that compare two figures
	rows   []rowClaim // of those over rows
	margin *big.Rat   // of within and equivalent, as a fraction
	most   bool       // within: more than half of the rows are enough
}

// pair is what a comparison compares.
type pair struct {
	from, to expression
	better   record.Direction
}

// rowClaim is one row of a claim over rows.
type rowClaim struct {
	name string
	expr expression
	want expression // of an identity
}

func op(left expression, o byte, right expression) expression { return operation{o, left, right} }

func one() expression {
	return constant{Number{Text: "1", Value: big.NewRat(1, 1), Unit: unit.One()}}
}

func (p pair) more() expression { return op(op(p.to, '-', p.from), '/', p.from) }
func (p pair) less() expression { return op(op(p.from, '-', p.to), '/', p.from) }

func (p pair) improvement() expression {
	if p.better == record.LowerIsBetter {
		return p.less()
	}
	return p.more()
}

func (p pair) faster() expression {
	if p.better == record.LowerIsBetter {
		return op(op(p.from, '/', p.to), '-', one())
	}
	return op(op(p.to, '/', p.from), '-', one())
}

// statement builds the arithmetic that a comparison states.
func (p pair) statement(kind Kind) (expression, error) {
	switch kind {
	case Improvement:
		return p.improvement(), nil
	case More:
		return p.more(), nil
	case Less:
		return p.less(), nil
	case Faster:
		return p.faster(), nil
	case Ratio:
		return op(p.to, '/', p.from), nil
	case Points:
		return op(p.to, '-', p.from), nil
	}
	return nil, fmt.Errorf("%s does not compare two figures", kind)
}

// subject is what the claim is about: two claims with one subject must agree.
func (c Claim) subject() string {
	switch {
	case c.About != "":
		return "about " + c.About
	case c.expr != nil:
		return c.expr.String()
	}
	return ""
}
