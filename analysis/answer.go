package analysis

import (
	"fmt"
	"strings"
)

// Bounds of the answer: it is read before anything else.
const (
	answerIntervals = 4 // comparisons that are told with their intervals; of more, the differences alone
	answerNames     = 6 // comparisons of one verdict that are named
)

// Answer is the report's first line: the one verdict with its interval, or how
// many there are of each kind, with the comparisons that they are on.
func Answer(r *Result) string {
	var primary []Finding
	by := map[Verdict][]Finding{}
	for _, f := range r.Findings {
		if f.Primary {
			primary = append(primary, f)
			by[f.Verdict] = append(by[f.Verdict], f)
		}
	}
	switch len(primary) {
	case 0:
		return answerWithout(r)
	case 1:
		return answerOne(primary[0])
	}
	var counts, parts []string
	for _, v := range []Verdict{Better, Worse, Equivalent, Inconclusive, Invalid, Descriptive} {
		if len(by[v]) == 0 {
			continue
		}
		counts = append(counts, fmt.Sprintf("%d %s", len(by[v]), verdictWord(v)))
		parts = append(parts, verdictNames(v, by[v], len(primary) <= answerIntervals))
	}
	return fmt.Sprintf("Of %d comparisons: %s. %s", len(primary), strings.Join(counts, ", "), strings.Join(parts, " "))
}

// answerOne says the verdict first, in plain words, and then what it rests on.
func answerOne(f Finding) string {
	if f.Verdict == Descriptive {
		return f.Sentence
	}
	return title(string(f.Verdict)) + ": " + f.Sentence
}

// verdictWord is a verdict as people say it.
func verdictWord(v Verdict) string {
	if v == Descriptive {
		return "without a verdict"
	}
	return string(v)
}

func title(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// verdictNames names the comparisons of one verdict.
func verdictNames(v Verdict, of []Finding, intervals bool) string {
	var names []string
	for _, f := range of[:min(len(of), answerNames)] {
		name := comparisonName(f)
		if f.N > 0 && f.Kind != Interaction {
			name += ", " + difference(f)
		}
		if f.N > 0 && intervals {
			name += " (" + intervalText(f) + ")"
		}
		names = append(names, name)
	}
	text := title(verdictWord(v)) + ": " + strings.Join(names, "; ")
	if more := len(of) - len(names); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text + "."
}

// comparisonName says what is compared, on which measure.
func comparisonName(f Finding) string {
	name := lowerFirst(describe(f.Measure, f.Unit).title)
	if f.Workload != "" {
		name = f.Workload + ": " + name
	}
	if f.Kind == Interaction {
		return name + ", " + f.Factor + " (" + f.Against + " against " + f.Base + ")" + whereText(f)
	}
	return name + " with " + sideName(f, f.Against) + " against " + f.Base + whereText(f)
}
