package sqlite

import (
	"context"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"bakeoff/engine/oltp"
	"bakeoff/engine/oltp/tpcc"
)

func TestOptions(t *testing.T) {
	for target, want := range map[string]string{
		"sqlite:":                        "",
		"sqlite:x.db":                    "",
		"sqlite:/tmp/y.db?cache=1GB":     "",
		"sqlite:/x/y.db":                 "/x is no folder that is there: make it first, or name another file",
		"sqlite:x?synchronous=full":      "",
		"sqlite:x?page_size=16K":         "",
		"sqlite://host/x.db":             "it names a host, and SQLite works on a file: write sqlite:host/x.db",
		"sqlite:///tmp":                  "/tmp is no file: expected the path of a database, which is made where it is missing",
		"sqlite:x?synchronous=sometimes": `option synchronous: found "sometimes", expected off, normal, full, extra`,
		"sqlite:x?synchronus=off":        "option synchronus: there is no such option: did you mean synchronous?",
		"sqlite:x?quux=1":                "option quux: there is no such option: expected synchronous, cache, checkpoint, page_size",
		"sqlite:x?page_size=5000":        `option page_size: found "5000", expected a power of two`,
		"sqlite:x?page_size=1":           `option page_size: found "1", expected 512 to 65536 bytes`,
	} {
		_, err := Target{}.Open(settings(t, target, tpcc.Spec))
		if got := text(err); got != want {
			t.Errorf("%s: %q, expected %q", target, got, want)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestLoaded(t *testing.T) {
	db := filled(t, tpcc.Spec, "")
	columns, err := db.Columns(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tpcc.Tables() {
		if got := columns[table.Name]; !sameNames(got, table.Names()) {
			t.Errorf("table %s has the columns %v, expected %v", table.Name, got, table.Names())
		}
	}
	for _, c := range tpcc.Conditions() {
		if got := one(t, db, c.Query); c.Applies(tpcc.Spec, true) && got != "0" {
			t.Errorf("condition %d (%s): %s violations", c.Number, c.Text, got)
		}
	}
	if got := one(t, db, "SELECT SUM(w_ytd) FROM warehouse"); got != "300000.0" {
		t.Errorf("w_ytd is %s, expected 300000.0", got)
	}
	if got, want := one(t, db, "SELECT COUNT(*) FROM "+oltp.MarkTable+" WHERE mark LIKE 'chunk %'"), strconv.Itoa(len(db.Data.Chunks())); got != want {
		t.Errorf("%s marks, expected %s", got, want)
	}
}

func sameNames(a, b []string) bool {
	there := map[string]bool{}
	for _, name := range a {
		there[name] = true
	}
	for _, name := range b {
		if !there[name] {
			return false
		}
	}
	return len(a) == len(b)
}

func TestNothingThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	db := open(t, "sqlite:"+path, tpcc.Spec)
	if columns, err := db.Columns(t.Context()); err != nil || len(columns) != 0 {
		t.Errorf("found %v, %v", columns, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("looking made a file: %v", err)
	}
	if _, err := db.Connect(t.Context(), 0); !errors.Is(err, errNoFile) {
		t.Errorf("connecting: %v", err)
	}
}

func TestNoDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "letter")
	if err := os.WriteFile(path, []byte(strings.Repeat("Dear Sir or Madam, ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := open(t, "sqlite:"+path, tpcc.Spec).Columns(t.Context())
	if want := "opening the database " + path + ": PRAGMA"; err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "not a database") {
		t.Errorf("%v, expected %q", err, want)
	}
}

// TestOwnFile has a database of the load's own leave no name, while it is there.
func TestOwnFile(t *testing.T) {
	if slow {
		t.Skip("loads a database")
	}
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	db := open(t, "sqlite:", tpcc.Spec)
	if err := db.Create(t.Context(), tpcc.Tables()); err != nil {
		t.Fatal(err)
	}
	for _, id := range []tpcc.TableID{tpcc.Warehouse, tpcc.District, tpcc.Customer} {
		if err := db.Load(t.Context(), tpcc.Chunk{Table: id, Warehouse: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("found %v, %v", left, err)
	}
	if err := db.Finish(t.Context(), tpcc.Tables()); err != nil {
		t.Fatal(err)
	}
	if got := one(t, db, "SELECT COUNT(*) FROM customer"); got != "30000" {
		t.Errorf("%s customers", got)
	}
	if _, err := db.Facts(t.Context()); err != nil {
		t.Error(err)
	}
	if how := db.Saving(); how != "" {
		t.Errorf("it is saved by %q", how)
	}
}

// TestOtherTables has a load keep what is not its own.
func TestOtherTables(t *testing.T) {
	db := open(t, "sqlite:"+filepath.Join(t.TempDir(), "db"), tpcc.Spec)
	ctx := t.Context()
	if err := db.Exec(ctx, "CREATE TABLE diary (day TEXT)", "INSERT INTO diary VALUES ('Monday')", "CREATE TABLE item (x TEXT)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Create(ctx, tpcc.Tables()); err != nil {
		t.Fatal(err)
	}
	if got := one(t, db, "SELECT day FROM diary"); got != "Monday" {
		t.Errorf("found %q", got)
	}
	if got := one(t, db, "SELECT COUNT(i_id) FROM item"); got != "0" {
		t.Errorf("found %q", got)
	}
}

func TestLoadCutOff(t *testing.T) {
	if slow {
		t.Skip("loads a database")
	}
	db := open(t, "sqlite:"+filepath.Join(t.TempDir(), "db"), tpcc.Spec)
	if err := db.Create(t.Context(), tpcc.Tables()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, errors.New("enough"))
	defer cancel()
	if err := db.Load(ctx, tpcc.Chunk{Table: tpcc.Stock, Warehouse: 1}); err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("%v", err)
	}
	for _, table := range []string{"stock", oltp.MarkTable} {
		if got := one(t, db, "SELECT COUNT(*) FROM "+table); got != "0" {
			t.Errorf("%s rows in %s", got, table)
		}
	}
}

func TestDiskFull(t *testing.T) {
	if slow {
		t.Skip("loads a database")
	}
	db := open(t, "sqlite:"+filepath.Join(t.TempDir(), "db"), tpcc.Spec)
	ctx := t.Context()
	if err := db.Create(ctx, tpcc.Tables()); err != nil {
		t.Fatal(err)
	}
	if err := db.admin.conn.exec("PRAGMA max_page_count = 500"); err != nil {
		t.Fatal(err)
	}
	err := db.Load(ctx, tpcc.Chunk{Table: tpcc.Stock, Warehouse: 1})
	if err == nil || !strings.Contains(err.Error(), "full") || !strings.Contains(err.Error(), "make room in "+db.directory()) {
		t.Errorf("%v", err)
	}
	if got := one(t, db, "SELECT COUNT(*) FROM stock"); got != "0" {
		t.Errorf("%s rows", got)
	}
	if err := db.admin.conn.exec("PRAGMA max_page_count = 100000"); err != nil {
		t.Fatal(err)
	}
	if err := db.Load(ctx, tpcc.Chunk{Table: tpcc.Stock, Warehouse: 1}); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

// TestKilled kills a process that loads; what has a mark is whole, the rest is
// not there.
func TestKilled(t *testing.T) {
	if slow {
		t.Skip("loads a database")
	}
	path := filepath.Join(t.TempDir(), "db")
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "BAKEOFF_TEST_LOAD="+path)
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; {
		if info, err := os.Stat(path); err == nil && info.Size() > 60<<20 { // the first chunks
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the child loads nothing")
		}
		runtime.Gosched()
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	db := open(t, "sqlite:"+path, tpcc.Spec)
	for _, chunk := range (tpcc.Data{Warehouses: 4}).Chunks() {
		mark := oltp.Mark(chunk, 0)
		name := strings.Split(mark, "'")[1]
		rows, err := db.Query(t.Context(), "SELECT content FROM "+oltp.MarkTable+" WHERE mark = '"+name+"'")
		if err != nil {
			t.Fatal(err)
		}
		want := "0"
		if len(rows) == 1 {
			want = rows[0][0]
		}
		if chunk.Table == tpcc.Item && want != "100000" {
			t.Errorf("item has %s rows by its mark", want)
		}
		if got := one(t, db, rowsOf(chunk)); got != want {
			t.Errorf("%s: %s rows, the mark says %s", name, got, want)
		}
	}
}

// rowsOf counts a chunk's rows.
func rowsOf(c tpcc.Chunk) string {
	table := tpcc.Tables()[c.Table]
	sql := "SELECT COUNT(*) FROM " + table.Name
	for _, name := range table.Names() {
		if strings.HasSuffix(name, "w_id") && c.Warehouse > 0 {
			return sql + " WHERE " + name + " = " + strconv.Itoa(c.Warehouse)
		}
	}
	return sql
}

func TestSaveRestore(t *testing.T) {
	db := filled(t, tpcc.HammerDB, "")
	ctx := t.Context()
	before := sums(t, db)
	if identity, err := db.Saved(ctx); err != nil || identity != "" {
		t.Errorf("a copy %q is there already: %v", identity, err)
	}
	if err := db.Save(ctx, "one warehouse"); err != nil {
		t.Fatal(err)
	}
	work(t, connect(t, db), tpcc.NewUser(db.Rules, 0, 0), 200)
	if sums(t, db) == before {
		t.Error("200 transactions changed nothing")
	}
	if err := db.Restore(ctx); err != nil {
		t.Fatal(err)
	}
	if after := sums(t, db); after != before {
		t.Errorf("restored to %s, saved was %s", after, before)
	}
	work(t, connect(t, db), tpcc.NewUser(db.Rules, 0, 0), 10)
	if identity, err := db.Saved(ctx); err != nil || identity != "one warehouse" {
		t.Errorf("the copy is %q, %v", identity, err)
	}
	f, err := os.OpenFile(db.copyPath(), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("rust"), 1<<20); err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(2 << 20); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if identity, err := db.Saved(ctx); err != nil || identity != "" {
		t.Errorf("a cut copy is %q, %v", identity, err)
	}
}

// FuzzTarget has any URL be taken with sane settings, or refused in words.
func FuzzTarget(f *testing.F) {
	for _, seed := range []string{"sqlite:", "sqlite:x.db?synchronous=off&cache=1G", "sqlite:/tmp/x?checkpoint=64M&page_size=4K", "sqlite://h/x", "sqlite:%zz", "sqlite:x?cache=-1&cache=2M", "sqlite:x?;"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := url.Parse(text)
		if err != nil {
			return
		}
		c, err := configure(oltp.Config{URL: u, Mode: oltp.ClientSQL, Schema: oltp.OwnSchema})
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without a word")
			}
			return
		}
		if c.cache < 1<<20 || c.checkpoint < 64<<10 || c.pageSize < 512 || c.pageSize > 64<<10 || c.pageSize&(c.pageSize-1) != 0 || c.synchronous == "" {
			t.Errorf("%s: %+v", text, c)
		}
	})
}
