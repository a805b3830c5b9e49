package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"bakeoff/foreign/inventory"
	"bakeoff/host"
	"bakeoff/host/advice"
	"bakeoff/internal/osenv"
	"bakeoff/record"
	"bakeoff/unit"
	"bakeoff/unit/limit"
)

// newInspectCommand looks at a host and says what keeps its network from doing
// what it could.
func newInspectCommand(env *osenv.Env) *cobra.Command {
	var f inspectFlags
	c := &cobra.Command{
		Use:   "inspect [FILE...]",
		Short: "Look at a host's network: slots, queues, placement, settings, and what to try",
		Long: `Inspect says what of this host's network is plugged, placed or set in a way that
keeps it from doing what it could, each with its evidence, the reason, what to
expect, and the setting that applies it. It changes nothing and needs no root.

Of another host it reads a captured copy of /proc and /sys (--root), or files
with the output of tools, in any number and order: ethtool (also -i, -k, -g, -l,
-c, -a), lspci -vv, lscpu, numactl -H, sysctl -a, /proc/interrupts and
/proc/net/softnet_stat. Name a file of ethtool -i after its interface, as
ethtool-i-eth0.txt: that output does not.

Whether a piece of advice helps is for a measurement to say: bakeoff tune.`,
		Example: "  bakeoff inspect --to 192.0.2.10 --rtt 200us\n  bakeoff inspect lspci.txt ethtool-*.txt sysctl.txt",
	}
	c.Flags().StringVar(&f.root, "root", "", "a captured copy of another host's file system, with its /proc and /sys")
	c.Flags().StringVar(&f.to, "to", "", "address of the peer, for the MTU of the path to it")
	c.Flags().StringVar(&f.rtt, "rtt", "", "round trip to the peer, as 200us, to judge socket buffers by")
	c.Flags().StringVar(&f.cpus, "cpus", "", "processors that the load is to run on, as 0-7")
	c.Flags().StringVarP(&f.output, "output", "o", "text", "text or json")
	c.RunE = func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), env, args) }
	return c
}

type inspectFlags struct{ root, to, rtt, cpus, output string }

func (f *inspectFlags) run(ctx context.Context, env *osenv.Env, files []string) error {
	if f.output != "text" && f.output != "json" {
		return badInput(fmt.Errorf("--output: %q, expected text or json", f.output))
	}
	if len(files) > 0 && f.root != "" {
		return badInput(fmt.Errorf("files and --root are both given: they are two ways to look at another host; give one"))
	}
	h, err := f.look(ctx, env, files)
	if err != nil {
		return badInput(err)
	}
	if err := f.purpose(ctx, &h, files); err != nil {
		return badInput(err)
	}
	all := advice.Of(h)
	if f.output == "json" {
		return printJSON(env.Stdout, inspected{h.Facts, all})
	}
	return printInspection(env.Stdout, h, all)
}

// inspected is the JSON form.
type inspected struct {
	Facts  record.Facts    `json:"facts"`
	Advice []advice.Advice `json:"advice"`
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// look reads the host: this one, a copy, or what tools said.
func (f *inspectFlags) look(ctx context.Context, env *osenv.Env, files []string) (advice.Host, error) {
	if len(files) > 0 {
		return readInventory(files)
	}
	root := env.Root
	if f.root != "" {
		root = f.root
		if _, err := os.Stat(root); err != nil {
			return advice.Host{}, fmt.Errorf("--root: %w", err)
		}
	}
	h, errs := advice.Look(ctx, root, env.Clock)
	for _, err := range errs {
		fmt.Fprintf(env.Stderr, "not read: %v\n", err)
	}
	return h, nil
}

func readInventory(files []string) (advice.Host, error) {
	var found inventory.Found
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return advice.Host{}, err
		}
		if _, err := found.Read(name, string(text)); err != nil {
			return advice.Host{}, err
		}
	}
	found.Join()
	h := advice.Host{Facts: found.Facts}
	h.Softnet(found.Softnet)
	return h, nil
}

// purpose takes in what the host is to do.
func (f *inspectFlags) purpose(ctx context.Context, h *advice.Host, files []string) error {
	if f.rtt != "" {
		d, err := unit.ParseDuration(f.rtt)
		if err != nil {
			return fmt.Errorf("--rtt: %w", err)
		}
		h.RoundTripSeconds = d.Seconds()
	}
	if f.cpus != "" {
		cpus, err := host.ParseCPUs(f.cpus)
		if err != nil {
			return fmt.Errorf("--cpus: %w", err)
		}
		h.LoadCPUs = cpus.String()
	}
	if f.to == "" {
		return nil
	}
	if f.root != "" || len(files) > 0 {
		return fmt.Errorf("--to: the path can be looked up from this host only")
	}
	var err error
	h.PathMTU, err = advice.PathMTU(ctx, f.to)
	return err
}

// printInspection prints the interfaces and then the advice.
func printInspection(w io.Writer, h advice.Host, all []advice.Advice) error {
	var b strings.Builder
	for i := range h.Facts.NICs {
		if n := &h.Facts.NICs[i]; n.Kind == "device" {
			fmt.Fprintf(&b, "%s\n", describeNIC(n))
		}
	}
	if b.Len() == 0 {
		b.WriteString("No network card is seen.\n")
	}
	for _, a := range all {
		fmt.Fprintf(&b, "\n%-5s %s: %s\n", a.Weight, a.Subject, a.Found)
		for _, line := range []struct{ name, text string }{{"expected", a.Expected}, {"because", a.Reason}, {"effect", a.Effect}, {"do", a.Action}} {
			fmt.Fprintf(&b, "      %-9s %s\n", line.name, line.text)
		}
		for _, s := range a.Settings {
			fmt.Fprintf(&b, "      %-9s %s\n", "plan", s.PlanPath("HOST")+": "+s.PlanValue())
		}
	}
	if len(all) == 0 {
		b.WriteString("\nNothing to change was found.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// describeNIC says in a line what an interface is.
func describeNIC(n *record.NIC) string {
	parts := []string{n.Name}
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if n.Driver != "" {
		add("%s", strings.TrimSpace(n.Driver+" "+n.Firmware))
	}
	if n.BitsPerSecond != nil {
		add("%s", unit.FormatSI(float64(*n.BitsPerSecond), "bit/s", 3))
	} else if n.State != "" {
		add("link %s", n.State)
	}
	if n.MTUBytes != nil {
		add("MTU %d B", *n.MTUBytes)
	}
	if p := n.PCIe; p != nil && p.GTs != nil && p.Width != nil {
		if l, err := limit.PCIeAt(*p.GTs, *p.Width); err == nil {
			add("%s at %s (%s of payload)", l, p.Address, unit.FormatSI(l.Effective(), "bit/s", 3))
		}
	}
	if n.NUMANode != nil {
		add("node %d", *n.NUMANode)
	}
	if n.RxQueues != nil && n.TxQueues != nil {
		add("%d receive and %d transmit queues", *n.RxQueues, *n.TxQueues)
	}
	if n.Interrupts != nil {
		add("%d interrupts on processors %s", *n.Interrupts, n.InterruptCPUs)
	}
	return strings.Join(parts, ", ")
}
