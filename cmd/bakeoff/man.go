package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

// literal keeps Markdown out of the texts of a command and those below it: the
// manual pages are made through it, and would take __key__ for bold.
func literal(c *cobra.Command) {
	escape := strings.NewReplacer("_", `\_`, "*", `\*`, "<", `\<`).Replace
	c.Short = escape(c.Short)
	lines := strings.Split(c.Long, "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, "\t") { // which is code, and taken as it is
			lines[i] = escape(line)
		}
	}
	c.Long = strings.Join(lines, "\n")
	c.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = escape(f.Usage) })
	c.PersistentFlags().VisitAll(func(f *pflag.Flag) { f.Usage = escape(f.Usage) })
	for _, below := range c.Commands() {
		literal(below)
	}
}

// newManCommand writes the manual pages, for packagers.
func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual pages into DIR",
		Args:   exactArgs(1),
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("making the folder for the manual pages: %w", err)
			}
			literal(cmd.Root())
			header := &doc.GenManHeader{Title: "BAKEOFF", Section: "1", Source: "bakeoff " + version(), Manual: "bakeoff"}
			return doc.GenManTree(cmd.Root(), header, args[0])
		},
	}
}
