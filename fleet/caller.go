package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"bakeoff/internal/osenv"
	"bakeoff/load"
	"bakeoff/record"
	"bakeoff/run"
)

// A Caller is an agent at the other end of a pair of streams.
type Caller struct {
	stream
	clock osenv.Clock
	// broken ends the stream: what was under way on the other side ends, too.
	broken func()
	// patience is how long the other side may take to answer a cancelled call.
	patience time.Duration

	arrived chan incoming
	over    chan struct{} // closed at the end, for the goroutine that reads
	closing sync.Once

	mu   sync.Mutex // held while a call is under way
	call uint64
	dead error // why there can be no more calls
}

// NewCaller greets the server at the other end. End ends the stream from this
// side, and makes a read of it return.
func NewCaller(ctx context.Context, r io.Reader, w io.Writer, end func(), clock osenv.Clock) (*Caller, error) {
	c := &Caller{
		stream: stream{r: r, w: w}, clock: clock, broken: end, patience: time.Minute,
		arrived: make(chan incoming), over: make(chan struct{}),
	}
	go c.listen()
	select {
	case m := <-c.arrived:
		switch {
		case m.err != nil:
			c.Close()
			return nil, fmt.Errorf("greeting the agent: %w", m.err)
		case m.Kind != kindHello || m.Version != protocol:
			c.Close()
			return nil, fmt.Errorf("greeting the agent: found %s of version %d; expected hello of version %d: it is of another version of bakeoff", m.Kind, m.Version, protocol)
		}
		return c, nil
	case <-ctx.Done():
		c.Close()
		return nil, fmt.Errorf("greeting the agent: %w", context.Cause(ctx))
	}
}

func (c *Caller) listen() {
	for {
		m, err := c.receive()
		select {
		case c.arrived <- incoming{m, err}:
		case <-c.over:
			return
		}
		if err != nil {
			return
		}
	}
}

// Close ends the stream. It is safe to call twice.
func (c *Caller) Close() {
	c.closing.Do(func() {
		close(c.over)
		c.broken()
	})
}

// remoteError is an error that crossed.
type remoteError struct{ farError }

func (e *remoteError) Error() string { return e.Text }

// Is knows the two errors of contexts.
func (e *remoteError) Is(target error) bool {
	return e.Canceled && target == context.Canceled || e.Late && target == context.DeadlineExceeded
}

// crossing is an error as it crosses.
func crossing(err error) *farError {
	if err == nil {
		return nil
	}
	return &farError{Text: err.Error(), Canceled: errors.Is(err, context.Canceled), Late: errors.Is(err, context.DeadlineExceeded)}
}

// A LostError says that the agent is gone, or does not answer.
type LostError struct{ Err error }

func (e *LostError) Error() string { return "the agent is lost: " + e.Err.Error() }

// Unwrap returns how.
func (e *LostError) Unwrap() error { return e.Err }

// ask makes one call and waits for its answer, which comes also after ctx is
// done: the other side then ends what it does. One that does not end it is cut
// off.
func ask[Out any](ctx context.Context, c *Caller, method string, in any, progress func(load.Progress)) (out Out, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead != nil {
		return out, c.dead
	}
	if ctx.Err() != nil {
		return out, context.Cause(ctx)
	}
	body, err := json.Marshal(in)
	if err != nil {
		return out, fmt.Errorf("asking the agent to %s: %w", method, err)
	}
	c.call++
	deadline, has := ctx.Deadline()
	m := message{Kind: kindCall, Call: c.call, Method: method, Body: body, Nanos: left(deadline, has, c.clock.Now())}
	if err := c.send(m); err != nil {
		return out, c.lost(err)
	}
	answer, err := c.await(ctx, progress)
	if err != nil {
		return out, c.lost(err)
	}
	if len(answer.Body) > 0 {
		if err := json.Unmarshal(answer.Body, &out); err != nil {
			return out, c.lost(fmt.Errorf("reading the answer to %s: %w", method, err))
		}
	}
	if answer.Err != nil {
		return out, &remoteError{*answer.Err}
	}
	return out, nil
}

// lost notes that there can be no more calls.
func (c *Caller) lost(err error) error {
	if errors.Is(err, io.EOF) {
		err = errors.New("it ended without an answer")
	}
	c.dead = &LostError{err}
	c.Close()
	return c.dead
}

// await reads until the answer of the call under way.
func (c *Caller) await(ctx context.Context, progress func(load.Progress)) (message, error) {
	cancelled := ctx.Done()
	var late <-chan time.Time
	for {
		select {
		case m := <-c.arrived:
			switch {
			case m.err != nil:
				return message{}, m.err
			case m.Call != c.call:
				return message{}, fmt.Errorf("found a message for call %d in the midst of call %d", m.Call, c.call)
			case m.Kind == kindAnswer:
				return m.message, nil
			}
			var p load.Progress
			if m.Kind == kindProgress && progress != nil && json.Unmarshal(m.Body, &p) == nil {
				progress(p)
			}
		case <-c.over:
			return message{}, errors.New("it was closed in the midst of a call")
		case <-cancelled:
			cancelled = nil
			why, _ := json.Marshal(context.Cause(ctx).Error()) // a text
			if err := c.send(message{Kind: kindCancel, Call: c.call, Body: why}); err != nil {
				return message{}, err
			}
			timer := time.NewTimer(c.patience)
			defer timer.Stop()
			late = timer.C
		case <-late:
			return message{}, fmt.Errorf("it was told to end (%w) and did not answer within %v", context.Cause(ctx), c.patience)
		}
	}
}

// Check asks the agent what would be in the way.
func (c *Caller) Check(ctx context.Context, job run.Job) ([]string, error) {
	return ask[[]string](ctx, c, callCheck, job, nil)
}

// Facts asks the agent what its machine is.
func (c *Caller) Facts(ctx context.Context) (record.Facts, error) {
	return ask[record.Facts](ctx, c, callFacts, none{}, nil)
}

// ReadSettings has the agent read settings.
func (c *Caller) ReadSettings(ctx context.Context, s []run.SettingSpec) ([]*string, error) {
	return ask[[]*string](ctx, c, callReadSettings, s, nil)
}

// ApplySetting has the agent apply a setting.
func (c *Caller) ApplySetting(ctx context.Context, s run.SettingSpec) error {
	_, err := ask[*none](ctx, c, callApplySetting, s, nil)
	return err
}

// RestoreSetting has the agent put a setting back.
func (c *Caller) RestoreSetting(ctx context.Context, s run.SettingSpec, before string) error {
	_, err := ask[*none](ctx, c, callRestoreSetting, restoring{s, before}, nil)
	return err
}

// StartService has the agent start a service.
func (c *Caller) StartService(ctx context.Context, s run.ServiceSpec) (record.Service, error) {
	return ask[record.Service](ctx, c, callStartService, s, nil)
}

// StopService has the agent stop a service.
func (c *Caller) StopService(ctx context.Context, name string) (run.Ended, error) {
	return ask[run.Ended](ctx, c, callStopService, name, nil)
}

// CheckService asks the agent whether a service has died.
func (c *Caller) CheckService(ctx context.Context, name string) error {
	_, err := ask[*none](ctx, c, callCheckService, name, nil)
	return err
}

// EndOrphans has the agent end what an earlier run left.
func (c *Caller) EndOrphans(ctx context.Context, o []run.Orphan) ([]string, error) {
	return ask[[]string](ctx, c, callEndOrphans, o, nil)
}

// OpenLoad has the agent open loads and prepare their data sets.
func (c *Caller) OpenLoad(ctx context.Context, s []run.LoadSpec, progress func(load.Progress)) ([]*record.DataSet, error) {
	return ask[[]*record.DataSet](ctx, c, callOpenLoad, s, progress)
}

// Measure has the agent measure.
func (c *Caller) Measure(ctx context.Context, w run.WatchSpec, progress func(load.Progress)) (run.Measured, error) {
	return ask[run.Measured](ctx, c, callMeasure, w, progress)
}

// CloseLoad has the agent close its loads.
func (c *Caller) CloseLoad(ctx context.Context) error {
	_, err := ask[*none](ctx, c, callCloseLoad, none{}, nil)
	return err
}
