package analysis

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"bakeoff/analysis/cost"
	"bakeoff/plan"
	"bakeoff/stats"
)

// amountOf is what values by block amount to: their geometric mean with the t
// interval on logarithms, or the arithmetic one where a value is not above zero.
// Floating point ends here: what is worked out from it is exact.
func amountOf(byBlock map[int]float64, confidence float64) *Amount {
	values := inOrder(byBlock)
	if len(values) == 0 {
		return nil
	}
	center, within := middle(values, confidence)
	e, ok := estimate(center, within)
	if !ok {
		return nil
	}
	return &Amount{Estimate: e, Trials: len(values), Blocks: byBlock}
}

func inOrder(byBlock map[int]float64) []float64 {
	blocks := make([]int, 0, len(byBlock))
	for b := range byBlock {
		blocks = append(blocks, b)
	}
	slices.Sort(blocks)
	out := make([]float64, len(blocks))
	for i, b := range blocks {
		out[i] = byBlock[b]
	}
	return out
}

// middle is the centre of values with its t interval; of one value, itself.
func middle(values []float64, confidence float64) (float64, stats.Interval) {
	logs, positive := stats.Logs(values)
	switch {
	case len(values) == 1:
		return values[0], stats.Interval{Low: values[0], High: values[0]}
	case positive:
		return stats.GeometricMean(values), stats.MeanInterval(logs, 1-confidence).Exp()
	}
	return stats.Mean(values), stats.MeanInterval(values, 1-confidence)
}

func estimate(center float64, within stats.Interval) (cost.Estimate, bool) {
	for _, v := range []float64{center, within.Low, within.High} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return cost.Estimate{}, false
		}
	}
	return cost.Between(exactly(center), exactly(within.Low), exactly(within.High)), true
}

// exactly is a measured value as a decimal number of twelve digits: more than any
// measurement has, and few enough that the rounding of logarithms does not make
// five servers six. It is the one place where floating point becomes exact.
func exactly(v float64) *big.Rat {
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(v, 'e', 11, 64))
	if !ok {
		return new(big.Rat)
	}
	return r
}

// part is so many servers of one system, in a mix.
type part struct {
	servers float64
	system  System
}

// paired is how many times a server's work a mix does, formed in each block,
// where all were measured in the same ones: what hits a whole block cancels.
func (e *Economy) paired(parts []part, target System) (cost.Estimate, bool) {
	ratios := map[int]float64{}
	for block, each := range target.Work.Blocks {
		sum := 0.0
		for _, p := range parts {
			v, ok := p.system.Work.Blocks[block]
			if !ok {
				sum = math.NaN()
			}
			sum += p.servers * v
		}
		if r := sum / each; r > 0 && !math.IsInf(r, 0) {
			ratios[block] = r
		}
	}
	if len(ratios) < minBlocks {
		return cost.Estimate{}, false
	}
	level := e.Money.Confidence
	if level == 0 {
		level = plan.DefaultConfidence
	}
	center, within := middle(inOrder(ratios), level)
	return estimate(center, within)
}

// grouped writes a number with that many decimals and its digits in threes.
func grouped(v *big.Rat, decimals int) string {
	text := v.FloatString(decimals)
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "-", text[1:]
	}
	whole, fraction, cut := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if cut {
		whole += "." + fraction
	}
	if strings.Trim(whole, "0.,") == "" {
		sign = ""
	}
	return sign + whole
}

// money writes an amount of money, to the cent.
func money(v *big.Rat) string { return grouped(v, 2) }

// shown writes a figure with five significant digits, and whole numbers whole.
func shown(v *big.Rat) string { return grouped(v, shownDecimals(v)) }

func shownDecimals(v *big.Rat) int {
	f, _ := v.Float64()
	if f == 0 {
		return 0
	}
	decimals := 4 - int(math.Floor(math.Log10(math.Abs(f))))
	return min(max(decimals, 0), 12)
}

// between writes an interval in the way that its point is written; "" where both
// ends print as the point does.
func between(e cost.Estimate, write func(*big.Rat) string) string {
	low, high := write(e.Range.Low()), write(e.Range.High())
	if low == high {
		return ""
	}
	return low + " to " + high
}

// interval writes an amount's interval, and says where one trial has none.
func (a *Amount) interval(write func(*big.Rat) string) string {
	if a.Trials == 1 {
		return "one trial"
	}
	return between(a.Estimate, write)
}

// like writes values with as many decimals as the point has.
func like(point *big.Rat) func(*big.Rat) string {
	decimals := shownDecimals(point)
	return func(v *big.Rat) string { return grouped(v, decimals) }
}

// times writes a ratio as people say it.
func times(a, b *big.Rat) string {
	if b.Sign() == 0 {
		return ""
	}
	return new(big.Rat).Quo(a, b).FloatString(3) + "x"
}

// percentChange writes how much more or less a is than b, in percent.
func percentChange(a, b *big.Rat) string {
	if b.Sign() == 0 {
		return ""
	}
	d := new(big.Rat).Quo(new(big.Rat).Sub(a, b), b)
	text := d.Mul(d, big.NewRat(100, 1)).FloatString(1)
	if strings.Trim(text, "-0.") == "" {
		return "0.0 %"
	}
	if !strings.HasPrefix(text, "-") {
		text = "+" + text
	}
	return text + " %"
}

// layout builds a table column by column.
type layout struct {
	Table
}

func newLayout(id, title, caption string) *layout {
	return &layout{Table{ID: id, Title: title, Caption: caption}}
}

func (l *layout) text(names ...string) *layout    { return l.columns(false, names) }
func (l *layout) numbers(names ...string) *layout { return l.columns(true, names) }

func (l *layout) columns(numeric bool, names []string) *layout {
	for _, n := range names {
		l.Columns, l.Numeric = append(l.Columns, n), append(l.Numeric, numeric)
	}
	return l
}

func (l *layout) row(cells ...string) { l.Rows = append(l.Rows, cells) }

// note adds a sentence, each once.
func (l *layout) note(text string) {
	if text != "" {
		l.Notes = addOnce(l.Notes, text)
	}
}

// finish drops columns that no row fills, but for the first.
func (l *layout) finish() Table {
	for i := len(l.Columns) - 1; i > 0; i-- {
		filled := slices.ContainsFunc(l.Rows, func(r []string) bool { return r[i] != "" })
		if filled {
			continue
		}
		l.Columns, l.Numeric = slices.Delete(l.Columns, i, i+1), slices.Delete(l.Numeric, i, i+1)
		for j := range l.Rows {
			l.Rows[j] = slices.Delete(l.Rows[j], i, i+1)
		}
	}
	return l.Table
}
