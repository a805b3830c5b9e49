package protocol

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata anew; see TestCapture for the answers themselves")

// golden is an answer of a MariaDB server, as captured by TestCapture.
type golden struct {
	name   string
	answer []byte
	form   Form
}

func goldens(t testing.TB) (all []golden) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.bin")
	if err != nil || len(files) == 0 {
		t.Fatalf("no captured answers: %v", err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		g := golden{name: strings.TrimSuffix(f, ".bin"), answer: b}
		if strings.Contains(f, "binary") {
			g.form = Binary
		}
		all = append(all, g)
	}
	return all
}

func TestCapturedAnswers(t *testing.T) {
	for _, g := range goldens(t) {
		t.Run(filepath.Base(g.name), func(t *testing.T) {
			got := transcript(g.answer, g.form, true, whole)
			if byByte := transcript(g.answer, g.form, true, func(int) int { return 1 }); byByte != got {
				t.Errorf("whole:\n%s\nbyte by byte:\n%s", got, byByte)
			}
			file := g.name + ".txt"
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Error(d)
			}
		})
	}
}
