package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"bakeoff/engine"
	"bakeoff/host"
	"bakeoff/internal/osenv"
	"bakeoff/load"
	"bakeoff/record"
	"bakeoff/unit"
)

// newLoadCommand runs one load, ad hoc, with a subcommand for each engine.
func newLoadCommand(env *osenv.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "load",
		Short: "Run one load, ad hoc",
		Long: `Load runs one load on one target, prints a line a second and a table at the end.
It judges nothing: a comparison needs a plan (see bakeoff plan new).`,
		Args: maximumArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, e := range engine.Table() {
		c.AddCommand(newEngineCommand(env, e))
	}
	return c
}

// loadFlags are the flags that every engine's load has.
type loadFlags struct {
	target, rate, arrival, cpus string
	workers                     int
	warmup, window, timeout     string
	deadline, quantum           string
	seed                        uint64
	output, hdr, hgrm           string
	artifacts                   string
	passwordFile, passwordEnv   string
	timed                       bool // a window or a warm-up was asked for
}

func (f *loadFlags) register(set *pflag.FlagSet) {
	set.StringVar(&f.target, "target", "", "URL of the target, as redis://127.0.0.1:6379")
	set.IntVar(&f.workers, "workers", 0, "threads (or virtual users) of the generator; 0 leaves it to the engine")
	set.StringVar(&f.rate, "rate", "", "operations a second over all workers, as 30k: an open loop; without it, a closed loop")
	set.StringVar(&f.arrival, "arrival", string(load.Constant), "of an open loop: constant or poisson")
	set.StringVar(&f.quantum, "quantum", "", "of an open loop: least time between two wake-ups, as 200us; saves CPU, costs pacing lag")
	set.StringVar(&f.warmup, "warmup", "2s", "time before the window, not measured")
	set.StringVar(&f.window, "window", "10s", "the measured interval")
	set.StringVar(&f.timeout, "op-timeout", "10s", "when an operation counts as timed out")
	set.StringVar(&f.deadline, "deadline", "", "of work that ends by itself, as a command")
	set.StringVar(&f.cpus, "cpus", "", "cores of the generator, as 0-3,8")
	set.Uint64Var(&f.seed, "seed", 1, "seeds keys, values and arrivals")
	set.StringVarP(&f.output, "output", "o", "table", "table or json")
	set.StringVar(&f.hdr, "hdr", "", "write the latencies to this file as an HdrHistogram interval log (.hlog)")
	set.StringVar(&f.artifacts, "artifacts", "", "write what the engine keeps beside its figures into this folder, as counts of every second")
	set.StringVar(&f.hgrm, "hgrm", "", "write the latencies to this file as a percentile table (.hgrm)")
	set.StringVar(&f.passwordFile, "password-file", "", "file that holds the target's password")
	set.StringVar(&f.passwordEnv, "password-env", "", "environment variable that holds the target's password")
}

func newEngineCommand(env *osenv.Env, e load.Engine) *cobra.Command {
	d := e.Describe()
	c := &cobra.Command{Use: e.Name(), Short: d.Summary, Args: exactArgs(0)}
	var f loadFlags
	f.register(c.Flags())
	if d.Target != "" {
		c.Flags().Lookup("target").Usage = "URL of the target: " + d.Target
	}
	own := load.Flags(d)
	for _, flag := range own {
		name := flagName(flag.Parameter.Name)
		c.Flags().Var(flag, name, flag.Usage())
		switch flag.Parameter.Type {
		case load.TypeBool:
			c.Flags().Lookup(name).NoOptDefVal = "true"
			offer(c, name, "true", "false")
		case load.TypeEnum:
			offer(c, name, flag.Parameter.Values...)
		}
	}
	offer(c, "arrival", string(load.Constant), string(load.Poisson))
	offer(c, "output", "table", "json")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		spec, err := f.spec(env, e.Name(), load.FlagValues(own))
		f.timed = cmd.Flags().Changed("window") || cmd.Flags().Changed("warmup")
		printed := false
		if err == nil {
			printed, err = runLoad(cmd.Context(), env, e, spec, f)
		} else {
			err = badInput(err)
		}
		if err != nil && !printed && f.output == "json" {
			return errors.Join(err, printFailureJSON(env.Stdout, err))
		}
		return err
	}
	return c
}

// flagName writes a plan's parameter as flags are written.
func flagName(parameter string) string { return strings.ReplaceAll(parameter, "_", "-") }

func (f *loadFlags) spec(env *osenv.Env, name string, parameters map[string]any) (load.Spec, error) {
	s := load.Spec{Workload: name, Part: load.Source, Host: "local", Engine: name, Target: f.target, Parameters: parameters, Seed: f.seed}
	s.Common.Workers, s.Common.Arrival = f.workers, load.Arrival(f.arrival)
	var faults []error
	if !slices.Contains([]load.Arrival{load.Constant, load.Poisson}, s.Common.Arrival) {
		faults = append(faults, fmt.Errorf("--arrival: %q, expected constant or poisson", f.arrival))
	}
	for _, d := range []struct {
		flag, text string
		to         *time.Duration
	}{
		{"--warmup", f.warmup, &s.Common.Warmup}, {"--window", f.window, &s.Common.Window}, {"--op-timeout", f.timeout, &s.Common.OpTimeout},
		{"--deadline", f.deadline, &s.Common.Deadline}, {"--quantum", f.quantum, &s.Common.Quantum},
	} {
		if d.text == "" {
			continue
		}
		v, err := unit.ParseDuration(d.text)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", d.flag, err))
		}
		*d.to = v
	}
	if f.rate != "" {
		v, err := unit.ParseRate(f.rate)
		if err != nil {
			faults = append(faults, fmt.Errorf("--rate: %w", err))
		} else if v <= 0 {
			faults = append(faults, fmt.Errorf("--rate: found %s, expected more than 0; leave it out for a closed loop", f.rate))
		}
		s.Common.Rate = v
	}
	if f.cpus != "" {
		cpus, err := host.ParseCPUs(f.cpus)
		if err != nil {
			faults = append(faults, fmt.Errorf("--cpus: %w", err))
		}
		s.Common.CPUs = cpus
	}
	if !slices.Contains([]string{"table", "json"}, f.output) {
		faults = append(faults, fmt.Errorf("--output: %q, expected table or json", f.output))
	}
	faults = append(faults, writableFile("--hdr", f.hdr), writableFile("--hgrm", f.hgrm), artifactsFolder(f.artifacts))
	secrets, err := f.secrets(env)
	s.Secrets = secrets
	return s, errors.Join(append(faults, err)...)
}

// secrets reads the password; it is never a flag, where others could see it.
func (f *loadFlags) secrets(env *osenv.Env) (map[string]string, error) {
	switch {
	case f.passwordFile != "" && f.passwordEnv != "":
		return nil, errors.New("--password-file and --password-env are both given; give one")
	case f.passwordEnv != "":
		v, ok := env.LookupEnv(f.passwordEnv)
		if !ok {
			return nil, fmt.Errorf("--password-env: the variable %s is not set", f.passwordEnv)
		}
		return map[string]string{"password": v}, nil
	case f.passwordFile != "":
		text, err := os.ReadFile(f.passwordFile)
		if err != nil {
			return nil, fmt.Errorf("--password-file: %w", err)
		}
		return map[string]string{"password": strings.TrimRight(string(text), "\r\n")}, nil
	}
	return nil, nil
}

// writableFile says why a file that is asked for could not be written, before
// anything is measured for it.
func writableFile(flag, name string) error {
	if name == "" {
		return nil
	}
	at := name
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		at = filepath.Dir(name)
		if dir, dirErr := os.Stat(at); dirErr != nil || !dir.IsDir() {
			return fmt.Errorf("%s: %s is no folder that is there; make it first, or name another file", flag, at)
		}
		err = nil
	case err == nil && info.IsDir():
		return fmt.Errorf("%s: %s is a folder; expected the name of a file", flag, name)
	}
	if err == nil {
		err = unix.Access(at, unix.W_OK)
	}
	if err != nil {
		return fmt.Errorf("%s: %s cannot be written: %w", flag, name, err)
	}
	return nil
}

// runLoad runs a load once, and says whether its result was printed. Ctrl-C
// ends it early; what was measured until then is printed all the same.
func runLoad(ctx context.Context, env *osenv.Env, e load.Engine, spec load.Spec, f loadFlags) (printed bool, err error) {
	ctx, stop := signal.NotifyContext(ctx, ending()...)
	defer stop()
	running, err := load.Open(ctx, e, spec, load.Env{Wall: env.Clock})
	if err != nil {
		return false, badInput(err)
	}
	defer func() { err = errors.Join(err, running.Close()) }()
	if f.timed && running.EndsByItself() {
		return false, badInput(errors.New("--window, --warmup: this load ends when its work is done, and all of it is measured: leave them out (--deadline bounds it)"))
	}
	live := liveLine{env: env}
	if text := forecast(running.Forecast(), machineMemory()); text != "" {
		if slices.ContainsFunc(e.Describe().Parameters, func(p load.Parameter) bool { return p.Name == "preload" }) {
			text += " (--preload none leaves that out)"
		}
		fmt.Fprintln(env.Stderr, text)
	}
	if _, err := running.Prepare(ctx, live.show); err != nil {
		return false, err
	}
	result, measureErr := running.Measure(ctx, live.show)
	live.end()
	if result.Load.Engine == "" { // it did not come to measuring
		return false, measureErr
	}
	if err := errors.Join(measureErr, writeLoad(env, result, f)); err != nil {
		return true, err
	}
	return true, judgedLoad(result)
}

// judgedLoad refuses a load that measured nothing, or one that a gate calls
// invalid.
func judgedLoad(r load.Result) error {
	total := totalKind(r.Load.Kinds)
	if total.Completed == 0 && (len(r.Load.Figures) == 0 || r.Load.Ended != "done") {
		return invalid("no operation was completed in the window: %d failed, %d timed out", total.Failed, total.TimedOut)
	}
	for _, w := range r.Warnings {
		if w.Severity == record.SeverityHard {
			return invalid("%s: %s; threshold %s", w.Gate, w.Found, w.Threshold)
		}
	}
	return nil
}
