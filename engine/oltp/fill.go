package oltp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"bakeoff/engine/oltp/tpcc"
)

// loading is what was loaded.
type loading struct {
	rows    int64
	seconds float64
	whole   bool // not the rest of a load that was broken off, whose figures are of no load
}

// load loads the data set, or what is missing of it.
func (s *session) load(ctx context.Context, st state) error {
	start := s.config.Clock.Now()
	tables := tpcc.Tables()
	if !st.resume {
		if err := s.db.Create(ctx, tables); err != nil {
			return fmt.Errorf("creating the tables: %w", err)
		}
		if err := s.db.Exec(ctx, setMark(markIdentity, identity(s.config.Data))); err != nil {
			return fmt.Errorf("noting what is to be loaded: %w", err)
		}
	}
	var missing, there []tpcc.Chunk
	for _, c := range s.config.Data.Chunks() {
		if _, ok := st.marks[chunkMark(c)]; ok {
			there = append(there, c)
		} else {
			missing = append(missing, c)
		}
	}
	rows, err := s.fill(ctx, missing)
	if err != nil {
		return fmt.Errorf("loading (begin again, and it goes on from here): %w", err)
	}
	if err := s.db.Finish(ctx, tables); err != nil {
		return fmt.Errorf("making indexes: %w", err)
	}
	s.loaded = &loading{rows, float64(s.config.Clock.Now()-start) / 1e9, len(there) == 0}
	return s.seal(ctx, there)
}

// fill loads chunks, several at a time, and returns how many rows they have by
// the rules.
func (s *session) fill(ctx context.Context, chunks []tpcc.Chunk) (int64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all, done atomic.Int64
	for _, c := range chunks {
		all.Add(c.MeanRows())
	}
	work := make(chan tpcc.Chunk)
	news := make(chan struct{}, 1)
	var loaders sync.WaitGroup
	for range min(s.db.Loaders(s.loaders), max(len(chunks), 1)) {
		loaders.Go(func() {
			for c := range work {
				if err := s.db.Load(ctx, c); err != nil {
					cancel(err)
					return
				}
				done.Add(c.MeanRows())
				select {
				case news <- struct{}{}:
				default:
				}
			}
		})
	}
	for i := 0; i < len(chunks) && ctx.Err() == nil; {
		select {
		case work <- chunks[i]:
			i++
		case <-news:
			s.tell(float64(done.Load()) / float64(all.Load()))
		case <-ctx.Done():
		}
	}
	close(work)
	loaders.Wait()
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	s.tell(1)
	return done.Load(), nil
}

func (s *session) tell(fraction float64) {
	if s.progress != nil {
		s.progress(fraction)
	}
}

// seal compares what the database holds with what the rules say, and notes that
// the load is finished.
func (s *session) seal(ctx context.Context, earlier []tpcc.Chunk) error {
	d := s.config.Data
	for _, c := range earlier { // of a load before this one
		if err := d.Write(c, tpcc.Nowhere{}); err != nil {
			return err
		}
	}
	marks, err := s.marks(ctx)
	if err != nil {
		return err
	}
	var notes []string
	var faults []error
	for id := range tpcc.TableCount {
		found, err := s.sums(ctx, id)
		if err != nil {
			return err
		}
		wanted := d.Tally.Sums(id)
		if sumsText(found) != sumsText(wanted) {
			faults = append(faults, fmt.Errorf("table %s: found rows and sums %s, expected %s", id, sumsText(found), sumsText(wanted)))
		}
		if _, noted := marks[markSums+id.String()]; !noted {
			notes = append(notes, setMark(markSums+id.String(), sumsText(found)))
		}
	}
	if len(faults) > 0 {
		return fmt.Errorf("the database does not hold what was loaded; give replace: true to load it again: %w", errors.Join(faults...))
	}
	notes = append(notes, setMark(markFinished, d.Tally.Fingerprint(identity(d))))
	if err := s.db.Exec(ctx, notes...); err != nil {
		return fmt.Errorf("noting that the load is finished: %w", err)
	}
	return nil
}
