package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"bakeoff/internal/osenv"
)

// execute runs the command line in env and returns the exit code.
func execute(ctx context.Context, env *osenv.Env) int {
	surroundings := *env
	out := &remembering{to: env.Stdout}
	surroundings.Stdout = out
	root := newRoot(&surroundings)
	root.SetArgs(env.Args)
	err := root.ExecuteContext(ctx)
	if err == nil && out.err != nil {
		err = fmt.Errorf("writing to standard output: %w", out.err)
	}
	if err != nil {
		fmt.Fprintln(env.Stderr, "bakeoff:", err)
	}
	return exitCode(err)
}

// remembering keeps the first error of writing: what could not be printed, as on
// a full disk, was not done.
type remembering struct {
	to  io.Writer
	err error
}

func (r *remembering) Write(b []byte) (int, error) {
	n, err := r.to.Write(b)
	if r.err == nil {
		r.err = err
	}
	return n, err
}

// newRoot builds the command tree; every subcommand has a file of its own.
func newRoot(env *osenv.Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "bakeoff",
		Short: "An honest head-to-head comparison, from the load to the report",
		Long: `bakeoff generates the load, watches the machines, runs the designed experiment,
judges it with intervals and validity gates, and writes a report whose every
number can be recomputed from the raw record.

Exit codes: 0 done; 1 failed; 2 bad input; 3 done but invalid; 4 a verdict that
--fail-on names came out.`,
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.Args = asBadInput(cobra.NoArgs)
	root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return badInput(err) })
	root.AddCommand(
		newRunCommand(env),
		newReportCommand(env),
		newCompareCommand(env),
		newVerifyCommand(),
		newExcludeCommand(env),
		newRedactCommand(env),
		newPlanCommand(),
		newLoadCommand(env),
		newAuditCommand(env),
		newCalcCommand(),
		newEmbeddedCommand(env),
		newAgentCommand(env),
		newLabCommand(env),
		newInspectCommand(env),
		newTuneCommand(env),
		newManCommand(),
	)
	return root
}

// exactArgs is cobra.ExactArgs with an error that counts as bad input.
func exactArgs(n int) cobra.PositionalArgs { return asBadInput(cobra.ExactArgs(n)) }

// minimumArgs is cobra.MinimumNArgs with an error that counts as bad input.
func minimumArgs(n int) cobra.PositionalArgs { return asBadInput(cobra.MinimumNArgs(n)) }

// maximumArgs is cobra.MaximumNArgs with an error that counts as bad input.
func maximumArgs(n int) cobra.PositionalArgs { return asBadInput(cobra.MaximumNArgs(n)) }

func asBadInput(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return badInput(fmt.Errorf("%w; see %s --help", err, cmd.CommandPath()))
		}
		return nil
	}
}
