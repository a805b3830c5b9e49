package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"bakeoff/analysis"
	"bakeoff/internal/osenv"
	"bakeoff/plan"
	"bakeoff/record"
)

// newCompareCommand compares two records that were made apart.
func newCompareCommand(env *osenv.Env) *cobra.Command {
	var out string
	var asJSON bool
	c := &cobra.Command{
		Use:   "compare BASE RUN",
		Short: "Compare two records that were made apart",
		Long: `Compare judges a second record against a first, cell by cell. The two were not
interleaved, so whatever else changed between them is in the difference too: the
report says so, and lists what differs. Where you can, compare inside one run.`,
		Args: exactArgs(2),
	}
	c.Flags().StringVar(&out, "out", "", "the folder to write the reports into; without it, only the summary is printed")
	c.Flags().BoolVar(&asJSON, "json", false, "write the report as JSON to standard output")
	c.RunE = func(_ *cobra.Command, args []string) error {
		for _, dir := range args {
			if err := whole(dir); err != nil {
				return err
			}
		}
		base, err := openRun(args[0])
		if err != nil {
			return badInput(err)
		}
		against, err := openRun(args[1])
		if err != nil {
			return badInput(err)
		}
		result, err := analysis.Compare(base, against)
		if err != nil {
			return badInput(err)
		}
		if out != "" {
			if err := writeReports(out, result); err != nil {
				return err
			}
		}
		if err := printResult(env, result, asJSON); err != nil {
			return err
		}
		return judged(result, nil)
	}
	return c
}

// openRun opens a record with its plan.
func openRun(dir string) (analysis.Source, error) {
	r, err := record.Open(dir)
	if err != nil {
		return analysis.Source{}, err
	}
	p, err := plan.Parse(r.Manifest.PlanName, r.Plan, nil)
	if err != nil {
		return analysis.Source{}, fmt.Errorf("the plan of %s: %w", dir, err)
	}
	p.AA = r.Manifest.AA
	return analysis.Source{Run: r, Plan: p}, nil
}
