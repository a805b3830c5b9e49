package olap

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"

	"bakeoff/engine/olap/population"
	"bakeoff/engine/olap/tpch"
	"bakeoff/load"
)

// role is what a virtual user does.
type role struct {
	number    int   // of the query stream: 0 is the power run's; -1: no queries
	refreshes []int // pairs of refresh functions, by number
	after     bool  // the power run
}

// roles lists the virtual users. The power run's pair of refresh functions is the
// first; those of the throughput run follow, in a stream of their own.
func (c *config) roles() (all []role) {
	next := 1
	if c.mode != "throughput" {
		r := role{}
		if c.refresh {
			r.refreshes = []int{next}
			next++
		}
		all = append(all, r)
	}
	if c.mode == "power" {
		return all
	}
	after := c.mode == "both"
	refresh := role{number: -1, after: after}
	for n := range c.streams {
		all = append(all, role{number: n + 1, after: after})
		refresh.refreshes = append(refresh.refreshes, next+n)
	}
	if c.refresh {
		all = append(all, refresh)
	}
	return all
}

// step is one operation of a stream.
type step struct {
	kind       uint8
	query      int // 0: a refresh function
	text       string
	parameters []string
	refresh    population.Refresh
}

// result is how a step ended.
type result struct {
	step
	begin, end int64 // of the measuring clock
	answer     tpch.Answer
	err        error
}

// stream is a virtual user: it runs its steps one after another.
type stream struct {
	session *session
	role    role
	steps   []step
	conn    *sql.Conn
	results []result
	closed  bool
}

func newStream(ctx context.Context, s *session, r role) (*stream, error) {
	st := &stream{session: s, role: r}
	if err := st.plan(); err != nil {
		return nil, err
	}
	var err error
	st.conn, err = s.db.Connect(ctx)
	return st, err
}

// plan lists the steps: the power run has its queries between its refresh
// functions, clause 5.3.3.
func (st *stream) plan() error {
	c := st.session.c
	for _, n := range st.role.refreshes {
		st.steps = append(st.steps, step{kind: kindRefresh1, refresh: c.population.Refresh(n)}, step{kind: kindRefresh2, refresh: c.population.Refresh(n)})
	}
	if st.role.number < 0 {
		return nil
	}
	var queries []step
	scale := c.population.Scale()
	parameters := tpch.Substitution(tpch.Seed(c.spec.Seed)+uint64(st.role.number), scale)
	for _, q := range tpch.Order(st.role.number) {
		if !slices.Contains(c.queries, q) {
			continue
		}
		p := step{kind: uint8(q - 1), query: q, parameters: parameters[q-1]}
		if c.validation {
			p.parameters = tpch.Validation(q, scale)
		}
		var err error
		if p.text, err = queryText(c, st.session.db.Dialect(), q, p.parameters); err != nil {
			return err
		}
		queries = append(queries, p)
	}
	middle := min(1, len(st.steps))
	st.steps = slices.Concat(st.steps[:middle], queries, st.steps[middle:])
	return nil
}

// queryText is a query's, with the degree of parallelism where it stands in the query.
func queryText(c *config, d tpch.Dialect, query int, parameters []string) (string, error) {
	text, err := tpch.Text(d, query, parameters)
	if d == tpch.SQLServer && c.database.Parallel > 0 {
		text += fmt.Sprintf("\noption (maxdop %d)", c.database.Parallel)
	}
	return text, err
}

// Wait waits for the power run where the stream comes after it.
func (st *stream) Wait(ctx context.Context) error {
	if !st.role.after {
		return nil
	}
	select {
	case <-st.session.powered:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Do runs the next step. A wrong answer is a failed operation; a connection that
// is lost fails the operation, and one that cannot be opened again ends the work.
func (st *stream) Do(ctx context.Context, op *load.Op) error {
	if len(st.results) == len(st.steps) {
		return load.ErrDone
	}
	p := st.steps[len(st.results)]
	op.Kind = p.kind
	r := result{step: p, begin: op.Sent}
	var fatal error
	if st.conn == nil {
		st.conn, fatal = st.session.db.Connect(ctx)
	}
	switch {
	case fatal != nil:
		r.err = fatal
	case p.query > 0:
		r.answer, r.err = st.ask(ctx, p)
	default:
		r.answer.Rows, r.err = st.change(ctx, p)
	}
	r.end = st.session.c.spec.Clock.Now()
	st.note(r)
	if r.err == nil {
		op.Items = uint32(r.answer.Rows)
		return nil
	}
	if ctx.Err() != nil { // the query was ended, and its connection with it
		st.drop()
		return ctx.Err()
	}
	if fatal == nil && st.lost(ctx) {
		st.drop()
	}
	op.Status, op.Err = load.Failed, r.err
	return fatal
}

// note keeps a result for the figures.
func (st *stream) note(r result) {
	st.session.mu.Lock()
	defer st.session.mu.Unlock()
	st.results = append(st.results, r)
}

// lost reports whether the connection no longer answers.
func (st *stream) lost(ctx context.Context) bool { return st.conn.PingContext(ctx) != nil }

func (st *stream) drop() {
	if st.conn != nil {
		// It is broken, so that database/sql does not use it again.
		_ = st.conn.Raw(func(any) error { return driver.ErrBadConn })
		_ = st.conn.Close()
	}
	st.conn = nil
}

// ask runs a query and judges its answer.
func (st *stream) ask(ctx context.Context, p step) (tpch.Answer, error) {
	a, err := answer(ctx, st.conn, p.query, p.text)
	if err != nil {
		return a, err
	}
	if right, ok := tpch.Right(p.query, st.session.c.population.Scale()); ok && st.session.c.validation {
		return a, a.Same(p.query, right)
	}
	return a, nil
}

// answer runs a query and reads its answer.
func answer(ctx context.Context, q querier, query int, text string) (tpch.Answer, error) {
	rows, err := q.QueryContext(ctx, text)
	if err != nil {
		return tpch.Answer{}, fmt.Errorf("query %d: %w", query, err)
	}
	defer rows.Close()
	r := tpch.NewReader(query)
	for rows.Next() {
		values, err := scan(rows)
		if err != nil {
			return tpch.Answer{}, fmt.Errorf("query %d: reading the answer: %w", query, err)
		}
		if err := r.Row(values); err != nil {
			return tpch.Answer{}, err
		}
	}
	if err := rows.Err(); err != nil {
		return tpch.Answer{}, fmt.Errorf("query %d: reading the answer: %w", query, err)
	}
	return r.Answer()
}

// Close ends the stream; those that wait for the power run may begin.
func (st *stream) Close() error {
	if st.closed {
		return nil
	}
	st.closed = true
	if st.session.powered != nil && !st.role.after {
		close(st.session.powered)
	}
	if st.conn == nil {
		return nil
	}
	err := st.conn.Close()
	st.conn = nil
	if errors.Is(err, sql.ErrConnDone) {
		return nil
	}
	return err
}
