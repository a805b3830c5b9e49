package fleet

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"bakeoff/internal/osenv"
	"bakeoff/load"
	"bakeoff/record"
	"bakeoff/run"
)

// scripted is an agent whose calls are functions.
type scripted struct {
	Local
	measure func(ctx context.Context, w run.WatchSpec, tell func(load.Progress)) (run.Measured, error)
	facts   record.Facts
	ended   int
}

func (s *scripted) Measure(ctx context.Context, w run.WatchSpec, tell func(load.Progress)) (run.Measured, error) {
	return s.measure(ctx, w, tell)
}

func (s *scripted) Facts(context.Context) (record.Facts, error) { return s.facts, nil }

func (s *scripted) CheckService(_ context.Context, name string) error {
	return errors.New("service " + name + ": it ended by itself")
}

func (s *scripted) ReadSettings(_ context.Context, specs []run.SettingSpec) ([]*string, error) {
	values := make([]*string, len(specs))
	for i, spec := range specs {
		if spec.Value != "" {
			values[i] = &spec.Value
		}
	}
	return values, nil
}

func (s *scripted) EndAll(context.Context) error { s.ended++; return nil }

// pair joins a caller with a server of the agent. What is returned ends both
// and gives the server's error.
func pair(t *testing.T, agent Local) (*Caller, func() error) {
	t.Helper()
	there, here := io.Pipe() // to the server
	back, answers := io.Pipe()
	served := make(chan error, 1)
	go func() {
		err := Serve(context.Background(), there, answers, agent)
		answers.Close()
		there.Close()
		served <- err
	}()
	c, err := NewCaller(context.Background(), back, here, func() { here.Close() }, osenv.System{})
	if err != nil {
		t.Fatal(err)
	}
	return c, func() error {
		c.Close()
		err := <-served
		back.Close()
		return err
	}
}

func TestCallsCross(t *testing.T) {
	defer goleak.VerifyNone(t)
	cpus := 4
	agent := &scripted{facts: record.Facts{Machine: record.Machine{Vendor: "Acme"}, CPU: record.CPU{Threads: &cpus}}}
	c, end := pair(t, agent)
	f, err := c.Facts(t.Context())
	if err != nil || f.Machine.Vendor != "Acme" || f.CPU.Threads == nil || *f.CPU.Threads != 4 || f.CPU.Cores != nil {
		t.Errorf("facts %+v, %v", f, err)
	}
	values, err := c.ReadSettings(t.Context(), []run.SettingSpec{{Value: "1"}, {}})
	if err != nil || len(values) != 2 || values[0] == nil || *values[0] != "1" || values[1] != nil {
		t.Errorf("values %v, %v", values, err)
	}
	if err := c.CheckService(t.Context(), "redis"); err == nil || err.Error() != "service redis: it ended by itself" {
		t.Errorf("error %v", err)
	}
	if err := end(); err != nil || agent.ended != 1 {
		t.Errorf("served: %v; ended %d times", err, agent.ended)
	}
}

func TestProgressAndResultBesideAnError(t *testing.T) {
	defer goleak.VerifyNone(t)
	agent := &scripted{measure: func(_ context.Context, w run.WatchSpec, tell func(load.Progress)) (run.Measured, error) {
		for i := range 3 {
			tell(load.Progress{Workload: w.Host, Fraction: float64(i)})
		}
		return run.Measured{Results: []load.Result{{Logs: map[string][]byte{"x": {0, 1, 255}}}}}, errors.New("the server is gone")
	}}
	c, end := pair(t, agent)
	var told []float64
	m, err := c.Measure(t.Context(), run.WatchSpec{Host: "a"}, func(p load.Progress) { told = append(told, p.Fraction) })
	if err == nil || err.Error() != "the server is gone" || !bytes.Equal(m.Results[0].Logs["x"], []byte{0, 1, 255}) {
		t.Errorf("measured %+v, %v", m, err)
	}
	if len(told) != 3 || told[2] != 2 {
		t.Errorf("told %v", told)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}

func TestCancellationCrosses(t *testing.T) {
	defer goleak.VerifyNone(t)
	agent := &scripted{measure: func(ctx context.Context, _ run.WatchSpec, tell func(load.Progress)) (run.Measured, error) {
		tell(load.Progress{})
		<-ctx.Done()
		return run.Measured{Costs: []record.CollectorCost{{Collector: "cpu"}}}, context.Cause(ctx)
	}}
	c, end := pair(t, agent)
	ctx, cancel := context.WithCancelCause(t.Context())
	m, err := c.Measure(ctx, run.WatchSpec{}, func(load.Progress) { cancel(errors.New("stopped by the operator")) })
	if err == nil || err.Error() != "stopped by the operator" || !errors.Is(err, context.Canceled) || len(m.Costs) != 1 {
		t.Errorf("measured %+v, %v", m, err)
	}
	// The stream is whole: the next call works, and a deadline crosses, too.
	ctx, late := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer late()
	if _, err := c.Measure(ctx, run.WatchSpec{}, nil); !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		t.Errorf("after the deadline: %v", err)
	}
	if _, err := c.Facts(t.Context()); err != nil {
		t.Error(err)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}

func TestWhoDoesNotEndIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		agent := &scripted{measure: func(context.Context, run.WatchSpec, func(load.Progress)) (run.Measured, error) {
			<-release
			return run.Measured{}, nil
		}}
		c, end := pair(t, agent)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := c.Measure(ctx, run.WatchSpec{}, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("a call that was cancelled before it was made: %v", err)
		}
		ctx, cancel = context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		began := time.Now()
		_, err := c.Measure(ctx, run.WatchSpec{}, nil)
		if _, lost := errors.AsType[*LostError](err); !lost || !strings.Contains(err.Error(), "did not answer within 1m0s") {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took != time.Second+time.Minute {
			t.Errorf("it took %v", took)
		}
		if _, err := c.Facts(context.Background()); err == nil {
			t.Error("a lost agent answered")
		}
		close(release)
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

func TestServerEndsWhatItDoesWithItsCaller(t *testing.T) {
	defer goleak.VerifyNone(t)
	begun, ended := make(chan struct{}), make(chan error, 1)
	agent := &scripted{measure: func(ctx context.Context, _ run.WatchSpec, _ func(load.Progress)) (run.Measured, error) {
		close(begun)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return run.Measured{}, context.Cause(ctx)
	}}
	c, end := pair(t, agent)
	called := make(chan error, 1)
	go func() {
		_, err := c.Measure(context.Background(), run.WatchSpec{}, nil)
		called <- err
	}()
	<-begun
	if err := end(); err != nil || agent.ended != 1 {
		t.Errorf("served: %v; ended %d times", err, agent.ended)
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("the call ended for %v", err)
	}
	if err := <-called; err == nil {
		t.Error("the caller has an answer")
	}
}

func TestWhatCannotCrossIsAnError(t *testing.T) {
	defer goleak.VerifyNone(t)
	agent := &scripted{measure: func(context.Context, run.WatchSpec, func(load.Progress)) (run.Measured, error) {
		return run.Measured{Readings: []record.Reading{{Value: math.NaN()}}}, nil
	}}
	c, end := pair(t, agent)
	if _, err := c.Measure(t.Context(), run.WatchSpec{}, nil); err == nil || !strings.Contains(err.Error(), "cannot cross") {
		t.Errorf("got %v", err)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}

func TestGreetingOfStrangers(t *testing.T) {
	for name, c := range map[string]struct{ says, want string }{
		"another version": {frame(`{"kind":"hello","version":99}`), "of another version"},
		"a shell":         {"Welcome to the machine\n", "is no agent of bakeoff"},
		"nothing":         {"", "EOF"},
		"half a message":  {frame(`{"kind":"hello"}`)[:9], "unexpected EOF"},
		"not JSON":        {frame("hello"), "invalid character"},
	} {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t)
			_, err := NewCaller(t.Context(), strings.NewReader(c.says), io.Discard, func() {}, osenv.System{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v; want %q", err, c.want)
			}
		})
	}
}

func frame(text string) string {
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(text)))) + text
}

// FuzzServe sends a server anything; it must end, and its agent with it.
func FuzzServe(f *testing.F) {
	f.Add([]byte(frame(`{"kind":"call","call":1,"method":"facts","body":{}}`)))
	f.Add([]byte(frame(`{"kind":"call","call":1,"method":"measure","body":{"host":"a"}}`) + frame(`{"kind":"cancel","call":1,"body":"enough"}`)))
	f.Add([]byte(frame(`{"kind":"call","call":1,"method":"restore-setting","body":[]}`)))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, sent []byte) {
		agent := &scripted{measure: func(ctx context.Context, _ run.WatchSpec, _ func(load.Progress)) (run.Measured, error) {
			<-ctx.Done()
			return run.Measured{}, context.Cause(ctx)
		}}
		agent.Local = refusing{}
		_ = Serve(t.Context(), bytes.NewReader(sent), io.Discard, agent)
		if agent.ended != 1 {
			t.Errorf("the agent was ended %d times", agent.ended)
		}
	})
}

// refusing is an agent that does nothing.
type refusing struct{}

var errRefused = errors.New("refused")

func (refusing) Check(context.Context, run.Job) ([]string, error)    { return nil, errRefused }
func (refusing) Facts(context.Context) (record.Facts, error)         { return record.Facts{}, errRefused }
func (refusing) ApplySetting(context.Context, run.SettingSpec) error { return errRefused }
func (refusing) RestoreSetting(context.Context, run.SettingSpec, string) error {
	return errRefused
}
func (refusing) ReadSettings(context.Context, []run.SettingSpec) ([]*string, error) {
	return nil, errRefused
}
func (refusing) StartService(context.Context, run.ServiceSpec) (record.Service, error) {
	return record.Service{}, errRefused
}
func (refusing) StopService(context.Context, string) (run.Ended, error) {
	return run.Ended{}, errRefused
}
func (refusing) CheckService(context.Context, string) error { return errRefused }
func (refusing) EndOrphans(context.Context, []run.Orphan) ([]string, error) {
	return nil, errRefused
}
func (refusing) OpenLoad(context.Context, []run.LoadSpec, func(load.Progress)) ([]*record.DataSet, error) {
	return nil, errRefused
}
func (refusing) Measure(context.Context, run.WatchSpec, func(load.Progress)) (run.Measured, error) {
	return run.Measured{}, errRefused
}
func (refusing) CloseLoad(context.Context) error { return errRefused }
func (refusing) EndAll(context.Context) error    { return errRefused }
