package power

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bakeoff/telemetry/power/meter"
)

var update = flag.Bool("update", false, "write docs/power.md afresh")

const (
	docsFile  = "../../docs/power.md"
	docsBegin = "<!-- sources: written by go test ./telemetry/power -update -->\n"
	docsEnd   = "<!-- end of sources -->\n"
)

// TestDocs keeps the options in docs/power.md true.
func TestDocs(t *testing.T) {
	data, err := os.ReadFile(docsFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), docsBegin)
	found, after, ended := strings.Cut(rest, docsEnd)
	if !ok || !ended {
		t.Fatalf("%s lacks the lines %q and %q", docsFile, docsBegin, docsEnd)
	}
	want := sourcesText()
	if *update {
		if err := os.WriteFile(docsFile, []byte(before+docsBegin+want+docsEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("%s is out of date (-want +found); go test ./telemetry/power -update writes it afresh:\n%s", docsFile, diff)
	}
}

func sourcesText() string {
	var out strings.Builder
	out.WriteString("\n### All kinds\n\n")
	writeOptions(&out, CommonOptions())
	for _, k := range Kinds() {
		class := k.Class
		if class == "" {
			class = "to be stated"
		}
		fmt.Fprintf(&out, "\n### %s\n\n%s.\nClass: %s. Cadence where the plan says none: %v.\n\n", k.Name, strings.ToUpper(k.Summary[:1])+k.Summary[1:], class, k.Cadence)
		writeOptions(&out, k.Options)
	}
	return out.String() + "\n"
}

func writeOptions(out *strings.Builder, options []Option) {
	if len(options) == 0 {
		return
	}
	out.WriteString("| option | meaning |\n|---|---|\n")
	for _, o := range options {
		fmt.Fprintf(out, "| `%s` | %s |\n", strings.ReplaceAll(o.Name, ", ", "`, `"), o.Doc)
	}
}

// TestOptionsAreDocumented compares the options that each kind takes with those
// that are listed.
func TestOptionsAreDocumented(t *testing.T) {
	for _, k := range Kinds() {
		env, _ := testEnv(t.TempDir())
		options := meter.NewOptions(env, "x", map[string]string{"no-such-option": "x"})
		if _, err := k.open(options); err != nil {
			t.Fatal(err)
		}
		err := options.Err()
		if err == nil {
			t.Fatalf("%s took an option that it does not have", k.Name)
		}
		_, list, _ := strings.Cut(err.Error(), "no-such-option: no such option; it takes ")
		list, _, _ = strings.Cut(list, "\n")
		documented := make(map[string]bool)
		for _, o := range append(k.Options, CommonOptions()...) {
			for _, name := range strings.Split(o.Name, ", ") {
				documented[name] = true
			}
		}
		for _, name := range strings.Split(list, ", ") {
			secret := documented[name+"_env"] // the plan may not hold it
			if name != "" && !documented[name] && !secret {
				t.Errorf("%s takes %q, which is not documented", k.Name, name)
			}
			delete(documented, name)
		}
		for _, o := range CommonOptions() {
			delete(documented, o.Name)
		}
		if len(documented) > 0 {
			t.Errorf("%s does not take %v, which is documented", k.Name, documented)
		}
	}
}
