package record

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The version of the run directory's layout and types. A reader refuses a
// newer major version and ignores the fields that a newer minor one added.
const (
	FormatName  = "bakeoff-record"
	FormatMajor = 1
	FormatMinor = 0
)

// The names of the files at the top of a run directory.
const (
	ManifestFile  = "manifest.json"
	PlanFile      = "plan.yaml"
	JournalFile   = "journal.jsonl"
	TrialsDir     = "trials"
	TrialFile     = "trial.json"
	ExclusionsDir = "exclusions"
	// ReportDir may hold rendered reports. It is derived from the record, is
	// no part of it, and neither hashed nor verified.
	ReportDir = "report"
)

// A Manifest identifies a run: who asked for what, with which build, on which host.
type Manifest struct {
	Format  string    `json:"format"` // "bakeoff-record 1.0"
	ID      string    `json:"id"`     // the directory's name when it was made
	Created time.Time `json:"created"`
	Title   string    `json:"title"`
	Build   string    `json:"build"`

	PlanName string   `json:"plan_name"` // the file's name as it was given
	PlanHash string   `json:"plan_hash"` // sha256:hex of plan.yaml
	Seed     uint64   `json:"seed,string"`
	Host     string   `json:"host"` // that ran it; a run resumes only there
	Command  []string `json:"command"`
	// AA is true where the baseline is also run against itself.
	AA bool `json:"aa,omitempty"`

	// PostHocOf is the root hash of the record to which this one adds blocks.
	PostHocOf string     `json:"post_hoc_of,omitempty"`
	Redacted  *Redaction `json:"redacted,omitempty"`
}

// A Redaction says what a redacted copy was made from.
type Redaction struct {
	OriginalRootHash string    `json:"original_root_hash"`
	OriginalPlanHash string    `json:"original_plan_hash"`
	At               time.Time `json:"at"`
	Build            string    `json:"build"`
	// Replaced counts the different values of each class that were renamed.
	Replaced map[string]int `json:"replaced"`
}

// formatNow is the format that this build writes.
func formatNow() string { return fmt.Sprintf("%s %d.%d", FormatName, FormatMajor, FormatMinor) }

// checkFormat refuses what this build cannot read.
func checkFormat(format string) error {
	version, ok := strings.CutPrefix(format, FormatName+" ")
	major, minor, dot := strings.Cut(version, ".")
	m, err := strconv.Atoi(major)
	if _, minorErr := strconv.Atoi(minor); !ok || !dot || err != nil || minorErr != nil {
		return fmt.Errorf("format is %q, expected %q: this is not a bakeoff run record", format, formatNow())
	}
	if m > FormatMajor {
		return fmt.Errorf("format is %q, and this build reads %s up to %d.x: read it with the bakeoff that wrote it, or a newer one", format, FormatName, FormatMajor)
	}
	if m < 1 {
		return fmt.Errorf("format is %q, expected %q", format, formatNow())
	}
	return nil
}

// parseManifest reads manifest.json.
func parseManifest(src []byte) (Manifest, error) {
	var head struct {
		Format string `json:"format"`
	}
	if err := json.Unmarshal(src, &head); err != nil {
		return Manifest{}, fmt.Errorf("reading %s: %w", ManifestFile, err)
	}
	if err := checkFormat(head.Format); err != nil {
		return Manifest{}, fmt.Errorf("%s: %w", ManifestFile, err)
	}
	var m Manifest
	if err := json.Unmarshal(src, &m); err != nil {
		return Manifest{}, fmt.Errorf("reading %s: %w", ManifestFile, err)
	}
	return m, nil
}
