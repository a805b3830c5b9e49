package analysis

import (
	"fmt"
	"strconv"

	"bakeoff/record"
)

// presenceGates watch that generator and target were there for the whole window. In
// a closed loop either may be gone for half of it and leave hardly a trace: a few
// operations that take long or fail.
func presenceGates() []gate {
	return []gate{
		{name: gateStalled, title: "Generator stood still", severity: record.SeverityHard,
			threshold: func(l limits) string {
				return fmt.Sprintf("at a time, 250 ms warns, and the longer of that and %s %% of the window makes the trial invalid; so does %s %% of the window in all (delays from 50 ms on count)", plain(l.stall), plain(stallsInAll*l.stall))
			},
			advice: "The generator was stopped, its machine paused, or it had no core: nothing was sent meanwhile. Give it cores and a machine of its own.", trial: checkStalls},
		{name: gateSilent, title: "Target silent for a part of the window", severity: record.SeverityHard,
			threshold: func(l limits) string {
				return fmt.Sprintf("no stretch of whole tenths of the window, of at least 500 ms, more than %s %% of it and more than twice what the generator stood still, completes less than 2 %% of the busiest tenth's pace (in an open loop: of what is due); looked at where that pace is 5 operations a slot (or 50 are due), and all operations times slots come to 1000 a stretch; a slot is an operation that can be in flight", plain(l.silence))
			},
			advice: "The target was stopped, restarted or out of reach. If pauses are its own, they belong into the measurement: make the window more than ten times as long as they are, so that they weigh what they do in service, or raise limits.silence and say so.", trial: checkSilence},
		{name: gateDown, title: "Connections down", severity: record.SeverityHard,
			threshold: func(l limits) string {
				return fmt.Sprintf("%s %% of the window, on average over the connections", plain(l.down))
			},
			advice: "Connections were lost and could not be opened again: look at the target's log, its limit on connections, and the network. In a closed loop what they did not send is missing.", trial: checkDown},
	}
}

// The thresholds of these gates.
const (
	minStall    = 0.25 // s at a time: warns
	stallsInAll = 10   // times what may be at a time
	silentShare = 0.02 // of what the busiest tenth completes
	minSilence  = 0.5  // s
	silentTurns = 5    // operations of the busiest tenth for each that can be in flight
	minDue      = 50   // operations due in a tenth of an open loop
	rareLong    = 1000 // operations for each that may last a tenth of the window by itself
)

func checkStalls(c *trialCheck) sight {
	s := sawNothing("the loads do not tell whether their generators stood still")
	for _, l := range c.trial.Loads {
		stalls, window := l.Generator.Stalls, l.Window.Seconds
		if stalls == nil || window <= 0 {
			continue
		}
		s.blind = ""
		longest := float64(max(stalls.TickMax, stalls.WorkerMax)) / 1e9
		total := stalledFor(l)
		hard := longest > max(minStall, c.limits.stall/100*window) || total > stallsInAll*c.limits.stall/100*window
		if longest <= minStall && !hard {
			continue
		}
		severity := record.SeveritySoft
		if hard {
			severity = record.SeverityHard
		}
		s.objections = append(s.objections, objection{subject: subjectOf(l), severity: severity, found: fmt.Sprintf(
			"for %s at a time, %s in all, of %s", quantity(longest, "s"), quantity(total, "s"), quantity(window, "s"))})
	}
	return s
}

// checkSilence looks for tenths of the window in which next to nothing came back
// while the load was meant to run. It looks only where that cannot come about by
// itself: not where operations are so few or long that a tenth may pass without
// one, and not where a long one is as frequent as that.
func checkSilence(c *trialCheck) sight {
	s := sawNothing("the windows are too short, or the operations too few or too long, for every tenth to hold some")
	for _, l := range c.trial.Loads {
		silent, known := silence(l)
		if !known {
			continue
		}
		s.blind = ""
		// Nothing comes back to a generator that stands still, either.
		if silent.seconds >= minSilence && 100*silent.seconds > c.limits.silence*l.Window.Seconds && silent.seconds > 2*stalledFor(l) {
			s.objections = append(s.objections, objection{subject: subjectOf(l), found: fmt.Sprintf(
				"for %s of %s next to nothing came back: %d operations", quantity(silent.seconds, "s"), quantity(l.Window.Seconds, "s"), silent.completed)})
		}
	}
	return s
}

// stalledFor is for how long the generator stood still in the window, in seconds.
func stalledFor(l record.Load) float64 {
	if s := l.Generator.Stalls; s != nil {
		return float64(max(s.TickTotal, s.WorkerTotal)) / 1e9
	}
	return 0
}

// quiet is the longest stretch of silent tenths.
type quiet struct {
	seconds   float64
	completed uint64
}

// silence finds the longest stretch of tenths in which next to nothing completed;
// false where that tells nothing of the target.
func silence(l record.Load) (quiet, bool) {
	busiest, most := busiestTenth(l)
	slots := slotsOf(l)
	if slots == 0 || busiest == 0 || !isOpenLoop(l) && most < silentTurns*slots {
		return quiet{}, false
	}
	var longest, run quiet
	stretches := uint64(0)
	for _, t := range l.Tenths {
		if !isSilent(l, t, busiest, slots) {
			run = quiet{}
			continue
		}
		if run.seconds == 0 {
			stretches++
		}
		run = quiet{run.seconds + t.Seconds, run.completed + t.Completed}
		if run.seconds > longest.seconds {
			longest = run
		}
	}
	// With few operations in flight, some that are long by nature can fill a tenth.
	if l.Ledger.Completed*slots < rareLong*max(stretches, 1) {
		return quiet{}, false
	}
	return longest, true
}

// busiestTenth is the largest part of what is due that a tenth completes, or in a
// closed loop the largest number a second; and how many operations these are.
func busiestTenth(l record.Load) (pace float64, most uint64) {
	for _, t := range l.Tenths {
		if p := paceOf(l, t); p > pace {
			pace, most = p, t.Completed
		}
	}
	return pace, most
}

// paceOf is what a tenth completes, of what is due in it or a second; 0 where too
// little is due to tell.
func paceOf(l record.Load, t record.Tenth) float64 {
	switch {
	case !isOpenLoop(l) && t.Seconds > 0:
		return float64(t.Completed) / t.Seconds
	case t.Due >= minDue:
		return float64(t.Completed) / t.Due
	}
	return 0
}

// isSilent says whether next to nothing came back in a tenth: a small part of what
// does in the busiest, and in a closed loop not one for each that is in flight.
func isSilent(l record.Load, t record.Tenth, busiest float64, slots uint64) bool {
	if isOpenLoop(l) && t.Due < minDue || !isOpenLoop(l) && t.Completed >= slots {
		return false
	}
	return paceOf(l, t) < silentShare*busiest
}

// slotsOf is how many operations a load can have in flight, 0 where it does not
// say.
func slotsOf(l record.Load) uint64 {
	n, err := strconv.ParseUint(l.Parameters["in_flight"], 10, 32)
	if err != nil || l.Generator.Workers < 1 {
		return 0
	}
	return n * uint64(l.Generator.Workers)
}

func checkDown(c *trialCheck) sight {
	s := sawNothing("the loads do not tell whether their connections were up")
	for _, l := range c.trial.Loads {
		down, known := grown(l, record.CounterDisconnected)
		if !known || l.Window.Seconds <= 0 {
			continue
		}
		s.blind = ""
		if share := 100 * down / l.Window.Seconds; share > c.limits.down {
			vain, _ := grown(l, record.CounterFailedConnects)
			s.objections = append(s.objections, objection{subject: subjectOf(l), found: fmt.Sprintf(
				"%s %% of the window; attempts to connect that failed: %.0f", plain(share), vain)})
		}
	}
	return s
}

// grown is how much a counter of the load's grew in the window.
func grown(l record.Load, name string) (float64, bool) {
	for _, c := range l.Counters {
		if c.Name == name {
			return c.Close - c.Open, true
		}
	}
	return 0, false
}
