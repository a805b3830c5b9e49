package report

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var preview = flag.String("preview", "", "write the fixtures' pages to this folder, to look at")

// TestPreview writes whole pages for the eye, which judges layout best.
func TestPreview(t *testing.T) {
	if *preview == "" {
		t.Skip("no -preview folder")
	}
	for name, r := range fixtures() {
		if err := os.WriteFile(filepath.Join(*preview, name+".html"), render(t, HTML, r), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
