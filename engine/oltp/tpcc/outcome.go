package tpcc

// An Outcome says how a transaction ended.
type Outcome uint8

// The outcomes.
const (
	// Committed: the target said so.
	Committed Outcome = iota
	// RolledBack: as the inputs asked for with an unused item.
	RolledBack
	// Conflict: the target gave the transaction up for another one (deadlock,
	// serialization failure, lock timeout). Nothing of it was committed and the
	// connection is good: it may be tried again with the same inputs.
	Conflict
	// Refused: the target answered with another error. Nothing was committed and
	// the connection is good.
	Refused
	// Broken: the connection is of no use any more. Whether the transaction
	// was committed is not known.
	Broken
)
