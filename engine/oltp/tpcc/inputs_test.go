package tpcc

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func rules(p Profile) Rules {
	return Rules{Profile: p, Warehouses: 5, Users: 3, Homes: RandomHome, Seed: 9}
}

// tenants are many transactions of one user.
func draws(r Rules, user, n int) []Tx {
	u := NewUser(r, 0, user)
	all := make([]Tx, n)
	for i := range all {
		u.Next(&all[i])
	}
	return all
}

func TestMix(t *testing.T) {
	for _, p := range []Profile{HammerDB, Spec} {
		const n = 23 * 4000
		var counts [Kinds]int
		for _, tx := range draws(rules(p), 0, n) {
			counts[tx.Kind]++
		}
		want := [Kinds]int{n / 23 * 10, n / 23 * 10, n / 23, n / 23, n / 23}
		for k := range Kinds {
			slack := want[k] / 15
			if p == Spec {
				slack = 0 // a deck is dealt to its end
			}
			if d := counts[k] - want[k]; d > slack || d < -slack {
				t.Errorf("%s: %d times %s, want %d", p, counts[k], k, want[k])
			}
		}
	}
}

// share of transactions of a kind for which something holds.
func shareOf(all []Tx, k Kind, f func(*Tx) bool) float64 {
	n, yes := 0, 0
	for i := range all {
		if all[i].Kind != k {
			continue
		}
		n++
		if f(&all[i]) {
			yes++
		}
	}
	return float64(yes) / float64(n)
}

func TestSharesOfTheInputs(t *testing.T) {
	for _, p := range []Profile{HammerDB, Spec} {
		all := draws(rules(p), 1, 200_000)
		for _, c := range []struct {
			what      string
			kind      Kind
			f         func(*Tx) bool
			low, high float64
		}{
			{"rolled back", NewOrder, func(x *Tx) bool { return x.Rollback }, 0.008, 0.012},
			{"not all local", NewOrder, func(x *Tx) bool { return !x.AllLocal }, 0.08, 0.11}, // 1 - 0.99^10
			{"paid elsewhere", Payment, func(x *Tx) bool { return x.CustomerWarehouse != x.Warehouse }, 0.14, 0.16},
			{"paid by name", Payment, func(x *Tx) bool { return x.Customer == 0 }, 0.59, 0.61},
			{"asked by name", OrderStatus, func(x *Tx) bool { return x.Customer == 0 }, 0.57, 0.63},
		} {
			if got := shareOf(all, c.kind, c.f); got < c.low || got > c.high {
				t.Errorf("%s: %.4f %s, want %v to %v", p, got, c.what, c.low, c.high)
			}
		}
	}
}

// NURand favours some customers and items; HammerDB draws them evenly.
func TestCustomersAreDrawnByTheProfile(t *testing.T) {
	for p, uneven := range map[Profile]bool{HammerDB: false, Spec: true} {
		counts := make([]int, Customers+1)
		n := 0
		for _, tx := range draws(rules(p), 2, 300_000) {
			if tx.Kind == NewOrder {
				counts[tx.Customer]++
				n++
			}
		}
		slices.Sort(counts)
		top := 0
		for _, c := range counts[len(counts)-Customers/10:] {
			top += c
		}
		if got := float64(top)/float64(n) > 0.2; got != uneven {
			t.Errorf("%s: the tenth of the customers that comes most often has %.2f of the orders, uneven: %t", p, float64(top)/float64(n), uneven)
		}
	}
}

func TestInputsAreInRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Rules{
			Profile:    rapid.SampledFrom([]Profile{HammerDB, Spec}).Draw(t, "profile"),
			Warehouses: rapid.IntRange(1, 40).Draw(t, "warehouses"), Users: rapid.IntRange(1, 60).Draw(t, "users"),
			Homes: rapid.SampledFrom([]Homes{RandomHome, OwnHome, AllHomes}).Draw(t, "homes"), Seed: rapid.Uint64().Draw(t, "seed"),
		}
		if err := r.Check(); err != nil {
			t.Fatal(err)
		}
		user := rapid.IntRange(0, r.Users-1).Draw(t, "user")
		for _, tx := range draws(r, user, 300) {
			check(t, r, &tx)
		}
	})
}

func within[T int8 | int16 | int32](t *rapid.T, what string, v, low, high T) {
	if v < low || v > high {
		t.Fatalf("%s is %d, want %d to %d", what, v, low, high)
	}
}

func check(t *rapid.T, r Rules, x *Tx) {
	within(t, "warehouse", x.Warehouse, 1, int32(r.Warehouses))
	within(t, "district", x.District, 1, Districts)
	switch x.Kind {
	case NewOrder:
		within(t, "customer", x.Customer, 1, Customers)
		within(t, "number of lines", x.LineCount, MinLines, MaxLines)
		seen := map[int32]bool{}
		local := true
		lines := x.Lines[:x.LineCount]
		for i, l := range lines {
			if x.Rollback && i == len(lines)-1 {
				within(t, "unused item", l.Item, UnusedItem, UnusedItem)
			} else {
				within(t, "item", l.Item, 1, Items)
				if i > 0 && l.before(lines[i-1]) {
					t.Fatalf("lines %v are out of order", lines)
				}
			}
			within(t, "supplying warehouse", l.Supply, 1, int32(r.Warehouses))
			within(t, "quantity", l.Quantity, 1, 10)
			if seen[l.Item] {
				t.Fatalf("item %d is in %v twice", l.Item, lines)
			}
			seen[l.Item] = true
			local = local && l.Supply == x.Warehouse
		}
		if local != x.AllLocal {
			t.Fatalf("all local is %t, the lines are %v of warehouse %d", x.AllLocal, lines, x.Warehouse)
		}
	case Payment:
		within(t, "amount", x.Amount, 100, 500_000)
		within(t, "customer's warehouse", x.CustomerWarehouse, 1, int32(r.Warehouses))
		within(t, "customer's district", x.CustomerDistrict, 1, Districts)
		within(t, "customer", x.Customer, 0, Customers)
		within(t, "last name", x.LastName, 0, 999)
	case Delivery:
		within(t, "carrier", x.Carrier, 1, 10)
	case StockLevel:
		within(t, "threshold", x.Threshold, 10, 20)
	}
}

func TestHomes(t *testing.T) {
	visited := func(homes Homes, p Profile, warehouses, users, user int) []int32 {
		r := Rules{Profile: p, Warehouses: warehouses, Users: users, Homes: homes, Seed: 4}
		var all []int32
		for _, tx := range draws(r, user, 500) {
			if !slices.Contains(all, tx.Warehouse) {
				all = append(all, tx.Warehouse)
			}
		}
		slices.Sort(all)
		return all
	}
	for _, c := range []struct {
		homes                   Homes
		profile                 Profile
		warehouses, users, user int
		want                    []int32
	}{
		{OwnHome, HammerDB, 10, 4, 2, []int32{3}},
		{OwnHome, HammerDB, 2, 4, 3, []int32{2}},
		{OwnHome, Spec, 10, 40, 25, []int32{3}},
		{AllHomes, HammerDB, 10, 4, 1, []int32{2, 6, 10}},
		{AllHomes, HammerDB, 10, 4, 3, []int32{4, 8}},
		{AllHomes, Spec, 2, 5, 4, []int32{1}},
	} {
		if got := visited(c.homes, c.profile, c.warehouses, c.users, c.user); !slices.Equal(got, c.want) {
			t.Errorf("%s, user %d of %d in %d warehouses: visited %v, want %v", c.homes, c.user, c.users, c.warehouses, got, c.want)
		}
	}
	if got := visited(RandomHome, HammerDB, 100, 1, 0); len(got) != 1 {
		t.Errorf("a home for good: visited %v", got)
	}
}

func TestUsersAndInstancesDrawTheirOwn(t *testing.T) {
	r := rules(HammerDB)
	first := draws(r, 0, 50)
	if !slices.Equal(first, draws(r, 0, 50)) {
		t.Error("one user drew two sequences")
	}
	if slices.Equal(first, draws(r, 1, 50)) {
		t.Error("two users drew one sequence")
	}
	u := NewUser(r, 1, 0)
	other := make([]Tx, 50)
	for i := range other {
		u.Next(&other[i])
	}
	if slices.Equal(first, other) {
		t.Error("users of two instances drew one sequence")
	}
}

func TestPauses(t *testing.T) {
	u := NewUser(rules(Spec), 0, 0)
	var sum time.Duration
	const n = 20_000
	for range n {
		p := u.Thinking(NewOrder)
		if p < 0 || p > 120*time.Second {
			t.Fatalf("a pause of %v, want up to 120 s", p)
		}
		sum += p
	}
	if mean := sum / n; mean < 11500*time.Millisecond || mean > 12500*time.Millisecond {
		t.Errorf("pauses of %v on average, want 12 s", mean)
	}
	h := NewUser(rules(HammerDB), 0, 0)
	if p := h.Thinking(Payment); p%time.Second != 0 {
		t.Errorf("HammerDB pauses whole seconds, found %v", p)
	}
	if Keying(NewOrder) != 18*time.Second || Keying(StockLevel) != 2*time.Second {
		t.Error("keying times are not the specification's")
	}
}

func TestRulesThatCannotBe(t *testing.T) {
	good := rules(Spec)
	for _, change := range []func(*Rules){
		func(r *Rules) { r.Profile = "tpcc" }, func(r *Rules) { r.Warehouses = 0 }, func(r *Rules) { r.Users = MaxUsers + 1 }, func(r *Rules) { r.Homes = "none" },
	} {
		r := good
		change(&r)
		if r.Check() == nil {
			t.Errorf("%+v is taken", r)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	u := NewUser(rules(Spec), 0, 0)
	var tx Tx
	b.ReportAllocs()
	for b.Loop() {
		u.Next(&tx)
	}
}

func BenchmarkStockRows(b *testing.B) {
	d := Data{Profile: Spec, Warehouses: 1, Tally: new(Tally)}
	for b.Loop() {
		if err := d.Write(Chunk{Stock, 1}, Nowhere{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*Items/b.Elapsed().Seconds(), "rows/s")
}
