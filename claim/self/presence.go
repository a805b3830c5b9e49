package self

import (
	"math"
	"slices"
	"strconv"

	"bakeoff/record"
)

// presenceGates are the gates on single trials whose objections the audit works
// out itself rather than have the analysis run them again: that generator and
// target were there for the whole window.
func presenceGates() []string {
	return []string{"generator-stalled", "target-silent", "connections-down"}
}

// presence works out what these gates object to.
func (a *auditor) presence(v *trialView, add objectFunc) {
	stalled, silent, cut := a.thresholds("generator-stalled"), a.thresholds("target-silent"), a.thresholds("connections-down")
	for _, l := range v.Loads {
		seconds := l.Window.Seconds
		window := saysNumber("the window", truth{value: seconds, unit: "s"})
		if x, looked := stallOf(l); looked && x.severity(stalled) != "" {
			add("generator-stalled", loadName(l), x.severity(stalled), saysNumber("the longest stall", truth{value: x.longest, unit: "s"}),
				saysNumber("all stalls", truth{value: x.total, unit: "s"}), window)
		}
		still, _ := stallOf(l)
		if x, looked := silenceOf(l); looked && x.seconds >= silent[0]/1000 && x.seconds > silent[1]/100*seconds && x.seconds/2 > still.total {
			add("target-silent", loadName(l), record.SeverityHard, saysNumber("the silence", truth{value: x.seconds, unit: "s"}), window,
				saysNumber("what came back meanwhile", countTruth(int(x.done))))
		}
		if down, vain, looked := downOf(l); looked && 100*down > cut[0]*seconds {
			add("connections-down", loadName(l), record.SeverityHard, saysNumber("the share of the window", percentTruth(down/seconds)),
				saysNumber("the vain attempts", countTruth(int(vain))))
		}
	}
}

// lookedForPresence says whether such a gate could look at a load.
func lookedForPresence(gate string, l record.Load) (looked bool) {
	switch gate {
	case "generator-stalled":
		_, looked = stallOf(l)
	case "target-silent":
		_, looked = silenceOf(l)
	case "connections-down":
		_, _, looked = downOf(l)
	}
	return looked
}

// A stall is for how long a generator stood still, in seconds.
type stall struct{ longest, total, window float64 }

func stallOf(l record.Load) (stall, bool) {
	s := l.Generator.Stalls
	if s == nil || l.Window.Seconds <= 0 {
		return stall{}, false
	}
	seconds := func(ns ...int64) float64 { return float64(slices.Max(ns)) / 1e9 }
	return stall{seconds(s.TickMax, s.WorkerMax), seconds(s.TickTotal, s.WorkerTotal), l.Window.Seconds}, true
}

func (s stall) severity(limits []float64) record.Severity {
	switch atOnce := limits[0] / 1000; {
	case s.total > limits[2]/100*s.window, s.longest > atOnce && s.longest > limits[1]/100*s.window:
		return record.SeverityHard
	case s.longest > atOnce:
		return record.SeveritySoft
	}
	return ""
}

// A hush is the longest stretch of the window in which next to nothing came back.
type hush struct {
	seconds float64
	done    uint64
}

// silenceOf marks the tenths in which next to nothing came back, and measures
// the longest stretch of them.
func silenceOf(l record.Load) (longest hush, looked bool) {
	perWorker, err := strconv.Atoi(l.Parameters["in_flight"])
	slots := float64(perWorker * l.Generator.Workers)
	paces, top := pacesOf(l)
	if err != nil || slots <= 0 || top < 0 || paces[top] <= 0 {
		return hush{}, false
	}
	if !openLoop(l) && float64(l.Tenths[top].Completed) < 5*slots {
		return hush{}, false
	}
	stretches, before := 0.0, false
	var now hush
	for i, t := range l.Tenths {
		silent := paces[i] < 0.02*paces[top]
		if !openLoop(l) && float64(t.Completed) >= slots {
			silent = false
		}
		if silent && !before {
			stretches, now = stretches+1, hush{}
		}
		if before = silent; silent {
			now.seconds, now.done = now.seconds+t.Seconds, now.done+t.Completed
			if now.seconds > longest.seconds {
				longest = now
			}
		}
	}
	return longest, float64(l.Ledger.Completed)*slots >= 1000*math.Max(stretches, 1)
}

// pacesOf is what each tenth completes a second, or of what is due in it in an
// open loop, and which does the most; not a number where too little is due.
func pacesOf(l record.Load) (paces []float64, top int) {
	top = -1
	for i, t := range l.Tenths {
		part := t.Seconds
		if openLoop(l) {
			part = t.Due
		}
		pace := float64(t.Completed) / part
		if part <= 0 || openLoop(l) && part < 50 {
			pace = math.NaN()
		}
		paces = append(paces, pace)
		if !math.IsNaN(pace) && (top < 0 || pace > paces[top]) {
			top = i
		}
	}
	return paces, top
}

// downOf is for how long an average connection was down in the window, in
// seconds, and how often it could not be opened.
func downOf(l record.Load) (seconds, vain float64, looked bool) {
	for _, c := range l.Counters {
		switch c.Name {
		case "disconnected":
			seconds, looked = c.Close-c.Open, true
		case "failed_connects":
			vain = c.Close - c.Open
		}
	}
	return seconds, vain, looked && l.Window.Seconds > 0
}
