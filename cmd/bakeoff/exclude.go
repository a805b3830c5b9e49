package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"bakeoff/internal/osenv"
	"bakeoff/record"
)

// newExcludeCommand records that an operator leaves a trial out.
func newExcludeCommand(env *osenv.Env) *cobra.Command {
	var reason, who string
	c := &cobra.Command{
		Use:   "exclude RUN TRIAL --reason TEXT --by NAME",
		Short: "Leave a trial out of the verdicts, with a reason that the report prints",
		Long: `Exclude adds a note to a record; nothing is removed. The trial stays in the
report's raw table, with the reason and who gave it, and its block no longer
counts.`,
		Example: "  bakeoff exclude runs/20260101T120000Z-01J... 0007 --reason 'a backup ran on the server' --by 'lab operator'",
		Args:    exactArgs(2),
	}
	c.Flags().StringVar(&reason, "reason", "", "why; it is printed in every report")
	c.Flags().StringVar(&who, "by", "", "who decided")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if reason == "" || who == "" {
			return badInput(errors.New("a trial is left out only with --reason and --by"))
		}
		root, err := record.Exclude(args[0], record.Exclusion{Trial: record.TrialID(args[1]), Reason: reason, By: who, At: env.Clock.Now().UTC()})
		if err != nil {
			return badInput(err)
		}
		fmt.Fprintf(cmd.OutOrStdout(), "Trial %s is left out. The record's root hash is now %s; write its reports again with: bakeoff report %s\n", args[1], root, args[0])
		return nil
	}
	return c
}
