// Package record is the narrow waist of bakeoff: the plain types of what a run
// wrote, and the versioned, append-only, hashed directory that holds them.
//
// Everything that measures writes through this package; everything that judges
// and reports reads from it, and imports nothing that measures. All types here
// are serialisable: what is absent is nil, never zero.
package record
