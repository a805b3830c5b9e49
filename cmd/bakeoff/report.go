package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"bakeoff/analysis"
	"bakeoff/internal/osenv"
	"bakeoff/record"
	"bakeoff/report"
)

// newReportCommand writes the reports of finished or unfinished runs.
func newReportCommand(env *osenv.Env) *cobra.Command {
	var out string
	var asJSON bool
	var failOn []string
	c := &cobra.Command{
		Use:   "report RUN... | FILE",
		Short: "Judge a run from its record, or a printed report from its figures",
		Long: `Report works everything out again from the record: the same record gives the
same report on any machine. It writes report.html, report.md, report.json,
report.csv and bench.txt (for benchstat) into the run's report folder.

Given a file of printed figures (see docs/auditing-a-report.md), it writes the
same report from them, marked as printed and not measured, into the folder that
--out names, or NAME-report beside the file.`,
		Example: "  bakeoff report runs/20260101T120000Z-01J...\n  bakeoff report examples/published/a3-ipv6-offload.yaml --out a3",
		Args:    minimumArgs(1),
	}
	c.Flags().StringVar(&out, "out", "", "the folder to write into, instead of the run's own")
	c.Flags().BoolVar(&asJSON, "json", false, "write the report as JSON to standard output instead of the summary")
	c.Flags().StringSliceVar(&failOn, "fail-on", nil, "exit with 4 where a primary measure has one of these verdicts: better, worse, equivalent, inconclusive")
	offerVerdicts(c)
	c.RunE = func(_ *cobra.Command, args []string) error {
		verdicts, err := verdicts(failOn)
		if err != nil {
			return badInput(err)
		}
		if out != "" && len(args) > 1 {
			return badInput(errors.New("--out takes one run at a time"))
		}
		var worst error
		for _, dir := range args {
			err := reportOne(env, dir, out, asJSON, verdicts)
			if exitCode(err) != exitInvalid && exitCode(err) != exitVerdict && err != nil {
				return err
			}
			worst = errors.Join(worst, err)
		}
		return worst
	}
	return c
}

func reportOne(env *osenv.Env, path, out string, asJSON bool, failOn []analysis.Verdict) error {
	result, own, err := resultOf(path)
	if err != nil {
		return badInput(err)
	}
	if out == "" {
		out = own
	}
	if err := writeReports(out, result); err != nil {
		return err
	}
	if err := printResult(env, result, asJSON); err != nil {
		return err
	}
	if !asJSON {
		fmt.Fprintf(env.Stdout, "\nReport: %s\n", filepath.Join(out, "report.html"))
	}
	return judged(result, failOn)
}

// resultOf works out the result of a run directory or of a figures file, and
// names the folder that its reports go into.
func resultOf(path string) (result *analysis.Result, own string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, "", fmt.Errorf("reading what to report on: %w", err)
	}
	if info.IsDir() {
		if err := whole(path); err != nil {
			return nil, "", err
		}
		result, err = analyse(path)
		return result, filepath.Join(path, record.ReportDir), err
	}
	figures, err := readFigures(path)
	if err != nil {
		return nil, "", err
	}
	result, err = figures.Result()
	return result, strings.TrimSuffix(path, filepath.Ext(path)) + "-report", err
}

// analyse judges a run from its record alone.
func analyse(dir string) (*analysis.Result, error) {
	source, err := openRun(dir)
	if err != nil {
		return nil, err
	}
	return analysis.Analyse(source.Run, source.Plan, analysis.Options{})
}

// whole refuses a record that is not what was sealed: its report would print a
// root hash that is not its own.
func whole(dir string) error {
	if _, err := record.Open(dir); err != nil {
		return badInput(err)
	}
	checked, err := record.Verify(dir)
	if err != nil {
		return badInput(err)
	}
	if err := checked.Err(); err != nil {
		return invalid("%w", err)
	}
	return nil
}

// A form is one rendering of a report.
type form struct {
	file   string
	render func(io.Writer, *analysis.Result) error
}

func forms() []form {
	return []form{
		{"report.html", report.HTML},
		{"report.md", report.Markdown},
		{"report.json", report.JSON},
		{"report.csv", report.CSV},
		{"bench.txt", report.GoBench},
	}
}

// writeReports renders every form; no file is ever half-written.
func writeReports(dir string, result *analysis.Result) error {
	if err := spoils(dir); err != nil {
		return badInput(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the folder of the report: %w", err)
	}
	for _, f := range forms() {
		var b bytes.Buffer
		if err := f.render(&b, result); err != nil {
			return err
		}
		if err := renameio.WriteFile(filepath.Join(dir, f.file), b.Bytes(), 0o644); err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
	}
	return nil
}

// spoils refuses a folder inside a record, but for the one of its reports: what
// is not sealed has no place there.
func spoils(dir string) error {
	whole, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("looking where %s is: %w", dir, err)
	}
	for at, last := whole, ""; at != last; at, last = filepath.Dir(at), at {
		own, err := filepath.Rel(filepath.Join(at, record.ReportDir), whole)
		if isRun(at) && (err != nil || !filepath.IsLocal(own)) {
			return fmt.Errorf("%s is inside the record %s, which it would spoil; name a folder outside of it", dir, at)
		}
	}
	return nil
}

func printResult(env *osenv.Env, result *analysis.Result, asJSON bool) error {
	if asJSON {
		return report.JSON(env.Stdout, result)
	}
	return report.Text(env.Stdout, result, textOptions(env))
}

// judged turns a result into the exit code: 3 where it is invalid, 4 where a
// verdict that --fail-on names came out.
func judged(result *analysis.Result, failOn []analysis.Verdict) error {
	var failed []string
	invalidFindings := 0
	for _, f := range result.Findings {
		if !f.Primary {
			continue
		}
		if f.Verdict == analysis.Invalid {
			invalidFindings++
		}
		if slices.Contains(failOn, f.Verdict) {
			failed = append(failed, fmt.Sprintf("%s of %s: %s", f.Measure, f.Factor, f.Verdict))
		}
	}
	switch {
	case len(failed) > 0:
		return &codedError{code: exitVerdict, err: fmt.Errorf("verdicts that --fail-on names: %s", strings.Join(failed, "; "))}
	case invalidFindings > 0:
		return invalid("%s on primary measures %s invalid; the report says why", counted(invalidFindings, "finding"), verb(invalidFindings, "is", "are"))
	}
	return nil
}

// verdicts reads --fail-on.
func verdicts(names []string) ([]analysis.Verdict, error) {
	known := []analysis.Verdict{analysis.Better, analysis.Worse, analysis.Equivalent, analysis.Inconclusive}
	out := make([]analysis.Verdict, len(names))
	for i, name := range names {
		if !slices.Contains(known, analysis.Verdict(name)) {
			return nil, fmt.Errorf("--fail-on %q: expected one of %v", name, known)
		}
		out[i] = analysis.Verdict(name)
	}
	return out, nil
}
