package net

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestFromIPerf3NamesRealFlags checks the middle column of the tables in
// docs/from-iperf3.md: every flag there exists.
func TestFromIPerf3NamesRealFlags(t *testing.T) {
	text, err := os.ReadFile("../../docs/from-iperf3.md")
	if err != nil {
		t.Fatal(err)
	}
	flags := []string{"target", "workers", "cpus", "rate", "quantum", "arrival", "warmup", "window", "op-timeout", "seed", "hdr", "hgrm", "artifacts", "password-file", "password-env"}
	for _, p := range parameters() {
		flags = append(flags, strings.ReplaceAll(p.Name, "_", "-"))
	}
	flag := regexp.MustCompile("--([a-z][a-z-]*)")
	checked := 0
	for line := range strings.Lines(string(text)) {
		columns := strings.Split(line, "|")
		if len(columns) < 4 {
			continue
		}
		for _, m := range flag.FindAllStringSubmatch(columns[2], -1) {
			checked++
			if !slices.Contains(flags, m[1]) {
				t.Errorf("there is no flag --%s, in %s", m[1], line)
			}
		}
	}
	if checked < 30 {
		t.Errorf("found only %d flags: the tables are not where they were", checked)
	}
}
