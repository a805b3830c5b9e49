package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"bakeoff/engine/http/server"
	"bakeoff/internal/osenv"
)

func newEmbeddedHTTP(env *osenv.Env) *cobra.Command {
	var listen []string
	c := &cobra.Command{
		Use:     "http --listen ENDPOINT...",
		Short:   "Run the embedded web server until it is told to end",
		Long:    "Run the embedded web server until it is told to end. /SIZE is answered with that\nmany bytes, as /1K or /100K; /status/CODE with that status; /echo with as many\nbytes as were sent to it.",
		Example: "  bakeoff embedded http --listen http://127.0.0.1:8080",
		Args:    exactArgs(0),
	}
	c.Flags().StringSliceVar(&listen, "listen", nil, "where clients connect: http://HOST:PORT, https://HOST:PORT (a certificate it signs itself) or http+unix:///PATH")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		return server.Serve(ctx, server.Config{Listen: listen, Clock: env.Clock, Ready: func(targets []string) {
			for _, t := range targets {
				fmt.Fprintf(env.Stderr, "listening at %s\n", t)
			}
		}})
	}
	return c
}
