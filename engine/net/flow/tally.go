package flow

// Tally judges the datagrams of one stream by their numbers, which begin at 0,
// and their times. It takes them in the order of their arrival.
//
//   - A datagram is reordered where its number is below the next one expected,
//     which is one above the highest number seen (RFC 4737, section 3.3).
//   - A duplicate is one whose number came before. It counts as nothing else. Of
//     numbers more than window below the highest it is not known any more
//     whether they came: those count as reordered.
//   - Jitter is RFC 3550's estimator: J += (|D| - J)/16, of the differences D in
//     transit time between datagrams in order of arrival.
type Tally struct {
	next       uint64 // one above the highest number
	received   uint64 // without duplicates
	duplicates uint64
	reordered  uint64

	any        bool
	transit    int64 // ns, of the last datagram; only differences mean something
	jitter     float64
	deviation  float64
	deviations uint64

	seen [window / 64]uint64 // a bit a number, of the window below next
}

// window is how far below the highest number duplicates are recognised.
const window = 1 << 16

// Add counts one datagram: its number, and when it was sent and arrived, in
// nanoseconds of the sender's and the receiver's clock.
func (t *Tally) Add(number uint64, sent, arrived int64) {
	switch {
	case number >= t.next:
		t.forward(number)
	case t.next-number > window:
		t.reordered++
	case t.mark(number):
		t.duplicates++
		return
	default:
		t.reordered++
	}
	t.received++
	t.time(arrived - sent)
}

// forward moves the window up to a number that is the highest so far.
func (t *Tally) forward(number uint64) {
	if number-t.next >= window {
		t.seen = [window / 64]uint64{}
	} else {
		for n := t.next; n < number; n++ {
			t.seen[n%window/64] &^= 1 << (n % 64)
		}
	}
	t.seen[number%window/64] |= 1 << (number % 64)
	t.next = number + 1
}

// mark notes that a number came and reports whether it had come before.
func (t *Tally) mark(number uint64) bool {
	word, bit := &t.seen[number%window/64], uint64(1)<<(number%64)
	was := *word&bit != 0
	*word |= bit
	return was
}

func (t *Tally) time(transit int64) {
	if t.any {
		d := float64(transit - t.transit)
		if d < 0 {
			d = -d
		}
		t.jitter += (d - t.jitter) / 16
		t.deviation += d
		t.deviations++
	}
	t.any, t.transit = true, transit
}

// Into writes the tally into counts.
func (t *Tally) Into(c *Counts) {
	c.Units, c.Expected, c.Duplicates, c.Reordered = t.received, t.next, t.duplicates, t.reordered
	c.Jitter, c.Deviation, c.Deviations = t.jitter, t.deviation, t.deviations
}
