package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"

	"bakeoff/engine/kv/server"
	"bakeoff/internal/osenv"
	"bakeoff/unit"
)

// newEmbeddedCommand runs a server of bakeoff's own in a process of its own. Plans
// start it; a person may too, to try a load on.
func newEmbeddedCommand(env *osenv.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "embedded",
		Short: "Run one of bakeoff's own servers, as plans do",
		Args:  maximumArgs(0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(newEmbeddedKV(env))
	return c
}

func newEmbeddedKV(env *osenv.Env) *cobra.Command {
	var listen []string
	var threads int
	var memory, passwordEnv string
	c := &cobra.Command{
		Use:     "kv --listen ENDPOINT...",
		Short:   "Run the embedded key-value server until it is told to end",
		Example: "  bakeoff embedded kv --listen redis://127.0.0.1:6379",
		Args:    exactArgs(0),
	}
	c.Flags().StringSliceVar(&listen, "listen", nil, "redis://HOST:PORT or redis+unix:///PATH")
	c.Flags().IntVar(&threads, "threads", 0, "processors it may use at once; 0: all that it may run on")
	c.Flags().StringVar(&memory, "memory", "", "bytes of keys and values at most, as 1G; without it, no limit")
	c.Flags().StringVar(&passwordEnv, "password-env", "", "environment variable that holds the password clients must give")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		config := server.Config{Listen: listen, Version: version, Now: env.Clock.Now, Ready: func(addresses []net.Addr) {
			for _, a := range addresses {
				fmt.Fprintf(env.Stderr, "listening on %s %s\n", a.Network(), a)
			}
		}}
		if memory != "" {
			n, err := unit.ParseSize(memory)
			if err != nil {
				return badInput(fmt.Errorf("--memory: %w", err))
			}
			config.MaxBytes = n
		}
		if passwordEnv != "" {
			password, ok := env.LookupEnv(passwordEnv)
			if !ok || password == "" {
				return badInput(fmt.Errorf("--password-env: the variable %s is not set", passwordEnv))
			}
			config.Password = password
		}
		if threads < 0 {
			return badInput(fmt.Errorf("--threads: %d, expected 1 or more, or 0 for all", threads))
		}
		if threads > 0 {
			runtime.GOMAXPROCS(threads)
		}
		ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		return serveKV(ctx, config)
	}
	return c
}

func serveKV(ctx context.Context, config server.Config) error {
	if err := server.Serve(ctx, config); err != nil {
		return fmt.Errorf("the embedded key-value server: %w", err)
	}
	return nil
}
