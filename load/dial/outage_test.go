package dial

import "testing"

// TestOutage has three connections, of which two go down, one for good.
func TestOutage(t *testing.T) {
	const second = int64(1e9)
	var o Outage
	seconds := func(now int64) float64 { return o.Counts(now*second, 3)[2].Value }
	o.Begin(1 * second)
	o.Begin(3 * second)
	if got := seconds(4); got != (3.+1)/3 {
		t.Errorf("%g s on average at 4 s, want 4/3", got)
	}
	o.End(1*second, 6*second)
	if got := seconds(7); got != (5.+4)/3 {
		t.Errorf("%g s on average at 7 s, want 3", got)
	}
	if a, b := seconds(8), seconds(11); b-a < 0.999 || b-a > 1.001 {
		t.Errorf("one of three that is down for 3 s grows the mean by %g s", b-a)
	}
}
