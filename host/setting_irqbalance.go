package host

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// KindIRQBalance pauses irqbalance(1), which moves interrupts while one measures:
// its value is stopped or running. The process is paused by SIGSTOP rather than
// ended, so that it goes on as it was.
const KindIRQBalance = "irqbalance"

type irqBalance struct {
	value    string
	patience time.Duration
}

func newIRQBalance(spec SettingSpec, patience time.Duration) (Setting, error) {
	value := strings.TrimSpace(spec.Value)
	if value != "stopped" && value != "running" {
		return nil, fmt.Errorf("setting irqbalance: found %q; expected stopped or running", spec.Value)
	}
	return irqBalance{value, patience}, nil
}

// Read returns stopped where no irqbalance runs, or all are paused.
func (s irqBalance) Read(context.Context) (string, error) {
	pids, err := named("/", "irqbalance")
	if err != nil {
		return "", fmt.Errorf("reading setting irqbalance: %w", err)
	}
	for _, pid := range pids {
		if p, err := readStat("/", pid); err == nil && p.state != 'T' {
			return "running", nil
		}
	}
	return "stopped", nil
}

func (s irqBalance) Apply(ctx context.Context) error { return s.set(ctx, s.value) }

func (s irqBalance) Restore(ctx context.Context, before string) error { return s.set(ctx, before) }

func (s irqBalance) set(ctx context.Context, value string) error {
	fault := func(err error, advice string) error {
		return &SettingError{Path: "irqbalance", Asked: value, Err: err, Advice: advice}
	}
	pids, err := named("/", "irqbalance")
	if err != nil {
		return fault(err, "")
	}
	if value == "running" && len(pids) == 0 {
		return fault(fmt.Errorf("no irqbalance runs: %w", os.ErrNotExist), "start it (systemctl start irqbalance)")
	}
	signal := syscall.SIGSTOP
	if value == "running" {
		signal = syscall.SIGCONT
	}
	for _, pid := range pids {
		id, err := Identify(pid)
		if err == nil {
			err = id.Signal(signal)
		}
		if err != nil {
			return fault(err, adviseOn(err, "", nil))
		}
	}
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	for {
		found, err := s.Read(ctx)
		switch {
		case err != nil:
			return fault(err, "")
		case found == value:
			return nil
		case ctx.Err() != nil:
			return &SettingError{Path: "irqbalance", Asked: value, Found: found}
		}
		pause(ctx, 5*time.Millisecond, nil)
	}
}
