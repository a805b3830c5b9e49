package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bakeoff/record"
)

// A strain is how near to its limits everything was in one trial.
type strain struct {
	parts []strainPart // in the order of strainKinds; those that could be told
}

// A strainPart is one resource at work, as a share of what it can do.
type strainPart struct {
	kind  string // of strainKinds
	what  string // which one, as "sda on server"
	share float64
}

// strainKinds are what may bind a server, with the share from which each counts
// as the limit. Sessions that wait for locks on average bind well before all of
// them do.
func strainKinds() []struct {
	name string
	full float64
} {
	return []struct {
		name string
		full float64
	}{{"generator", 0.9}, {"server CPU", 0.9}, {"disk", 0.9}, {"link", 0.9}, {"locks", 0.2}}
}

// waitsForLocks says whether a counter is of the seconds that sessions waited for
// locks or, on a target with one writer, for their turn.
func waitsForLocks(c record.Counter) bool {
	return c.Unit == "s" && (strings.Contains(c.Name, "lock_time") || strings.Contains(c.Name, "lock_wait") || strings.HasSuffix(c.Name, "connection_wait"))
}

// strain measures how near to its limits everything was. Flows are those of the
// trial.
func (d *trialData) strain(flows []flow) strain {
	var s strain
	s.most(d.generatorStrain())
	s.most(d.cpuStrain())
	s.most(d.diskStrain())
	s.most(linkStrain(flows))
	s.most(d.lockStrain())
	return s
}

// most keeps the one under the most strain of a kind.
func (s *strain) most(parts []strainPart) {
	if len(parts) > 0 {
		s.parts = append(s.parts, slices.MaxFunc(parts, func(a, b strainPart) int { return cmp.Compare(a.share, b.share) }))
	}
}

// of is the share of a kind of resource, nil where it could not be told.
func (s strain) of(kind string) *strainPart {
	for i := range s.parts {
		if s.parts[i].kind == kind {
			return &s.parts[i]
		}
	}
	return nil
}

func (d *trialData) generatorStrain() (out []strainPart) {
	for _, l := range d.trial.Loads {
		if l.Generator.Workers > 0 && !l.Generator.Embedded {
			out = append(out, strainPart{"generator", "busiest worker of " + subjectOf(l), l.Generator.BusyFraction})
		}
	}
	return out
}

// cpuStrain is that of the machines under test, and of the cores that a service
// is pinned to.
func (d *trialData) cpuStrain() (out []strainPart) {
	for _, m := range d.sutMachines() {
		busy, all, ok := d.machines[m].cpuBusy(d.window)
		if ok && all.coverage >= minCoverage {
			out = append(out, strainPart{"server CPU", "all cores of " + m, busy.total / all.total})
		}
	}
	for _, s := range d.trial.Services {
		machine, cores := d.machines[d.names[s.Host]], coresIn(s.CPUs)
		if machine == nil || cores == 0 {
			continue
		}
		user, okUser := machine.counter("process.cpu.user", s.Name, d.window)
		system, okSystem := machine.counter("process.cpu.system", s.Name, d.window)
		if okUser && okSystem && min(user.coverage, system.coverage) >= minCoverage {
			out = append(out, strainPart{"server CPU", fmt.Sprintf("%s on its cores %s", s.Name, s.CPUs), (user.perSecond() + system.perSecond()) / float64(cores)})
		}
	}
	return out
}

// coresIn counts the cores of a list such as 0-3,8; 0 where there is none.
func coresIn(list string) int {
	n := 0
	for part := range strings.SplitSeq(list, ",") {
		first, last, ranged := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		to := from
		if ranged && err == nil {
			to, err = strconv.Atoi(last)
		}
		if err != nil || to < from {
			return 0
		}
		n += to - from + 1
	}
	return n
}

func (d *trialData) diskStrain() (out []strainPart) {
	for _, m := range d.sutMachines() {
		for _, disk := range d.machines[m].instances("disk.busy") {
			if c, ok := d.machines[m].counter("disk.busy", disk, d.window); ok && c.coverage >= minCoverage {
				out = append(out, strainPart{"disk", disk + " on " + m, c.perSecond()})
			}
		}
	}
	return out
}

func linkStrain(flows []flow) (out []strainPart) {
	for _, f := range flows {
		if strings.HasPrefix(f.binding().name, "link") || strings.HasPrefix(f.binding().name, "declared link") {
			out = append(out, strainPart{"link", f.device + " on " + f.host + ", " + f.direction, f.bits / f.binding().bits})
		}
	}
	return out
}

// lockStrain is the share of the sessions that waited for locks on average.
func (d *trialData) lockStrain() (out []strainPart) {
	sessions, err := strconv.ParseFloat(d.trial.At, 64)
	for _, l := range d.trial.Loads {
		waited, found := 0.0, false
		for _, c := range l.Counters {
			if waitsForLocks(c) {
				waited, found = waited+c.Close-c.Open, true
			}
		}
		if found && err == nil && !isOpenLoop(l) && l.Window.Seconds > 0 {
			out = append(out, strainPart{"locks", "sessions of " + subjectOf(l), waited / l.Window.Seconds / sessions})
		}
	}
	return out
}

// worst gathers the strain of several trials of one load: of each kind the
// largest.
func worst(all map[record.TrialID]strain, trials []record.TrialID) strain {
	var out strain
	for _, kind := range strainKinds() {
		var parts []strainPart
		for _, id := range trials {
			if p := all[id].of(kind.name); p != nil {
				parts = append(parts, *p)
			}
		}
		out.most(parts)
	}
	return out
}
