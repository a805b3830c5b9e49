// Command bakeoff runs an honest head-to-head comparison of servers, NICs,
// storage and settings, and writes the finished, recomputable report.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	_ "time/tzdata" // a meter's log may name a zone, and bare machines know none

	"bakeoff/internal/osenv"
)

// linked is the version that the linker sets; see the Makefile.
var linked string

// version is the build of this binary: what the linker set or, of a binary
// built by go itself, its revision.
var version = sync.OnceValue(func() string {
	if linked != "" {
		return linked
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	revision := settings["vcs.revision"]
	if revision == "" {
		return "unknown"
	}
	if settings["vcs.modified"] == "true" {
		revision += "-dirty"
	}
	return revision
})

func main() {
	env, err := osenv.OS()
	if err != nil {
		fmt.Fprintf(os.Stderr, "bakeoff: finding the working directory and this program: %v; change to a directory that is there\n", err)
		os.Exit(exitFailed)
	}
	os.Exit(execute(context.Background(), env))
}
