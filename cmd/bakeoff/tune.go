package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bakeoff/analysis"
	"bakeoff/engine"
	"bakeoff/fleet"
	"bakeoff/host/advice"
	"bakeoff/internal/osenv"
	"bakeoff/plan"
)

// newTuneCommand tries what inspect advises, and keeps what measurably helped.
func newTuneCommand(env *osenv.Env) *cobra.Command {
	var f tuneFlags
	c := &cobra.Command{
		Use:   "tune PLAN",
		Short: "Try what inspect advises, step by step, and keep what measurably helped",
		Long: `Tune measures the load of a plan as this machine is found, and again after each
step of a ladder: what bakeoff inspect advises, or steps of your own (--steps).
A step is kept where a primary measure of the plan is better after it and none is
worse. What is kept is then measured once more, all of it together, against the
machine as found. Nothing is left changed: the settings that helped are printed,
for you to apply.

The plan has a load and its primary measures, and no factors. The file of steps is
a map of names to what each sets:
    buffers: {settings.local.sysctl.net.core.rmem_max: 16777216}
    mtu:     {settings.local.mtu.eth0: 9000}`,
		Example: "  bakeoff tune load.yaml\n  bakeoff tune load.yaml --steps recipe.yaml --json",
		Args:    exactArgs(1),
	}
	c.Flags().StringVar(&f.steps, "steps", "", "a file of steps to try, in place of what inspect advises")
	c.Flags().StringVar(&f.host, "host", "", "the plan's name of the host to tune; needed where several are this machine")
	c.Flags().StringVar(&f.run.dir, "dir", "runs", "the folder that run directories and the ladder's plan are made in")
	c.Flags().BoolVar(&f.run.dryRun, "dry-run", false, "check everything on this machine, and measure nothing")
	c.Flags().BoolVar(&f.run.json, "json", false, "write progress as JSON lines, and the outcome as JSON to standard output")
	c.RunE = func(cmd *cobra.Command, args []string) error { return f.execute(cmd.Context(), env, args[0]) }
	return c
}

type tuneFlags struct {
	run         runFlags
	steps, host string
}

// tuned is the outcome, as JSON.
type tuned struct {
	Ladder   string                   `json:"ladder"` // run directory
	Steps    []analysis.TuningOutcome `json:"steps"`
	Kept     []plan.TuningStep        `json:"kept"`
	Confirm  string                   `json:"confirm,omitempty"` // run directory of the last measurement
	Together *analysis.TuningOutcome  `json:"together,omitempty"`
}

func (f *tuneFlags) execute(ctx context.Context, env *osenv.Env, name string) error {
	src, err := os.ReadFile(name)
	if err != nil {
		return badInput(err)
	}
	steps, err := f.choose(ctx, env, name, src)
	if err != nil {
		return badInput(err)
	}
	if len(steps) == 0 {
		_, err := io.WriteString(env.Stdout, "Inspect advises nothing more that a setting could change: there is nothing to try.\n")
		return err
	}
	var out tuned
	ladder, outcomes, err := f.ladder(ctx, env, "tuning", name, src, steps)
	if err != nil || f.run.dryRun {
		return err
	}
	out.Ladder, out.Steps = ladder, outcomes
	for i, o := range outcomes {
		if o.Helped {
			out.Kept = append(out.Kept, steps[i])
		}
	}
	if len(out.Kept) > 0 {
		all := plan.Together("all that helped", out.Kept)
		dir, confirmed, err := f.ladder(ctx, env, "confirmation", name, src, []plan.TuningStep{all})
		if err != nil {
			return err
		}
		out.Confirm, out.Together = dir, &confirmed[0]
	}
	if f.run.json {
		err = printJSON(env.Stdout, out)
	} else {
		err = printTuned(env.Stdout, out)
	}
	if err == nil && !out.judged() {
		return invalid("no step could be judged: every comparison is invalid; the validity gates of %s say why", reportOf(out.Ladder))
	}
	return err
}

// judged reports whether any step was compared.
func (t *tuned) judged() bool {
	return slices.ContainsFunc(t.Steps, func(o analysis.TuningOutcome) bool {
		return slices.ContainsFunc(o.Findings, func(f analysis.Finding) bool { return f.Verdict != analysis.Invalid })
	})
}

func reportOf(dir string) string { return filepath.Join(dir, "report", "report.html") }

// choose returns the steps to try: those of a file, or what inspect advises for
// the host.
func (f *tuneFlags) choose(ctx context.Context, env *osenv.Env, name string, src []byte) ([]plan.TuningStep, error) {
	p, err := plan.Parse(name, src, catalog{})
	if err != nil {
		return nil, err
	}
	if len(p.Primary) == 0 {
		return nil, fmt.Errorf("%s names no primary measure: expected one, as \"primary: {throughput: {better: higher, margin: 2%%}}\", to judge the steps by", name)
	}
	if f.steps != "" {
		text, err := os.ReadFile(f.steps)
		if err != nil {
			return nil, fmt.Errorf("--steps: %w", err)
		}
		return plan.TuningSteps(f.steps, text)
	}
	h, err := f.target(p)
	if err != nil {
		return nil, err
	}
	seen, errs := advice.Look(ctx, env.Root, env.Clock)
	for _, err := range errs {
		fmt.Fprintf(env.Stderr, "not read: %v\n", err)
	}
	seen.LoadCPUs = h.CPUs
	all, idle := onTheWay(p, h.Name, advice.Of(seen))
	if len(idle) > 0 {
		fmt.Fprintf(env.Stderr, "left out: what inspect advises on %s, which no load of the plan goes through (--steps tries it all the same)\n", strings.Join(idle, ", "))
	}
	return advisedSteps(h.Name, all), nil
}

// target is the host of the plan that is tuned.
func (f *tuneFlags) target(p *plan.Plan) (plan.Host, error) {
	var here []string
	for _, h := range p.Hosts {
		if h.Agent == plan.AgentLocal && h.Namespace == "" && (f.host == "" || f.host == h.Name) {
			here = append(here, h.Name)
		}
	}
	if len(here) != 1 {
		return plan.Host{}, fmt.Errorf("the plan has %d hosts that are this machine and could be tuned (%s): name one of them with --host", len(here), strings.Join(here, ", "))
	}
	return p.Hosts[slices.IndexFunc(p.Hosts, func(h plan.Host) bool { return h.Name == here[0] })], nil
}

// advisedSteps makes a step of each piece of advice that a setting applies.
func advisedSteps(host string, all []advice.Advice) []plan.TuningStep {
	var steps []plan.TuningStep
	for _, a := range all {
		if a.Weight == advice.Know || len(a.Settings) == 0 {
			continue
		}
		step := plan.TuningStep{Name: a.Rule + " " + a.Subject}
		for _, s := range a.Settings {
			step.Sets = append(step.Sets, plan.TuningValue{Path: s.PlanPath(host), Value: s.PlanValue()})
		}
		for n := 2; slices.ContainsFunc(steps, func(t plan.TuningStep) bool { return t.Name == step.Name }); n++ {
			step.Name = fmt.Sprintf("%s %s %d", a.Rule, a.Subject, n)
		}
		steps = append(steps, step)
	}
	return steps
}

// ladder runs the plan with steps added and says which of them helped.
func (f *tuneFlags) ladder(ctx context.Context, env *osenv.Env, what, name string, src []byte, steps []plan.TuningStep) (dir string, outcomes []analysis.TuningOutcome, err error) {
	text, err := plan.TuningLadder(name, src, steps)
	if err != nil {
		return "", nil, badInput(err)
	}
	file, err := f.write(what, name, text)
	if err != nil {
		return "", nil, err
	}
	p, err := plan.Parse(file, text, catalog{})
	if err != nil {
		return "", nil, badInput(err)
	}
	hosts := fleet.Assemble(env, p.Hosts, engine.Lookup)
	defer func() { err = errors.Join(err, hosts.Close()) }()
	if f.run.dryRun {
		return "", nil, f.run.run(ctx, env, p, hosts, nil)
	}
	summary, err := f.run.measure(ctx, env, p, hosts)
	if err != nil {
		return "", nil, err
	}
	result, err := analyse(summary.Dir)
	if err != nil {
		return "", nil, fmt.Errorf("the run is whole in %s, but judging it failed: %w", summary.Dir, err)
	}
	if err := writeReports(filepath.Join(summary.Dir, "report"), result); err != nil {
		return "", nil, err
	}
	return summary.Dir, analysis.Tuning(result, p), nil
}

// write keeps the ladder's plan where its errors can be looked up.
func (f *tuneFlags) write(what, name string, text []byte) (string, error) {
	if err := os.MkdirAll(f.run.dir, 0o755); err != nil {
		return "", fmt.Errorf("making the folder of the runs: %w", err)
	}
	base := strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	file := filepath.Join(f.run.dir, base+"-"+what+".yaml")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return "", fmt.Errorf("writing the plan of the %s: %w", what, err)
	}
	return file, nil
}

func printTuned(w io.Writer, t tuned) error {
	var b strings.Builder
	for _, o := range t.Steps {
		mark := map[bool]string{true: "kept", false: "left"}[o.Helped]
		fmt.Fprintf(&b, "%s  %s\n", mark, o.Step)
		for _, f := range o.Findings {
			fmt.Fprintf(&b, "      %-12s %s\n", f.Verdict, f.Sentence)
		}
		if len(o.Findings) == 0 {
			b.WriteString("      no trial of it could be judged\n")
		}
	}
	fmt.Fprintf(&b, "\nLadder: %s\n", reportOf(t.Ladder))
	if t.Together == nil && t.judged() {
		b.WriteString("Nothing helped measurably: leave the machine as it is.\n")
	}
	if t.Together == nil {
		_, err := io.WriteString(w, b.String())
		return err
	}
	b.WriteString("\nAll that helped, together, against the machine as found:\n")
	for _, f := range t.Together.Findings {
		fmt.Fprintf(&b, "      %-12s %s\n", f.Verdict, f.Sentence)
	}
	fmt.Fprintf(&b, "Confirmation: %s\n\n", reportOf(t.Confirm))
	if !t.Together.Helped {
		b.WriteString("Together they do not help measurably: what the single steps showed may have been chance, or they get into each other's way.\n")
	}
	b.WriteString("The settings, as a level of a plan (nothing is left applied):\n")
	for _, s := range t.Kept {
		fmt.Fprintf(&b, "    %q: %s\n", s.Name, s.Level())
	}
	_, err := io.WriteString(w, b.String())
	return err
}
