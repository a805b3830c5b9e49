package population

// A Refresh is one pair of refresh functions, numbered from 1 (clause 2.5):
// the orders that RF1 inserts, and the keys of those that RF2 deletes.
type Refresh struct {
	pop   *Population
	n     int64 // from 0
	count int64
}

// perRefresh is SF x 1500 orders, clause 2.6.2.
const perRefresh = 1500

// keyBlocks is how many refreshes share one block of unused keys.
const keyBlocks = 1000

// Refresh returns refresh number n. Refreshes up to number MaxRefresh delete
// orders of their own.
func (p *Population) Refresh(n int) Refresh {
	return Refresh{pop: p, n: int64(n) - 1, count: p.refreshOrders()}
}

func (p *Population) refreshOrders() int64 {
	return max(1, int64(p.scale*perRefresh+0.5))
}

// MaxRefresh is the number of the last refresh: by then a tenth of what can be told
// apart by their keys, or all orders, are replaced.
func (p *Population) MaxRefresh() int {
	return int(min(keyBlocks-1, p.orders/p.refreshOrders()))
}

// Orders is how many orders the refresh inserts, and how many it deletes.
func (r Refresh) Orders() int64 { return r.count }

// first is the refresh's first order as the sequences count: refreshes go on
// where the population ends.
func (r Refresh) first() int64 { return r.pop.orders + r.n*r.count + 1 }

func (r Refresh) block() int64 { return 1 + (r.n+1)/keyBlocks }

// Insert streams the rows of orders or lineitem that RF1 inserts, a unit an order: count
// orders from number first (from 1) on.
func (r Refresh) Insert(t Table, first, count int64) *Stream {
	at := r.first() + first - 1
	s := &Stream{next: at, end: at + count}
	if t == Orders {
		s.table = newOrdersAt(r.pop, at, r.pop.orders, r.block())
	} else {
		s.table = newLineItemsAt(r.pop, at, r.pop.orders, r.block())
	}
	return s
}

// InsertedKey is the key of order i (from 1) that RF1 inserts.
func (r Refresh) InsertedKey(i int64) int64 { return sparseKey(r.n*r.count+i, r.block()) }

// DeletedOrder is the number of order i (from 1) that RF2 deletes, as Stream
// counts them.
func (r Refresh) DeletedOrder(i int64) int64 { return r.n*r.count + i }

// DeletedKey is the key of order i (from 1) that RF2 deletes.
func (r Refresh) DeletedKey(i int64) int64 { return sparseKey(r.DeletedOrder(i), 0) }
