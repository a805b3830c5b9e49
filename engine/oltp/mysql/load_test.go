package mysql

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"bakeoff/engine/oltp"
	"bakeoff/engine/oltp/tpcc"
)

// load loads chunks again: by the other way, with a fault, cut off.
func (f fixture) load(t *testing.T) {
	c := f.c
	c.URL, _ = url.Parse(strings.Replace(c.URL.String(), "/tpcc?", "/other?", 1))
	d := open(t, c)
	if err := d.Create(t.Context(), tpcc.Tables()); err != nil {
		t.Fatal(err)
	}
	f.s.SQL("SET GLOBAL local_infile = 0")
	defer f.s.SQL("SET GLOBAL local_infile = 1")
	for _, id := range []tpcc.TableID{tpcc.District, tpcc.Customer, tpcc.Orders} {
		chunk := tpcc.Chunk{Table: id, Warehouse: 1}
		if err := d.Load(t.Context(), chunk); err != nil {
			t.Fatal(err)
		}
		table := tpcc.Tables()[id].Name
		differ, err := d.Query(t.Context(), fmt.Sprintf("SELECT COUNT(*) FROM (SELECT * FROM %s EXCEPT SELECT * FROM tpcc.%s) x", table, table))
		if err != nil || differ[0][0] != "0" {
			t.Errorf("%s: %v rows differ from those of LOAD DATA, %v", table, differ, err)
		}
		if err := d.Load(t.Context(), chunk); err == nil {
			t.Errorf("%s was loaded twice", table)
		}
	}
	if !d.noLocal.Load() {
		t.Error("LOAD DATA LOCAL was taken though it is forbidden")
	}
	f.s.SQL("SET GLOBAL local_infile = 1")
	f.loadFaults(t, c)
}

// loadFaults loads where a row is there already, and is cut off: neither may
// leave a row or a mark.
func (f fixture) loadFaults(t *testing.T, c oltp.Config) {
	d := open(t, c)
	for _, id := range []tpcc.TableID{tpcc.District, tpcc.Customer} {
		if err := d.Load(t.Context(), tpcc.Chunk{Table: id, Warehouse: 1}); err == nil || !strings.Contains(err.Error(), "took 0 of") {
			t.Errorf("%s: error %v, want one about rows not taken", id, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := d.Load(ctx, tpcc.Chunk{Table: tpcc.Stock, Warehouse: 1}); err == nil {
		t.Error("a load was not cut off")
	}
	rows, err := d.Query(t.Context(), "SELECT (SELECT COUNT(*) FROM "+oltp.MarkTable+"), (SELECT COUNT(*) FROM stock)")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(rows[0], []string{"3", "0"}) {
		t.Errorf("marks and rows of stock are %v, want 3 and 0", rows[0])
	}
}
