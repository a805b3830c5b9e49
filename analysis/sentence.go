package analysis

import (
	"fmt"
	"math"
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
	times := fmt.Sprintf("%.*fx", d+2, f.Effect)
	word := "more"
	if f.Effect < 1 {
		word = "less"
	}
	switch {
	case isTime(f) && f.Effect < 1:
		return fmt.Sprintf("%s %% less time = %.*fx as fast", percent, d+2, 1/f.Effect)
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

func signed(f Finding, v float64) string {
	text := amount(f.Measure, f.Unit, v)
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
	text := fmt.Sprintf("%s %% interval %.*fx to %.*fx, %s", level, d, f.Low, d, f.High, blocks)
	if isTime(f) && f.Effect < 1 {
		// The difference was said as a ratio of speeds.
		return fmt.Sprintf("ratio of times %.*fx, %s", d, f.Effect, text)
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
		text := ": inconclusive"
		if f.NeededN > 0 {
			text += ", a new run needs " + atLeast(f.NeededN)
		}
		return text
	case Invalid:
		return ": invalid, " + firstHard(f.Warnings)
	}
	return ""
}

func atLeast(n int) string {
	if n > 100000 {
		return "far more blocks than could be run"
	}
	return blocksText(n)
}

func firstHard(ws []record.Warning) string {
	for _, w := range ws {
		if w.Severity == record.SeverityHard {
			return lowerFirst(gateNamed(w.Gate).title) + ": " + w.Found
		}
	}
	return "no value"
}
