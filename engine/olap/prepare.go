package olap

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bakeoff/engine/olap/population"
	"bakeoff/engine/olap/tpch"
	"bakeoff/record"
)

// Prepare brings the data set to its starting state.
func (s *session) Prepare(ctx context.Context, progress func(float64)) (*record.DataSet, error) {
	set, err := s.prepare(ctx, progress)
	if err != nil {
		return nil, fmt.Errorf("engine olap: %w", err)
	}
	return set, nil
}

func (s *session) prepare(ctx context.Context, progress func(float64)) (*record.DataSet, error) {
	begin := s.c.spec.Clock.Now()
	if err := s.open(); err != nil {
		return nil, err
	}
	how, err := s.settle(ctx, progress)
	if err != nil {
		return nil, err
	}
	set, err := s.examine(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.validateOnce(ctx); err != nil {
		return nil, err
	}
	if err := s.allowRefreshes(ctx, set.Fingerprint); err != nil {
		return nil, err
	}
	set.Prepared = how
	set.Seconds = s.since(begin)
	if progress != nil {
		progress(1)
	}
	return set, nil
}

// since is how many seconds have passed on the measuring clock.
func (s *session) since(begin int64) float64 { return float64(s.c.spec.Clock.Now()-begin) / 1e9 }

func (s *session) scale() string {
	return strconv.FormatFloat(s.c.population.Scale(), 'f', -1, 64)
}

// settle loads, goes on loading, restores, or leaves what is there, and says which.
func (s *session) settle(ctx context.Context, progress func(float64)) (how string, err error) {
	if err := s.db.Create(ctx); err != nil {
		return "", err
	}
	state, err := s.state(ctx)
	if err != nil {
		return "", err
	}
	begin := s.c.spec.Clock.Now()
	switch {
	case state == "" || s.c.load == "always":
		if err := s.begin(ctx); err != nil {
			return "", err
		}
		fallthrough
	case state == stateLoading:
		if err := s.fill(ctx, progress); err != nil {
			return "", err
		}
		s.took("load_time", begin)
		return "loaded", nil
	case state == stateRefreshed:
		if err := s.restore(ctx, progress); err != nil {
			return "", fmt.Errorf("restoring the data after refreshes: %w", err)
		}
		s.took("restore_time", begin)
		return "restored", nil
	}
	return "kept", nil
}

// state says what is there: "" for nothing, or a state of the mark table. What
// the load may not touch or cannot use is an error.
func (s *session) state(ctx context.Context) (string, error) {
	found, err := s.db.Tables(ctx)
	if err != nil {
		return "", err
	}
	if !slices.Contains(found, markTable) {
		for _, t := range population.Tables() {
			if slices.Contains(found, t.String()) {
				return "", fmt.Errorf("table %s is there and was not loaded by bakeoff (there is no table %s): name another database, or drop it", t, markTable)
			}
		}
		if s.c.load == "keep" {
			return "", errors.New("parameter load: keep: there is no data set; expected one that bakeoff has loaded. Use load: auto")
		}
		return "", nil
	}
	if s.c.load == "always" {
		return "", nil
	}
	conn, err := s.db.Connect(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	m, err := readMark(ctx, conn)
	if err != nil {
		return "", err
	}
	state, err := s.usable(m)
	for _, t := range population.Tables() {
		if state == stateLoading && !slices.Contains(found, t.String()) {
			return "", err // cut off before it began to load
		}
	}
	return state, err
}

func (s *session) usable(m mark) (string, error) {
	state, _, _ := strings.Cut(m[markState], ":")
	switch {
	case m[markFormat] == "":
		return "", nil // cut off before it began
	case m[markFormat] != formatVersion:
		return "", fmt.Errorf("the data set has format %s, expected %s: load: always loads it anew", m[markFormat], formatVersion)
	case m[markScale] != s.scale():
		return "", fmt.Errorf("the data set has scale factor %s, expected %s: name another database, or have load: always replace it", m[markScale], s.scale())
	case s.c.load == "keep" && state == stateLoading:
		return "", errors.New("the data set is half-loaded: load: auto goes on with it")
	}
	return state, nil
}

// begin drops what an earlier load has left and creates the tables.
func (s *session) begin(ctx context.Context) error {
	conn, err := s.db.Connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	found, err := s.db.Tables(ctx)
	if err != nil {
		return err
	}
	// The mark table goes last: without it nothing else would be dropped again.
	names := []string{}
	for _, t := range population.Tables() {
		names = append(names, t.String())
	}
	for _, name := range append(names, markTable) {
		if !slices.Contains(found, name) {
			continue
		}
		if _, err := conn.ExecContext(ctx, "drop table "+name); err != nil {
			return fmt.Errorf("dropping table %s: %w", name, err)
		}
	}
	if err := createMark(ctx, conn, s.db.Dialect(), s.scale()); err != nil {
		return err
	}
	for _, t := range population.Tables() {
		if _, err := conn.ExecContext(ctx, tpch.CreateTable(s.db.Dialect(), t)); err != nil {
			return fmt.Errorf("creating table %s: %w", t, err)
		}
	}
	return nil
}

// examine counts and sums the tables, unless the mark is to be trusted, and
// describes the data set.
func (s *session) examine(ctx context.Context) (*record.DataSet, error) {
	conn, err := s.db.Connect(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	m, err := readMark(ctx, conn)
	if err != nil {
		return nil, err
	}
	set, digest := &record.DataSet{}, sha256.New()
	fmt.Fprintf(digest, "olap %s scale %s\n", formatVersion, s.scale())
	for _, t := range population.Tables() {
		want, err := tpch.ParseSums(m[markSums+t.String()])
		if err != nil {
			return nil, fmt.Errorf("table %s, %s: %w", markTable, t, err)
		}
		if s.c.check == "full" {
			got, err := sumsOf(ctx, conn, s.db.Dialect(), t)
			if err != nil {
				return nil, fmt.Errorf("summing table %s: %w", t, err)
			}
			if difference := got.Difference(t, want); difference != "" {
				return nil, fmt.Errorf("the data set is not what was loaded: %s; load: always loads it anew", difference)
			}
		}
		fmt.Fprintf(digest, "%s %s\n", t, want)
		set.Items += uint64(want.Rows)
		set.Bytes += textBytes(t, want)
	}
	set.Fingerprint = fmt.Sprintf("sha256:%x", digest.Sum(nil))
	return set, nil
}

// textBytes is about how long the rows are as text: their texts, and ten bytes a number or date.
func textBytes(t population.Table, sums tpch.Sums) (n uint64) {
	for i, c := range tpch.Columns(t) {
		if c.Type == tpch.Char || c.Type == tpch.Varchar {
			n += sums.Columns[i].Uint64()
		} else {
			n += 10 * uint64(sums.Rows)
		}
	}
	return n
}

func sumsOf(ctx context.Context, conn *sql.Conn, d tpch.Dialect, t population.Table) (tpch.Sums, error) {
	row, err := oneRow(ctx, conn, tpch.SumsQuery(d, t))
	if err != nil {
		return tpch.Sums{}, err
	}
	return tpch.ReadSums(row)
}

// oneRow returns the only row of a query.
func oneRow(ctx context.Context, q querier, query string) ([]any, error) {
	rows, err := q.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	if !rows.Next() {
		return nil, errors.Join(fmt.Errorf("found no row, expected one"), rows.Err())
	}
	return scan(rows)
}

// scan returns the values of a row.
func scan(rows *sql.Rows) ([]any, error) {
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	values, pointers := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		pointers[i] = &values[i]
	}
	return values, rows.Scan(pointers...)
}

// Fingerprint checks the data set as it is now and describes it.
func (s *session) Fingerprint(ctx context.Context) (record.DataSet, error) {
	if err := s.open(); err != nil {
		return record.DataSet{}, fmt.Errorf("engine olap: %w", err)
	}
	set, err := s.examine(ctx)
	if err != nil {
		return record.DataSet{}, fmt.Errorf("engine olap: %w", err)
	}
	set.Prepared = "kept"
	return *set, nil
}
