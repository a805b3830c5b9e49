package telemetry

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"bakeoff/internal/osenv"
	"bakeoff/record"
)

// SamplerConfig says how often a host is sampled.
type SamplerConfig struct {
	Host     string        // name of the host in the readings
	Interval time.Duration // between samples; 0: one second
	// Deadline bounds one call of a collector; 0: two intervals, at least one
	// second, and at least ten seconds for a meter.
	Deadline time.Duration
	Clock    osenv.Clock // nil: the system's
}

// closeTime bounds the end of what collectors hold.
const closeTime = 5 * time.Second

// A Sampler calls collectors at a steady cadence and keeps what they give.
//
// Samples are due at whole multiples of the interval on the wall clock, as it
// was at the start, so that hosts with disciplined clocks sample together; from
// then on the monotonic clock keeps the time. A sample that comes too late for
// the next ones skips them and counts them as missed. Collectors of the host
// run one after another on one OS thread; a meter, which may answer slowly, has
// a cadence and a thread of its own. A collector that does not return by its
// deadline is left behind, counted as failed, and used again once it returns.
type Sampler struct {
	cfg   SamplerConfig
	lanes []*lane
	start time.Time
	rest  context.CancelFunc // ends the cadence, but no call that is under way
	abort context.CancelFunc // ends both
	wait  sync.WaitGroup
}

// NewSampler returns a sampler of collectors. They must not be in use elsewhere.
func NewSampler(cfg SamplerConfig, collectors []Collector) *Sampler {
	if cfg.Interval <= 0 {
		cfg.Interval = time.Second
	}
	if cfg.Clock == nil {
		cfg.Clock = osenv.System{}
	}
	s := &Sampler{cfg: cfg}
	host := newLane(cfg, cfg.Interval, max(2*cfg.Interval, time.Second))
	for _, c := range collectors {
		d := c.Describe()
		if d.Class == "" {
			host.add(c, d)
			continue
		}
		period := max(cfg.Interval, time.Duration(d.Cadence*float64(time.Second)))
		meter := newLane(cfg, period, max(2*period, 10*time.Second))
		meter.add(c, d)
		s.lanes = append(s.lanes, meter)
	}
	s.lanes = append([]*lane{host}, s.lanes...)
	return s
}

// Start begins to sample, until Stop is called or ctx is done, and returns at
// once; the first sample is taken as soon as the collectors have been probed.
func (s *Sampler) Start(ctx context.Context) error {
	if s.rest != nil {
		return errors.New("telemetry: the sampler was started before")
	}
	ctx, s.abort = context.WithCancel(ctx)
	cadence, rest := context.WithCancel(ctx)
	s.rest = rest
	s.start = s.cfg.Clock.Now()
	for _, l := range s.lanes {
		s.wait.Go(func() { l.run(ctx, cadence, s.start) })
	}
	return nil
}

// Stop ends the cadence, takes a final sample within ctx, and returns all
// readings, ordered by the start of their acquisition, with what each
// collector cost. A collector whose final sample was not taken before ctx was
// done has failed once more; that is no error of Stop.
func (s *Sampler) Stop(ctx context.Context) ([]record.Reading, []record.CollectorCost, error) {
	if s.rest == nil {
		return nil, nil, errors.New("telemetry: the sampler was not started")
	}
	s.rest()
	defer context.AfterFunc(ctx, s.abort)()
	s.wait.Wait()
	s.abort()
	for _, l := range s.lanes {
		s.wait.Go(func() { l.finalSample(ctx, s.start) })
	}
	s.wait.Wait()
	// A controller has few sessions: they are ended also where time is up.
	farewell, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	var readings []record.Reading
	var costs []record.CollectorCost
	for _, l := range s.lanes {
		l.end(farewell)
		readings = l.readings(readings, s.cfg.Host, s.start.UnixNano())
		for _, e := range l.entries {
			costs = append(costs, e.cost)
		}
		l.takes = nil
	}
	slices.SortStableFunc(readings, func(a, b record.Reading) int { return cmp.Compare(a.Start, b.Start) })
	return readings, costs, nil
}
