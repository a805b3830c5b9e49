package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bakeoff/claim"
	"bakeoff/internal/osenv"
	"bakeoff/report"
)

// newAuditCommand re-derives the conclusions of a printed report.
func newAuditCommand(env *osenv.Env) *cobra.Command {
	var format string
	var failOn []string
	c := &cobra.Command{
		Use:   "audit FILE...",
		Short: "Re-derive the conclusions of a printed report from its figures",
		Long: `Audit works every claim of a figures file out again from the figures behind it,
with the interval that their printed digits allow, and says whether it follows.
Where it does not, it names the likely cause. docs/auditing-a-report.md walks
through it; examples/published holds seventeen published experiments.`,
		Example: "  bakeoff audit examples/published/a1-redis-three-generations.yaml\n  bakeoff audit --fail-on raised claims.yaml",
		Args:    minimumArgs(1),
	}
	c.Flags().StringVarP(&format, "output", "o", "text", "text, json, junit or html")
	c.Flags().StringSliceVar(&failOn, "fail-on", nil, "exit with 4 where a claim has one of these verdicts: raised (all that object), does-not-follow, contradicts, cannot-tell, cut, not-printed")
	offer(c, "output", "text", "json", "junit", "html")
	offer(c, "fail-on", "raised", "does-not-follow", "contradicts", "cannot-tell", "cut", "not-printed")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		verdicts, err := auditVerdicts(failOn)
		if err != nil {
			return badInput(err)
		}
		failed := 0
		for _, name := range args {
			audit, err := auditFile(name)
			if err != nil {
				return badInput(err)
			}
			if err := writeAudit(cmd.OutOrStdout(), env, audit, format, verdicts); err != nil {
				return err
			}
			for _, v := range verdicts {
				failed += audit.Count(v)
			}
		}
		if failed > 0 {
			return &codedError{code: exitVerdict, err: fmt.Errorf("%s with a verdict that --fail-on names", counted(failed, "claim"))}
		}
		return nil
	}
	return c
}

func auditFile(name string) (claim.Audit, error) {
	figures, err := readFigures(name)
	if err != nil {
		return claim.Audit{}, err
	}
	return figures.Audit()
}

// readFigures reads a file of printed figures.
func readFigures(name string) (*claim.Figures, error) {
	src, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("reading the figures: %w", err)
	}
	return claim.Read(filepath.Base(name), src)
}

func writeAudit(w io.Writer, env *osenv.Env, a claim.Audit, format string, failOn []claim.Verdict) error {
	switch format {
	case "text":
		return report.AuditText(w, a, textOptions(env))
	case "json":
		return report.AuditJSON(w, a)
	case "junit":
		return report.AuditJUnit(w, a, failOn)
	case "html":
		return report.AuditHTML(w, a)
	}
	return badInput(fmt.Errorf("--output %q: expected text, json, junit or html", format))
}

// auditVerdicts reads --fail-on.
func auditVerdicts(names []string) ([]claim.Verdict, error) {
	known := map[string][]claim.Verdict{
		"raised":          {claim.DoesNot, claim.Contradicts, claim.CannotTell},
		"does-not-follow": {claim.DoesNot},
		"contradicts":     {claim.Contradicts},
		"cannot-tell":     {claim.CannotTell},
		"cut":             {claim.OnlyCut},
		"not-printed":     {claim.NotDerivable},
	}
	var verdicts []claim.Verdict
	for _, name := range names {
		v, ok := known[name]
		if !ok {
			keys := make([]string, 0, len(known))
			for k := range known {
				keys = append(keys, k)
			}
			slices.Sort(keys)
			return nil, fmt.Errorf("--fail-on %q: expected %s", name, strings.Join(keys, ", "))
		}
		verdicts = append(verdicts, v...)
	}
	return verdicts, nil
}

// textOptions says how text is written to this terminal.
func textOptions(env *osenv.Env) report.TextOptions {
	plain := env.Getenv("NO_COLOR") != "" || env.Getenv("TERM") == "dumb"
	return report.TextOptions{Color: env.StdoutTerminal && !plain, Width: env.Width}
}
