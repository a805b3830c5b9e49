package ipmi

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bougou/go-ipmi/pkg/client"
	"github.com/bougou/go-ipmi/pkg/types"

	"bakeoff/telemetry/power/meter"
)

// wattSensor is a sensor of watts, as its record in the repository describes it.
type wattSensor struct {
	name    string
	number  uint8
	address uint8
	lun     uint8
	convert func(raw uint8) float64
}

// readSensors reads all sensors of watts; which they are is asked once.
func (s *source) readSensors(ctx context.Context) (meter.Reading, error) {
	if s.sensors == nil {
		if err := s.findSensors(ctx); err != nil {
			return meter.Reading{}, err
		}
	}
	var all []Sensor
	for _, w := range s.sensors {
		sensor, err := s.readSensor(ctx, w)
		if err != nil {
			return meter.Reading{}, err
		}
		all = append(all, sensor)
	}
	return Choose(all, s.named)
}

func (s *source) findSensors(ctx context.Context) error {
	records, err := s.client.GetSDRs(ctx, types.SDRRecordTypeFullSensor)
	if err != nil {
		return fmt.Errorf("listing the sensors: %w", err)
	}
	for _, r := range records {
		f := r.Full
		if f == nil || f.SensorUnit.BaseUnit != types.SensorUnitType_Watts || !r.HasAnalogReading() || f.LinearizationFunc.IsNonLinear() {
			continue
		}
		s.sensors = append(s.sensors, wattSensor{
			name: strings.TrimRight(string(f.IDStringBytes), "\x00 "), number: uint8(f.SensorNumber),
			address: uint8(f.GeneratorID.OwnerID()), lun: uint8(f.GeneratorID.LUN()),
			convert: func(raw uint8) float64 {
				return types.ConvertReading(raw, f.SensorUnit.AnalogDataFormat, f.ReadingFactors, f.LinearizationFunc)
			},
		})
	}
	if len(s.sensors) == 0 {
		return meter.NoReading("none of the %d sensors measures watts", len(records))
	}
	return nil
}

func (s *source) readSensor(ctx context.Context, w wattSensor) (Sensor, error) {
	to := (&client.CommandContext{}).WithResponderAddr(w.address).WithResponderLUN(w.lun)
	answer, err := s.client.GetSensorReading(client.WithCommandContext(ctx, to), w.number)
	var answered *types.ResponseError
	switch {
	case errors.As(err, &answered): // not present, or not to be read now
		return Sensor{Name: w.name}, nil
	case err != nil:
		return Sensor{}, fmt.Errorf("reading sensor %q: %w", w.name, err)
	case answer.SensorScanningDisabled || answer.ReadingUnavailable:
		return Sensor{Name: w.name}, nil
	}
	return Sensor{Name: w.name, Watts: w.convert(answer.Reading), OK: true}, nil
}
