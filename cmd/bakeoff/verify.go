package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"bakeoff/analysis"
	"bakeoff/claim"
	"bakeoff/claim/self"
	"bakeoff/record"
)

// newVerifyCommand checks a record's hashes and works its report out again.
func newVerifyCommand() *cobra.Command {
	var rootHash string
	var asJSON bool
	c := &cobra.Command{
		Use:   "verify RUN",
		Short: "Check a record's hashes, and recompute its report from the raw record",
		Long: `Verify hashes every file of a record and compares it with the seal, then works
every report out again from the raw record and compares it, byte for byte, with
the one that stands beside it. It exits with 3 on any difference.`,
		Args: exactArgs(1),
	}
	c.Flags().StringVar(&rootHash, "root-hash", "", "the root hash that was published; it must be the record's")
	c.Flags().BoolVar(&asJSON, "json", false, "write the findings as JSON")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		rootHash, err := publishedHash(rootHash)
		if err != nil {
			return badInput(err)
		}
		checked, err := record.Verify(args[0])
		if err != nil {
			return badInput(err)
		}
		v := verification{Record: checked, Published: rootHash}
		if checked.OK() {
			if err := v.judge(args[0]); err != nil {
				v.Failed = err.Error()
			}
		}
		if err := v.print(cmd.OutOrStdout(), asJSON); err != nil {
			return err
		}
		return v.verdict()
	}
	return c
}

// publishedHash reads a root hash as people copy it: with its name or as bare
// hexadecimal digits, in either case. "" is none.
func publishedHash(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	hash := "sha256:" + strings.TrimPrefix(strings.ToLower(strings.TrimSpace(text)), "sha256:")
	if !rootHash().MatchString(hash) {
		return "", fmt.Errorf("--root-hash %q: expected the root hash of a record, as sha256: and 64 hexadecimal digits; every report prints it", text)
	}
	return hash, nil
}

// verification is what verifying a record found.
type verification struct {
	Record    record.Report   `json:"record"`
	Published string          `json:"published_root_hash,omitempty"`
	Reports   []reportVerdict `json:"reports,omitempty"`
	// Audit re-derives every number of the written JSON report, by other code
	// than that which wrote it; nil where no report is written.
	Audit *claim.Audit `json:"audit,omitempty"`
	// Failed says why the reports could not be worked out again.
	Failed string `json:"failed,omitempty"`
}

// judge works the reports out again, and audits the written one.
func (v *verification) judge(dir string) (err error) {
	if v.Reports, err = recompute(dir); err != nil {
		return err
	}
	v.Audit, err = auditReport(dir)
	if v.differs() != "" {
		return nil // one that cannot be read differs, too
	}
	return err
}

// differs names the first report that is not what the record gives; "" for none.
func (v *verification) differs() string {
	for _, x := range v.Reports {
		if x.State == "differs" {
			return x.File
		}
	}
	return ""
}

// reportVerdict says whether a written report is what the record gives now.
type reportVerdict struct {
	File  string `json:"file"`
	State string `json:"state"`                      // same, differs, not written
	At    int    `json:"first_difference,omitempty"` // line
}

// recompute works every report out again and compares it with the written one.
func recompute(dir string) ([]reportVerdict, error) {
	result, err := analyse(dir)
	if err != nil {
		return nil, err
	}
	var all []reportVerdict
	for _, f := range forms() {
		v, err := compareReport(dir, f, result)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// auditReport audits the written JSON report against its record.
func auditReport(dir string) (*claim.Audit, error) {
	name := filepath.Join(record.ReportDir, "report.json")
	text, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the written report: %w", err)
	}
	source, err := openRun(dir)
	if err != nil {
		return nil, err
	}
	audit, err := self.AuditReport(source.Run, source.Plan, name, text)
	if err != nil {
		return nil, err
	}
	return &audit, nil
}

func compareReport(dir string, f form, result *analysis.Result) (reportVerdict, error) {
	v := reportVerdict{File: filepath.Join(record.ReportDir, f.file), State: "same"}
	var fresh bytes.Buffer
	if err := f.render(&fresh, result); err != nil {
		return v, err
	}
	written, err := os.ReadFile(filepath.Join(dir, v.File))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		v.State = "not written"
	case err != nil:
		return v, fmt.Errorf("reading the written report: %w", err)
	case !bytes.Equal(written, fresh.Bytes()):
		v.State, v.At = "differs", firstDifference(written, fresh.Bytes())
	}
	return v, nil
}

// firstDifference is the first line in which two texts differ, from 1.
func firstDifference(a, b []byte) int {
	line := 1
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			break
		}
		if a[i] == '\n' {
			line++
		}
	}
	return line
}

func (v verification) print(w io.Writer, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(v)
	}
	r := v.Record
	fmt.Fprintf(w, "%s\n%d files, %d bytes, %d events\nroot hash %s\n", r.Dir, r.Files, r.Bytes, r.Events, r.RootHash)
	if !r.Complete {
		fmt.Fprintln(w, "The record is not sealed: it is whole as far as it goes, but nothing vouches that it is unchanged.")
	}
	for _, list := range []struct {
		what  string
		items []string
	}{{"missing", r.Missing}, {"not sealed", r.Extra}, {"changed", r.Changed}, {"fault", r.Faults}} {
		for _, item := range list.items {
			fmt.Fprintf(w, "%s: %s\n", list.what, item)
		}
	}
	for _, x := range v.Reports {
		line := x.File + ": " + x.State
		if x.At > 0 {
			line += fmt.Sprintf(" from line %d on", x.At)
		}
		fmt.Fprintln(w, line)
	}
	if v.Audit == nil {
		return nil
	}
	fmt.Fprintf(w, "%s: %s worked out again from the record by other code, %s (%s)\n", v.Audit.File,
		counted(len(v.Audit.Outcomes), "claim"), counted(v.Audit.Raised(), "objection"), v.Audit.Source)
	for _, o := range v.Audit.Outcomes {
		if o.Verdict.Raised() {
			printObjection(w, v.Audit.File, o)
		}
	}
	return nil
}

// printObjection prints one claim that does not follow, where it stands, and each
// of its figures that objects.
func printObjection(w io.Writer, file string, o claim.Outcome) {
	place := file
	if o.Line > 0 {
		place = fmt.Sprintf("%s:%d", file, o.Line)
	}
	text := string(o.Verdict) + ": " + o.Text
	if len(o.Rows) > 0 {
		text = string(o.Verdict) + ":"
	}
	fmt.Fprintf(w, "%s  %s: %s\n", place, o.ID, text)
	for _, row := range o.Rows {
		fmt.Fprintf(w, "    %s\n", row)
	}
}

// verdict is an error, with exit code 3, where anything objects.
func (v verification) verdict() error {
	switch {
	case !v.Record.OK():
		return invalid("the record is not what was sealed")
	case v.Published != "" && v.Published != v.Record.RootHash:
		return invalid("the record's root hash is %s, not the published %s", v.Record.RootHash, v.Published)
	}
	if v.Failed != "" {
		return invalid("the reports cannot be worked out again: %s", v.Failed)
	}
	if file := v.differs(); file != "" {
		return invalid("%s is not what the record gives; write it again with bakeoff report, or distrust it", file)
	}
	if v.Audit != nil && v.Audit.Raised() > 0 {
		n := v.Audit.Raised()
		return invalid("%s of %s %s not follow from the record", counted(n, "claim"), v.Audit.File, verb(n, "does", "do"))
	}
	return nil
}
