//go:build !amd64

package load

// ticks is never called where tscSupported is false.
func ticks() uint64 { return 0 }

// tscSupported says whether this architecture has a counter that ticks reads.
const tscSupported = false
