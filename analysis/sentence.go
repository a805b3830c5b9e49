package analysis

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"bakeoff/record"
)

// sentence says a finding in words: both values, the base named, the difference
// in the forms that are confused in practice, and the interval.
func sentence(f Finding, title string) string {
	var b strings.Builder
	if f.Workload != "" {
		b.WriteString(f.Workload + ": ")
	}
	if f.N == 0 {
		fmt.Fprintf(&b, "%s of %s cannot be compared with %s: no block holds both", title, sideName(f, f.Against), sideName(f, f.Base))
		return b.String() + whereText(f) + "."
	}
	if f.Kind == Interaction {
		b.WriteString(interactionText(f, title))
	} else {
		fmt.Fprintf(&b, "%s with %s is %s, against %s with %s (base)%s: %s", title, sideName(f, f.Against), amount(f.Measure, f.Unit, f.AgainstValue),
			amount(f.Measure, f.Unit, f.BaseValue), sideName(f, f.Base), whereText(f), difference(f))
	}
	b.WriteString(" (" + intervalText(f) + ")")
	b.WriteString(verdictText(f))
	return b.String() + "."
}

// sideName names a level with its factor, as in server=redis.
func sideName(f Finding, level string) string {
	if f.Kind == Interaction || f.Factor == "" {
		return level
	}
	return f.Factor + "=" + level
}

func whereText(f Finding) string {
	if len(f.Where) == 0 {
		return ""
	}
	return " at " + f.Where.Key()
}

// difference writes an effect in the forms that readers mix up.
func difference(f Finding) string {
	if f.Low == f.High && f.Effect == f.Low && (f.Scale == "ratio" && f.Effect == 1 || f.Scale == "difference" && f.Effect == 0) {
		return "no difference"
	}
	if f.Scale == "difference" {
		text := fmt.Sprintf("a difference of %s", signed(f, f.Effect))
		if f.ImprovementPercent != nil {
			text += fmt.Sprintf(", %s %% of the base", plain(100*math.Abs(f.Effect/f.BaseValue)))
		}
		return text
	}
	d := decimals(f)
	percent := strings.TrimPrefix(fmt.Sprintf("%.*f", d, 100*(f.Effect-1)), "-")
	times := ratioText(f.Effect, d+2)
	word := "more"
	if f.Effect < 1 {
		word = "less"
	}
	switch {
	case isTime(f) && f.Effect < 1:
		return fmt.Sprintf("%s %% less time = %s as fast", percent, ratioText(1/f.Effect, d+2))
	case isTime(f):
		return fmt.Sprintf("%s %% more time = %s as long", percent, times)
	}
	return fmt.Sprintf("%s %% %s = %s", percent, word, times)
}

// isTime says whether less of the measure means faster, which is where "N %
// less" and "N times as fast" are mixed up.
func isTime(f Finding) bool {
	return f.Unit == "s" && f.Better == record.LowerIsBetter && f.Kind != Interaction
}

// decimals is how many decimals of a percentage the interval carries: two
// digits of its half-width.
func decimals(f Finding) int {
	half := 100 * (f.High - f.Low) / 2
	if !(half > 0) || math.IsInf(half, 0) {
		return 2
	}
	return min(max(1-int(math.Floor(math.Log10(half))), 0), 4)
}

// ratioText writes a ratio with so many decimals, or with three digits where they
// would say 0.00x or a row of digits that nobody measured.
func ratioText(v float64, decimals int) string {
	if v > 0 && v < math.Pow(10, 1-float64(decimals)) || v >= 1e6 {
		return strconv.FormatFloat(v, 'g', 3, 64) + "x"
	}
	return strconv.FormatFloat(v, 'f', decimals, 64) + "x"
}

// signed writes a difference. That of two percentages is in percentage points:
// "+1 %" could as well be a hundredth of the base.
func signed(f Finding, v float64) string {
	text := amount(f.Measure, f.Unit, v)
	if isFraction(f.Measure) {
		text = strings.TrimSuffix(text, "%") + "percentage points"
	}
	if v > 0 {
		return "+" + text
	}
	return text
}

// intervalText is the interval of a finding on its own scale.
func intervalText(f Finding) string {
	if f.N < 2 {
		if f.High > f.Low {
			return fmt.Sprintf("ratio between %s and %s by the printed digits, no repetition", plain4(f.Low), plain4(f.High))
		}
		return "one value a cell, no interval"
	}
	blocks := fmt.Sprintf("%d blocks", f.N)
	level := percentText(f.Level)
	if f.Scale == "difference" {
		return fmt.Sprintf("%s %% interval %s to %s, %s", level, signed(f, f.Low), signed(f, f.High), blocks)
	}
	d := decimals(f) + 2
	text := fmt.Sprintf("%s %% interval %s to %s, %s", level, ratioText(f.Low, d), ratioText(f.High, d), blocks)
	if isTime(f) && f.Effect < 1 {
		// The difference was said as a ratio of speeds.
		return fmt.Sprintf("ratio of times %s, %s", ratioText(f.Effect, d), text)
	}
	return text
}

// interactionText says how much one factor changes the effect of the other.
func interactionText(f Finding, title string) string {
	a, b, _ := strings.Cut(f.Factor, " x ")
	baseA, baseB, _ := strings.Cut(f.Base, ", ")
	newA, newB, _ := strings.Cut(f.Against, ", ")
	if f.Scale == "difference" {
		return fmt.Sprintf("%s: going from %s=%s to %s changes it by %s at %s=%s and by %s at %s=%s (base): a difference of %s",
			title, a, baseA, newA, signed(f, f.AgainstValue), b, newB, signed(f, f.BaseValue), b, baseB, signed(f, f.Effect))
	}
	return fmt.Sprintf("%s: going from %s=%s to %s multiplies it by %s at %s=%s and by %s at %s=%s (base): a ratio of ratios of %s",
		title, a, baseA, newA, plain4(f.AgainstValue), b, newB, plain4(f.BaseValue), b, baseB, plain4(f.Effect))
}

// verdictText is what the verdict means in words.
func verdictText(f Finding) string {
	margin := plain(100*f.Margin) + " %"
	switch f.Verdict {
	case Better, Worse:
		return ": " + string(f.Verdict)
	case Equivalent:
		return fmt.Sprintf(": equivalent, no difference of more than %s", margin)
	case Inconclusive:
		if f.Coarse != "" {
			return ": inconclusive, " + f.Coarse
		}
		return ": inconclusive" + neededText(f)
	case Invalid:
		return ": invalid, " + firstHard(f.Warnings)
	}
	return ""
}

// WorthRunning is the most blocks that a new run is advised to have. What needs
// more is not short of blocks: its noise is what to look at.
const WorthRunning = 500

// neededText says what a verdict would take.
func neededText(f Finding) string {
	switch {
	case f.NeededN <= 0:
		return ""
	case f.NeededN <= WorthRunning:
		return ", a new run needs " + blocksText(f.NeededN)
	}
	const text = ", a verdict would take more blocks than are worth running: "
	reach := reachOverMargin(f)
	switch {
	case f.Margin <= 0 || math.IsNaN(reach) || math.IsInf(reach, 0):
		return text + "the noise is far above the effect, and the validity gates may say where it comes from"
	case reach < 9.95:
		return text + fmt.Sprintf("the interval reaches %.1f times the margin to either side, and the validity gates may say where the noise comes from", reach)
	}
	return text + fmt.Sprintf("the interval reaches %.0f times the margin to either side, and the validity gates may say where the noise comes from", reach)
}

// reachOverMargin is how many times the margin an interval reaches to either side,
// on the scale on which it is symmetric.
func reachOverMargin(f Finding) float64 {
	if f.Scale == "difference" {
		return (f.High - f.Low) / 2 / (f.Margin * math.Abs(f.BaseValue))
	}
	return math.Log(f.High/f.Low) / 2 / math.Log1p(f.Margin)
}

func firstHard(ws []record.Warning) string {
	for _, w := range ws {
		if w.Severity == record.SeverityHard {
			return lowerFirst(gateNamed(w.Gate).title) + ": " + w.Found
		}
	}
	return "no value"
}
