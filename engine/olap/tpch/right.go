package tpch

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// AnswersVersion changes with what answers are compared.
const AnswersVersion = "1"

//go:embed answers.txt
var rightAnswers string

// KnownScales are the scale factors for which the right answers are known.
func KnownScales() []float64 { return []float64{0.01, 0.1, 1} }

// Known reports whether the right answers are known for a scale factor.
func Known(scale float64) bool { return slices.Contains(KnownScales(), scale) }

// Right returns the right answer to a query with its validation parameters, if
// it is known for the scale factor.
func Right(query int, scale float64) (Answer, bool) {
	prefix := fmt.Sprintf("%g %d ", scale, query)
	for line := range strings.Lines(rightAnswers) {
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			a, err := parseAnswer(strings.TrimSpace(rest))
			return a, err == nil
		}
	}
	return Answer{}, false
}

// String has the rows, the hash of what matches exactly and the sums.
func (a Answer) String() string {
	text := fmt.Sprintf("%d:%016x", a.Rows, a.Exact)
	for _, s := range a.Sums {
		text += ":" + strconv.FormatFloat(s, 'g', 15, 64)
	}
	return text
}

func parseAnswer(text string) (a Answer, err error) {
	fields := strings.Split(text, ":")
	if len(fields) < 2 {
		return a, fmt.Errorf("found %q, expected an answer", text)
	}
	if a.Rows, err = strconv.Atoi(fields[0]); err != nil {
		return a, err
	}
	if a.Exact, err = strconv.ParseUint(fields[1], 16, 64); err != nil {
		return a, err
	}
	for _, f := range fields[2:] {
		v, err := strconv.ParseFloat(f, 64)
		if err != nil {
			return a, err
		}
		a.Sums = append(a.Sums, v)
	}
	return a, nil
}
