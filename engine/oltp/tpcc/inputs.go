package tpcc

import (
	"math"
	"time"

	"bakeoff/load/gen"
)

// A Tx holds the inputs of one transaction. Only the fields of its kind mean
// anything. It holds no pointers, so that it can be drawn again and again
// without allocation.
type Tx struct {
	Kind      Kind
	Warehouse int32 // the user's, of all kinds
	District  int16 // of all kinds but Delivery, 1 to 10

	// Of New-Order, Payment (those of the paying customer) and Order-Status.
	Customer          int32 // 1 to 3,000; 0 where the customer is chosen by name
	LastName          int16 // number of the name, for LastName; where Customer is 0
	CustomerWarehouse int32 // of Payment
	CustomerDistrict  int16 // of Payment

	Amount    int32 // of Payment, in hundredths: 1.00 to 5,000.00
	Carrier   int16 // of Delivery, 1 to 10
	Threshold int16 // of Stock-Level, 10 to 20

	// Of New-Order. Lines are in order of supplying warehouse and item, no item
	// twice, so that transactions lock stock in one order and rarely deadlock.
	LineCount int8 // 5 to 15
	AllLocal  bool
	Rollback  bool // the last line asks for UnusedItem, and the transaction must roll back
	Lines     [MaxLines]Line
}

// A Line of an order.
type Line struct {
	Item     int32
	Supply   int32 // warehouse
	Quantity int16 // 1 to 10
}

// A User draws the transactions of one user. It is not safe for concurrent use.
type User struct {
	rules    Rules
	rand     *gen.Rand
	number   int
	home     int32
	district int16 // of Stock-Level
	deck     [deckSize]Kind
	drawn    int
}

const (
	deckSize      = 23 // 10, 10, 1, 1, 1: clause 5.2.4.2
	purposeInputs = gen.PurposeEngine
)

// NewUser returns user number i, from 0. Every user of a seed and an instance
// draws a sequence of their own.
func NewUser(r Rules, instance, i int) *User {
	u := &User{rules: r, number: i, drawn: deckSize}
	u.rand = gen.NewRand(r.Seed, gen.Stream{Instance: uint8(instance), Worker: uint16(i), Purpose: purposeInputs})
	w := r.Warehouses
	switch {
	case r.Homes == OwnHome && r.Profile == Spec:
		u.home, u.district = int32(i/Districts%w)+1, int16(i%Districts)+1
		return u
	case r.Homes == OwnHome:
		u.home = int32(i%w) + 1
	case r.Homes == RandomHome:
		u.home = u.between(1, int32(w))
	}
	u.district = int16(u.between(1, Districts))
	return u
}

// Next draws the next transaction.
func (u *User) Next(tx *Tx) {
	tx.Kind = u.kind()
	tx.Warehouse = u.warehouse()
	tx.District = int16(u.between(1, Districts))
	switch tx.Kind {
	case NewOrder:
		u.newOrder(tx)
	case Payment:
		u.payment(tx)
	case Delivery:
		tx.Carrier = int16(u.between(1, 10))
	case OrderStatus:
		u.customer(tx)
	case StockLevel:
		tx.District = u.district
		tx.Threshold = int16(u.between(10, 20))
	}
}

// kind draws from HammerDB's mix, each time anew, or from a deck of cards that
// is dealt to its end (clause 5.2.4.2). Both have 10 New-Orders, 10 Payments
// and one each of the others in 23.
func (u *User) kind() Kind {
	if u.rules.Profile == HammerDB {
		return card(int(u.between(0, deckSize-1)))
	}
	if u.drawn == deckSize {
		for i := range u.deck {
			j := int(u.between(0, int32(i)))
			u.deck[i] = u.deck[j]
			u.deck[j] = card(i)
		}
		u.drawn = 0
	}
	k := u.deck[u.drawn]
	u.drawn++
	return k
}

func card(i int) Kind {
	switch {
	case i < 10:
		return NewOrder
	case i < 20:
		return Payment
	}
	return Delivery + Kind(i-20)
}

func (u *User) warehouse() int32 {
	if u.rules.Homes != AllHomes {
		return u.home
	}
	w, n := u.rules.Warehouses, u.rules.Users
	first := u.number%w + 1
	mine := (w-first)/n + 1
	return int32(first + n*int(u.between(0, int32(mine)-1)))
}

func (u *User) newOrder(tx *Tx) {
	tx.Customer = u.customerID()
	n := u.between(MinLines, MaxLines)
	tx.LineCount, tx.AllLocal = int8(n), true
	tx.Rollback = u.between(1, 100) == 1
	for i := range n {
		line := Line{Supply: tx.Warehouse, Quantity: int16(u.between(1, 10))}
		if u.between(1, 100) == 1 && u.rules.Warehouses > 1 {
			line.Supply, tx.AllLocal = u.otherThan(tx.Warehouse), false
		}
		line.Item = u.item(tx.Lines[:i])
		if tx.Rollback && i == n-1 {
			line.Item = UnusedItem
		}
		insert(tx.Lines[:i+1], line)
	}
}

// item draws an item that no line has yet.
func (u *User) item(lines []Line) int32 {
draw:
	for {
		var id int32
		if u.rules.Profile == HammerDB {
			id = u.between(1, Items)
		} else {
			id = u.nurand(8191, 1, Items, itemC)
		}
		for i := range lines {
			if lines[i].Item == id {
				continue draw
			}
		}
		return id
	}
}

// insert puts a line in its place among those before it; the unused item comes
// last of all, since what is done before it must be rolled back.
func insert(lines []Line, line Line) {
	i := len(lines) - 1
	for ; i > 0 && line.Item != UnusedItem && line.before(lines[i-1]); i-- {
		lines[i] = lines[i-1]
	}
	lines[i] = line
}

func (l Line) before(o Line) bool {
	return l.Supply < o.Supply || l.Supply == o.Supply && l.Item < o.Item
}

func (u *User) payment(tx *Tx) {
	tx.CustomerWarehouse, tx.CustomerDistrict = tx.Warehouse, tx.District
	if u.between(1, 100) > 85 && u.rules.Warehouses > 1 {
		tx.CustomerWarehouse = u.otherThan(tx.Warehouse)
		tx.CustomerDistrict = int16(u.between(1, Districts))
	}
	u.customer(tx)
	tx.Amount = u.between(1_00, 5_000_00)
	if u.rules.Profile == HammerDB { // it draws whole amounts
		tx.Amount = u.between(1, 5_000) * 100
	}
}

// customer chooses one, 60 times in 100 by last name.
func (u *User) customer(tx *Tx) {
	tx.Customer, tx.LastName = 0, 0
	if u.between(1, 100) > 60 {
		tx.Customer = u.customerID()
		return
	}
	c := int32(lastC)
	if u.rules.Profile == Spec {
		c += lastRunDelta
	}
	tx.LastName = int16(u.nurand(255, 0, 999, c))
}

func (u *User) customerID() int32 {
	if u.rules.Profile == HammerDB {
		return u.between(1, Customers)
	}
	return u.nurand(1023, 1, Customers, customerC)
}

// otherThan draws a warehouse that is not the one given; there are two at least.
func (u *User) otherThan(w int32) int32 {
	other := u.between(1, int32(u.rules.Warehouses)-1)
	if other >= w {
		other++
	}
	return other
}

func (u *User) between(low, high int32) int32 { return between(u.rand, low, high) }

func (u *User) nurand(a, low, high, c int32) int32 { return nurand(u.rand, a, low, high, c) }

// between draws a whole number evenly, both ends included.
func between(r *gen.Rand, low, high int32) int32 {
	return low + int32(r.Below(uint64(high-low)+1))
}

// nurand draws a whole number unevenly (clause 2.1.6).
func nurand(r *gen.Rand, a, low, high, c int32) int32 {
	return ((between(r, 0, a)|between(r, low, high))+c)%(high-low+1) + low
}

// Keying returns how long a user takes to type a transaction in (clause 5.2.5.7).
func Keying(k Kind) time.Duration {
	return [Kinds]time.Duration{NewOrder: 18, Payment: 3, Delivery: 2, OrderStatus: 2, StockLevel: 2}[k] * time.Second
}

// Thinking draws how long a user looks at a transaction's result: exponential
// with the kind's mean, ten times that at most (clause 5.2.5.4). HammerDB waits
// whole seconds, and changes the means of Delivery and Order-Status round.
func (u *User) Thinking(k Kind) time.Duration {
	means := [Kinds]float64{NewOrder: 12, Payment: 12, Delivery: 5, OrderStatus: 10, StockLevel: 5}
	if u.rules.Profile == HammerDB {
		means[Delivery], means[OrderStatus] = means[OrderStatus], means[Delivery]
	}
	mean := means[k]
	seconds := min(-math.Log(1-u.rand.Float())*mean, 10*mean)
	if u.rules.Profile == HammerDB {
		seconds = math.Trunc(seconds)
	}
	return time.Duration(seconds * float64(time.Second))
}
