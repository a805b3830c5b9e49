package report

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"bakeoff/analysis"
)

var update = flag.Bool("update", false, "write the golden files anew")

func render(t *testing.T, f func(io.Writer, *analysis.Result) error, r *analysis.Result) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := f(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; write it with go test ./report -update", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs from the golden file (-want +got):\n%.4000s", name, diff)
	}
}

// formats lists every renderer by the ending of its golden files.
func formats() map[string]func(io.Writer, *analysis.Result) error {
	return map[string]func(io.Writer, *analysis.Result) error{
		".html": HTML, ".md": Markdown, ".json": JSON, ".csv": CSV, ".bench.txt": GoBench,
		".junit.xml": func(w io.Writer, r *analysis.Result) error { return JUnit(w, r, []analysis.Verdict{analysis.Worse}) },
		".txt":       func(w io.Writer, r *analysis.Result) error { return Text(w, r, TextOptions{}) },
	}
}

func TestGolden(t *testing.T) {
	large := map[string]bool{"three-factors.json": true, "three-factors.csv": true, "forty-cells.json": true, "forty-cells.csv": true,
		"forty-cells.bench.txt": true, "forty-cells.txt": true, "forty-cells.junit.xml": true}
	for name, r := range fixtures() {
		for ext, f := range formats() {
			if large[name+ext] { // their like is covered by the smaller ones
				continue
			}
			got := render(t, f, r)
			if ext == ".html" { // without its styles, which are in files of their own
				start, end := bytes.Index(got, []byte("<style>")), bytes.Index(got, []byte("</style>"))
				got = slices.Delete(got, start+len("<style>"), end)
			}
			golden(t, name+ext, got)
		}
	}
}

// Nothing may depend on the order of a map or on when a report is written, and no
// renderer may change the result.
func TestSameResultSameBytes(t *testing.T) {
	for name := range fixtures() {
		for ext, f := range formats() {
			first := fixtures()[name]
			want := render(t, f, first)
			if got := render(t, f, first); !bytes.Equal(want, got) {
				t.Errorf("%s%s: a second rendering differs", name, ext)
			}
			if diff := cmp.Diff(fixtures()[name], first, cmpopts.EquateNaNs()); diff != "" {
				t.Errorf("%s%s: rendering changed the result:\n%s", name, ext, diff)
			}
		}
	}
}
