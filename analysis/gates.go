package analysis

import (
	"fmt"

	"bakeoff/record"
)

// The stable names of the gates.
const (
	gateLedger       = "ledger-not-closed"
	gateErrors       = "errors"
	gateMisses       = "misses"
	gateSilent       = "target-silent"
	gateDown         = "connections-down"
	gateStalled      = "generator-stalled"
	gateGenerator    = "generator-saturated"
	gateGeneratorNIC = "generator-nic-saturated"
	gatePacing       = "pacing-lag"
	gateRate         = "target-rate-missed"
	gateSteady       = "not-steady"
	gateDrift        = "drift-across-blocks"
	gateSetting      = "setting-not-in-effect"
	gateDataSet      = "data-set-changed"
	gateUndeclared   = "undeclared-difference"
	gateExcluded     = "excluded-by-hand"
	gateChanged      = "host-changed"
	gateCores        = "cores-shared"
	gateSteal        = "cpu-steal"
	gateThrottle     = "throttled"
	gateSwap         = "swapping"
	gateNeighbour    = "busy-neighbour"
	gateServer       = "server-restarted"
	gateClock        = "measuring-clock"
	gateClockStep    = "clock-step"
	gateClockOffset  = "clock-offset"
	gateTelemetry    = "telemetry-gaps"
	gateObserver     = "telemetry-cost"
	gatePower        = "power-coverage"
	gateNotes        = "telemetry-notes"
	gateWindow       = "short-window"
	gateTail         = "percentile-samples"
	gateCensored     = "timeouts-censored"
	gateDigits       = "resolution"
	gateBlocks       = "too-few-blocks"
	gateShort        = "stopped-early"
	gatePrecision    = "precision-not-reached"
	gateAttrition    = "uneven-losses"
	gateNoise        = "noise-floor"
	gateUnit         = "one-machine"
	gatePostHoc      = "post-hoc"
	gateUnpaired     = "not-interleaved"
	gateAbsent       = "not-observed"
)

func fixed(text string) func(limits) string { return func(limits) string { return text } }

// gates is every validity gate, in the order of the report's validity page.
func gates() []gate {
	var all []gate
	all = append(all, loadGates()...)
	all = append(all, presenceGates()...)
	all = append(all, stateGates()...)
	all = append(all, hostGates()...)
	all = append(all, watchGates()...)
	return append(all, judgementGates()...)
}

func gateNamed(name string) gate {
	for _, g := range gates() {
		if g.name == name {
			return g
		}
	}
	return gate{name: name, title: gateTitle(name), threshold: fixed("")}
}

// loadGates watch the load itself.
func loadGates() []gate {
	return []gate{
		{name: gateLedger, title: "Every operation is accounted for", severity: record.SeverityHard,
			threshold: fixed("in flight at open + offered = completed + failed + timed out + dropped + in flight at close"),
			advice:    "The counts cannot be trusted: report this as a fault of the engine, with the record.", trial: checkLedger},
		{name: gateErrors, title: "Errors, timeouts and drops", severity: record.SeverityHard,
			threshold: func(l limits) string { return fmt.Sprintf("%s %% of the operations that ended", plain(l.errors)) },
			advice:    "Look at the first error's text in the trial; mend the target, or raise limits.errors in the plan and say why.", trial: checkErrors},
		{name: gateMisses, title: "Misses", severity: record.SeverityHard,
			threshold: func(l limits) string {
				return fmt.Sprintf("%s %% of the completed operations of a kind", plain(l.misses))
			},
			advice: "What was asked for was not there, and a miss is cheaper than a hit: load the whole key range, check memory limits and eviction, or raise limits.misses.", trial: checkMisses},
		{name: gateGenerator, title: "Generator saturated", severity: record.SeverityHard,
			threshold: func(l limits) string {
				return fmt.Sprintf("the busiest worker is busy %s %% of the window", plain(l.busy))
			},
			advice: "The generator, not the system under test, may be the limit: give it more workers and cores, or another machine.", trial: checkGenerator},
		{name: gateGeneratorNIC, title: "Generator's network interface saturated", severity: record.SeveritySoft,
			threshold: fixed(fmt.Sprintf("%s %% of the link's rate", plain(maxNICShare))),
			advice:    "The generator's link may be the limit: use a faster one, or several generators."},
		{name: gatePacing, title: "Pacing lag", severity: record.SeveritySoft,
			threshold: fixed("99 % of the operations of an open loop are sent within 1 ms of when they were due"),
			advice:    "Response times hold some of the generator's own delay, or all connections were taken: add connections or workers, and compare service with response time.", trial: checkPacing},
		{name: gateRate, title: "Target rate missed", severity: record.SeverityHard,
			threshold: func(l limits) string {
				return fmt.Sprintf("completed at least %s %% below the target rate (and three standard deviations of the arrivals)", plain(l.rateShort))
			},
			advice: "Latencies were not taken at the load that the plan names: lower the rate to what every level can carry. Throughput stands.", trial: checkRate},
		{name: gateSteady, title: "Not steady in the window", severity: record.SeverityHard,
			threshold: func(l limits) string {
				return fmt.Sprintf("slope over the window within %s %% of the mean, every tenth of it within %s %% (and three standard deviations of so many operations); findings are invalid where most trials of a cell reach %d times as much", plain(l.slope), plain(l.excursion), noOneState)
			},
			advice: "Lengthen the warm-up or the window; look for a cache that fills, a compaction, a CPU that slows down. No single trial is thrown away for it: that would keep the calm ones and flatter whoever stalls.", trial: checkSteady},
		{name: gateWindow, title: "Short window", severity: record.SeverityNote,
			threshold: fixed("a window of 5 s"),
			advice:    "A short window holds few of the slow events that a longer one would: lengthen it.", trial: checkWindow},
		{name: gateTail, title: "Percentile from too few operations", severity: record.SeverityHard,
			threshold: fixed("10 operations beyond the percentile; with less than 1 findings on it are invalid"),
			advice:    "Lengthen the window, or judge a lower percentile.", trial: checkTail},
		{name: gateCensored, title: "Latencies of which only the least is known", severity: record.SeverityHard,
			threshold: fixed(fmt.Sprintf("operations that timed out or were never sent: fewer than lie beyond the percentile, none for a maximum or (warns) a mean; never sent, %s %% of those beyond it already warn", plain(100*maxUnsentShare))),
			advice:    "The figure is a lower bound: raise the timeout, lower the load, or let more operations be in flight.", trial: checkCensored},
		{name: gateDigits, title: "Resolution", severity: record.SeveritySoft,
			threshold: fixed("half a unit of the last printed digit is at most 5 % of the value"),
			advice:    "The figure was printed with too few digits to carry a difference: have the tool print more."},
	}
}

// stateGates watch that every trial began and stayed in the state it should.
func stateGates() []gate {
	return []gate{
		{name: gateSetting, title: "Setting not in effect", severity: record.SeverityHard,
			threshold: fixed("every setting reads back as wanted, before and after the window"),
			advice:    "Something else sets it too, or the value was refused: stop that, or mend the value.", trial: checkSettings},
		{name: gateDataSet, title: "Data set not the same before each trial", severity: record.SeverityHard,
			threshold: fixed("count, bytes and fingerprint as in the first trial of the cell"),
			advice:    "Restore or reload the data set before each trial."},
		{name: gateUndeclared, title: "Undeclared differences between levels", severity: record.SeveritySoft,
			threshold: fixed("the hosts of the compared levels differ in nothing that the plan does not set"),
			advice:    "The effect may come from these: make them alike, or name them in the plan."},
		{name: gateChanged, title: "Host changed during the run", severity: record.SeveritySoft,
			threshold: fixed("facts before and after each trial, and between trials of one cell, are the same"),
			advice:    "Find out what changed it (an update, a daemon, a hot plug) and repeat the run."},
		{name: gateServer, title: "Server restarted or out of memory", severity: record.SeverityHard,
			threshold: fixed("no new process of a service in the window (warns); none killed for want of memory"),
			advice:    "Look at the server's log; a fork for a snapshot takes memory and time from the work.", trial: checkServer},
		{name: gateUnit, title: "One machine a level", severity: record.SeverityNote,
			threshold: fixed("two machines a level, to speak of a model"),
			advice:    "The verdict is about these machines as they were: measure others of the model to speak of it."},
		{name: gatePostHoc, title: "Blocks added afterwards", severity: record.SeveritySoft,
			threshold: fixed("the number of blocks is fixed before the first result is seen"),
			advice:    "Judge the new record alone."},
	}
}

// hostGates watch what else the hosts did.
func hostGates() []gate {
	return []gate{
		{name: gateCores, title: "Generator and server share cores", severity: record.SeveritySoft,
			threshold: fixed("no core belongs to both"),
			advice:    "Pin the service (services.NAME.cpus) and the generator (hosts.NAME.cpus) to cores of their own."},
		{name: gateSteal, title: "CPU time stolen by the hypervisor", severity: record.SeverityHard,
			threshold: func(l limits) string {
				return fmt.Sprintf("%s %% of CPU time warns, %s %% makes the trial invalid", plain(l.steal/5), plain(l.steal))
			},
			advice: "Other guests took time from this one: use a dedicated host, or a quieter hour.", trial: checkSteal},
		{name: gateThrottle, title: "Slowed down for heat", severity: record.SeveritySoft,
			threshold: fixed("no core or package throttled in the window"),
			advice:    "Look at cooling, fans and power limits; let the host cool between trials.", trial: checkThrottle},
		{name: gateSwap, title: "Swapping", severity: record.SeverityHard,
			threshold: fixed("1 MiB swapped in the window warns, 1 MiB/s makes the trial invalid"),
			advice:    "The data set does not fit beside what else runs: make it smaller, stop the rest, or add memory.", trial: checkSwap},
		{name: gateNeighbour, title: "Busy neighbour", severity: record.SeverityHard,
			threshold: func(l limits) string {
				return fmt.Sprintf("others use %s %% of the host's CPU time (warns) or %s %% (the trial is invalid, where telemetry tells the servers under test from others)", plain(l.neighbour/5), plain(l.neighbour))
			},
			advice: "What is left is not the machine that the plan names: stop the processes named, or move them to another host. Where the host is always like this, raise limits.neighbours and say so.", trial: checkNeighbour},
		{name: gateClock, title: "Measuring clock", severity: record.SeverityHard,
			threshold: fixed("100 ppm from the kernel's clock warns, 1000 ppm makes the trial invalid"),
			advice:    "The counter that stamps the operations does not keep time on this host: its clock source needs a look.", trial: checkClock},
		{name: gateClockStep, title: "Wall clock stepped", severity: record.SeverityHard,
			threshold: fixed("10 ms during the trial warns, 100 ms makes it invalid"),
			advice:    "Telemetry and load no longer line up: let the time daemon slew the clock, or stop it for the run.", trial: checkClockStep},
		{name: gateClockOffset, title: "Clock offset between hosts", severity: record.SeverityHard,
			threshold: fixed("10 ms"), advice: "Synchronise the hosts' clocks.",
			blind: "the record holds no offsets between hosts: loads and telemetry were each stamped on their own host"},
	}
}

// watchGates watch the watching.
func watchGates() []gate {
	return []gate{
		{name: gateTelemetry, title: "Telemetry gaps", severity: record.SeveritySoft,
			threshold: fixed("every collector covers 90 % of the window and none fails"),
			advice:    "Host figures of this trial rest on part of the window: take fewer collectors or a longer interval.", trial: checkTelemetry},
		{name: gateObserver, title: "Cost of watching", severity: record.SeveritySoft,
			threshold: fixed(fmt.Sprintf("%s %% of one core", plain(maxTelemetryCPU))),
			advice:    "Watching slows what it watches: take fewer collectors or a longer interval.", trial: checkObserver},
		{name: gatePower, title: "Power readings cover the window", severity: record.SeveritySoft,
			threshold: fixed("three sensing intervals in the window, and 90 % of it covered; else there is no figure"),
			advice:    "Lengthen the window, or use a meter that reads more often."},
		{name: gateNotes, title: "What collectors noticed", severity: record.SeveritySoft,
			threshold: fixed("no source contradicts itself or was read with doubt"),
			advice:    "Look at the source before believing figures that rest on it.", trial: checkNotes},
	}
}

// judgementGates watch the design and the findings.
func judgementGates() []gate {
	return []gate{
		{name: gateBlocks, title: "Too few blocks", severity: record.SeverityHard,
			threshold: fixed(fmt.Sprintf("%d whole blocks; fewer than %d are judged, and warn", minBlocks, recommendedBlocks)),
			advice:    "Run more blocks: an interval from few of them is wide and leans on one odd trial."},
		{name: gateAbsent, title: "Measure not observed", severity: record.SeverityHard,
			threshold: fixed("every primary measure is there in every cell compared"),
			advice:    "Check the measure's name in primary, and that the engine gives it."},
		{name: gateShort, title: "Stopped before the planned number of blocks", severity: record.SeveritySoft,
			threshold: fixed("every block of the plan is there"),
			advice:    "Resume the run: stopping when the result looks good makes false verdicts likelier than stated."},
		{name: gatePrecision, title: "Wanted precision not reached", severity: record.SeveritySoft,
			threshold: fixed("the interval's half-width is at most repeat.until"),
			advice:    "The pilot asked for more blocks than repeat.max allows: raise it, or accept a wider interval."},
		{name: gateDrift, title: "Drift across blocks", severity: record.SeveritySoft,
			threshold: fixed(fmt.Sprintf("%s %% from the first block to the last, where the interval of the slope excludes none", plain(maxDrift))),
			advice:    "Blocks keep the comparison fair, but the values are of no one state: find out what drifts."},
		{name: gateAttrition, title: "Trials lost unevenly between levels", severity: record.SeveritySoft,
			threshold: fixed(fmt.Sprintf("shares of trials lost differ by at most %s percentage points", plain(100*maxAttrition))),
			advice:    "What was lost may be what one level does badly: look at the reasons before believing the rest."},
		{name: gateExcluded, title: "Trials left out by hand", severity: record.SeveritySoft,
			threshold: fixed("no valid trial of the levels compared was excluded by an operator"),
			advice:    "Such a choice is made when the values are known: judge the reason, and compare with what the raw table says of these trials."},
		{name: gateNoise, title: "Noise floor of the lab", severity: record.SeveritySoft,
			threshold: fixed("the baseline against itself: its interval contains no difference"),
			advice:    "The lab finds differences where there are none: do not believe verdicts of that size."},
		{name: gateUnpaired, title: "Records made apart", severity: record.SeveritySoft,
			threshold: fixed("levels are interleaved in blocks of one run"),
			advice:    "Whatever changed between the two runs is part of the difference: put both into one plan."},
	}
}
