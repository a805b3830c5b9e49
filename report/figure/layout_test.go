package figure

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bakeoff/report/quantity"
)

func TestWrapFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := names().Draw(t, "text")
		width := rapid.Float64Range(40, 400).Draw(t, "width")
		lines := rapid.IntRange(1, 4).Draw(t, "lines")
		out, cut := wrap(s, textSize, width, lines)
		if len(out) > lines {
			t.Fatalf("%d lines of %d", len(out), lines)
		}
		for _, l := range out {
			if textWidth(l, textSize) > width+0.1 && len([]rune(l)) > 1 {
				t.Fatalf("%q is %.1f wide of %.1f", l, textWidth(l, textSize), width)
			}
		}
		squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if whole := squeeze(strings.Join(out, "")); !cut && whole != squeeze(s) {
			t.Fatalf("%q lost something: %q", s, whole)
		}
	})
}

func TestWrapKeepsTheEndOfLongNames(t *testing.T) {
	out, cut := wrap("drive=vendor-model-with-a-very-long-name, firmware=A7", textSize, 120, 2)
	if !cut || !strings.HasSuffix(out[1], "firmware=A7") || !strings.HasPrefix(out[1], "…") {
		t.Errorf("cut %v: %q", cut, out)
	}
	out, _ = wrap("server=redis, size=4 KiB", textSize, 150, 2)
	if len(out) != 2 || out[1] != "size=4 KiB" {
		t.Errorf("a number was parted from its unit: %q", out)
	}
}

func TestLinearTicks(t *testing.T) {
	for _, c := range []struct {
		from, to float64
		n        int
		want     []float64
	}{
		{0, 100, 5, []float64{0, 20, 40, 60, 80, 100}},
		{0, 97, 5, []float64{0, 20, 40, 60, 80}},
		{-1, 1, 4, []float64{-1, -0.5, 0, 0.5, 1}},
		{0.93, 1.31, 4, []float64{1, 1.1, 1.2, 1.3}},
	} {
		got, _ := linearTicks(c.from, c.to, c.n)
		if len(got) != len(c.want) {
			t.Errorf("%v to %v: %v, want %v", c.from, c.to, got, c.want)
			continue
		}
		for i := range got {
			if math.Abs(got[i]-c.want[i]) > 1e-9 {
				t.Errorf("%v to %v: %v, want %v", c.from, c.to, got, c.want)
			}
		}
	}
}

func TestLogTicks(t *testing.T) {
	for _, c := range []struct {
		from, to float64
		n        int
		want     string
	}{
		{1e-5, 1e-2, 10, "10 µs 20 µs 50 µs 100 µs 200 µs 500 µs 1 ms 2 ms 5 ms 10 ms"},
		{1e-5, 1e-2, 4, "10 µs 100 µs 1 ms 10 ms"},
		{1e-9, 1, 4, "1 ns 1 µs 1 ms 1 s"},
		{0.9e-3, 1.3e-3, 4, "900 µs 1 ms 1.1 ms 1.2 ms 1.3 ms"},
	} {
		var got []string
		for _, x := range labelled(logTicks(c.from, c.to, c.n), true, quantity.Scale{Factor: 1}, "s") {
			got = append(got, strings.ReplaceAll(x.text, quantity.Space, " "))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v to %v in %d: %q, want %q", c.from, c.to, c.n, strings.Join(got, " "), c.want)
		}
	}
}

// Ticks are round, inside the axis, in order, and as many as asked for or fewer.
func TestTicksProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.Float64Range(1e-9, 1e9).Draw(t, "from")
		to := from * rapid.Float64Range(1.0001, 1e9).Draw(t, "factor")
		n := rapid.IntRange(1, 12).Draw(t, "n")
		linear, _ := linearTicks(from, to, n)
		for name, ticks := range map[string][]float64{"linear": linear, "log": logTicks(from, to, n)} {
			if len(ticks) > 2*n+3 {
				t.Fatalf("%s: %d ticks where %d were asked for", name, len(ticks), n)
			}
			for i, v := range ticks {
				if v < from*(1-1e-6)-1e-12 || v > to*(1+1e-6) || i > 0 && v <= ticks[i-1] {
					t.Fatalf("%s: %v between %v and %v", name, ticks, from, to)
				}
			}
		}
	})
}

func TestSpread(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var labels []endLabel
		for range rapid.IntRange(1, 6).Draw(t, "n") {
			labels = append(labels, endLabel{from: rapid.Float64Range(0, 300).Draw(t, "from"), high: rapid.Float64Range(14, 36).Draw(t, "high")})
		}
		spread(labels, 0, 300)
		for i, l := range labels {
			if l.y-l.high/2 < -1e-6 || l.y+l.high/2 > 300+1e-6 {
				t.Fatalf("label %d at %.1f leaves the plot", i, l.y)
			}
			if i > 0 && labels[i-1].y+labels[i-1].high/2 > l.y-l.high/2+1e-6 {
				t.Fatalf("labels %d and %d overlap: %+v", i-1, i, labels)
			}
		}
	})
}

func TestReach(t *testing.T) {
	if reach, cut := Reach([]float64{0.1, 0.12, 0.11, 3}, 0.02); !cut || reach > 0.5 {
		t.Errorf("one wild interval sets the scale of all: %v, %v", reach, cut)
	}
	if reach, cut := Reach([]float64{0.1, 0.12}, 0.02); cut || reach < 0.12 {
		t.Errorf("intervals alike are cut: %v, %v", reach, cut)
	}
	if reach, _ := Reach(nil, 0); reach <= 0 {
		t.Errorf("no intervals: %v", reach)
	}
}
