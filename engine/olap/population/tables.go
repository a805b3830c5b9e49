package population

import "strconv"

// scratch holds the texts of one row that are not cut out of the pseudo text.
type scratch []byte

// numbered makes a name as Customer#000000001, clause 4.2.2.4.
func (s *scratch) numbered(prefix string, n int64, digits int) []byte {
	from := len(*s)
	b := append(*s, prefix...)
	number := strconv.AppendInt(nil, n, 10)
	for range digits - len(number) {
		b = append(b, '0')
	}
	*s = append(b, number...)
	return (*s)[from:]
}

func (s *scratch) string(text string) []byte {
	from := len(*s)
	*s = append(*s, text...)
	return (*s)[from:]
}

const (
	alphabet   = "0123456789abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ,"
	minAddress = 10
	maxAddress = 40
	perDraw    = 5 // characters
)

// address draws a random v-string, clause 4.2.2.7.
func (s *scratch) address(q *sequence) []byte {
	from := len(*s)
	length := int(q.draw(minAddress, maxAddress))
	var bits int64
	for i := range length {
		if i%perDraw == 0 {
			bits = q.bits()
		}
		*s = append(*s, alphabet[bits&63])
		bits >>= 6
	}
	return (*s)[from:]
}

// phone draws a phone number in a nation, clause 4.2.2.9.
func (s *scratch) phone(q *sequence, nation int64) []byte {
	from := len(*s)
	b := strconv.AppendInt(*s, 10+nation, 10)
	b = strconv.AppendInt(append(b, '-'), q.draw(100, 999), 10)
	b = strconv.AppendInt(append(b, '-'), q.draw(100, 999), 10)
	*s = strconv.AppendInt(append(b, '-'), q.draw(1000, 9999), 10)
	return (*s)[from:]
}

// bytesOf is a distribution whose words are ready for an Encoder.
func bytesOf(w words) [][]byte {
	all := make([][]byte, len(w))
	for i, word := range w {
		all[i] = []byte(word)
	}
	return all
}

func pick(list [][]byte, q *sequence) []byte { return list[q.draw(1, int64(len(list)))-1] }

// newSequences stands before a unit of several columns.
func newSequences(unit int64, seeds ...seed) []sequence {
	all := make([]sequence, len(seeds))
	for i, s := range seeds {
		all[i] = newSequence(s, unit)
	}
	return all
}

func beginAll(all []sequence) {
	for i := range all {
		all[i].begin()
	}
}

// named is region or nation: rows whose names are given.
type named struct {
	names   words
	region  func(nation int) int // nil for the regions themselves
	text    []byte
	average int64
	comment sequence
}

const averageNamed = 72

func newRegions(p *Population, first int64) maker {
	return &named{names: regions(), text: p.text(), average: averageNamed, comment: newSequence(seedRegionComment, first)}
}

func newNations(p *Population, first int64) maker {
	return &named{names: nations(), region: RegionOf, text: p.text(), average: averageNamed, comment: newSequence(seedNationComment, first)}
}

func (n *named) unit(index int64, e Encoder) {
	n.comment.begin()
	key := int(index - 1)
	e.Int(int64(key))
	e.Text([]byte(n.names[key]))
	if n.region != nil {
		e.Int(int64(n.region(key)))
	}
	e.Text(n.comment.comment(n.text, n.average))
	e.End()
}

// party is what suppliers and customers share.
type party struct {
	scratch
	text                           []byte
	all                            []sequence
	place, nation, phone, balance  *sequence
	comment                        *sequence
	rest                           []sequence
	average, lowBalance, upBalance int64
}

func newParty(p *Population, first, average int64, seeds ...seed) party {
	all := newSequences(first, seeds...)
	return party{text: p.text(), all: all, place: &all[0], nation: &all[1], phone: &all[2], balance: &all[3], comment: &all[4], rest: all[5:],
		average: average, lowBalance: -99_999, upBalance: 999_999}
}

// begin gives the fields up to the phone number.
func (p *party) begin(index int64, prefix string, e Encoder) {
	p.scratch = p.scratch[:0]
	beginAll(p.all)
	e.Int(index)
	e.Text(p.numbered(prefix, index, 9))
	e.Text(p.scratch.address(p.place))
	nation := p.nation.draw(0, 24)
	e.Int(nation)
	e.Text(p.scratch.phone(p.phone, nation))
	e.Decimal(p.balance.draw(p.lowBalance, p.upBalance))
}

// customers makes table customer.
type customers struct {
	party
	segments [][]byte
}

func newCustomers(p *Population, first int64) maker {
	return &customers{newParty(p, first, 73, seedCustomerAddress, seedCustomerNation, seedCustomerPhone, seedCustomerBalance, seedCustomerComment, seedSegment),
		bytesOf(Segments())}
}

func (c *customers) unit(index int64, e Encoder) {
	c.begin(index, "Customer#", e)
	e.Text(pick(c.segments, &c.rest[0]))
	e.Text(c.comment.comment(c.text, c.average))
	e.End()
}

// suppliers makes table supplier.
type suppliers struct {
	party
	press, kind, noise, offset *sequence
}

func newSuppliers(p *Population, first int64) maker {
	s := &suppliers{party: newParty(p, first, 63, seedSupplierAddress, seedSupplierNation, seedSupplierPhone, seedSupplierBalance, seedSupplierComment,
		seedPress, seedPressKind, seedPressNoise, seedPressOffset)}
	s.press, s.kind, s.noise, s.offset = &s.rest[0], &s.rest[1], &s.rest[2], &s.rest[3]
	return s
}

func (s *suppliers) unit(index int64, e Encoder) {
	s.begin(index, "Supplier#", e)
	e.Text(s.remark(s.comment.comment(s.text, s.average)))
	e.End()
}

// remark puts a customer's word on the supplier into one comment in a thousand,
// clause 4.2.3 on S_COMMENT.
func (s *suppliers) remark(comment []byte) []byte {
	const (
		subject   = "Customer "
		length    = int64(len(subject) + len("Complaints"))
		perMyriad = 10
		complain  = 50 // percent
	)
	press, kind := s.press.draw(1, 10_000), s.kind.draw(0, 100)
	noise := s.noise.draw(0, int64(len(comment))-length)
	offset := s.offset.draw(0, int64(len(comment))-length-noise)
	if press > perMyriad {
		return comment
	}
	word := "Recommends"
	if kind < complain {
		word = "Complaints"
	}
	own := s.string(string(comment))
	copy(own[offset:], subject)
	copy(own[offset+int64(len(subject))+noise:], word)
	return own
}

// retailPrice is P_RETAILPRICE in hundredths, clause 4.2.3.
func retailPrice(part int64) int64 { return 90_000 + part/10%20_001 + 100*(part%1000) }

// supplierOf is the supplier number n (0 to 3) of a part, clause 4.2.3 on
// PS_SUPPKEY.
func (p *Population) supplierOf(part, n int64) int64 {
	return (part+n*(p.supplier/partSuppEach+(part-1)/p.supplier))%p.supplier + 1
}

// parts makes table part.
type parts struct {
	scratch
	text                                                    []byte
	all                                                     []sequence
	name, manufacturer, brand, kind, size, container, about *sequence
	types, containers                                       [][]byte
	colors                                                  []string
	order                                                   []int // of colors
}

func newParts(p *Population, first int64) maker {
	all := newSequences(first, seedPartName, seedManufacturer, seedBrand, seedType, seedSize, seedContainer, seedPartComment)
	return &parts{text: p.text(), all: all, name: &all[0], manufacturer: &all[1], brand: &all[2], kind: &all[3], size: &all[4], container: &all[5], about: &all[6],
		types: bytesOf(Types()), containers: bytesOf(Containers()), colors: Colors(), order: make([]int, len(Colors()))}
}

func (p *parts) unit(index int64, e Encoder) {
	p.scratch = p.scratch[:0]
	beginAll(p.all)
	e.Int(index)
	e.Text(p.colorful())
	manufacturer := p.manufacturer.draw(1, 5)
	e.Text(p.numbered("Manufacturer#", manufacturer, 1))
	e.Text(p.numbered("Brand#", manufacturer*10+p.brand.draw(1, 5), 2))
	e.Text(pick(p.types, p.kind))
	e.Int(p.size.draw(1, 50))
	e.Text(pick(p.containers, p.container))
	e.Decimal(retailPrice(index))
	e.Text(p.about.comment(p.text, 14))
	e.End()
}

// colorful joins the first five colors of a shuffle.
func (p *parts) colorful() []byte {
	const colors = 5
	for i := range p.order {
		p.order[i] = i
	}
	from := len(p.scratch)
	for i := range colors {
		other := p.name.draw(int64(i), int64(len(p.order)-1))
		p.order[i], p.order[other] = p.order[other], p.order[i]
		if i > 0 {
			p.scratch = append(p.scratch, ' ')
		}
		p.scratch = append(p.scratch, p.colors[p.order[i]]...)
	}
	return p.scratch[from:]
}

// partSupps makes table partsupp, four rows a part.
type partSupps struct {
	*Population
	text                   []byte
	available, cost, about sequence
}

func newPartSupps(p *Population, first int64) maker {
	return &partSupps{p, p.text(), newSequence(seedAvailable, first), newSequence(seedSupplyCost, first), newSequence(seedPartSuppComment, first)}
}

func (p *partSupps) unit(index int64, e Encoder) {
	p.available.begin()
	p.cost.begin()
	p.about.begin()
	for n := range int64(partSuppEach) {
		e.Int(index)
		e.Int(p.supplierOf(index, n))
		e.Int(p.available.draw(1, 9999))
		e.Decimal(p.cost.draw(100, 100_000))
		e.Text(p.about.comment(p.text, 124))
		e.End()
	}
}
