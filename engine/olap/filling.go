package olap

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"bakeoff/engine/olap/population"
	"bakeoff/engine/olap/tpch"
)

// piece is one step of a load that is done whole or not at all: a chunk of
// rows, or an index.
type piece struct {
	name   string // in the mark table
	weight int64  // for the progress, in rows
	// rows of a table:
	table        population.Table
	first, count int64 // units
	// or a statement:
	statement string
}

// The rows of a chunk: few enough for a load to be shared out evenly, and for
// little to be lost when it is cut off; many enough for a database to pack them well.
const (
	minChunk  = 20_000
	maxChunk  = 1_000_000
	fewChunks = 16
	rowsAtOne = 8_660_000 // of all tables, at scale factor 1
)

// chunks cuts all tables into chunks, those of the largest tables first.
func chunks(p *population.Population) (all []piece) {
	perUnit := map[population.Table]int64{population.PartSupp: 4, population.LineItem: 4}
	size := min(maxChunk, max(minChunk, int64(p.Scale()*rowsAtOne)/fewChunks))
	tables := population.Tables()
	for i := range tables {
		t := tables[len(tables)-1-i]
		each := max(1, perUnit[t])
		step := max(1, size/each)
		for first := int64(1); first <= p.Units(t); first += step {
			count := min(step, p.Units(t)-first+1)
			all = append(all, piece{name: fmt.Sprintf("%s%s.%d", markChunk, t, first), weight: count * each, table: t, first: first, count: count})
		}
	}
	return all
}

// indexes are the statements that follow on the rows.
func indexes(d tpch.Dialect, p *population.Population) (all []piece) {
	tables := population.Tables()
	for i := range tables {
		t := tables[len(tables)-1-i]
		for n, s := range tpch.Indexes(d, t) {
			all = append(all, piece{name: fmt.Sprintf("%s%s.%d", markIndex, t, n), weight: p.Units(t)/2 + 1, statement: s})
		}
	}
	return all
}

// filling is a load under way.
type filling struct {
	*session
	done  atomic.Int64 // weight
	total int64
}

// fill loads what the mark says is missing, and marks the data set as clean.
func (s *session) fill(ctx context.Context, progress func(float64)) error {
	conn, err := s.db.Connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	m, err := readMark(ctx, conn)
	if err != nil {
		return err
	}
	f := &filling{session: s}
	rows, keys := chunks(s.c.population), indexes(s.db.Dialect(), s.c.population)
	for _, p := range append(rows, keys...) {
		f.total += p.weight
	}
	for _, pieces := range [][]piece{rows, keys} {
		var missing []piece
		for _, p := range pieces {
			if _, there := m[p.name]; there {
				f.done.Add(p.weight)
				continue
			}
			missing = append(missing, p)
		}
		if err := f.all(ctx, missing, progress); err != nil {
			return err
		}
	}
	if err := s.db.Analyze(ctx); err != nil {
		return fmt.Errorf("gathering statistics: %w", err)
	}
	return s.finish(ctx, conn)
}

// finish puts each table's sums together and marks the data set as clean.
func (s *session) finish(ctx context.Context, conn *sql.Conn) error {
	m, err := readMark(ctx, conn)
	if err != nil {
		return err
	}
	for _, t := range population.Tables() {
		sums, err := m.sums(t)
		if err != nil {
			return err
		}
		if err := setMark(ctx, conn, markSums+t.String(), sums.String()); err != nil {
			return err
		}
	}
	return setMark(ctx, conn, markState, stateClean)
}

// watchInterval is how often progress is told.
const watchInterval = 200 * time.Millisecond

// all does pieces on several connections at once, until one fails.
func (f *filling) all(ctx context.Context, pieces []piece, progress func(float64)) error {
	wish := f.c.loaders
	if wish == 0 {
		wish = runtime.GOMAXPROCS(0)
	}
	loaders := min(max(1, f.db.Loaders(wish)), max(1, len(pieces)))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	queue := make(chan piece, len(pieces))
	for _, p := range pieces {
		queue <- p
	}
	close(queue)
	errs := make([]error, loaders)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			if errs[i] = f.work(ctx, queue); errs[i] != nil {
				cancel(errs[i])
			}
		})
	}
	done := make(chan struct{})
	go func() {
		all.Wait()
		close(done)
	}()
	f.watch(done, progress)
	return firstCause(errs)
}

// firstCause leaves out what failed only because something else did.
func firstCause(errs []error) error {
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return errors.Join(errs...)
}

func (f *filling) watch(done <-chan struct{}, progress func(float64)) {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			if progress != nil {
				progress(float64(f.done.Load()) / float64(f.total))
			}
		}
	}
}

// work does pieces of the queue on a connection of its own.
func (f *filling) work(ctx context.Context, queue <-chan piece) error {
	conn, err := f.db.Connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	for p := range queue {
		if err := ctx.Err(); err != nil {
			return err
		}
		what := "executing " + p.statement
		do := f.index
		if p.statement == "" {
			what, do = fmt.Sprintf("loading %s, units %d to %d", p.table, p.first, p.first+p.count-1), f.chunk
		}
		if err := do(ctx, conn, p); err != nil {
			return fmt.Errorf("%s: %w (what is loaded stays; run it again to go on)", what, err)
		}
	}
	return nil
}

// chunk inserts rows and their sums in one transaction.
func (f *filling) chunk(ctx context.Context, conn *sql.Conn, p piece) error {
	rows := &summedRows{rows: f.c.population.Stream(p.table, p.first, p.count), each: p.weight / p.count, done: &f.done}
	err := inTransaction(ctx, conn, func() error {
		if err := f.db.Copy(ctx, conn, p.table, rows); err != nil {
			return err
		}
		return addMark(ctx, conn, p.name, rows.sums.Sums().String())
	})
	f.done.Add(p.weight - rows.told)
	return err
}

// index executes a statement that may have been executed before, where the mark
// was lost.
func (f *filling) index(ctx context.Context, conn *sql.Conn, p piece) error {
	if _, err := conn.ExecContext(ctx, p.statement); err != nil && !f.db.AlreadyThere(err) {
		return err
	}
	f.done.Add(p.weight)
	return addMark(ctx, conn, p.name, "done")
}

// inTransaction does something in one transaction of a connection.
func inTransaction(ctx context.Context, conn *sql.Conn, do func() error) error {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(); err != nil {
		return errors.Join(err, ignoreDone(tx.Rollback()))
	}
	return tx.Commit()
}

// ignoreDone leaves out that a transaction had ended by itself, as it does when
// its context or its connection does.
func ignoreDone(err error) error {
	if err == nil || errors.Is(err, sql.ErrTxDone) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// summedRows sums the rows that it passes on, and tells how many there were.
type summedRows struct {
	rows Rows
	sums *tpch.Summing
	each int64         // rows a unit
	told int64         // rows
	done *atomic.Int64 // rows, of the whole load
}

// Next passes on the next unit.
func (r *summedRows) Next(e population.Encoder) bool {
	if r.sums == nil {
		r.sums = tpch.NewSumming(e)
	}
	r.sums.Encoder = e
	more := r.rows.Next(r.sums)
	if more {
		r.told += r.each
		r.done.Add(r.each)
	}
	return more
}
