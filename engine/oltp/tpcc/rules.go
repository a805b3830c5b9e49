// Package tpcc holds the rules of the order-entry benchmark, as pure functions:
// the tables and what they are filled with, the inputs of the five
// transactions, keying and thinking times, and the consistency conditions. It
// knows no database.
//
// The rules come from the TPC Benchmark C Standard Specification, revision
// 5.11, whose clauses the comments name. HammerDB derives its TPROC-C workload
// from them and departs in places; the two are kept apart as profiles.
package tpcc

import (
	"fmt"
	"slices"
)

// A Profile is one of the two sets of rules. Figures of different profiles are
// not comparable.
type Profile string

// The profiles.
const (
	// HammerDB follows HammerDB's TPROC-C: customers and items drawn evenly,
	// some columns never updated, no keying and thinking time by default.
	HammerDB Profile = "hammerdb"
	// Spec follows the TPC-C specification: non-uniform draws (NURand), every
	// column kept, the deck of cards of clause 5.2.4.2.
	Spec Profile = "spec"
)

// How much there is of everything (clause 1.2.1).
const (
	Items                 = 100_000
	Districts             = 10                                                                  // of a warehouse
	Customers             = 3_000                                                               // of a district, each with one initial order and one payment
	NewOrders             = 900                                                                 // of a district: its last orders, not yet delivered
	FirstNewOrder         = 2_101                                                               // number of the first order of a district that is not delivered
	MinLines, MaxLines    = 5, 15                                                               // of an order
	UnusedItem            = 100_001                                                             // no item has this number: it makes a New-Order roll back (clause 2.4.1.5)
	WarehouseYTD          = 300_000_00                                                          // initial w_ytd, in hundredths
	DistrictYTD           = 30_000_00                                                           // initial d_ytd, in hundredths
	RowsPerWarehouse      = 1 + Districts + Items + Districts*Customers*3 + Districts*NewOrders // without order lines, 10 an order on average
	MeanLinesPerWarehouse = Districts * Customers * (MinLines + MaxLines) / 2
)

// Kind is one of the five transactions.
type Kind uint8

// The transactions, in the order in which an engine lists them.
const (
	NewOrder Kind = iota
	Payment
	Delivery
	OrderStatus
	StockLevel
	Kinds
)

// String returns the name of a kind as it stands in records.
func (k Kind) String() string {
	return [Kinds]string{"new_order", "payment", "delivery", "order_status", "stock_level"}[k]
}

// Homes says which warehouses a user's transactions come from.
type Homes string

// The ways to give users their warehouses.
const (
	// RandomHome gives each user one warehouse at random, for good.
	RandomHome Homes = "random"
	// OwnHome gives user i warehouse i, and starts again where there are more
	// users than warehouses; under Spec, ten users follow each other in one
	// warehouse, a district each (clause 2.1.1).
	OwnHome Homes = "own"
	// AllHomes gives user i of n the warehouses i, i+n, i+2n, ..., one of them
	// at random for each transaction, so that all data is used.
	AllHomes Homes = "all"
)

// Rules are what a load goes by.
type Rules struct {
	Profile    Profile
	Warehouses int
	Users      int
	Homes      Homes
	Seed       uint64 // of the inputs; data has DataSeed
}

// Limits that keep keys within 32 bits everywhere.
const (
	MaxWarehouses = 1_000_000
	MaxUsers      = 65_536
)

// Check says what is wrong with the rules.
func (r Rules) Check() error {
	switch {
	case r.Profile != HammerDB && r.Profile != Spec:
		return fmt.Errorf("profile %q: expected %s or %s", r.Profile, HammerDB, Spec)
	case r.Warehouses < 1 || r.Warehouses > MaxWarehouses:
		return fmt.Errorf("%d warehouses: expected 1 to %d", r.Warehouses, MaxWarehouses)
	case r.Users < 1 || r.Users > MaxUsers:
		return fmt.Errorf("%d users: expected 1 to %d", r.Users, MaxUsers)
	case !slices.Contains([]Homes{RandomHome, OwnHome, AllHomes}, r.Homes):
		return fmt.Errorf("homes %q: expected %s, %s or %s", r.Homes, RandomHome, OwnHome, AllHomes)
	}
	return nil
}

// Constants C of NURand (clause 2.1.6). LastC holds for the last names of the
// data; those of the inputs have a constant of their own under Spec, whose
// distance from it clause 2.1.6.1 wants in [65, 119], but neither 96 nor 112.
const (
	lastC        = 123
	lastRunDelta = 85
	customerC    = 259
	itemC        = 7911
)

// LastName returns the last name of number n, 0 to 999 (clause 4.3.2.3).
func LastName(n int) string { return string(AppendLastName(nil, n)) }

// AppendLastName appends the last name of number n, 0 to 999.
func AppendLastName(b []byte, n int) []byte {
	b = append(b, syllable(n/100%10)...)
	b = append(b, syllable(n/10%10)...)
	return append(b, syllable(n%10)...)
}

func syllable(digit int) string {
	return [10]string{"BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"}[digit]
}
