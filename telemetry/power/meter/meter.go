// Package meter holds what all sources of watts share: what a reading is, which
// numbers are none, their options, and how credentials reach them.
package meter

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

// A Meter is one source of watts, opened.
type Meter interface {
	// Read asks for the present reading. ErrNoReading says that the source
	// answered but had no number; ErrRefused, that it refused the credentials,
	// and that asking again would only lock an account.
	Read(ctx context.Context) (Reading, error)
	// Close ends what the source holds, such as a session. It is safe to call
	// when there is none.
	Close(ctx context.Context) error
}

// A Reading is what a source said at once.
type Reading struct {
	// Power is the power of all that the source measures; several values where
	// it keeps a log of its own.
	Power []Watts
	// Parts lie inside Power, as the supplies of a server do, and are never
	// added to it.
	Parts []Part
	// Joules is the source's own energy counter, which only grows; nil where
	// it has none that is fine enough for a window of seconds.
	Joules *float64
	// Notes say where the source contradicts itself or was read with doubt.
	Notes []string
}

// Watts is one value of power.
type Watts struct {
	Value float64
	At    time.Time // the source's own stamp; zero where it has none
}

// Part is the power of a part, in watts.
type Part struct {
	Name  string
	Watts float64
}

// One returns a reading of one value.
func One(watts float64) Reading { return Reading{Power: []Watts{{Value: watts}}} }

// Note adds a sentence to the reading.
func (r *Reading) Note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// The errors that a Meter's errors wrap.
var (
	ErrNoReading = errors.New("no reading")
	ErrRefused   = errors.New("the credentials were refused")
)

// NoReading returns an error that wraps ErrNoReading and says what there was instead.
func NoReading(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrNoReading, fmt.Sprintf(format, args...))
}

// Check returns an error that wraps ErrNoReading unless watts can be the power
// of something that runs. Zero is none: a server that answers is not without
// power. So are negative numbers and the all-ones values that firmware puts
// where a sensor did not answer.
func Check(what string, watts float64) error {
	const mostWatts = 1e6
	switch {
	case math.IsNaN(watts) || math.IsInf(watts, 0):
		return NoReading("%s is %v", what, watts)
	case watts <= 0:
		return NoReading("%s is %v W", what, watts)
	case watts == math.MaxUint16 || watts == math.MaxInt16 || watts == math.MaxInt32 || watts == math.MaxUint32:
		return NoReading("%s is %v W, which stands for none", what, watts)
	case watts > mostWatts:
		return NoReading("%s is %v W, above %v", what, watts, float64(mostWatts))
	}
	return nil
}

// Differ reports whether two values of the same power differ by more than
// metering does: by over 5 % and over 5 W.
func Differ(a, b float64) bool {
	const share, watts = 0.05, 5
	d := math.Abs(a - b)
	return d > share*math.Max(math.Abs(a), math.Abs(b)) && d > watts
}
