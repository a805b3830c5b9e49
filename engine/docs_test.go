package engine

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestFromHammerDBNamesRealFlags checks the middle column of the tables in
// docs/from-hammerdb.md: every flag there is one of the engine in the table's head.
func TestFromHammerDBNamesRealFlags(t *testing.T) {
	text, err := os.ReadFile("../docs/from-hammerdb.md")
	if err != nil {
		t.Fatal(err)
	}
	flag := regexp.MustCompile("--([a-z][a-z-]*)")
	head := regexp.MustCompile("bakeoff load ([a-z]+)")
	var flags []string
	checked := 0
	for line := range strings.Lines(string(text)) {
		columns := strings.Split(line, "|")
		if len(columns) < 4 {
			continue
		}
		if m := head.FindStringSubmatch(columns[2]); m != nil {
			flags = flagsOf(t, m[1])
		}
		if flags == nil {
			continue
		}
		for _, m := range flag.FindAllStringSubmatch(columns[2], -1) {
			checked++
			if !slices.Contains(flags, m[1]) {
				t.Errorf("there is no flag --%s, in %s", m[1], line)
			}
		}
	}
	if checked < 25 {
		t.Errorf("found only %d flags: the tables are not where they were", checked)
	}
}

func flagsOf(t *testing.T, name string) []string {
	t.Helper()
	e, err := Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	flags := []string{"target", "workers", "rate", "warmup", "window", "password-file", "password-env"}
	for _, p := range e.Describe().Parameters {
		flags = append(flags, strings.ReplaceAll(p.Name, "_", "-"))
	}
	return flags
}
