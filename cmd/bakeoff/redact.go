package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"bakeoff/internal/osenv"
	"bakeoff/record"
)

// newRedactCommand copies a record without what identifies a lab.
func newRedactCommand(env *osenv.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "redact RUN OUT",
		Short: "Copy a record without names, addresses and serial numbers",
		Long: `Redact writes a copy of a record in which names of hosts, addresses, serial
numbers and paths are replaced, the same one always in the same way, so that the
copy still reports the same. It has a root hash of its own and names the
original's.`,
		Args: exactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := record.Redact(args[0], args[1], version(), env.Clock.Now())
			if err != nil {
				return badInput(err)
			}
			w := cmd.OutOrStdout()
			fmt.Fprintf(w, "%s is written. Read it before you publish it.\n", args[1])
			if m.Redacted != nil {
				for _, class := range slices.Sorted(maps.Keys(m.Redacted.Replaced)) {
					fmt.Fprintf(w, "  %s replaced: %d\n", class, m.Redacted.Replaced[class])
				}
			}
			return nil
		},
	}
}
