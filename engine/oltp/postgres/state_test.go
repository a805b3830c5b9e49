package postgres

import (
	"slices"
	"testing"

	"bakeoff/engine/oltp/tpcc"
)

// TestWhatIsAnalyzed: every column that a key or an index has, and no filler.
func TestWhatIsAnalyzed(t *testing.T) {
	tables := tpcc.Tables()
	for id, c := range map[tpcc.TableID]struct{ in, out []string }{
		tpcc.Customer:  {[]string{"c_w_id", "c_d_id", "c_id", "c_last", "c_first", "c_balance"}, []string{"c_data", "c_street_1", "c_phone"}},
		tpcc.Stock:     {[]string{"s_w_id", "s_i_id", "s_quantity"}, []string{"s_dist_01", "s_dist_10", "s_data"}},
		tpcc.OrderLine: {[]string{"ol_o_id", "ol_i_id", "ol_delivery_d"}, []string{"ol_dist_info"}},
	} {
		got := soughtBy(tables[id])
		for _, name := range c.in {
			if !slices.Contains(got, name) {
				t.Errorf("table %s: %s is not analyzed", id, name)
			}
		}
		for _, name := range c.out {
			if slices.Contains(got, name) {
				t.Errorf("table %s: %s is analyzed", id, name)
			}
		}
	}
	for _, table := range tables {
		for _, name := range table.Key {
			if !slices.Contains(soughtBy(table), name) {
				t.Errorf("table %s: %s of the key is not analyzed", table.Name, name)
			}
		}
	}
}

func TestLargestFirst(t *testing.T) {
	got := largestFirst(tpcc.Tables())
	if len(got) != len(tpcc.Tables()) || got[0].Name != "order_line" || got[1].Name != "stock" || got[len(got)-1].Name != "warehouse" {
		var names []string
		for _, table := range got {
			names = append(names, table.Name)
		}
		t.Errorf("order is %v", names)
	}
}
