package figure

import (
	"math"
	"strconv"
	"testing"
)

// luminance is the relative luminance of WCAG 2.2.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	var l float64
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatalf("%s is not a colour: %v", hex, err)
		}
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		l += weight * c
	}
	return l
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (math.Max(x, y) + 0.05) / (math.Min(x, y) + 0.05)
}

// WCAG 2.2 level AA: 4.5 for text (1.4.3), 3 for what must be seen in a figure
// (1.4.11), on every ground that it stands on, in both schemes.
func TestContrast(t *testing.T) {
	for scheme, c := range map[string]Colours{"light": Light(), "dark": Dark()} {
		for _, ground := range []string{"paper", "wash", "band"} {
			for _, text := range []string{"ink", "muted", "link", "good", "bad", "same", "open", "void"} {
				if got := contrast(t, c[text], c[ground]); got < 4.5 {
					t.Errorf("%s: text in %s on %s has a contrast of %.2f; 4.5 is needed", scheme, text, ground, got)
				}
			}
			for _, mark := range []string{"c0", "c1", "c2", "c3", "c4", "c5", "edge"} {
				if got := contrast(t, c[mark], c[ground]); got < 3 {
					t.Errorf("%s: a mark in %s on %s has a contrast of %.2f; 3 is needed", scheme, mark, ground, got)
				}
			}
		}
	}
}

func TestSchemesHaveTheSameColours(t *testing.T) {
	for name := range Light() {
		if Dark()[name] == "" {
			t.Errorf("the dark scheme has no %s", name)
		}
	}
	if len(Light()) != len(Dark()) {
		t.Error("the schemes differ in their names")
	}
}
