// Package stats holds the numerics that verdicts rest on: means, t intervals,
// Stein's two-stage sample size, the exact signed-rank test, the BCa bootstrap
// and least squares. It imports nothing of bakeoff, keeps no state, and gives
// the same answer for the same input.
//
// Alpha is always two-sided: an interval at alpha 0.05 is a 95 % interval. What
// cannot be computed, such as the variance of one value, is NaN, never zero.
package stats
