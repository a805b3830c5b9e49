package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"

	"github.com/spf13/cobra"

	"bakeoff/analysis"
	"bakeoff/engine"
	"bakeoff/fleet"
	"bakeoff/internal/osenv"
	"bakeoff/plan"
	"bakeoff/record"
	"bakeoff/run"
)

// runFlags are the flags of bakeoff run.
type runFlags struct {
	quick, aa, dryRun, json bool
	dir, resume, postHocOf  string
	failOn                  []string
}

// newRunCommand executes a plan.
func newRunCommand(env *osenv.Env) *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run [PLAN | RUN]",
		Short: "Run a bake-off and write its report",
		Long: `Run executes a plan: every trial in its order, journalled, with settings put
back and services stopped whatever happens, and writes the report.

With --quick it needs no plan and nothing installed: it compares TCP with a Unix
socket on this machine in about two minutes. Given a run directory that
stopped half-way, it goes on with it.

Ctrl-C once stops after the trial under way; twice puts everything back and
stops at once. Either way the run can be resumed. What a run that was killed left
changed is put back by the next one.

A second run on this machine is refused: a lock in /tmp/bakeoff-lock, or in the
folder that BAKEOFF_LOCK_DIR names, keeps it off.`,
		Example: "  bakeoff run --quick\n  bakeoff run examples/redis-vs-embedded.yaml\n  bakeoff run runs/20260101T120000Z-01J...",
		Args:    maximumArgs(1),
	}
	c.Flags().BoolVar(&f.quick, "quick", false, "compare TCP with a Unix socket on this machine; needs no plan")
	f.register(c)
	c.RunE = func(cmd *cobra.Command, args []string) error { return f.execute(cmd.Context(), env, args) }
	return c
}

// register adds the flags of all commands that run a plan.
func (f *runFlags) register(c *cobra.Command) {
	c.Flags().BoolVar(&f.aa, "aa", false, "also run the baseline against itself, for the noise floor of this lab")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "check everything on this machine, and measure nothing")
	c.Flags().BoolVar(&f.json, "json", false, "write progress as JSON lines, and the report as JSON to standard output")
	c.Flags().StringVar(&f.dir, "dir", "runs", "the folder that run directories are made in")
	c.Flags().StringVar(&f.resume, "resume", "", "the run directory to go on with, under the same plan")
	c.Flags().StringVar(&f.postHocOf, "post-hoc-of", "", "root hash of a finished record that these blocks are added to; the report says so")
	c.Flags().StringSliceVar(&f.failOn, "fail-on", nil, "exit with 4 where a primary measure has one of these verdicts: better, worse, equivalent, inconclusive")
	offerVerdicts(c)
}

func (f *runFlags) execute(ctx context.Context, env *osenv.Env, args []string) error {
	failOn, err := verdicts(f.failOn)
	if err != nil {
		return badInput(err)
	}
	if f.postHocOf != "" && !rootHash().MatchString(f.postHocOf) {
		return badInput(fmt.Errorf("--post-hoc-of %q: expected the root hash of a record, as sha256: and 64 hexadecimal digits; every report prints it", f.postHocOf))
	}
	p, err := f.plan(ctx, env, args)
	if err != nil {
		return badInput(err)
	}
	hosts := fleet.Assemble(env, p.Hosts, engine.Lookup)
	err = f.run(ctx, env, p, hosts, failOn)
	return errors.Join(err, hosts.Close())
}

// run carries the plan out on its hosts and writes the report.
func (f *runFlags) run(ctx context.Context, env *osenv.Env, p *plan.Plan, hosts *fleet.Fleet, failOn []analysis.Verdict) error {
	if f.dryRun {
		config, err := f.config(env, p, hosts)
		if err != nil {
			return err
		}
		return dryRun(ctx, env, config)
	}
	summary, err := f.measure(ctx, env, p, hosts)
	if err != nil {
		return err
	}
	return f.report(env, summary, failOn)
}

// measure carries the plan out on its hosts, after putting right what an
// earlier run left behind.
func (f *runFlags) measure(ctx context.Context, env *osenv.Env, p *plan.Plan, hosts *fleet.Fleet) (run.Summary, error) {
	config, err := f.config(env, p, hosts)
	if err != nil {
		return run.Summary{}, err
	}
	if !f.json {
		for _, text := range forecasts(p) {
			fmt.Fprintln(env.Stderr, text)
		}
	}
	progress := newProgress(env, p, f.json)
	config.Progress = progress.show
	ctx, stop, done := interrupts(ctx)
	config.Stop = stop
	summary, err := run.Execute(ctx, config)
	if left, ok := errors.AsType[*run.LeftBehindError](err); ok {
		if err = f.undo(ctx, env, left.Dir, progress); err == nil {
			summary, err = run.Execute(ctx, config)
		}
	}
	done()
	progress.end()
	_, inTheWay := errors.AsType[*run.ProblemsError](err)
	_, refused := errors.AsType[*run.RefusedError](err)
	if inTheWay || refused {
		return summary, badInput(err)
	}
	if err != nil {
		f.next(env, summary)
		return summary, err
	}
	if summary.Outcome != run.Done {
		f.next(env, summary)
		return summary, fmt.Errorf("the run ended before its plan was done (%s)", summary.Outcome)
	}
	return summary, nil
}

func rootHash() *regexp.Regexp { return regexp.MustCompile(`^sha256:[0-9a-f]{64}$`) }

// undo puts right what the run that had this machine last left behind.
func (f *runFlags) undo(ctx context.Context, env *osenv.Env, dir string, told *progress) (err error) {
	source, err := openRun(dir)
	if err != nil {
		return err
	}
	hosts := fleet.Assemble(env, source.Plan.Hosts, engine.Lookup)
	defer func() { err = errors.Join(err, hosts.Close()) }()
	config, err := f.config(env, source.Plan, hosts)
	if err != nil {
		return err
	}
	config.Resume = dir
	undone, err := run.Undo(ctx, config)
	if err != nil {
		return fmt.Errorf("putting right what the run in %s left behind when it ended without warning: %w", dir, err)
	}
	for _, text := range undone {
		told.show(run.Event{Kind: undoneEvent, Dir: dir, Text: text})
	}
	return nil
}

// next tells what to do after a run that is not done; as JSON, the last event has
// told it.
func (f *runFlags) next(env *osenv.Env, s run.Summary) {
	if s.Next != "" && !f.json {
		fmt.Fprintln(env.Stderr, s.Next)
	}
}

// plan reads the plan that is to be run, or that of the run to go on with.
func (f *runFlags) plan(ctx context.Context, env *osenv.Env, args []string) (*plan.Plan, error) {
	switch {
	case f.quick && len(args) > 0:
		return nil, errors.New("--quick brings its own plan; leave out the file, or --quick")
	case f.quick:
		return quickPlan(ctx, env, f.aa)
	case len(args) == 0 && f.resume == "":
		return nil, errors.New("no plan; name a plan file, or say --quick for a first bake-off that needs none")
	}
	name := f.resume
	if len(args) > 0 {
		name = args[0]
	}
	if isRun(name) {
		f.resume = name
		p, err := f.recordedPlan(name)
		if err == nil && f.aa && !p.AA {
			err = fmt.Errorf("--aa belongs to a new run: %s began without it; leave the flag out, or run the plan afresh", name)
		}
		return p, err
	}
	if f.resume != "" && !isRun(f.resume) {
		return nil, fmt.Errorf("--resume %s: it has no %s: expected a directory that bakeoff run made", f.resume, record.ManifestFile)
	}
	p, err := readPlan(name)
	if err == nil {
		p.AA = p.AA || f.aa
	}
	return p, err
}

// isRun reports whether the path is a run directory.
func isRun(path string) bool {
	info, err := os.Stat(filepath.Join(path, "manifest.json"))
	return err == nil && info.Mode().IsRegular()
}

// recordedPlan reads the plan of the run to go on with.
func (f *runFlags) recordedPlan(dir string) (*plan.Plan, error) {
	r, err := record.Open(dir)
	if err != nil {
		return nil, err
	}
	p, err := plan.Parse(r.Manifest.PlanName, r.Plan, catalog{})
	if err != nil {
		return nil, fmt.Errorf("the plan of %s: %w", dir, err)
	}
	p.AA = r.Manifest.AA
	return p, nil
}

func (f *runFlags) config(env *osenv.Env, p *plan.Plan, hosts *fleet.Fleet) (run.Config, error) {
	hostname, err := os.Hostname()
	if err != nil {
		return run.Config{}, fmt.Errorf("asking for this machine's name: %w", err)
	}
	return run.Config{
		Plan: p, Dir: f.dir, Resume: f.resume, Agents: hosts.Agents(), Engines: engine.Lookup,
		Host: hostname, Build: version(), Command: append([]string{"bakeoff"}, env.Args...), Clock: env.Clock,
		PostHocOf: f.postHocOf, LockDir: lockDir(env),
	}, nil
}

// lockDir is a directory that all users of this machine share, so that two
// runs never measure at once.
func lockDir(env *osenv.Env) string {
	if dir := env.Getenv("BAKEOFF_LOCK_DIR"); dir != "" {
		return dir
	}
	return "/tmp/bakeoff-lock" // not TMPDIR, which differs between users
}

// dryRun looks for everything that would keep the plan from being measured.
func dryRun(ctx context.Context, env *osenv.Env, config run.Config) error {
	problems, err := run.Check(ctx, config)
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return badInput(&run.ProblemsError{Problems: problems})
	}
	e, err := config.Plan.Estimate()
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "Nothing is in the way: %s in %s, about %s.\n", counted(e.Trials, "trial"), counted(e.Blocks, "block"), about(e.Time))
	return nil
}

// interrupts turns the first Ctrl-C into a stop after the trial under way, and
// a second one, or any other signal that ends, into an end at once.
func interrupts(ctx context.Context) (context.Context, <-chan struct{}, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, ending()...)
	endOutlive := outlive()
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		asked := false
		for {
			select {
			case s := <-signals:
				if s == os.Interrupt && !asked {
					asked = true
					close(stop)
					continue
				}
				cancel(fmt.Errorf("stopped by signal: %v", s))
			case <-ended:
				return
			}
		}
	}()
	return ctx, stop, func() {
		signal.Stop(signals)
		endOutlive()
		close(ended)
	}
}

// report judges the finished run, writes its reports and says where they are.
func (f *runFlags) report(env *osenv.Env, s run.Summary, failOn []analysis.Verdict) error {
	result, err := analyse(s.Dir)
	if err != nil {
		return fmt.Errorf("the run is whole in %s, but judging it failed: %w", s.Dir, err)
	}
	dir := filepath.Join(s.Dir, record.ReportDir)
	if err := writeReports(dir, result); err != nil {
		return err
	}
	if err := printResult(env, result, f.json); err != nil {
		return err
	}
	if !f.json {
		fmt.Fprintf(env.Stdout, "\nReport: %s\n", filepath.Join(dir, "report.html"))
	}
	return judged(result, failOn)
}
