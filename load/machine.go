package load

import (
	"context"
	"fmt"
	"sync"
	"time"

	"bakeoff/internal/osenv"
)

// Env is what a load takes from its surroundings.
type Env struct {
	// Machine is what all loads of a process share. Open makes one where it is
	// nil, at the price of calibrating anew.
	Machine *Machine
	// Wall is the wall clock; the system's where it is nil.
	Wall osenv.Clock
}

// A Machine is what all loads of one process share: the calibration of the
// clock, a quiet runtime while anything is measured, and the driver's own cost.
// It is safe for concurrent use.
type Machine struct {
	distrust string // why the time-stamp counter is not the clock; "" where it is
	first    moment
	quiet    quiet
	process  processShare

	mu   sync.Mutex
	null map[Contract]float64 // ns an operation
}

// NewMachine begins to calibrate the clock. Root is where /proc and /sys are
// found: "/" but in tests.
func NewMachine(root string) *Machine {
	m := &Machine{distrust: distrust(root), null: map[Contract]float64{}}
	if m.distrust == "" {
		m.first = momentNow()
	}
	return m
}

// NewClock returns a measuring clock, calibrated over the time since the
// machine was made. It waits where that is less than 20 ms.
func (m *Machine) NewClock(ctx context.Context) (*Clock, error) {
	if m.distrust != "" {
		return monotonicClock(m.distrust), nil
	}
	now := momentNow()
	if rest := minCalibration - time.Duration(now.mono-m.first.mono); rest > 0 {
		if err := (osenv.System{}).Sleep(ctx, rest); err != nil {
			return nil, fmt.Errorf("calibrating the measuring clock: %w", err)
		}
		now = momentNow()
	}
	return tscClock(m.first, now), nil
}
