package main

import (
	"fmt"
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
	c.AddCommand(newEmbeddedKV(env), newEmbeddedHTTP(env), newEmbeddedNet(env))
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
	c.Flags().StringSliceVar(&listen, "listen", nil, "where clients connect: redis://HOST:PORT, redis+unix:///PATH, memcache://HOST:PORT or memcache+unix:///PATH")
	c.Flags().IntVar(&threads, "threads", 1, "event loops that share the connections")
	c.Flags().StringVar(&memory, "memory", "", "bytes of keys and values at most, as 1G; without it, no limit")
	c.Flags().StringVar(&passwordEnv, "password-env", "", "environment variable that holds the password clients must give")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		config := server.Config{Listen: listen, Threads: threads, Clock: env.Clock, Ready: func(targets []string) {
			for _, t := range targets {
				fmt.Fprintf(env.Stderr, "listening at %s\n", t)
			}
		}}
		if memory != "" {
			n, err := unit.ParseSize(memory)
			if err != nil {
				return badInput(fmt.Errorf("--memory: %w", err))
			}
			config.Memory = n
		}
		if passwordEnv != "" {
			password, ok := env.LookupEnv(passwordEnv)
			if !ok || password == "" {
				return badInput(fmt.Errorf("--password-env: the variable %s is not set", passwordEnv))
			}
			config.Password = password
		}
		if threads < 0 {
			return badInput(fmt.Errorf("--threads: %d, expected 1 or more", threads))
		}
		// An event loop blocks its processor in system calls; timers and
		// signals need one more.
		runtime.GOMAXPROCS(max(threads, 1) + 1)
		ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		return server.Serve(ctx, config)
	}
	return c
}
