package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bakeoff/internal/osenv"
	"bakeoff/lab"
	"bakeoff/plan"
)

// newLabCommand builds small networks in namespaces of this machine.
func newLabCommand(env *osenv.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "lab",
		Short: "Build a small network in namespaces from a file, and run plans in it",
		Long: `A lab is hosts, routers and links between them, each node a network namespace of
this machine, named bakeoff-LAB-NODE. A plan's hosts run in them by their
namespace. All nodes share this machine's processors, memory and clock.

Building needs root. Whatever happens, nothing is left behind: what a lab that was
killed left is removed by the next one of its name, or by bakeoff lab down.`,
		Example: "  bakeoff lab show examples/a3-ipv6/lab.yaml\n  bakeoff lab run examples/a3-ipv6/lab.yaml examples/a3-ipv6/plan.yaml",
		Args:    maximumArgs(0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(newLabUp(env), newLabDown(env), newLabShow(env), newLabRun(env))
	return c
}

// labKeeper keeps labs where all bakeoffs of this machine look for them.
func labKeeper(env *osenv.Env) *lab.Keeper {
	return &lab.Keeper{StateDir: env.Getenv("BAKEOFF_LAB_DIR"), Clock: env.Clock}
}

func readLab(name string) (*lab.Lab, error) {
	src, err := os.ReadFile(name)
	if err != nil {
		return nil, badInput(fmt.Errorf("reading the lab: %w", err))
	}
	l, err := lab.Parse(name, src)
	return l, badInput(err)
}

func newLabUp(env *osenv.Env) *cobra.Command {
	return &cobra.Command{
		Use: "up FILE", Short: "Build a lab and leave it up", Args: exactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			l, err := readLab(args[0])
			if err != nil {
				return err
			}
			hold := holdSignals()
			defer hold()
			built, err := buildLab(env, l)
			if err != nil {
				return err
			}
			fmt.Fprintf(env.Stdout, "Lab %s is up: run plans on it with bakeoff run, take it down with bakeoff lab down %s\n", l.Name, l.Name)
			return errors.Join(l.Print(env.Stdout), built.Leave())
		},
	}
}

// holdSignals keeps signals from ending this process in the midst of building or
// removing, which take no time to speak of.
func holdSignals() (end func()) {
	held := make(chan os.Signal, 1)
	signal.Notify(held, ending()...)
	endOutlive := outlive()
	return func() {
		signal.Stop(held)
		endOutlive()
	}
}

// buildLab builds a lab and tells what was in its place.
func buildLab(env *osenv.Env, l *lab.Lab) (*lab.Built, error) {
	built, err := labKeeper(env).Build(l)
	switch {
	case errors.As(err, new(lab.AllowedError)), errors.As(err, new(*lab.Error)), errors.As(err, new(*lab.UpError)), errors.As(err, new(*lab.BusyError)):
		return nil, badInput(err)
	case err != nil:
		return nil, err
	}
	if len(built.Cleaned) > 0 {
		fmt.Fprintf(env.Stderr, "removed what a lab that was killed had left: %s\n", strings.Join(built.Cleaned, ", "))
	}
	return built, nil
}

func newLabDown(env *osenv.Env) *cobra.Command {
	force := false
	c := &cobra.Command{
		Use: "down FILE | LAB", Short: "Remove a lab and every trace of it", Args: exactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			name, err := labName(args[0])
			if err != nil {
				return err
			}
			hold := holdSignals()
			defer hold()
			removed, err := labKeeper(env).Down(name, force)
			switch {
			case err != nil:
				return err
			case len(removed) == 0:
				fmt.Fprintf(env.Stdout, "Lab %s is not up: there was nothing to remove\n", name)
			default:
				fmt.Fprintf(env.Stdout, "Lab %s is removed: %s\n", name, strings.Join(removed, ", "))
			}
			return nil
		},
	}
	c.Flags().BoolVar(&force, "force", false, "also with processes inside; they are not ended, and keep what they use")
	return c
}

// labName is the name of a lab that is given by it or by its file.
func labName(arg string) (string, error) {
	if _, err := os.Stat(arg); err != nil && !strings.ContainsAny(arg, "./") {
		return arg, nil
	}
	l, err := readLab(arg)
	if err != nil {
		return "", err
	}
	return l.Name, nil
}

func newLabShow(env *osenv.Env) *cobra.Command {
	return &cobra.Command{
		Use: "show [FILE]", Short: "Check a lab's file and print it, or list the labs that are up", Args: maximumArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				l, err := readLab(args[0])
				if err != nil {
					return err
				}
				return l.Print(env.Stdout)
			}
			dir := env.Getenv("BAKEOFF_LAB_DIR")
			if dir == "" {
				dir = lab.DefaultStateDir
			}
			states, err := lab.States(dir)
			if err != nil {
				return err
			}
			for _, s := range states {
				fmt.Fprintf(env.Stdout, "%s\t%s\tsince %s\t%s\n", s.Lab, s.Phase, s.Since.Format("2006-01-02 15:04:05"), s.File)
			}
			if len(states) == 0 {
				fmt.Fprintln(env.Stdout, "No lab is up.")
			}
			return nil
		},
	}
}

// newLabRun runs a plan inside a lab that lives as long as the run.
func newLabRun(env *osenv.Env) *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run FILE [PLAN | RUN]",
		Short: "Build a lab, run a plan in it as bakeoff run does, and remove the lab",
		Args:  exactArgs(2),
	}
	f.register(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		l, err := readLab(args[0])
		if err != nil {
			return err
		}
		return runInLab(cmd.Context(), env, l, &f, args[1:])
	}
	return c
}

func runInLab(ctx context.Context, env *osenv.Env, l *lab.Lab, f *runFlags, args []string) error {
	p, err := f.plan(ctx, env, args)
	if err != nil {
		return badInput(err)
	}
	if err := usesLab(p, l); err != nil {
		return badInput(err)
	}
	hold := holdSignals()
	defer hold()
	built, err := buildLab(env, l)
	if err != nil {
		return err
	}
	err = f.execute(ctx, env, args)
	return errors.Join(err, built.Remove())
}

// usesLab reports a plan that would run beside the lab, not in it.
func usesLab(p *plan.Plan, l *lab.Lab) error {
	var hosts []string
	for _, n := range l.Nodes {
		hosts = append(hosts, l.Namespace(n.Name))
	}
	for _, h := range p.Hosts {
		if slices.Contains(hosts, h.Namespace) {
			return nil
		}
	}
	return fmt.Errorf("plan %s has no host in lab %s: give its hosts a namespace of the lab, as hosts: {client: {agent: local, namespace: %s}}; the lab's are %s",
		p.Name, l.Name, hosts[0], strings.Join(hosts, ", "))
}
