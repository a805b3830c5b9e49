package report

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

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

func TestGolden(t *testing.T) {
	formats := map[string]func(io.Writer, *analysis.Result) error{".html": HTML}
	for name, r := range fixtures() {
		for ext, f := range formats {
			golden(t, name+ext, render(t, f, r))
		}
	}
}
