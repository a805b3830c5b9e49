package main

import (
	"os"
	"os/signal"
	"syscall"
)

// ending are the signals that end a command in order. A hangup that was ignored
// when the command began, as under nohup, stays ignored.
func ending() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// outlive keeps a reader of the output that goes away, as head does, from
// ending the command in the midst of what it must put right; writing fails
// then, and nothing more. (To ignore the signal would have servers under test
// inherit that.) The function that it returns ends this.
func outlive() func() {
	gone := make(chan os.Signal, 1)
	signal.Notify(gone, syscall.SIGPIPE)
	return func() { signal.Stop(gone) }
}
