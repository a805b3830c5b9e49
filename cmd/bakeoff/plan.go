package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"bakeoff/plan"
	"bakeoff/record"
)

// newPlanCommand groups what can be done with a plan without running it.
func newPlanCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "plan",
		Short: "Check, show and begin plan files",
		Args:  maximumArgs(0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(newPlanCheck(), newPlanShow(), newPlanNew(), newPlanSchema())
	return c
}

func newPlanCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "check PLAN...",
		Short: "Say everything that is wrong with a plan, with the line and how to mend it",
		Args:  minimumArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range args {
				p, err := readPlan(name)
				if err != nil {
					return err
				}
				e, err := p.Estimate()
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s: good: %s, %s\n%s: expected to take %s\n", name, counted(len(p.Cells()), "cell"), p.Hash, name, expected(e))
				for _, text := range forecasts(p) {
					fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", name, text)
				}
			}
			return nil
		},
	}
}

// readPlan reads and checks a plan file.
func readPlan(name string) (*plan.Plan, error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return nil, badInput(fmt.Errorf("reading the plan: %s is a folder, and no run directory (it has no %s); expected a plan file, or a run directory to go on with", name, record.ManifestFile))
	}
	src, err := os.ReadFile(name)
	if err != nil {
		return nil, badInput(fmt.Errorf("reading the plan: %w", err))
	}
	p, err := plan.Parse(name, src, catalog{})
	return p, badInput(err)
}

func newPlanShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show PLAN",
		Short: "List a plan's cells and trials, and the hours they take",
		Args:  exactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := readPlan(args[0])
			if err != nil {
				return err
			}
			return showPlan(cmd.OutOrStdout(), p)
		},
	}
}

func showPlan(w io.Writer, p *plan.Plan) error {
	e, err := p.Estimate()
	if err != nil {
		return err
	}
	cells, err := p.CellTable()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s\n%s\n\n", p.Title, p.Hash)
	fmt.Fprintf(w, "Cells (%d)\n", e.Cells)
	if err := printTable(w, cells); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nJudged on\n")
	for _, m := range p.Primary {
		fmt.Fprintf(w, "  %s, %s is better, margin %.3g %%\n", m.Measure, m.Better, 100*m.Margin)
	}
	if p.Peak != nil {
		fmt.Fprintf(w, "Each cell at its own peak: %s from %d to %d with the most %s", p.Peak.Over, p.Peak.From, p.Peak.To, p.Peak.Measure)
		for _, c := range p.Peak.Caps {
			fmt.Fprintf(w, ", %s at most %s", c.Measure, c.Text)
		}
		fmt.Fprintf(w, "\n")
	}
	fmt.Fprintf(w, "Comparisons on primary measures that share the 5 %% error rate: %d\n\nTrials, in order\n", p.Family())
	if err := printTable(w, p.TrialTable()); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nExpected: %s. Assuming:\n", expected(e))
	for _, a := range e.Assumptions {
		fmt.Fprintf(w, "  %s\n", a)
	}
	return nil
}

// expected says how many trials a plan takes, and how long.
func expected(e plan.Estimate) string {
	text := fmt.Sprintf("%s in %s", counted(e.Trials-e.Searched, "trial"), counted(e.Blocks, "block"))
	if e.Searched > 0 {
		text += fmt.Sprintf(" and %d in the search for peaks", e.Searched)
	}
	text += ", " + e.Time.Round(time.Second).String()
	if e.MaxTrials == e.Trials {
		return text
	}
	text += fmt.Sprintf("; at most %s in %s", counted(e.MaxTrials-e.MaxSearched, "trial"), counted(e.MaxBlocks, "block"))
	if e.MaxSearched > 0 {
		text += fmt.Sprintf(" and %d in the search", e.MaxSearched)
	}
	return text + ", " + e.MaxTime.Round(time.Second).String()
}

func printTable(w io.Writer, t plan.Table) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "  %s\n", strings.Join(t.Columns, "\t"))
	for _, row := range t.Rows {
		fmt.Fprintf(tw, "  %s\n", strings.Join(row, "\t"))
	}
	return tw.Flush()
}

func newPlanNew() *cobra.Command {
	return &cobra.Command{
		Use:   "new [FILE]",
		Short: "Write a commented plan to start from, to FILE or to standard output",
		Args:  maximumArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				_, err := cmd.OutOrStdout().Write(plan.Template())
				return err
			}
			f, err := os.OpenFile(args[0], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if errors.Is(err, fs.ErrExist) {
				return badInput(fmt.Errorf("%s is there already; give another name, or remove it first", args[0]))
			}
			if err != nil {
				return badInput(fmt.Errorf("writing the plan: %w", err))
			}
			if _, err := f.Write(plan.Template()); err != nil {
				return errors.Join(fmt.Errorf("writing the plan: %w", err), f.Close(), os.Remove(args[0]))
			}
			if err := f.Close(); err != nil {
				return fmt.Errorf("writing the plan: %w", err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is written; run it as it is with: bakeoff run %s\n", args[0], args[0])
			return nil
		},
	}
}

func newPlanSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Write the JSON Schema of plan files, for editors",
		Args:  exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			schema, err := plan.Schema()
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(schema)
			return err
		},
	}
}
