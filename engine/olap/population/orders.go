package population

// sparseKey is O_ORDERKEY of an order: the first eight of every thirty-two
// numbers are used, clause 4.2.3. Orders of refresh functions have the next eight.
func sparseKey(order, block int64) int64 { return (order>>3<<2+block)<<3 + order&7 }

// line is what an order needs to know of a line item.
type line struct {
	part                    int64
	quantity, discount, tax int64
	price                   int64 // hundredths
	shipped                 Date
}

// lineSequences draw line items.
type lineSequences struct {
	pop *Population
	all []sequence
	n   int64 // lines of the order
	day Date  // of the order
}

// The sequences of lineSequences, in their place.
const (
	lineCount = iota
	lineDay
	lineQuantity
	lineDiscount
	lineTax
	linePart
	lineShip
	lineMore // the first of those that the table has of its own
)

func newLineSequences(p *Population, first int64, more ...seed) lineSequences {
	return lineSequences{pop: p, all: newSequences(first, append([]seed{seedLineCount, seedOrderDate, seedQuantity, seedDiscount, seedTax,
		seedLinePart, seedShipDate}, more...)...)}
}

// begin starts the next order.
func (s *lineSequences) begin() {
	beginAll(s.all)
	s.n = s.all[lineCount].draw(1, maxLines)
	s.day = Date(s.all[lineDay].draw(0, lastOrder))
}

// line draws the next line item of the order.
func (s *lineSequences) line() line {
	l := line{
		quantity: s.all[lineQuantity].draw(1, 50), discount: s.all[lineDiscount].draw(0, 10), tax: s.all[lineTax].draw(0, 8),
		part: s.all[linePart].draw(1, s.pop.part),
	}
	l.price = retailPrice(l.part) * l.quantity
	l.shipped = s.day + Date(s.all[lineShip].draw(1, maxShip))
	return l
}

// charge is what the line item costs with discount and tax, in hundredths, cut
// off twice as the specification's generator does.
func (l *line) charge() int64 { return l.price * (100 - l.discount) / 100 * (100 + l.tax) / 100 }

// orders makes table orders.
type orders struct {
	scratch
	lineSequences
	block                               int64 // of sparseKey
	keyFrom                             int64 // what to take off an order's number for its key
	text                                []byte
	customer, priority, clerk, comments *sequence
	priorities                          [][]byte
}

func newOrders(p *Population, first int64) maker { return newOrdersAt(p, first, 0, 0) }

func newOrdersAt(p *Population, first, keyFrom, block int64) *orders {
	o := &orders{lineSequences: newLineSequences(p, first, seedOrderKey, seedPriority, seedClerk, seedOrderComment),
		keyFrom: keyFrom, block: block, text: p.text(), priorities: bytesOf(Priorities())}
	more := o.all[lineMore:]
	o.customer, o.priority, o.clerk, o.comments = &more[0], &more[1], &more[2], &more[3]
	return o
}

func (o *orders) unit(index int64, e Encoder) {
	o.scratch = o.scratch[:0]
	o.begin()
	total, shipped := int64(0), int64(0)
	for range o.n {
		l := o.line()
		total += l.charge()
		if l.shipped <= currentDate {
			shipped++
		}
	}
	status := "P"
	switch shipped {
	case 0:
		status = "O"
	case o.n:
		status = "F"
	}
	e.Int(sparseKey(index-o.keyFrom, o.block))
	e.Int(o.buyer())
	e.Text(o.string(status))
	e.Decimal(total)
	e.Date(o.day)
	e.Text(pick(o.priorities, o.priority))
	e.Text(o.numbered("Clerk#", o.clerk.draw(1, 1000*o.pop.whole), 9))
	e.Int(0)
	e.Text(o.comments.comment(o.text, 49))
	e.End()
}

// buyer draws a customer; one in three never orders.
func (o *orders) buyer() int64 {
	customer, step := o.customer.draw(1, o.pop.customer), int64(1)
	for customer%3 == 0 {
		customer = min(customer+step, o.pop.customer)
		step = -step
	}
	return customer
}

// lineItems makes table lineitem.
type lineItems struct {
	lineSequences
	block, keyFrom                     int64
	text                               []byte
	supplier, promised, arrived        *sequence
	instruct, mode, returned, comments *sequence
	instructions, modes, returnFlags   [][]byte
	open, filled, none                 []byte
}

func newLineItems(p *Population, first int64) maker { return newLineItemsAt(p, first, 0, 0) }

func newLineItemsAt(p *Population, first, keyFrom, block int64) *lineItems {
	l := &lineItems{lineSequences: newLineSequences(p, first, seedLineSupp, seedCommitDate, seedReceiptDate, seedInstruct, seedMode, seedReturnFlag, seedLineComment),
		keyFrom: keyFrom, block: block, text: p.text(), instructions: bytesOf(Instructions()), modes: bytesOf(Modes()),
		returnFlags: bytesOf(words{"R", "A"}), open: []byte("O"), filled: []byte("F"), none: []byte("N")}
	more := l.all[lineMore:]
	l.supplier, l.promised, l.arrived = &more[0], &more[1], &more[2]
	l.instruct, l.mode, l.returned, l.comments = &more[3], &more[4], &more[5], &more[6]
	return l
}

func (s *lineItems) unit(index int64, e Encoder) {
	s.begin()
	key := sparseKey(index-s.keyFrom, s.block)
	for number := range s.n {
		l := s.line()
		supplier := s.pop.supplierOf(l.part, s.supplier.draw(0, partSuppEach-1))
		promised, arrived := s.day+Date(s.promised.draw(minCommit, maxCommit)), l.shipped+Date(s.arrived.draw(1, maxReceipt))
		flag, status := s.none, s.open
		if arrived <= currentDate {
			flag = pick(s.returnFlags, s.returned)
		}
		if l.shipped <= currentDate {
			status = s.filled
		}
		e.Int(key)
		e.Int(l.part)
		e.Int(supplier)
		e.Int(number + 1)
		e.Decimal(l.quantity * 100)
		e.Decimal(l.price)
		e.Decimal(l.discount)
		e.Decimal(l.tax)
		e.Text(flag)
		e.Text(status)
		e.Date(l.shipped)
		e.Date(promised)
		e.Date(arrived)
		e.Text(pick(s.instructions, s.instruct))
		e.Text(pick(s.modes, s.mode))
		e.Text(s.comments.comment(s.text, 27))
		e.End()
	}
}
