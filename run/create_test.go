package run

import (
	"context"
	"os"
	"testing"
)

// A record that cannot be made ends the run with the reason, whatever was found
// in order before.
func TestRecordThatCannotBeMade(t *testing.T) {
	agent := newFake()
	cfg := newConfig(t, parse(t, fakePlan), agent)
	agent.fault = func(context.Context, string, int) error {
		return os.WriteFile(cfg.Dir, []byte("a file where runs would be"), 0o600) // after the check of the folder
	}
	if _, err := Execute(context.Background(), cfg); err == nil {
		t.Error("a run without a record is begun")
	}
	agent.untouched(t)
}
