package spelling

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNearest(t *testing.T) {
	names := []string{"pipeline", "pattern", "keys", "Rate"}
	for _, c := range []struct{ name, want string }{
		{"pipelin", "pipeline"}, {"pipelnie", "pipeline"}, {"patern", "pattern"}, {"kesy", "keys"}, {"RATE", "Rate"}, {"cheese", ""}, {"", ""},
		{strings.Repeat("keys", 50), ""},
	} {
		if got := Nearest(c.name, names); got != c.want {
			t.Errorf("Nearest(%q) = %q, want %q", c.name, got, c.want)
		}
	}
}

func TestDistanceIsAMetricNearZero(t *testing.T) {
	word := rapid.StringMatching(`[a-c]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		d := Distance(a, b)
		if d != Distance(b, a) || (d == 0) != (a == b) || d > max(len(a), len(b)) {
			t.Fatalf("distance of %q and %q is %d", a, b, d)
		}
	})
}
