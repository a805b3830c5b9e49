package host

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// commandSetting is set, read and restored by commands of the plan's.
type commandSetting struct {
	spec    SettingSpec
	timeout time.Duration
}

const (
	valueMark  = "{value}"
	beforeMark = "{before}"
)

func newCommandSetting(spec SettingSpec, timeout time.Duration) (Setting, error) {
	problem := ""
	switch {
	case len(spec.Apply) == 0 || spec.Apply[0] == "":
		problem = "apply has no command; expected its words, as [ethtool, -K, eth0, tso, \"{value}\"]"
	case len(spec.Read) == 0 || spec.Read[0] == "":
		problem = "read has no command; expected one that prints the present value, so that it can be checked and put back"
	case len(spec.Restore) == 0 && !marked(spec.Apply, valueMark):
		problem = "restore has no command, and apply no {value} to put the old value in place of; expected one of them"
	case len(spec.Restore) > 0 && spec.Restore[0] == "":
		problem = "restore has no command; leave it out to use apply with the old value"
	case spec.Value == "":
		problem = "value is empty; expected what read prints once the setting is applied"
	}
	if problem != "" {
		return nil, fmt.Errorf("setting command %s: %s", spec.Target, problem)
	}
	return commandSetting{spec: spec, timeout: timeout}, nil
}

func marked(argv []string, mark string) bool {
	return strings.Contains(strings.Join(argv, "\x00"), mark)
}

func replaced(argv []string, mark, value string) []string {
	out := make([]string, len(argv))
	for i, w := range argv {
		out[i] = strings.ReplaceAll(w, mark, value)
	}
	return out
}

// Read returns what the read command prints, without the line's end.
func (s commandSetting) Read(ctx context.Context) (string, error) {
	stdout, err := s.run(ctx, s.spec.Read)
	if err != nil {
		return "", fmt.Errorf("reading setting %s: %w", s.spec.Target, err)
	}
	return strings.TrimRight(stdout, "\n"), nil
}

func (s commandSetting) Apply(ctx context.Context) error {
	return s.set(ctx, replaced(s.spec.Apply, valueMark, s.spec.Value), s.spec.Value)
}

func (s commandSetting) Restore(ctx context.Context, before string) error {
	argv := replaced(s.spec.Restore, beforeMark, before)
	if len(argv) == 0 {
		argv = replaced(s.spec.Apply, valueMark, before)
	}
	return s.set(ctx, argv, before)
}

func (s commandSetting) set(ctx context.Context, argv []string, value string) error {
	name := s.spec.Target + " (" + quoted(argv) + ")"
	if _, err := s.run(ctx, argv); err != nil {
		return &SettingError{Path: name, Asked: value, Err: err}
	}
	found, err := s.Read(ctx)
	switch {
	case err != nil:
		return &SettingError{Path: name, Asked: value, Err: err}
	case !sameValue(found, value):
		return &SettingError{
			Path: name, Asked: value, Found: found,
			Advice: "the value in the plan must be what this prints once it is applied: " + quoted(s.spec.Read),
		}
	}
	return nil
}

func (s commandSetting) run(ctx context.Context, argv []string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, fmt.Errorf("no end within %v", s.timeout))
	defer cancel()
	stdout, _, err := command{argv: argv}.run(ctx)
	return stdout, err
}
