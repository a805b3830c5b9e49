package load

// ticks reads the time-stamp counter (RDTSC, not serialising).
func ticks() uint64

// tscSupported says whether this architecture has a counter that ticks reads.
const tscSupported = true
