// Command bakeoff runs an honest head-to-head comparison of servers, NICs,
// storage and settings, and writes the finished, recomputable report.
package main

import (
	"context"
	"fmt"
	"os"

	"bakeoff/internal/osenv"
)

// version is set by the linker; see the Makefile.
var version = "unknown"

func main() {
	env, err := osenv.OS()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bakeoff:", err)
		os.Exit(exitFailed)
	}
	os.Exit(execute(context.Background(), env))
}
