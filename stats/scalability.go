package stats

import "math"

// Scalability is Gunther's universal scalability law: with n workers, x(n) =
// Rate n / (1 + Contention (n-1) + Coherency n (n-1)) (Guerrilla Capacity
// Planning, 2007).
type Scalability struct {
	Rate       float64 // of one worker
	Contention float64 // sigma: the share that has to wait for its turn, from 0
	Coherency  float64 // kappa: what each pair of workers costs in keeping in step, from 0
	Worst      float64 // the largest distance of a point from the curve, as a share of the curve
}

// FitScalability fits the law by least squares of the relative distances of n/x,
// which is linear in 1/Rate, Contention/Rate and Coherency/Rate; none of them is
// below 0. It is false with fewer than four points, or where n or x is not above
// 0.
func FitScalability(n, x []float64) (Scalability, bool) {
	if len(n) != len(x) || len(n) < 4 {
		return Scalability{}, false
	}
	rows := make([][]float64, len(n))
	for i := range n {
		if !(n[i] > 0) || !(x[i] > 0) {
			return Scalability{}, false
		}
		weight := x[i] / n[i] // 1 over what is fitted
		rows[i] = []float64{weight, weight * (n[i] - 1), weight * n[i] * (n[i] - 1)}
	}
	best, least := []float64(nil), math.Inf(1)
	for _, columns := range [][]int{{0, 1, 2}, {0, 1}, {0, 2}, {0}} {
		solution, squares, ok := onesBy(rows, columns)
		if ok && squares < least*(1-1e-12) {
			best, least = solution, squares
		}
	}
	if best == nil {
		return Scalability{}, false
	}
	s := Scalability{Rate: 1 / best[0], Contention: best[1] / best[0], Coherency: best[2] / best[0]}
	for i := range n {
		s.Worst = max(s.Worst, math.Abs(x[i]/s.At(n[i])-1))
	}
	return s, true
}

// At is the law at n workers.
func (s Scalability) At(n float64) float64 {
	return s.Rate * n / (1 + s.Contention*(n-1) + s.Coherency*n*(n-1))
}

// Peak is the number of workers with the most throughput; infinite without a
// cost of coherency.
func (s Scalability) Peak() float64 {
	return math.Sqrt(max(1-s.Contention, 0) / s.Coherency)
}

// onesBy solves rows x = 1 by least squares over the columns given, the others
// 0, with modified Gram-Schmidt. It is false where a solution is below 0, the
// first not above it, or the columns depend on one another.
func onesBy(rows [][]float64, columns []int) (solution []float64, squares float64, ok bool) {
	m, k := len(rows), len(columns)
	q := make([][]float64, k)
	r := make([][]float64, k)
	rest := make([]float64, m)
	for i := range rest {
		rest[i] = 1
	}
	projected := make([]float64, k)
	for j, c := range columns {
		v := make([]float64, m)
		for i := range v {
			v[i] = rows[i][c]
		}
		size := math.Sqrt(dot(v, v))
		r[j] = make([]float64, k)
		for p := range j {
			r[p][j] = dot(q[p], v)
			subtract(v, q[p], r[p][j])
		}
		if r[j][j] = math.Sqrt(dot(v, v)); !(r[j][j] > 1e-10*size) {
			return nil, 0, false
		}
		for i := range v {
			v[i] /= r[j][j]
		}
		q[j] = v
		projected[j] = dot(v, rest)
		subtract(rest, v, projected[j])
	}
	solution = make([]float64, 3)
	for j := k - 1; j >= 0; j-- {
		sum := projected[j]
		for p := j + 1; p < k; p++ {
			sum -= r[j][p] * solution[columns[p]]
		}
		if solution[columns[j]] = sum / r[j][j]; solution[columns[j]] < 0 {
			return nil, 0, false
		}
	}
	return solution, dot(rest, rest), solution[0] > 0
}

func dot(a, b []float64) float64 {
	return sumOf(len(a), func(i int) float64 { return a[i] * b[i] })
}

func subtract(v, q []float64, times float64) {
	for i := range v {
		v[i] -= times * q[i]
	}
}

// Jackknife is the t interval of an estimate from n independent blocks: leave
// gives the estimate without block i. Its standard error is that of the
// estimates with one block left out (Tukey, 1958).
func Jackknife(estimate float64, n int, leave func(i int) float64, alpha float64) Interval {
	if n < 2 {
		return Interval{math.NaN(), math.NaN()}
	}
	without := make([]float64, n)
	for i := range without {
		without[i] = leave(i)
	}
	mean := Mean(without)
	squares := sumOf(n, func(i int) float64 { return (without[i] - mean) * (without[i] - mean) })
	half := TQuantile(1-alpha/2, float64(n-1)) * math.Sqrt(squares*float64(n-1)/float64(n))
	return Interval{estimate - half, estimate + half}
}
