package kv

import "bakeoff/load/gen"

// mixer draws the kinds of operations.
type mixer struct {
	random     *gen.Rand
	sets, both uint64 // of so many operations, on average, so many are sets
	kind       uint8  // the only one, where both is 0
	held       bool   // the next kind is drawn already
	next       uint8
}

func (c *config) mixer(r *gen.Rand) mixer {
	switch {
	case c.command != nil:
		return mixer{kind: kindCommand}
	case c.gets == 0:
		return mixer{kind: kindSet}
	case c.sets == 0:
		return mixer{kind: kindGet}
	}
	return mixer{random: r, sets: c.sets, both: c.sets + c.gets}
}

// run draws the kind of the next operation and says how many in a row have it,
// at most n.
func (m *mixer) run(n uint32) (kind uint8, count uint32) {
	if m.both == 0 {
		return m.kind, n
	}
	kind = m.next
	if !m.held {
		kind = m.draw()
	}
	m.held = false
	for count = 1; count < n; count++ {
		if m.next = m.draw(); m.next != kind {
			m.held = true
			break
		}
	}
	return kind, count
}

func (m *mixer) draw() uint8 {
	if m.random.Below(m.both) < m.sets {
		return kindSet
	}
	return kindGet
}
