// Package self audits the reports that bakeoff itself writes: every number in one
// is a claim over the record, and is worked out again from the record alone.
//
// It is a second pair of eyes, and shares no arithmetic with package analysis.
// Trial values come from ledgers, histogram logs and telemetry (trial.go, watch.go,
// host.go); which trials count from their statuses, attempts and gates (count.go);
// effects from sets of cells inside blocks (effect.go) with numerics of its own
// (numerics.go, rank.go); efficiency, money and energy exactly, on rationals
// (economy.go, money.go, ownership.go). Each part of a report is then compared
// with that, to the last digit printed (finding.go, sentence.go, cells.go,
// chart.go, gates.go, tables.go, config.go): numbers as numbers, and the numbers
// in sentences by their place and unit. What no part has spoken about objects.
//
// Two things are taken over: what most validity gates say of single trials, which
// analysis.ObserveTrial runs again (presence.go works out the rest), and measures
// that only it observes. Formulas
// that a report states, such as the family of verdicts and the order of trials,
// come from package plan.
package self
