package stats

import "math"

// MaxN is what SteinN returns where no number of blocks worth naming would do.
const MaxN = math.MaxInt32

// SteinN is the number of blocks that Stein's second stage needs (Stein, Annals
// of Mathematical Statistics 16, 1945): the smallest n, not below pilotN, for
// which t sd/√n is at most halfWidth, where sd and df are the pilot's. Applied
// to log ratios, halfWidth is ln(1+u) for an interval of ± u.
//
// The interval at the end must use the same sd and df (TInterval): then it
// covers with exactly 1-alpha, although n depends on the data. A pilot without
// spread needs pilotN; a half-width that is not above zero, or a deviation that
// is not known, gives MaxN.
func SteinN(pilotSD, df, alpha, halfWidth float64, pilotN int) int {
	if pilotSD == 0 && halfWidth > 0 {
		return pilotN
	}
	root := TQuantile(1-alpha/2, df) * pilotSD / halfWidth
	n := math.Ceil(root * root)
	if !(halfWidth > 0) || !(n < MaxN) {
		return MaxN
	}
	return max(pilotN, int(n))
}
