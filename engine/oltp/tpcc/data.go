package tpcc

import (
	"fmt"
	"time"

	"bakeoff/load/gen"
)

// A RowWriter takes rows, value by value in the order of the table's columns,
// in the form that a database loads. An error is kept for EndRow.
type RowWriter interface {
	Int(v int64)            // of Int and Small columns
	Decimal(unscaled int64) // of Decimal columns: the value times 10^Scale
	Text(b []byte)          // of Char and Text columns: ASCII letters, digits and spaces, valid until Text returns
	Time(t time.Time)       // of Timestamp columns: UTC, whole seconds
	Null()
	EndRow() error // an error ends the table's generation
}

// DataVersion changes whenever the same seed would give other data.
const DataVersion = 1

// Data generates the rows of the initial database (clause 4.3.3). The rows of
// one table and warehouse depend on nothing but the fields, so that they may be
// made in any order, in parallel, and again after a kill.
type Data struct {
	Profile    Profile
	Warehouses int
	Seed       uint64
	Tally      *Tally // where it is not nil, adds up what is written
}

// Loaded is the date of all initial orders, customers and payments: one and the
// same, so that the same data is the same data.
func Loaded() time.Time { return time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC) }

// A Chunk is what is generated and loaded in one go: a table's rows of one
// warehouse, or the whole of item, whose warehouse is 0.
type Chunk struct {
	Table     TableID
	Warehouse int
}

// Chunks lists all that is to be loaded.
func (d Data) Chunks() []Chunk {
	all := []Chunk{{Table: Item}}
	for w := 1; w <= d.Warehouses; w++ {
		for _, id := range []TableID{Stock, OrderLine, Customer, Orders, History, NewOrderTable, District, Warehouse} {
			all = append(all, Chunk{id, w})
		}
	}
	return all
}

// MeanRows is how many rows a chunk has; of order lines, on average.
func (c Chunk) MeanRows() int64 {
	return [TableCount]int64{
		Item: Items, Warehouse: 1, District: Districts, Customer: Districts * Customers, History: Districts * Customers,
		Orders: Districts * Customers, NewOrderTable: Districts * NewOrders, OrderLine: MeanLinesPerWarehouse, Stock: Items,
	}[c.Table]
}

// Write generates a chunk's rows. Its error is the writer's.
func (d Data) Write(c Chunk, w RowWriter) error {
	r := d.rand(c.Table, c.Warehouse)
	var sum *adder
	if d.Tally != nil {
		sum = newAdder(c.Table, w)
		w = sum
	}
	t := &rows{RowWriter: w, rand: r, profile: d.Profile, data: d, warehouse: c.Warehouse, letters: newLetters()}
	write := [TableCount]func(*rows) error{
		Item: (*rows).items, Warehouse: (*rows).warehouseRow, District: (*rows).districts, Customer: (*rows).customers,
		History: (*rows).histories, Orders: (*rows).orders, NewOrderTable: (*rows).newOrders, OrderLine: (*rows).orderLines, Stock: (*rows).stock,
	}[c.Table]
	if err := write(t); err != nil {
		return fmt.Errorf("table %s, warehouse %d: %w", c.Table, c.Warehouse, err)
	}
	if sum != nil {
		d.Tally.add(c.Table, sum.sums)
	}
	return nil
}

// rand returns the numbers of one table and warehouse.
func (d Data) rand(id TableID, warehouse int) *gen.Rand {
	return gen.NewRand(gen.Mix(d.Seed^gen.Mix(uint64(id)<<32|uint64(warehouse))), gen.Stream{Purpose: gen.PurposeData})
}

// lineCounts is the table number of the numbers that orders and order lines
// share: how many lines each order has.
const lineCounts = TableCount

// rows writes the rows of one chunk.
type rows struct {
	RowWriter
	rand      *gen.Rand
	profile   Profile
	data      Data
	warehouse int
	letters   *letters
	text      [512]byte
}

func (t *rows) between(low, high int32) int32 { return between(t.rand, low, high) }

// someText writes a random text of a random length (clause 4.3.2.2).
func (t *rows) someText(low, high int) {
	b := t.text[:t.between(int32(low), int32(high))]
	t.letters.fill(b, t.rand)
	t.Text(b)
}

// original writes a text that holds ORIGINAL once in ten (clause 4.3.3.1).
func (t *rows) original() {
	const word = "ORIGINAL"
	b := t.text[:t.between(26, 50)]
	t.letters.fill(b, t.rand)
	if t.between(1, 10) == 1 {
		copy(b[t.between(0, int32(len(b)-len(word))):], word)
	}
	t.Text(b)
}

func (t *rows) digits(b []byte) {
	for i := range b {
		b[i] = '0' + byte(t.between(0, 9))
	}
}

// place writes a street, another one, a city, a state and a zip code (clause 4.3.2.7).
func (t *rows) place() {
	t.someText(10, 20)
	t.someText(10, 20)
	t.someText(10, 20)
	t.someText(2, 2)
	b := t.text[:9]
	copy(b, "000011111")
	t.digits(b[:4])
	t.Text(b)
}

// tax is up to 20 %; HammerDB begins at 10 %.
func (t *rows) tax() {
	low := int32(0)
	if t.profile == HammerDB {
		low = 1000
	}
	t.Decimal(int64(t.between(low, 2000)))
}

func (t *rows) items() error {
	for i := range Items {
		t.Int(int64(i + 1))
		t.Int(int64(t.between(1, 10_000)))
		t.someText(14, 24)
		t.Decimal(int64(t.between(1_00, 100_00)))
		t.original()
		if err := t.EndRow(); err != nil {
			return err
		}
	}
	return nil
}

func (t *rows) warehouseRow() error {
	t.Int(int64(t.warehouse))
	t.someText(6, 10)
	t.place()
	t.tax()
	t.Decimal(WarehouseYTD)
	return t.EndRow()
}

func (t *rows) districts() error {
	for d := range Districts {
		t.Int(int64(d + 1))
		t.Int(int64(t.warehouse))
		t.someText(6, 10)
		t.place()
		t.tax()
		t.Decimal(DistrictYTD)
		t.Int(Customers + 1)
		if err := t.EndRow(); err != nil {
			return err
		}
	}
	return nil
}

func (t *rows) customers() error {
	for d := range Districts {
		for c := range Customers {
			t.customer(d+1, c+1)
			if err := t.EndRow(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *rows) customer(district, number int) {
	t.Int(int64(number))
	t.Int(int64(district))
	t.Int(int64(t.warehouse))
	t.someText(8, 16)
	t.Text([]byte("OE"))
	name := number - 1
	if name > 999 {
		name = int(nurand(t.rand, 255, 0, 999, lastC))
	}
	t.Text(AppendLastName(t.text[:0], name))
	t.place()
	phone := t.text[:16]
	t.digits(phone)
	t.Text(phone)
	t.Time(Loaded())
	bad := int32(10) // of 100
	if t.profile == HammerDB {
		bad = 50
	}
	credit := "GC"
	if t.between(1, 100) <= bad {
		credit = "BC"
	}
	t.Text(append(t.text[:0], credit...))
	t.Decimal(50_000_00)
	t.Decimal(int64(t.between(0, 5000)))
	t.Decimal(-10_00)
	t.Decimal(10_00)
	t.Int(1)
	t.Int(0)
	t.someText(300, 500)
}

func (t *rows) histories() error {
	for d := range Districts {
		for c := range Customers {
			t.Int(int64(c + 1))
			t.Int(int64(d + 1))
			t.Int(int64(t.warehouse))
			t.Int(int64(d + 1))
			t.Int(int64(t.warehouse))
			t.Time(Loaded())
			t.Decimal(10_00)
			t.someText(12, 24)
			if err := t.EndRow(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *rows) orders() error {
	counts := t.data.rand(lineCounts, t.warehouse)
	var customers [Customers]int32
	for d := range Districts {
		for i := range customers { // a permutation: each customer has one order
			j := t.between(0, int32(i))
			customers[i] = customers[j]
			customers[j] = int32(i + 1)
		}
		for o := range Customers {
			t.Int(int64(o + 1))
			t.Int(int64(d + 1))
			t.Int(int64(t.warehouse))
			t.Int(int64(customers[o]))
			t.Time(Loaded())
			if o+1 < FirstNewOrder {
				t.Int(int64(t.between(1, 10)))
			} else {
				t.Null()
			}
			t.Int(int64(between(counts, MinLines, MaxLines)))
			t.Int(1)
			if err := t.EndRow(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *rows) newOrders() error {
	for d := range Districts {
		for o := FirstNewOrder; o <= Customers; o++ {
			t.Int(int64(o))
			t.Int(int64(d + 1))
			t.Int(int64(t.warehouse))
			if err := t.EndRow(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *rows) orderLines() error {
	counts := t.data.rand(lineCounts, t.warehouse)
	for d := range Districts {
		for o := range Customers {
			for n := range between(counts, MinLines, MaxLines) {
				if err := t.orderLine(d+1, o+1, int(n+1)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (t *rows) orderLine(district, order, number int) error {
	t.Int(int64(order))
	t.Int(int64(district))
	t.Int(int64(t.warehouse))
	t.Int(int64(number))
	t.Int(int64(t.between(1, Items)))
	t.Int(int64(t.warehouse))
	amount := int64(0)
	if order < FirstNewOrder {
		t.Time(Loaded())
	} else {
		t.Null()
		amount = int64(t.between(1, 9_999_99))
	}
	t.Int(5)
	t.Decimal(amount)
	t.someText(24, 24)
	return t.EndRow()
}

func (t *rows) stock() error {
	for i := range Items {
		t.Int(int64(i + 1))
		t.Int(int64(t.warehouse))
		t.Int(int64(t.between(10, 100)))
		for range Districts {
			t.someText(24, 24)
		}
		t.Int(0)
		t.Int(0)
		t.Int(0)
		t.original()
		if err := t.EndRow(); err != nil {
			return err
		}
	}
	return nil
}

// letters turns twelve random bits into two letters or digits. Text is as
// random as it looks: what is loaded must not compress better than it should.
type letters [1 << 12][2]byte

func newLetters() *letters {
	const set = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	l := new(letters)
	for i := range l {
		l[i] = [2]byte{set[(i>>6)*len(set)>>6], set[(i&63)*len(set)>>6]}
	}
	return l
}

func (l *letters) fill(b []byte, r *gen.Rand) {
	for len(b) > 0 {
		v := r.Uint64()
		for range 5 {
			pair := &l[v&(1<<12-1)]
			v >>= 12
			if len(b) == 1 {
				b[0] = pair[0]
				return
			}
			b[0], b[1] = pair[0], pair[1]
			if b = b[2:]; len(b) == 0 {
				return
			}
		}
	}
}
