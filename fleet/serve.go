package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"bakeoff/load"
	"bakeoff/run"
)

// A Local is an agent that acts on the machine it runs on, and can end all that
// it has under way.
type Local interface {
	run.Agent
	// EndAll closes its loads and stops every service that it started.
	EndAll(ctx context.Context) error
}

// endingPatience is how long a server takes at most to end what it started.
const endingPatience = 45 * time.Second

// Serve answers calls on a pair of streams until the caller ends them or ctx is
// done; then it ends everything that the agent has under way. An error says that
// this could not be done, or that what came was no call.
func Serve(ctx context.Context, r io.Reader, w io.Writer, agent Local) error {
	s := &server{stream: stream{r: r, w: w}, methods: methods(agent)}
	err := s.serve(ctx)
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), endingPatience)
	defer cancel()
	return errors.Join(err, agent.EndAll(limited))
}

type server struct {
	stream
	methods map[string]method
}

// incoming is what arrived from the caller.
type incoming struct {
	message
	err error
}

func (s *server) serve(ctx context.Context) error {
	if err := s.send(message{Kind: kindHello, Version: protocol}); err != nil {
		return err
	}
	arrived, over := make(chan incoming), make(chan struct{})
	defer close(over)
	go func() { // ends with the stream, or at the first message after the server's end
		for {
			m, err := s.receive()
			select {
			case arrived <- incoming{m, err}:
			case <-over:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	var next *incoming
	for {
		var m incoming
		switch {
		case next != nil:
			m = *next
		default:
			select {
			case m = <-arrived:
			case <-ctx.Done():
				return nil
			}
		}
		next = nil
		switch {
		case errors.Is(m.err, io.EOF):
			return nil
		case m.err != nil:
			return m.err
		case m.Kind == kindCancel: // of a call that was answered in the meantime
			continue
		case m.Kind != kindCall:
			return fmt.Errorf("found a message of kind %q; expected a call", m.Kind)
		}
		var err error
		if next, err = s.answer(ctx, m.message, arrived); err != nil {
			return err
		}
	}
}

// answer carries one call out. What arrives meanwhile and is no cancellation of
// it, the end of the stream above all, is returned for afterwards.
func (s *server) answer(ctx context.Context, call message, arrived <-chan incoming) (next *incoming, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if call.Nanos > 0 {
		limited, end := context.WithTimeout(ctx, time.Duration(call.Nanos))
		defer end()
		ctx = limited
	}
	answered := make(chan error, 1)
	go func() { answered <- s.send(s.carryOut(ctx, call)) }()
	for {
		select {
		case err := <-answered:
			if next != nil && next.err != nil {
				err = nil // there is nobody to tell
			}
			return next, err
		case m := <-arrived:
			if m.err == nil && m.Kind == kindCancel {
				if m.Call == call.Call {
					cancel(causeOf(m.Body))
				}
				continue
			}
			if m.err != nil {
				cancel(errors.New("the run that asked for it has ended"))
			}
			next, arrived = &m, nil
		}
	}
}

// causeOf is the cause of a cancellation; it counts as one.
func causeOf(body json.RawMessage) error {
	var text string
	if json.Unmarshal(body, &text) != nil || text == "" {
		return context.Canceled
	}
	return &remoteError{farError{Text: text, Canceled: true}}
}

func (s *server) carryOut(ctx context.Context, call message) message {
	answer := message{Kind: kindAnswer, Call: call.Call}
	m, known := s.methods[call.Method]
	if !known {
		answer.Err = &farError{Text: fmt.Sprintf("this agent has no call %q: it is of another version of bakeoff", call.Method)}
		return answer
	}
	var telling sync.Mutex // progress is of one goroutine at a time
	tell := func(p load.Progress) {
		telling.Lock()
		defer telling.Unlock()
		if body, err := json.Marshal(p); err == nil {
			// A stream that broke shows when the answer is sent.
			_ = s.send(message{Kind: kindProgress, Call: call.Call, Body: body})
		}
	}
	result, err := m(ctx, call.Body, tell)
	answer.Err = crossing(err)
	body, err := json.Marshal(result)
	if err != nil {
		answer.Err = &farError{Text: fmt.Sprintf("the answer to %s cannot cross: %v", call.Method, err)}
		return answer
	}
	answer.Body = body
	return answer
}

// method carries out one call.
type method func(ctx context.Context, body json.RawMessage, tell func(load.Progress)) (any, error)

// methods are the calls of an agent, by name.
func methods(a run.Agent) map[string]method {
	return map[string]method{
		callCheck: taking(func(ctx context.Context, job run.Job, _ func(load.Progress)) (any, error) { return a.Check(ctx, job) }),
		callFacts: taking(func(ctx context.Context, _ none, _ func(load.Progress)) (any, error) { return a.Facts(ctx) }),
		callReadSettings: taking(func(ctx context.Context, s []run.SettingSpec, _ func(load.Progress)) (any, error) {
			return a.ReadSettings(ctx, s)
		}),
		callApplySetting: taking(func(ctx context.Context, s run.SettingSpec, _ func(load.Progress)) (any, error) {
			return nil, a.ApplySetting(ctx, s)
		}),
		callRestoreSetting: taking(func(ctx context.Context, r restoring, _ func(load.Progress)) (any, error) {
			return nil, a.RestoreSetting(ctx, r.Spec, r.Before)
		}),
		callStartService: taking(func(ctx context.Context, s run.ServiceSpec, _ func(load.Progress)) (any, error) {
			return a.StartService(ctx, s)
		}),
		callStopService: taking(func(ctx context.Context, name string, _ func(load.Progress)) (any, error) {
			return a.StopService(ctx, name)
		}),
		callCheckService: taking(func(ctx context.Context, name string, _ func(load.Progress)) (any, error) {
			return nil, a.CheckService(ctx, name)
		}),
		callEndOrphans: taking(func(ctx context.Context, o []run.Orphan, _ func(load.Progress)) (any, error) {
			return a.EndOrphans(ctx, o)
		}),
		callOpenLoad: taking(func(ctx context.Context, s []run.LoadSpec, tell func(load.Progress)) (any, error) {
			return a.OpenLoad(ctx, s, tell)
		}),
		callMeasure: taking(func(ctx context.Context, w run.WatchSpec, tell func(load.Progress)) (any, error) {
			return a.Measure(ctx, w, tell)
		}),
		callCloseLoad: taking(func(ctx context.Context, _ none, _ func(load.Progress)) (any, error) { return nil, a.CloseLoad(ctx) }),
	}
}

func taking[In any](f func(context.Context, In, func(load.Progress)) (any, error)) method {
	return func(ctx context.Context, body json.RawMessage, tell func(load.Progress)) (any, error) {
		var in In
		if err := json.Unmarshal(body, &in); err != nil {
			return nil, fmt.Errorf("reading what was asked for: %w", err)
		}
		return f(ctx, in, tell)
	}
}

// none is what a call without arguments takes.
type none struct{}

// restoring is what RestoreSetting takes.
type restoring struct {
	Spec   run.SettingSpec `json:"spec"`
	Before string          `json:"before"`
}

// The names of the calls.
const (
	callCheck          = "check"
	callFacts          = "facts"
	callReadSettings   = "read-settings"
	callApplySetting   = "apply-setting"
	callRestoreSetting = "restore-setting"
	callStartService   = "start-service"
	callStopService    = "stop-service"
	callCheckService   = "check-service"
	callEndOrphans     = "end-orphans"
	callOpenLoad       = "open-load"
	callMeasure        = "measure"
	callCloseLoad      = "close-load"
)
