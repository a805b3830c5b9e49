package main

import "github.com/spf13/cobra"

// offer has the shell complete a flag from its few values. A flag that is not
// there is a mistake in this program.
func offer(c *cobra.Command, flag string, values ...string) {
	if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic("offering values of --" + flag + ": " + err.Error())
	}
}

// offerVerdicts is offer of --fail-on.
func offerVerdicts(c *cobra.Command) {
	offer(c, "fail-on", "better", "worse", "equivalent", "inconclusive")
}
