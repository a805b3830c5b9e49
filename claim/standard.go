package claim

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"bakeoff/unit"
	"bakeoff/unit/limit"
)

// standard is a figure that a standard fixes, as the rate of a PCIe lane. Its
// parameters are whole numbers but for a link's rate.
type standard struct {
	name   string
	params map[string]Number
}

// standardNames lists what a claim of kind standard can name, with the
// parameters each takes.
func standardNames() map[string][]string {
	return map[string][]string{
		"pcie_lane":      {"generation"},
		"pcie_raw":       {"generation", "lanes"},
		"pcie_encoded":   {"generation", "lanes"},
		"pcie_effective": {"generation", "lanes"},
		"frame_rate":     {"link", "frame"},
	}
}

func (s standard) String() string {
	keys := make([]string, 0, len(s.params))
	for k := range s.params {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for i, k := range keys {
		keys[i] = k + " " + s.params[k].Text
	}
	return s.name + "(" + strings.Join(keys, ", ") + ")"
}

func (s standard) figures(*Figures, map[string]Number) error { return nil }

func (s standard) eval(*Figures, func(Number) unit.Interval) (quantity, error) {
	value, in, err := s.value()
	if err != nil {
		return quantity{}, err
	}
	u, err := unit.ParseUnit(in)
	if err != nil {
		return quantity{}, err
	}
	exact := new(big.Rat)
	if exact.SetFloat64(value) == nil {
		return quantity{}, fmt.Errorf("%s is not a finite number", s)
	}
	return quantity{unit.Exactly(exact), u}, nil
}

func (s standard) value() (float64, string, error) {
	if s.name == "frame_rate" {
		link, err := s.params["link"].Unit.In(bits())
		if err != nil {
			return 0, "", fmt.Errorf("link: %w", err)
		}
		rate, _ := link.Mul(link, s.params["link"].Value).Float64()
		frames, err := limit.FrameRate(rate, s.whole("frame"))
		return frames, "pps", err
	}
	l := limit.PCIeLink{Generation: s.whole("generation"), Lanes: 1}
	if _, has := s.params["lanes"]; has {
		l.Lanes = s.whole("lanes")
	}
	if err := l.Check(); err != nil {
		return 0, "", err
	}
	switch s.name {
	case "pcie_encoded":
		return l.Encoded(), "b/s", nil
	case "pcie_effective":
		return l.Effective(), "b/s", nil
	}
	return l.Raw(), "b/s", nil
}

func (s standard) whole(key string) int {
	n, _ := s.params[key].Value.Float64()
	return int(n)
}

func bits() unit.Unit {
	u, err := unit.ParseUnit("b/s")
	if err != nil {
		return unit.One()
	}
	return u
}

// standardMistakes tries the other generations of PCIe.
func standardMistakes(c Claim) (guesses []guess) {
	s, ok := c.expr.(standard)
	if _, has := s.params["generation"]; !ok || !has {
		return nil
	}
	for generation := 1; generation <= 6; generation++ {
		other := standard{s.name, map[string]Number{}}
		for k, v := range s.params {
			other.params[k] = v
		}
		other.params["generation"] = Number{Text: fmt.Sprint(generation), Value: big.NewRat(int64(generation), 1), Unit: unit.One()}
		guesses = append(guesses, guess{fmt.Sprintf("the value of another generation: of %d", generation), other, nil})
	}
	return guesses
}
