package oltp

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"bakeoff/engine/oltp/tpcc"
	"bakeoff/record"
)

// Marks beside those of the chunks.
const (
	markIdentity = "identity"
	markFinished = "finished" // the fingerprint of the finished data set
	markSums     = "sums "    // and a table's name: its sums when it was loaded
)

// identity says what a data set is.
func identity(d tpcc.Data) string {
	return fmt.Sprintf("tpcc %d profile=%s warehouses=%d seed=%d", tpcc.DataVersion, d.Profile, d.Warehouses, d.Seed)
}

// Prepare brings the database to its starting state.
func (s *session) Prepare(ctx context.Context, progress func(float64)) (*record.DataSet, error) {
	s.progress = progress
	start := s.config.Clock.Now()
	set, err := s.prepare(ctx)
	if err == nil {
		err = s.db.Install(ctx)
	}
	if err == nil && s.check != checkNone {
		err = s.consistent(ctx, set.Prepared != "kept")
	}
	if err == nil {
		s.before, err = s.nextOrders(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("engine oltp: %w", err)
	}
	if sizer, ok := s.db.(Sizer); ok {
		n, err := sizer.Size(ctx)
		if err != nil {
			return nil, fmt.Errorf("engine oltp: asking how large the data are: %w", err)
		}
		set.Bytes = uint64(n)
	}
	s.ready = true
	set.Seconds = float64(s.config.Clock.Now()-start) / 1e9
	return set, nil
}

func (s *session) prepare(ctx context.Context) (*record.DataSet, error) {
	if s.config.Schema == HammerDBSchema {
		return s.prepareForeign(ctx)
	}
	if s.restore == restoreAuto {
		s.restore = restoreSaved
		if s.db.Saving() == "" {
			s.restore = restoreReload
		}
	}
	if s.restore == restoreSaved {
		restored, err := s.restoreSaved(ctx, identity(s.config.Data))
		if err != nil || restored {
			return s.described(ctx, "restored", err)
		}
	}
	state, err := s.inspect(ctx)
	if err != nil {
		return nil, err
	}
	how := "kept"
	switch {
	case state.finished && s.restore == restoreNone:
		return s.described(ctx, how, nil)
	case state.finished && s.restore == restoreSaved:
		pristine, err := s.pristine(ctx, state)
		if err != nil {
			return nil, err
		}
		if !pristine { // used before a copy of it was made
			state = state.none()
		}
	case state.finished:
		state = state.none()
	}
	if !state.finished {
		how = "loaded"
		if err := s.load(ctx, state); err != nil {
			return nil, err
		}
	}
	if s.restore == restoreSaved {
		if err := s.db.Save(ctx, identity(s.config.Data)); err != nil {
			return nil, fmt.Errorf("saving the state of the database (%s; restore: reload does without): %w", s.db.Saving(), err)
		}
		// The first trial begins as all others do, not with what the load left in
		// the server's memory.
		if _, err := s.restoreSaved(ctx, identity(s.config.Data)); err != nil {
			return nil, err
		}
	}
	return s.described(ctx, how, nil)
}

// restoreSaved restores the copy, if there is one of this data set.
func (s *session) restoreSaved(ctx context.Context, wanted string) (bool, error) {
	saved, err := s.db.Saved(ctx)
	if err != nil {
		return false, fmt.Errorf("looking for a saved state of the database: %w", err)
	}
	if saved != wanted {
		return false, nil
	}
	start := s.config.Clock.Now()
	if err := s.db.Restore(ctx); err != nil {
		return false, fmt.Errorf("restoring the saved state of the database (%s): %w", s.db.Saving(), err)
	}
	s.restored = float64(s.config.Clock.Now()-start) / 1e9
	return true, nil
}

// state is what a database holds.
type state struct {
	tables   map[string][]string // of those that are ours by name
	marks    map[string]string
	resume   bool // part of this data set is there
	finished bool // all of it is
}

// none is the state in which nothing is to be kept.
func (state) none() state { return state{} }

// inspect finds out what the database holds, and refuses to go on where that is
// something else than this data set.
func (s *session) inspect(ctx context.Context) (state, error) {
	tables, err := s.db.Columns(ctx)
	if err != nil {
		return state{}, fmt.Errorf("looking at the database: %w", err)
	}
	var st state
	_, marked := tables[MarkTable]
	var there []string
	for _, t := range tpcc.Tables() {
		if _, ok := tables[t.Name]; ok {
			there = append(there, t.Name)
		}
	}
	st.tables = tables
	switch {
	case len(there) == 0 && !marked:
		return state{}, s.mayLoad("it is empty")
	case !marked:
		return s.foreign(there)
	}
	if st.marks, err = s.marks(ctx); err != nil {
		return state{}, err
	}
	if len(st.marks) == 0 {
		return state{}, s.mayLoad("nothing was loaded after its tables were made")
	}
	wanted, found := identity(s.config.Data), st.marks[markIdentity]
	if found != wanted {
		return s.other(found, wanted)
	}
	_, st.finished = st.marks[markFinished]
	st.resume = !st.finished
	if err := schemaFaults(tables); err != nil && st.finished {
		return state{}, fmt.Errorf("%w; give replace: true to drop and load it again", err)
	}
	if st.finished {
		return st, nil
	}
	return st, s.mayLoad("it is loaded in part: " + s.extent(st))
}

func (s *session) extent(st state) string {
	chunks := s.config.Data.Chunks()
	n := 0
	for _, c := range chunks {
		if _, ok := st.marks[chunkMark(c)]; ok {
			n++
		}
	}
	return fmt.Sprintf("%d of %d parts", n, len(chunks))
}

// mayLoad refuses to load a data set that was to be used as it is.
func (s *session) mayLoad(found string) error {
	if s.restore == restoreNone {
		return fmt.Errorf("restore none: the database is to be used as it is, but %s", found)
	}
	return nil
}

// foreign is a database with tables that bakeoff did not make.
func (s *session) foreign(there []string) (state, error) {
	if s.replace {
		return state{}, nil
	}
	return state{}, fmt.Errorf("the database has tables that another program made (%s): drive HammerDB's with schema: hammerdb, name another database, or give replace: true to drop them",
		strings.Join(there, ", "))
}

// other is a database with another data set.
func (s *session) other(found, wanted string) (state, error) {
	if s.replace {
		return state{}, nil
	}
	if found == "" {
		found = "none that was begun properly"
	}
	return state{}, fmt.Errorf("the database holds another data set (%s) than the load needs (%s): name another database, or give replace: true to drop it", found, wanted)
}

// marks reads the table of marks.
func (s *session) marks(ctx context.Context) (map[string]string, error) {
	name, value := MarkColumns()
	rows, err := s.db.Query(ctx, fmt.Sprintf("SELECT %s, %s FROM %s", name, value, MarkTable))
	if err != nil {
		return nil, fmt.Errorf("reading how far the load came: %w", err)
	}
	marks := map[string]string{}
	for _, r := range rows {
		if len(r) != 2 {
			return nil, fmt.Errorf("reading how far the load came: found %d columns, expected 2", len(r))
		}
		marks[r[0]] = r[1]
	}
	return marks, nil
}

// quickTables are those whose sums tell at little cost whether any transaction
// was done.
func quickTables() []tpcc.TableID {
	return []tpcc.TableID{tpcc.Warehouse, tpcc.District, tpcc.NewOrderTable, tpcc.Orders, tpcc.History}
}

func (s *session) summed() []tpcc.TableID {
	if s.check != checkFull {
		return quickTables()
	}
	all := make([]tpcc.TableID, tpcc.TableCount)
	for i := range all {
		all[i] = tpcc.TableID(i)
	}
	return all
}

// sums reads the sums of a table.
func (s *session) sums(ctx context.Context, id tpcc.TableID) (tpcc.Sums, error) {
	t := tpcc.Tables()[id]
	rows, err := s.db.Query(ctx, t.SumQuery())
	if err == nil && len(rows) != 1 {
		err = fmt.Errorf("found %d rows, expected 1", len(rows))
	}
	if err != nil {
		return tpcc.Sums{}, fmt.Errorf("adding up table %s: %w", t.Name, err)
	}
	return t.ReadSums(rows[0])
}

// pristine says whether the database is as it was loaded.
func (s *session) pristine(ctx context.Context, st state) (bool, error) {
	for _, id := range s.summed() {
		sums, err := s.sums(ctx, id)
		if err != nil {
			return false, err
		}
		if sumsText(sums) != st.marks[markSums+id.String()] {
			return false, nil
		}
	}
	return true, nil
}

func sumsText(s tpcc.Sums) string {
	parts := []string{strconv.FormatInt(s.Rows, 10)}
	for _, v := range s.Columns {
		parts = append(parts, strconv.FormatInt(v, 10))
	}
	return strings.Join(parts, " ")
}

// described describes the data set as it is now. After a restore it must be as
// it was loaded.
func (s *session) described(ctx context.Context, how string, err error) (*record.DataSet, error) {
	if err != nil {
		return nil, err
	}
	marks, err := s.marks(ctx)
	if err != nil {
		return nil, err
	}
	set := &record.DataSet{Prepared: how}
	changed, digest := "", sha256.New()
	fmt.Fprintln(digest, identity(s.config.Data))
	for _, id := range s.summed() {
		sums, err := s.sums(ctx, id)
		if err != nil {
			return nil, err
		}
		text := sumsText(sums)
		fmt.Fprintln(digest, id, text)
		if text != marks[markSums+id.String()] {
			changed = id.String()
		}
	}
	if how != "kept" && changed != "" {
		return nil, fmt.Errorf("the data are not in the state in which they were loaded: table %s differs; something else works in this database", changed)
	}
	for name, value := range marks {
		if strings.HasPrefix(name, "chunk ") {
			n, err := strconv.ParseUint(value, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("mark %q of the load: %w", name, err)
			}
			set.Items += n
		}
	}
	set.Fingerprint = marks[markFinished]
	if changed != "" {
		set.Fingerprint = fmt.Sprintf("sha256:%x", digest.Sum(nil))
	}
	return set, nil
}

var errNoWarehouses = errors.New("the database has no warehouses")

// nextOrders is the sum of d_next_o_id.
func (s *session) nextOrders(ctx context.Context) (int64, error) {
	c, err := s.db.Counters(ctx)
	if err != nil {
		return 0, fmt.Errorf("reading the target's counters: %w", err)
	}
	return c.NextOrders, nil
}
