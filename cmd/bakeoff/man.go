package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

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
			header := &doc.GenManHeader{Title: "BAKEOFF", Section: "1", Source: "bakeoff " + version(), Manual: "bakeoff"}
			return doc.GenManTree(cmd.Root(), header, args[0])
		},
	}
}
