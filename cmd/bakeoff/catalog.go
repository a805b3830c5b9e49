package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"bakeoff/engine"
	"bakeoff/internal/osenv"
	"bakeoff/load"
	"bakeoff/plan"
	"bakeoff/telemetry"
)

// catalog tells the plan reader what this binary has.
type catalog struct{}

// Collectors names the collectors of telemetry, and "power".
func (catalog) Collectors() []string {
	names := []string{telemetry.PowerGroup}
	for _, c := range telemetry.Table(telemetry.Config{}) {
		names = append(names, c.Describe().Name)
	}
	return names
}

// Engines describes the engines.
func (catalog) Engines() []plan.Engine {
	var all []plan.Engine
	for _, e := range engine.Table() {
		d := e.Describe()
		p := plan.Engine{Name: e.Name(), Kinds: d.Kinds, Figures: d.Figures, Target: targeted(e.Name()), Embedded: embedded(e.Name()), Options: embeddedOptions(e.Name()),
			Check: func(w plan.Workload) error { return tryOpen(e, w) }}
		for _, q := range d.Parameters {
			p.Parameters = append(p.Parameters, plan.Parameter{Name: q.Name, Type: string(q.Type), Default: q.Default, Values: q.Values, Doc: q.Doc, Incomparable: q.Incomparable})
		}
		all = append(all, p)
	}
	return all
}

// tryOpen has the engine judge a workload's parameters. Opening a session
// contacts nothing.
func tryOpen(e load.Engine, w plan.Workload) error {
	session, err := e.Open(context.Background(), trialSpec(w))
	if err != nil {
		return err
	}
	if session.Shape().Done && w.Window > 0 {
		return errors.Join(fmt.Errorf("engine %s: window: found %v, expected none: this work ends when it is done, and all of it is measured; write deadline: 1h, say, and no window", e.Name(), w.Window), session.Close())
	}
	return session.Close()
}

// trialSpec is a workload as an engine is asked about it beforehand.
func trialSpec(w plan.Workload) load.Spec {
	return load.Spec{
		Workload: w.Name, Part: load.Source, Engine: w.Engine, Target: w.Target, Parameters: w.Parameters,
		Common: load.Common{Workers: w.Workers},
	}
}

// targeted says which engines need a service or a target.
func targeted(engine string) bool {
	return slices.Contains([]string{"kv", "http", "net"}, engine)
}

// embedded says which engines bakeoff has a server of its own for: those of
// newEmbeddedCommand.
func embedded(engine string) bool {
	return slices.Contains([]string{"kv", "http", "net"}, engine)
}

// embeddedOptions describes the options of an engine's own server: its flags, but
// for where it listens, which the plan's endpoint says.
func embeddedOptions(engine string) (out []plan.Option) {
	for _, server := range newEmbeddedCommand(&osenv.Env{}).Commands() {
		if server.Name() != engine {
			continue
		}
		server.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "listen" {
				out = append(out, plan.Option{Name: f.Name, Check: f.Value.Set})
			}
		})
	}
	return out
}
