package telemetry

// usage is what one process has used: by itself, and by its children that
// ended and that it waited for.
type usage struct {
	own, waited [usageCounters]uint64
	known       [usageCounters]bool
}

// The counters of a usage.
const (
	useUser = iota // ticks
	useSystem
	useFaults
	useRead // bytes; the kernel adds a waited-for child's to its parent's own
	useWrite
	useVoluntary
	useInvoluntary
	usageCounters
)

func (u *usage) set(counter int, own, waited uint64) {
	u.own[counter], u.waited[counter], u.known[counter] = own, waited, true
}

func (u *usage) total(counter int) uint64 { return u.own[counter] + u.waited[counter] }

// procGroup adds up the processes of a service as they come and go, so that the
// sum never falls: what an ended process used was either handed to a parent in
// the group that waited for it, or is kept here.
//
// What processes used between the last sample and their end is lost unless a
// parent waited for them; so is one that started and ended between two samples.
// The sum is thus a lower bound.
type procGroup struct {
	last    map[procID]usage
	kept    [usageCounters]uint64
	started uint64 // processes that came after the first update
	begun   bool
}

// update takes in the processes that run now.
func (g *procGroup) update(now map[procID]usage) {
	var gained [usageCounters]uint64 // that may have come from children that ended
	for id, u := range now {
		before, knew := g.last[id]
		if !knew && g.begun {
			g.started++
		}
		for k := range usageCounters {
			if !u.known[k] && knew {
				u.own[k], u.waited[k] = before.own[k], before.waited[k]
			}
			gained[k] += growth64(before.waited[k], u.waited[k])
			if k == useRead || k == useWrite {
				gained[k] += growth64(before.own[k], u.own[k])
			}
		}
		now[id] = u
	}
	for id, before := range g.last {
		if _, runs := now[id]; runs {
			continue
		}
		for k := range usageCounters {
			ended := before.total(k)
			handed := min(ended, gained[k])
			gained[k] -= handed
			g.kept[k] += ended - handed
		}
	}
	g.last, g.begun = now, true
}

func growth64(before, now uint64) uint64 {
	if now < before {
		return 0
	}
	return now - before
}

// total returns what the group has used, and whether that is known of every
// process that runs.
func (g *procGroup) total(counter int) (sum uint64, known bool) {
	sum = g.kept[counter]
	known = len(g.last) > 0 || sum > 0
	for _, u := range g.last {
		sum += u.total(counter)
		known = known && u.known[counter]
	}
	return sum, known
}

// cpu returns the group's CPU time in ticks.
func (g *procGroup) cpu() uint64 {
	user, _ := g.total(useUser)
	system, _ := g.total(useSystem)
	return user + system
}
