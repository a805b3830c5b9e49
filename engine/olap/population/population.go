// Package population makes the database population of the TPC-H specification
// (clause 4.2): the same rows, byte for byte, that the specification's own
// generator writes, in any range of rows and any number of streams at once.
//
// Every column draws from a random sequence of its own, and each row takes the
// same number of draws of it, so that the state at any row follows from its
// number.
package population

import (
	"fmt"
	"math"
)

// Table is one of the eight tables (clause 1.2).
type Table int

// The tables, in an order in which rows never refer to a later table.
const (
	Region Table = iota
	Nation
	Supplier
	Part
	PartSupp
	Customer
	Orders
	LineItem
	tables
)

// Tables returns all tables, in their order.
func Tables() []Table {
	all := make([]Table, tables)
	for i := range all {
		all[i] = Table(i)
	}
	return all
}

// String is the table's name in SQL.
func (t Table) String() string {
	return [...]string{"region", "nation", "supplier", "part", "partsupp", "customer", "orders", "lineitem"}[t]
}

// The rows of the tables that grow with the scale factor, at scale factor 1.
const (
	baseSupplier = 10_000
	basePart     = 200_000
	baseCustomer = 150_000
	baseOrders   = 1_500_000
	partSuppEach = 4 // suppliers a part
	maxLines     = 7 // line items an order
)

// The scale factors that are taken. From 30,000 on, the specification's
// generator draws some keys from another random sequence.
const (
	MinScale = 0.001
	MaxScale = 10_000
)

// Population is the data of one scale factor. It is safe for concurrent use.
type Population struct {
	scale float64
	// whole is the scale factor from 1 on; 1 below, where fractions of the base are taken.
	whole                            int64
	supplier, part, customer, orders int64
	text                             func() []byte
}

// New returns the population of a scale factor: a whole number, or thousandths
// below 1, as the specification's generator takes it. Its comments are cut out of the
// text, which populations may share.
func New(scale float64, text *Text) (*Population, error) {
	if !(scale >= MinScale && scale <= MaxScale) {
		return nil, fmt.Errorf("scale factor %g: expected %g to %d", scale, MinScale, MaxScale)
	}
	p := &Population{scale: scale, whole: 1, text: text.get}
	var size func(base int64) int64
	switch thousandths := math.Round(scale * 1000); {
	case scale >= 1 && scale == math.Trunc(scale):
		p.whole = int64(scale)
		size = func(base int64) int64 { return base * p.whole }
	case scale < 1 && math.Abs(thousandths/1000-scale) < 1e-9:
		size = func(base int64) int64 { return base * int64(thousandths) / 1000 }
	default:
		return nil, fmt.Errorf("scale factor %g: expected a whole number, or thousandths below 1, as 0.01", scale)
	}
	p.supplier, p.part, p.customer, p.orders = size(baseSupplier), size(basePart), size(baseCustomer), size(baseOrders)
	if !p.distinctSuppliers() {
		return nil, fmt.Errorf("scale factor %g: the specification's formula would give parts the same supplier twice; expected another one, as 0.01", scale)
	}
	return p, nil
}

// Words makes the pseudo text that comments are cut out of, some 300 MB, which
// otherwise the first row does that has one. It is made once as long as the result is kept.
func (p *Population) Words() []byte { return p.text() }

// distinctSuppliers reports whether the suppliers of every part differ, which they
// do not where suppliers are few.
func (p *Population) distinctSuppliers() bool {
	for first := int64(1); first <= p.part; first += p.supplier {
		for n := range int64(partSuppEach) {
			if n > 0 && p.supplierOf(first, n) == p.supplierOf(first, 0) {
				return false
			}
		}
	}
	return true
}

// Scale is the scale factor.
func (p *Population) Scale() float64 { return p.scale }

// Units is by how many units a table's streams are cut: orders for the line
// items, parts for the suppliers of parts, rows for all others.
func (p *Population) Units(t Table) int64 {
	switch t {
	case Region:
		return int64(len(regions()))
	case Nation:
		return int64(len(nations()))
	case Supplier:
		return p.supplier
	case Part, PartSupp:
		return p.part
	case Customer:
		return p.customer
	}
	return p.orders
}

// Rows is how many rows a table has.
func (p *Population) Rows(t Table) int64 {
	switch t {
	case PartSupp:
		return p.part * partSuppEach
	case LineItem:
		return p.lines(1, p.orders)
	}
	return p.Units(t)
}

// lines counts the line items of orders, from their sequence alone.
func (p *Population) lines(first, count int64) (n int64) {
	q := newSequence(seedLineCount, first)
	for range count {
		q.begin()
		n += q.draw(1, maxLines)
	}
	return n
}

// An Encoder takes the fields of rows in the order of the table's columns.
type Encoder interface {
	Int(v int64)
	Decimal(hundredths int64)
	Date(d Date)
	// Text takes bytes that must not be changed. They are good until the row's End.
	Text(b []byte)
	End()
}

// A Stream makes a range of a table's units, in order. It is for one goroutine.
type Stream struct {
	table     maker
	next, end int64
}

// maker makes the rows of one unit; units come one after another.
type maker interface {
	unit(index int64, e Encoder)
}

// Stream makes count units from number first on; the first of a table is 1.
func (p *Population) Stream(t Table, first, count int64) *Stream {
	s := &Stream{next: first, end: first + count}
	switch t {
	case Region:
		s.table = newRegions(p, first)
	case Nation:
		s.table = newNations(p, first)
	case Supplier:
		s.table = newSuppliers(p, first)
	case Part:
		s.table = newParts(p, first)
	case PartSupp:
		s.table = newPartSupps(p, first)
	case Customer:
		s.table = newCustomers(p, first)
	case Orders:
		s.table = newOrders(p, first)
	default:
		s.table = newLineItems(p, first)
	}
	return s
}

// Next gives the rows of the next unit to e. It is false when there are no more.
func (s *Stream) Next(e Encoder) bool {
	if s.next >= s.end {
		return false
	}
	s.table.unit(s.next, e)
	s.next++
	return true
}
