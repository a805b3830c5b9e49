package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"bakeoff/load"
)

// artifactsFolder says why a folder could not be written to, before anything is
// measured for it.
func artifactsFolder(dir string) error {
	if dir == "" {
		return nil
	}
	return writableFile("--artifacts", filepath.Join(dir, "file"))
}

// writeArtifacts writes what an engine keeps beside its figures and latencies.
func writeArtifacts(r load.Result, dir string) error {
	if dir == "" {
		return nil
	}
	var errs []error
	for name, content := range r.Logs {
		if strings.HasSuffix(name, ".hlog") {
			continue
		}
		if err := writeFile(filepath.Join(dir, name), content); err != nil {
			errs = append(errs, fmt.Errorf("writing %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}
