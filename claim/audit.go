package claim

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"bakeoff/unit"
)

// Verdict is what the audit says of one claim.
type Verdict string

// The verdicts.
const (
	Follows      Verdict = "follows"
	OnlyCut      Verdict = "follows but cut, not rounded"
	DoesNot      Verdict = "does not follow"
	CannotTell   Verdict = "cannot be told at this precision"
	Contradicts  Verdict = "contradicts another claim"
	NotDerivable Verdict = "the figures behind it are not printed"
)

// Raised reports whether the verdict objects to the claim. A last digit that
// was cut off is worth a note, and no more.
func (v Verdict) Raised() bool { return v != Follows && v != OnlyCut && v != NotDerivable }

// An Outcome is one claim, audited.
type Outcome struct {
	ID      string   `json:"id"`
	Line    int      `json:"line"`
	Says    string   `json:"says"`
	Printed string   `json:"printed"`
	Verdict Verdict  `json:"verdict"`
	Derived string   `json:"derived,omitempty"` // from the figures as printed
	Low     string   `json:"low,omitempty"`     // over every value that prints so
	High    string   `json:"high,omitempty"`
	Unit    string   `json:"unit,omitempty"`
	Formula string   `json:"formula,omitempty"`
	Text    string   `json:"text"` // why, in words
	Causes  []string `json:"causes,omitempty"`
	Rows    []string `json:"rows,omitempty"`    // the rows that object, or lie outside
	Against []string `json:"against,omitempty"` // ids of claims it contradicts
}

// An Audit is a figures file, audited.
type Audit struct {
	File     string    `json:"file"`
	Title    string    `json:"title"`
	Source   string    `json:"source"`
	Hash     string    `json:"hash"`
	Outcomes []Outcome `json:"outcomes"`
	// Undeclared lists facts that the report itself discloses as different
	// between the levels compared, though they are not what is compared.
	Undeclared []string `json:"undeclared_differences,omitempty"`
}

// Count returns how many claims have the verdict.
func (a Audit) Count(v Verdict) (n int) {
	for _, o := range a.Outcomes {
		if o.Verdict == v {
			n++
		}
	}
	return n
}

// Raised counts the claims that the audit objects to.
func (a Audit) Raised() (n int) {
	for _, o := range a.Outcomes {
		if o.Verdict.Raised() {
			n++
		}
	}
	return n
}

// Audit re-derives every claim. An error means that a claim cannot be worked
// out as it is written; what a report did not print is a verdict, not an error.
func (f *Figures) Audit() (Audit, error) {
	audit := Audit{File: f.Name, Title: f.Title, Source: f.Source, Hash: f.Hash, Undeclared: f.undeclared()}
	var faults []error
	for _, c := range f.Claims {
		o, err := f.judge(c)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s:%d: claim %s: %w", f.Name, c.Line, c.ID, err))
			continue
		}
		audit.Outcomes = append(audit.Outcomes, o)
	}
	if err := errors.Join(faults...); err != nil {
		return Audit{}, err
	}
	f.contradictions(audit.Outcomes)
	return audit, nil
}

func (f *Figures) judge(c Claim) (Outcome, error) {
	o := Outcome{ID: c.ID, Line: c.Line, Says: c.Says, Printed: printedText(c.Printed)}
	err := f.judgeInto(&o, c)
	var missing *missingError
	if errors.As(err, &missing) {
		o.Verdict, o.Text = NotDerivable, missing.text
		if o.Causes = f.nameSwapped(c); len(o.Causes) > 0 {
			o.Verdict = DoesNot
		}
		return o, nil
	}
	return o, err
}

func (f *Figures) judgeInto(o *Outcome, c Claim) error {
	switch c.Kind {
	case Stated:
		o.Verdict, o.Text = NotDerivable, "it is stated without the figures behind it"
		return nil
	case Range:
		return f.judgeRange(o, c)
	case Within:
		return f.judgeWithin(o, c)
	case Equivalence:
		return f.judgeEquivalence(o, c)
	case EachRow:
		return f.judgeRows(o, c)
	}
	return f.judgeValue(o, c)
}

func printedText(numbers []Number) string {
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = n.Text
	}
	return strings.Join(texts, " to ")
}

// judgeValue audits a claim of one value.
func (f *Figures) judgeValue(o *Outcome, c Claim) error {
	printed := c.Printed[0]
	d, err := f.derivedIn(c.expr, printed.Unit)
	if err != nil {
		return err
	}
	o.Formula = c.expr.String()
	o.show(d)
	if c.Kind == Servers {
		o.Verdict, o.Text = judgeWhole(printed, d)
		return nil
	}
	coarse, err := f.coarsest(c.expr)
	if err != nil {
		return err
	}
	o.Verdict, o.Text = compare(printed, d, coarse)
	if o.Verdict == DoesNot {
		o.Causes = f.causes(c, d)
	}
	return nil
}

// derivedIn derives an expression and converts the result to a unit.
func (f *Figures) derivedIn(e expression, u unit.Unit) (Derived, error) {
	d, err := f.derive(e)
	if err != nil {
		return Derived{}, err
	}
	factor, err := d.Unit.In(u)
	if err != nil {
		return Derived{}, fmt.Errorf("%s is %s, the claim %s: %w", e, measured(d.Unit), measured(u), err)
	}
	return Derived{new(big.Rat).Mul(d.Point, factor), d.Range.Mul(unit.Exactly(factor)), u}, nil
}

func (o *Outcome) show(d Derived) {
	o.Derived, o.Unit = plain(d.Point), unitWord(d.Unit)
	o.Low, o.High = plain(d.Range.Low()), plain(d.Range.High())
}

// plain writes a rational with enough digits to see a cut last digit.
func plain(r *big.Rat) string {
	decimals := 4
	if abs := new(big.Rat).Abs(r); abs.Cmp(big.NewRat(1000, 1)) >= 0 {
		decimals = 2
	}
	text := r.FloatString(decimals)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// unitWord is a unit as it stands behind a number: nothing for a plain one.
func unitWord(u unit.Unit) string {
	if u.String() == unit.One().String() {
		return ""
	}
	return u.String()
}

// amount writes a number with its unit.
func amount(r *big.Rat, u unit.Unit) string {
	return strings.TrimSpace(plain(r) + " " + unitWord(u))
}

// measured says what a unit makes of a number.
func measured(u unit.Unit) string {
	if word := unitWord(u); word != "" {
		return "in " + word
	}
	return "a plain number"
}

// compare says whether a printed value follows from a derived one.
func compare(printed Number, d Derived, coarse *Number) (Verdict, string) {
	if printed.Bound != "" {
		return compareBound(printed, d)
	}
	rounded := printed.Rounded()
	exact := "the figures give " + amount(d.Point, d.Unit)
	follows := rounded.Holds(d.Point) || rounded.Meets(d.Range) && !printed.CutFrom(d.Point)
	switch {
	case follows && coarse != nil && d.Range.Width().Cmp(rounded.Width()) > 0:
		return CannotTell, fmt.Sprintf("%s, but %s is known to one digit only, so it may be anything from %s to %s",
			exact, coarse.Text, plain(d.Range.Low()), amount(d.Range.High(), d.Unit))
	case rounded.Holds(d.Point):
		return Follows, exact
	case printed.CutFrom(d.Point) && !printed.About:
		return OnlyCut, exact + ", which rounds differently: the digits behind the last were cut off"
	case rounded.Meets(d.Range):
		return Follows, fmt.Sprintf("%s, and %s to %s within the digits printed", exact, plain(d.Range.Low()), plain(d.Range.High()))
	case printed.CutFromAny(d.Range) && !printed.About:
		return OnlyCut, exact + "; within the digits printed it follows only with the last digit cut off"
	}
	return DoesNot, exact + ", not " + printed.Text
}

func compareBound(printed Number, d Derived) (Verdict, string) {
	exact := "the figures give " + amount(d.Point, d.Unit)
	if printed.Bound == ">" && d.Range.High().Cmp(printed.Value) > 0 || printed.Bound == "<" && d.Range.Low().Cmp(printed.Value) < 0 {
		return Follows, exact
	}
	return DoesNot, exact + ", not " + printed.Text
}

// judgeWhole audits a number of servers: a fraction of one cannot be bought.
func judgeWhole(printed Number, d Derived) (Verdict, string) {
	whole := ceil(d.Point)
	need := fmt.Sprintf("%s are needed, so %s whole ones", d.Point.FloatString(2), whole.FloatString(0))
	switch {
	case printed.Value.Cmp(whole) == 0:
		return Follows, need
	case unit.NewInterval(ceil(d.Range.Low()), ceil(d.Range.High())).Holds(printed.Value):
		return Follows, need + "; within the digits printed " + printed.Text + " may be enough"
	case printed.CutFrom(d.Point):
		return OnlyCut, need + "; the fraction was cut off, and the work does not fit"
	}
	return DoesNot, need + ", not " + printed.Text
}

// coarseShare is the half-width from which a figure is too coarse to carry a
// conclusion: a single digit from 1 to 4 is known to 10 % or worse.
func coarseShare() *big.Rat { return big.NewRat(1, 10) }

// coarsest returns the figure behind an expression that its digits leave open
// by a tenth or more, nil where there is none.
func (f *Figures) coarsest(e expression) (*Number, error) {
	behind := map[string]Number{}
	if err := e.figures(f, behind); err != nil {
		return nil, err
	}
	var coarse *Number
	for _, n := range behind {
		share := n.Relative()
		if n.Digit == nil || n.About || share == nil || share.Cmp(coarseShare()) < 0 {
			continue
		}
		if coarse == nil || share.Cmp(coarse.Relative()) > 0 {
			coarse = &n
		}
	}
	return coarse, nil
}

// contradictions marks the claims that cannot both be true.
func (f *Figures) contradictions(outcomes []Outcome) {
	claims := map[string]Claim{}
	for _, c := range f.Claims {
		claims[c.ID] = c
	}
	for i := range outcomes {
		mine := claims[outcomes[i].ID]
		for j := range outcomes {
			if i == j || agree(mine, claims[outcomes[j].ID]) {
				continue
			}
			outcomes[i].contradict(outcomes[j])
		}
	}
}

// agree reports whether two claims are about different things, or print values
// that one true value can round or be cut to.
func agree(a, b Claim) bool {
	if a.subject() == "" || a.subject() != b.subject() || len(a.Printed) != 1 || len(b.Printed) != 1 {
		return true
	}
	factor, err := b.Printed[0].Unit.In(a.Printed[0].Unit)
	if err != nil || a.Printed[0].Bound != "" || b.Printed[0].Bound != "" {
		return true
	}
	scale := unit.Exactly(factor)
	mine := a.Printed[0].Rounded().Join(a.Printed[0].Cut())
	theirs := b.Printed[0].Rounded().Join(b.Printed[0].Cut()).Mul(scale)
	return mine.Meets(theirs)
}

// contradict notes that another claim says otherwise. A claim that follows
// from the figures stands; the other one is stale.
func (o *Outcome) contradict(other Outcome) {
	if o.Verdict == Follows || o.Verdict == OnlyCut {
		return
	}
	o.Against = append(o.Against, other.ID)
	if o.Verdict == NotDerivable {
		o.Verdict, o.Text = Contradicts, fmt.Sprintf("claim %s says %s of the same; the figures that could decide are not printed", other.ID, other.Printed)
		return
	}
	o.Verdict = Contradicts
	if other.Verdict == Follows || other.Verdict == OnlyCut {
		stale := fmt.Sprintf("a stale figure: claim %s says %s of the same, and that follows", other.ID, other.Printed)
		if !slices.Contains(o.Causes, stale) {
			o.Causes = append([]string{stale}, o.Causes...)
		}
	}
}

func (f *Figures) undeclared() (texts []string) {
	for _, s := range f.Systems {
		if s.Varied || !differ(s.Levels) {
			continue
		}
		levels := make([]string, 0, len(s.Levels))
		for level := range s.Levels {
			levels = append(levels, level)
		}
		slices.Sort(levels)
		for i, level := range levels {
			levels[i] = level + ": " + s.Levels[level]
		}
		texts = append(texts, fmt.Sprintf("%s differs between the levels of %s, though it is not what is compared (%s)", s.Fact, s.Factor, strings.Join(levels, "; ")))
	}
	return texts
}

func differ(levels map[string]string) bool {
	first, seen := "", false
	for _, v := range levels {
		if seen && v != first {
			return true
		}
		first, seen = v, true
	}
	return false
}
