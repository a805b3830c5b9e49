// Package peer is what the benchmarks against other tools share: processes pinned
// to a core, free ports, medians of rounds.
package peer

import (
	"context"
	"net"
	"os/exec"
	"slices"
	"strconv"
)

// Pinned returns a command that runs on one core. Setting the affinity here and
// starting the command would do too, but threads that Go starts meanwhile would
// keep it.
func Pinned(ctx context.Context, core int, name string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "taskset", append([]string{"--cpu-list", strconv.Itoa(core), name}, args...)...)
}

// FreePort is a TCP port of 127.0.0.1 that nobody listens on.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// Median is that of a value of each round; of an even number of them, the mean of
// the two in the middle.
func Median[T any](rounds []T, value func(T) float64) float64 {
	v := make([]float64, len(rounds))
	for i := range rounds {
		v[i] = value(rounds[i])
	}
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
