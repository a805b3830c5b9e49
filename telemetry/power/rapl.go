package power

import (
	"context"
	"errors"
	"time"

	"bakeoff/internal/osenv"
	"bakeoff/telemetry"
	"bakeoff/telemetry/power/meter"
)

// raplMeter reads the energy counters of the processor as a source of watts.
type raplMeter struct {
	energy *telemetry.RAPLEnergy
	clock  osenv.Clock
	at     time.Time
	joules float64
}

func openRAPL(o *meter.Options) (meter.Meter, error) {
	return &raplMeter{energy: telemetry.NewRAPLEnergy(o.Env().Root), clock: o.Env().Clock}, nil
}

// shortestRAPL is the shortest time over which energy is divided into power:
// counters move in steps of about a millisecond.
const shortestRAPL = 50 * time.Millisecond

// Read gives the energy so far and, from the second reading on, the mean power
// since the one before.
func (m *raplMeter) Read(context.Context) (meter.Reading, error) {
	domains, err := m.energy.Read()
	now := m.clock.Now()
	if err != nil {
		return meter.Reading{}, err
	}
	if len(domains) == 0 {
		return meter.Reading{}, errors.New("/sys/class/powercap has no RAPL domain")
	}
	joules := m.energy.Joules()
	reading := meter.Reading{Joules: &joules}
	if passed := now.Sub(m.at); !m.at.IsZero() && passed >= shortestRAPL {
		watts := (joules - m.joules) / passed.Seconds()
		if err := meter.Check("the power of all packages", watts); err != nil {
			m.at, m.joules = now, joules
			return reading, err
		}
		reading.Power = []meter.Watts{{Value: watts}}
	} else if !m.at.IsZero() {
		return reading, nil
	}
	m.at, m.joules = now, joules
	return reading, nil
}

func (m *raplMeter) Close(context.Context) error { return nil }
