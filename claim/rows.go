package claim

import (
	"fmt"
	"math/big"

	"bakeoff/unit"
)

// judgeRange audits "from 1.7x to 5.8x": the least and the greatest over rows.
func (f *Figures) judgeRange(o *Outcome, c Claim) error {
	derived := make([]Derived, len(c.rows))
	least, greatest := 0, 0
	for i, r := range c.rows {
		d, err := f.derivedIn(r.expr, c.Printed[0].Unit)
		if err != nil {
			return err
		}
		derived[i] = d
		if d.Point.Cmp(derived[least].Point) < 0 {
			least = i
		}
		if d.Point.Cmp(derived[greatest].Point) > 0 {
			greatest = i
		}
	}
	o.Derived = plain(derived[least].Point) + " to " + plain(derived[greatest].Point)
	o.Unit = unitWord(c.Printed[0].Unit)
	o.Verdict = Follows
	for end, row := range []int{least, greatest} {
		name := [...]string{"least", "greatest"}[end]
		verdict, _ := compare(c.Printed[end], derived[row], nil)
		o.Text += [...]string{"", "; "}[end] + fmt.Sprintf("the %s is %s (%s)", name, amount(derived[row].Point, c.Printed[0].Unit), c.rows[row].name)
		if verdict == OnlyCut && o.Verdict == Follows {
			o.Verdict = verdict
		}
		if !verdict.Raised() {
			continue
		}
		o.Verdict = verdict
		for i, r := range c.rows {
			if v, _ := compare(c.Printed[end], derived[i], nil); v == Follows {
				o.Causes = append(o.Causes, fmt.Sprintf("the extreme of the wrong row: %s is the value of %s", c.Printed[end].Text, r.name))
			}
		}
	}
	return nil
}

// judgeWithin audits "all (or most) within 10 %".
func (f *Figures) judgeWithin(o *Outcome, c Claim) error {
	margin := c.margin
	inside := 0
	for _, r := range c.rows {
		d, err := f.derive(r.expr)
		if err != nil {
			return err
		}
		if new(big.Rat).Abs(d.Point).Cmp(margin) <= 0 {
			inside++
			continue
		}
		percent := new(big.Rat).Mul(d.Point, big.NewRat(100, 1))
		o.Rows = append(o.Rows, fmt.Sprintf("%s: %s %%", r.name, percent.FloatString(1)))
	}
	o.Text = fmt.Sprintf("%d of %d are within %s %%", inside, len(c.rows), plain(new(big.Rat).Mul(margin, big.NewRat(100, 1))))
	switch {
	case inside == len(c.rows), c.most && 2*inside > len(c.rows):
		o.Verdict = Follows
	default:
		o.Verdict = DoesNot
	}
	return nil
}

// judgeEquivalence audits "no difference": inside the margin, for every value
// that prints so.
func (f *Figures) judgeEquivalence(o *Outcome, c Claim) error {
	d, err := f.derive(c.expr)
	if err != nil {
		return err
	}
	hundred := big.NewRat(100, 1)
	percent := Derived{new(big.Rat).Mul(d.Point, hundred), d.Range.Mul(unit.Exactly(hundred)), d.Unit}
	o.Formula = c.expr.String()
	o.show(percent)
	o.Unit = "%"
	band := unit.Around(new(big.Rat), c.margin)
	limit := plain(new(big.Rat).Mul(c.margin, hundred))
	difference := fmt.Sprintf("the difference is %s %% (%s to %s %% within the digits printed)", o.Derived, o.Low, o.High)
	switch {
	case band.Holds(d.Range.Low()) && band.Holds(d.Range.High()):
		o.Verdict, o.Text = Follows, fmt.Sprintf("%s, inside the margin of %s %%; one pair of figures says nothing about their noise", difference, limit)
	case band.Meets(d.Range):
		o.Verdict, o.Text = CannotTell, fmt.Sprintf("%s, across the margin of %s %%", difference, limit)
	default:
		o.Verdict, o.Text = DoesNot, fmt.Sprintf("%s, outside the margin of %s %%", difference, limit)
	}
	return nil
}

// judgeRows audits an identity such as "MB/s is IOPS times block" in each row.
func (f *Figures) judgeRows(o *Outcome, c Claim) error {
	o.Verdict = Follows
	for _, r := range c.rows {
		figure, ok := r.want.(reference)
		if !ok {
			return fmt.Errorf("%s is not a measure", r.want)
		}
		printed, err := f.lookup(figure)
		if err != nil {
			return err
		}
		d, err := f.derivedIn(r.expr, printed.Unit)
		if err != nil {
			return err
		}
		if v, text := compare(printed, d, nil); v != Follows {
			if !o.Verdict.Raised() {
				o.Verdict = v
			}
			o.Rows = append(o.Rows, r.name+": "+text)
		}
	}
	o.Text = fmt.Sprintf("%d of %d rows keep it", len(c.rows)-len(o.Rows), len(c.rows))
	return nil
}
