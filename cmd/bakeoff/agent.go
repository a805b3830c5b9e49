package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"bakeoff/engine"
	"bakeoff/fleet"
	"bakeoff/internal/osenv"
	"bakeoff/run"
)

// newAgentCommand serves a run that acts on this host through it.
func newAgentCommand(env *osenv.Env) *cobra.Command {
	return &cobra.Command{
		Use:   fleet.AgentCommand,
		Short: "Act on this host for a run, as plans with network namespaces start it",
		Long: `Agent serves calls on its standard input and output until that ends: it gathers
facts, applies settings, starts services and makes load where it runs. bakeoff run
starts one inside each network namespace of its plan. Nobody needs to start one.`,
		Args:   exactArgs(0),
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return fleet.Serve(ctx, env.Stdin, env.Stdout, run.NewLocalFor(env, engine.Lookup, os.Getppid()))
		},
	}
}
