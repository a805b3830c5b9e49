package load

// rest is a slot whose user takes a pause.
type rest struct {
	until int64 // clock nanoseconds
	slot  int32
}

// rests is a heap of the slots that pause, the one that ends first on top.
type rests []rest

// add has a slot pause.
func (h *rests) add(r rest) {
	*h = append(*h, r)
	all := *h
	for i := len(all) - 1; i > 0; {
		parent := (i - 1) / 2
		if all[parent].until <= all[i].until {
			return
		}
		all[parent], all[i] = all[i], all[parent]
		i = parent
	}
}

// take returns a slot whose pause is over by now.
func (h *rests) take(now int64) (slot int32, ok bool) {
	all := *h
	if len(all) == 0 || all[0].until > now {
		return 0, false
	}
	slot = all[0].slot
	last := len(all) - 1
	all[0] = all[last]
	all = all[:last]
	*h = all
	for i := 0; ; {
		least := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < len(all) && all[child].until < all[least].until {
				least = child
			}
		}
		if least == i {
			return slot, true
		}
		all[least], all[i] = all[i], all[least]
		i = least
	}
}

// wake returns when the next pause ends.
func (h rests) wake() int64 {
	if len(h) == 0 {
		return forever
	}
	return h[0].until
}

// pauser returns a worker's Pauser in a closed loop, nil where users do not pause.
func pauser(w Worker, closed bool) Pauser {
	if p, ok := w.(Pauser); ok && closed && p.Pauses() {
		return p
	}
	return nil
}

// again asks for an operation on a slot, now or when its user has paused.
func (l *batchLoop) again(slot int32, now int64) {
	if pause := int64(l.pauses.Pause(slot)); pause > 0 {
		l.resting.add(rest{now + pause, slot})
		return
	}
	l.ops = append(l.ops, Op{Count: 1, Slot: slot})
}

// rested asks for the operations whose users have paused by now.
func (l *batchLoop) rested(now int64) {
	for {
		slot, ok := l.resting.take(now)
		if !ok {
			return
		}
		l.ops = append(l.ops, Op{Count: 1, Slot: slot})
	}
}

// pause has the user pause before the next operation; it is false when the
// window is over before.
func (u *user) pause() bool {
	until := u.crew.job.clock.Now() + int64(u.pauses.Pause(0))
	end := u.crew.job.edges.close
	return u.sleep(min(until, end)) && until < end
}
