package plan

import (
	"fmt"

	"bakeoff/record"
)

// maxTrials is how many trials a run can have: their ids have four digits.
const maxTrials = 9999

// Next returns the trial that follows the outcomes so far, or false where the
// run is done. It is pure and deterministic: a run that resumes replays its
// journal through it and goes on where it stopped.
//
// Block follows block. A trial that was interrupted is measured again at once.
// A trial that failed or is invalid ends its attempt of the block, and the whole
// block is tried again in a new order, at most Retries times; the last attempt
// is finished whatever happens. Trials with the role aa never cause a retry.
// Where the plan asks for a peak search, that of every cell comes first.
//
// An error means that the outcomes are not those of this plan, that a cell of
// the first block could not be measured at all (*GivenUpError), or that the
// run is full.
func Next(p *Plan, outcomes []Outcome) (Trial, bool, error) {
	h, err := replay(p, outcomes)
	if err != nil || h.next == nil {
		return Trial{}, false, err
	}
	if len(outcomes) >= maxTrials {
		return Trial{}, false, fmt.Errorf("the run is full: it has %d trials, counting repeated blocks; look at why so many were invalid", maxTrials)
	}
	h.next.ID = record.TrialID(fmt.Sprintf("%04d", len(outcomes)+1))
	return *h.next, true, nil
}

// Counted returns the trials that count for the verdicts and the noise floor:
// those of the last attempt of each block that are complete and not excluded.
func Counted(p *Plan, outcomes []Outcome) (map[record.TrialID]bool, error) {
	h, err := replay(p, outcomes)
	if err != nil {
		return nil, err
	}
	counted := map[record.TrialID]bool{}
	for _, b := range h.blocks {
		for _, o := range b {
			if o.counts() {
				counted[o.Trial.ID] = true
			}
		}
	}
	return counted, nil
}

func (o Outcome) counts() bool { return o.Status == record.StatusComplete && !o.Excluded }

// A GivenUpError says that a cell could not be measured in any attempt of the
// first block, so that more blocks would tell nothing.
type GivenUpError struct {
	Cell     record.Cell
	Attempts int
	Reason   string // of the last failure
}

// Error names the cell and the reason.
func (e *GivenUpError) Error() string {
	attempts := fmt.Sprintf("%d attempts", e.Attempts)
	if e.Attempts == 1 {
		attempts = "its one attempt"
	}
	return fmt.Sprintf("cell %q could not be measured in %s: %s; mend that and run the plan afresh", e.Cell.Key(), attempts, e.Reason)
}

// history is what a plan and outcomes make together.
type history struct {
	searches []Search
	blocks   [][]Outcome // the last attempt of each block, as far as it got
	next     *Trial
	decided  *Decision // by the pilot, once it is done
}

// replay walks through the plan along the outcomes.
func replay(p *Plan, outcomes []Outcome) (*history, error) {
	h := &history{}
	w := &walk{plan: p, rest: outcomes, measured: map[string]bool{}, peaks: map[string]string{}}
	if err := w.searches(h); err != nil || h.next != nil {
		return h, err
	}
	// An operator who excludes trials of the pilot later changes what it says;
	// blocks that were begun by then stay.
	for block := 1; h.wants(p, block) || p.Repeat.Pilot > 0 && w.begun(block); block++ {
		done, next, err := w.block(block)
		if err != nil {
			return nil, err
		}
		h.blocks = append(h.blocks, done)
		if next != nil {
			h.next = next
			return h, nil
		}
		if err := w.givenUp(block, done); err != nil {
			return nil, err
		}
	}
	if len(w.rest) > 0 {
		return nil, fmt.Errorf("trial %s comes after the end of the plan: the record belongs to another plan", w.rest[0].Trial.ID)
	}
	return h, nil
}

// walk consumes outcomes in the order that the plan prescribes.
type walk struct {
	plan     *Plan
	rest     []Outcome
	measured map[string]bool   // cells that were complete at least once
	peaks    map[string]string // a cell's load, where it was searched
}

// searches walks through the peak searches of all cells.
func (w *walk) searches(h *history) error {
	if w.plan.Peak == nil {
		return nil
	}
	for _, plot := range w.plan.plots() {
		for _, t := range plot {
			if t.Role != record.RoleMeasure {
				continue
			}
			s, next, err := w.search(t.Cell)
			h.searches, h.next = append(h.searches, s), next
			if err != nil || next != nil {
				return err
			}
			w.peaks[t.Cell.Key()] = s.At()
		}
	}
	return nil
}

// search walks through the peak search of one cell. It returns the trial that
// is due where the outcomes end before the search does.
func (w *walk) search(cell record.Cell) (Search, *Trial, error) {
	s := Search{Cell: cell}
	seed := newStream(w.plan.Seed, 0).next()
	for {
		load, more := s.next(w.plan.Peak, w.plan.Retries)
		if !more {
			return s, nil, s.settle(w.plan.Peak)
		}
		due := Trial{Role: record.RoleSearch, Attempt: 1, Cell: cell, At: loadText(load), Seed: seed}
		if l := s.at(load); l != nil {
			due.Attempt += l.Tries
		}
		o, ok, err := w.take(due)
		if err != nil || !ok {
			return s, &due, err
		}
		if err := s.note(w.plan.Peak, load, o); err != nil {
			return s, nil, err
		}
	}
}

// begun says whether the next outcome belongs to the block.
func (w *walk) begun(block int) bool {
	return len(w.rest) > 0 && w.rest[0].Trial.Block == block
}

// block walks through all attempts of a block. It returns the last attempt's
// outcomes and, where they end too early, the trial that is due.
func (w *walk) block(block int) (done []Outcome, next *Trial, err error) {
	for attempt := 1; attempt <= 1+w.plan.Retries; attempt++ {
		done, next, spoiled, err := w.attempt(block, attempt)
		if err != nil || next != nil || !spoiled || attempt == 1+w.plan.Retries {
			return done, next, err
		}
	}
	return nil, nil, nil
}

// attempt walks through one attempt of a block, up to the trial that spoils it
// where another attempt may follow.
func (w *walk) attempt(block, attempt int) (done []Outcome, next *Trial, spoiled bool, err error) {
	for _, due := range w.plan.blockOrder(block, attempt) {
		due.At = w.peaks[due.Cell.Key()]
		o, ok, err := w.take(due)
		if err != nil || !ok {
			return done, &due, spoiled, err
		}
		done = append(done, o)
		if due.Role == record.RoleMeasure && o.Status != record.StatusComplete {
			spoiled = true
			if attempt <= w.plan.Retries {
				return done, nil, true, nil
			}
		}
	}
	return done, nil, spoiled, nil
}

// take consumes the outcome of the trial that is due, and those before it
// that were interrupted. It is false where the trial is still to be run.
func (w *walk) take(due Trial) (Outcome, bool, error) {
	for len(w.rest) > 0 {
		o := w.rest[0]
		if !o.Trial.same(due) {
			return o, false, fmt.Errorf("trial %s is %s, but the plan asks for %s there: the record belongs to another plan or seed", o.Trial.ID, o.Trial, due)
		}
		w.rest = w.rest[1:]
		switch o.Status {
		case record.StatusInterrupted:
			continue
		case record.StatusComplete:
			w.measured[due.Cell.Key()] = w.measured[due.Cell.Key()] || due.Role != record.RoleSearch
			return o, true, nil
		case record.StatusInvalid, record.StatusFailed:
			return o, true, nil
		}
		return o, false, fmt.Errorf("trial %s has status %q: expected the status that it was measured with", o.Trial.ID, o.Status)
	}
	return Outcome{}, false, nil
}

// same says whether two trials are the same run of the same cell, whatever
// their ids.
func (t Trial) same(o Trial) bool {
	return t.Role == o.Role && t.Block == o.Block && t.Attempt == o.Attempt && t.At == o.At && t.Cell.Key() == o.Cell.Key()
}

// String names a trial by its place in the plan.
func (t Trial) String() string {
	if t.Role == record.RoleSearch {
		return fmt.Sprintf("cell %q (%s) at a load of %s, trial %d of it", t.Cell.Key(), t.Role, t.At, t.Attempt)
	}
	return fmt.Sprintf("cell %q (%s) in attempt %d of block %d", t.Cell.Key(), t.Role, t.Attempt, t.Block)
}

// givenUp reports a cell of the first block that failed in the last attempt and
// was complete in none.
func (w *walk) givenUp(block int, last []Outcome) error {
	if block != 1 {
		return nil
	}
	for _, o := range last {
		if o.Status == record.StatusFailed && o.Trial.Role == record.RoleMeasure && !w.measured[o.Trial.Cell.Key()] {
			return &GivenUpError{o.Trial.Cell, o.Trial.Attempt, o.Reason}
		}
	}
	return nil
}
