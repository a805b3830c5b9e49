package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"bakeoff/record"
	"bakeoff/stats"
)

// The numbers of a peak search. docs/plan.md says what they do.
const (
	peakWithin     = 0.01 // of the smoothed best: the peak is the smallest load that comes so near
	peakDoubt      = 0.10 // the most that noise between trials may add to it
	searchStep     = 1.1  // two neighbouring loads around the peak are at most this ratio apart
	searchEdge     = 1.04 // and those on both sides of a limit, where the value may still rise with the load
	searchSlightly = 0.95 // of the best: two doublings in a row below it end the doubling
	searchFar      = 0.75 // of the best: one doubling below it does
	searchConfirm  = 3    // trials of the peak and of the best load
	searchTrials   = 40   // of one cell, where the plan does not say
)

// A Search is what a peak search has found out about one cell so far.
type Search struct {
	Cell  record.Cell
	Loads []SearchedLoad // rising
	// Peak is the load at which the cell is measured in blocks: the smallest
	// within 1 % of Best. It is 0 until the search is done.
	Peak int64
	Best float64 // the most of the smoothed curve under the caps
	// Limit is the smallest load that exceeded a cap or could not be run; 0
	// where all of those searched were well.
	Limit int64
	// Exhausted is true where the search ended at its most trials.
	Exhausted bool
}

// A SearchedLoad is one load of a peak search.
type SearchedLoad struct {
	Load   int64
	Trials []record.TrialID // that are complete
	Values []float64        // of Peak.Measure, one a trial
	Caps   [][]float64      // of each of Peak.Caps, one a trial
	Tries  int              // trials of it, those that were interrupted left out
	Failed string           // why it could not be run, "" where it could
	// Smoothed is the value of the curve with one peak that is nearest to all
	// values (stats.Unimodal); NaN from Search.Limit on.
	Smoothed float64
	// SmoothedCaps are those of each cap's measure: the nearest curve that
	// never falls.
	SmoothedCaps []float64
}

// Mean is the mean of the load's trials.
func (l SearchedLoad) Mean() float64 { return stats.Mean(l.Values) }

// Searches returns what the peak search found in every cell that it has come
// to, in the order in which it takes them; none for a plan without a search.
func Searches(p *Plan, outcomes []Outcome) ([]Search, error) {
	h, err := replay(p, outcomes)
	if err != nil {
		return nil, err
	}
	return h.searches, nil
}

// At is the load of a trial as the plan writes it, "" without a peak search.
func (s Search) At() string {
	if s.Peak == 0 {
		return ""
	}
	return loadText(s.Peak)
}

func loadText(load int64) string { return fmt.Sprint(load) }

// next returns the load that the search tries next; false where it is done.
// It goes by the outcomes so far alone. It doubles the load until the value has
// fallen or a limit is met, then halves the gaps beside the best load and below
// the peak, and last repeats the loads that the peak rests on.
func (s *Search) next(p *Peak, retries int) (int64, bool) {
	s.smooth(p)
	if retry, due := s.retry(retries); due {
		return retry, true
	}
	tries := 0
	for _, l := range s.Loads {
		tries += l.Tries
	}
	for _, step := range []func(*Peak) (int64, bool){s.double, s.refine, s.confirm} {
		if load, more := step(p); more {
			s.Exhausted = tries >= p.Trials
			return load, !s.Exhausted
		}
	}
	return 0, false
}

// retry asks for the load again that could not be run.
func (s *Search) retry(retries int) (int64, bool) {
	for _, l := range s.Loads {
		if len(l.Values) == 0 && l.Tries <= retries {
			return l.Load, true
		}
	}
	return 0, false
}

// double goes up from the smallest load in steps of two, until the value has
// fallen, a limit is met, or the range ends.
func (s *Search) double(p *Peak) (int64, bool) {
	load, means := p.From, []float64(nil)
	for l := s.at(load); l != nil; l = s.at(load) {
		if load == p.To || s.Limit > 0 && load >= s.Limit {
			return 0, false
		}
		means = append(means, l.Mean())
		load = min(2*load, p.To)
	}
	best, n := s.bestMean(), len(means)
	fallen := n > 0 && means[n-1] < searchFar*best ||
		n > 1 && max(means[n-1], means[n-2]) < searchSlightly*best
	return load, !fallen
}

// bestMean is the largest mean below the limit.
func (s *Search) bestMean() float64 {
	best := 0.0
	for _, l := range s.below() {
		best = max(best, l.Mean())
	}
	return best
}

func (s *Search) at(load int64) *SearchedLoad {
	for i := range s.Loads {
		if s.Loads[i].Load == load {
			return &s.Loads[i]
		}
	}
	return nil
}

// below are the loads below the limit.
func (s *Search) below() []SearchedLoad {
	n := len(s.Loads)
	if s.Limit > 0 {
		n = slices.IndexFunc(s.Loads, func(l SearchedLoad) bool { return l.Load >= s.Limit })
	}
	return s.Loads[:n]
}

// refine halves the widest gap that could hide a better load or a smaller one
// as good: on both sides of the best loads, and below the peak.
func (s *Search) refine(*Peak) (int64, bool) {
	first, last := s.top()
	peak := s.peak()
	if peak < 0 {
		return 0, false
	}
	var widest float64
	var load int64
	for _, right := range []int{peak, first, last + 1} {
		if right <= 0 || right >= len(s.Loads) {
			continue
		}
		a, b := s.Loads[right-1].Load, s.Loads[right].Load
		ratio := float64(b) / float64(a)
		middle := int64(math.Round(math.Sqrt(float64(a) * float64(b))))
		step := searchStep
		if b == s.Limit {
			step = searchEdge
		}
		if ratio > max(step, widest) && middle > a && middle < b {
			widest, load = ratio, middle
		}
	}
	return load, load > 0
}

// confirm repeats the best load, the peak, and what smaller loads may be as
// good, so that no single lucky trial stands for them.
func (s *Search) confirm(*Peak) (int64, bool) {
	first, _ := s.top()
	peak := s.peak()
	if peak < 0 {
		return 0, false
	}
	for _, i := range []int{first, peak} {
		if len(s.Loads[i].Values) < searchConfirm {
			return s.Loads[i].Load, true
		}
	}
	for _, l := range s.Loads[:peak] {
		if len(l.Values) < searchConfirm && l.Smoothed >= (1-peakWithin-2*s.doubt(l))*s.Best {
			return l.Load, true
		}
	}
	return 0, false
}

// doubt is the standard error of the share by which a load falls short of the
// best one, from the spread between trials of one load; 0 where fewer than two
// degrees of freedom tell.
func (s *Search) doubt(l SearchedLoad) float64 {
	squares, df := 0.0, 0
	for _, of := range s.below() {
		for _, v := range of.Values {
			d := v/of.Mean() - 1
			squares += d * d
		}
		df += len(of.Values) - 1
	}
	first, _ := s.top()
	if df < 2 || first < 0 || math.IsNaN(squares) {
		return 0
	}
	return math.Sqrt(squares / float64(df) * (1/float64(len(l.Values)) + 1/float64(len(s.Loads[first].Values))))
}

// nearly makes up for the last digits of sums that were taken in another order.
const nearly = 1 - 1e-12

// top is the range of the best loads of the smoothed curve; -1 for none.
func (s *Search) top() (first, last int) {
	first, last = -1, -1
	for i, l := range s.below() {
		if l.Smoothed >= s.Best*nearly {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	return first, last
}

// peak is the smallest load within peakWithin of the best, or as near as trials
// can tell; -1 for none.
func (s *Search) peak() int {
	return slices.IndexFunc(s.below(), func(l SearchedLoad) bool {
		return l.Smoothed >= (1-max(peakWithin, min(s.doubt(l), peakDoubt)))*s.Best*nearly
	})
}

// smooth fits the curves and finds the limit.
func (s *Search) smooth(p *Peak) {
	s.Limit, s.Best = 0, 0
	for i := range s.Loads {
		s.Loads[i].Smoothed, s.Loads[i].SmoothedCaps = math.NaN(), nil
	}
	s.smoothCaps(p)
	for _, l := range s.Loads {
		exceeds := false
		for k, c := range p.Caps {
			exceeds = exceeds || len(l.Values) > 0 && l.SmoothedCaps[k] > c.Most
		}
		if exceeds || len(l.Values) == 0 {
			s.Limit = l.Load
			break
		}
	}
	well := s.below()
	means, weights := curveOf(well, func(l SearchedLoad) []float64 { return l.Values })
	for i, v := range stats.Unimodal(means, weights) {
		well[i].Smoothed = v
		s.Best = max(s.Best, v)
	}
}

func (s *Search) smoothCaps(p *Peak) {
	ran := slices.DeleteFunc(slices.Clone(s.Loads), func(l SearchedLoad) bool { return len(l.Values) == 0 })
	for k := range p.Caps {
		means, weights := curveOf(ran, func(l SearchedLoad) []float64 { return l.Caps[k] })
		for i, v := range stats.Isotonic(means, weights) {
			l := s.at(ran[i].Load)
			l.SmoothedCaps = append(l.SmoothedCaps, v)
		}
	}
}

// curveOf is the mean of each load's trials, and their number.
func curveOf(loads []SearchedLoad, values func(SearchedLoad) []float64) (means, weights []float64) {
	for _, l := range loads {
		v := values(l)
		means, weights = append(means, stats.Mean(v)), append(weights, float64(len(v)))
	}
	return means, weights
}

// note adds the outcome of a trial at a load.
func (s *Search) note(p *Peak, load int64, o Outcome) error {
	l := s.at(load)
	if l == nil {
		i, _ := slices.BinarySearchFunc(s.Loads, load, func(l SearchedLoad, load int64) int { return cmp.Compare(l.Load, load) })
		s.Loads = slices.Insert(s.Loads, i, SearchedLoad{Load: load, Caps: make([][]float64, len(p.Caps))})
		l = &s.Loads[i]
	}
	l.Tries++
	if o.Status != record.StatusComplete {
		if len(l.Values) == 0 {
			l.Failed = o.Reason
		}
		return nil
	}
	v, err := p.value(o)
	if err != nil {
		return err
	}
	l.Failed = ""
	l.Trials, l.Values = append(l.Trials, o.Trial.ID), append(l.Values, v)
	for k, c := range p.Caps {
		worst, ok := p.most(o, c.Measure)
		if !ok {
			return &GivenUpError{Cell: s.Cell, Attempts: l.Tries, Reason: fmt.Sprintf("trial %s at a load of %d has no %s, which the peak search has a cap for", o.Trial.ID, load, c.Measure)}
		}
		l.Caps[k] = append(l.Caps[k], worst)
	}
	return nil
}

// value is the sum of the searched workloads' values in one trial.
func (p *Peak) value(o Outcome) (float64, error) {
	sum, found := 0.0, false
	for _, v := range o.Values {
		if v.Measure == p.Measure && (v.Workload == "" || p.Concerns(v.Workload)) {
			sum, found = sum+v.Value, true
		}
	}
	if !found {
		return 0, &GivenUpError{Cell: o.Trial.Cell, Attempts: 1, Reason: fmt.Sprintf("trial %s has no %s, which the peak search looks at", o.Trial.ID, p.Measure)}
	}
	return sum, nil
}

// most is the largest of the searched workloads' values in one trial.
func (p *Peak) most(o Outcome, measure string) (float64, bool) {
	worst, found := math.Inf(-1), false
	for _, v := range o.Values {
		if v.Measure == measure && (v.Workload == "" || p.Concerns(v.Workload)) {
			worst, found = max(worst, v.Value), true
		}
	}
	return worst, found
}

// settle ends the search, or says why it has no peak.
func (s *Search) settle(p *Peak) error {
	i := s.peak()
	if i >= 0 {
		s.Peak = s.Loads[i].Load
		return nil
	}
	first := s.Loads[0]
	why := first.Failed
	for k, c := range p.Caps {
		if len(first.Values) > 0 && first.SmoothedCaps[k] > c.Most {
			why = fmt.Sprintf("%s is %.4g there, above the cap of %s: search from less, or raise the cap", c.Measure, first.SmoothedCaps[k], c.Text)
		}
	}
	return &GivenUpError{Cell: s.Cell, Attempts: first.Tries, Reason: fmt.Sprintf("not even the smallest load of the peak search, %d: %s", first.Load, why)}
}
