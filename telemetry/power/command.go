package power

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bakeoff/telemetry/power/ipmi"
	"bakeoff/telemetry/power/meter"
)

// commandMeter runs a command that prints watts.
type commandMeter struct {
	command string
	dir     string
	pattern *regexp.Regexp
	parse   func(output string) (meter.Reading, error) // nil for a number
	unit    float64                                    // watts in one of the command's units
}

func commandOptions() []Option {
	return []Option{
		{"command", "run by /bin/sh; it prints the power and exits 0"},
		{"format", "number (default), or ipmitool: what ipmitool prints for dcmi power reading, sdr or sensor"},
		{"sensors", "with format ipmitool: the names of the sensors to add, between commas; the whole's own where absent"},
		{"pattern", "a regular expression whose first group is the number; absent, the last line that is a number alone"},
		{"unit", "of the number: W (default), mW or kW"},
	}
}

func openCommand(o *meter.Options) (meter.Meter, error) {
	m := &commandMeter{command: o.Must("command", "a command that prints watts"), dir: o.Env().Dir, unit: wattUnit(o)}
	sensors := o.List("sensors")
	if o.Choice("format", "number", "ipmitool") == "ipmitool" {
		m.parse = func(output string) (meter.Reading, error) { return ipmi.ParseText(output, sensors) }
		if o.Has("pattern") || o.Has("unit") {
			o.Refuse("format", "ipmitool with a pattern or a unit", "format: ipmitool alone")
		}
	} else if len(sensors) > 0 {
		o.Refuse("sensors", "sensors without format ipmitool", "format: ipmitool")
	}
	if text := o.Text("pattern", ""); text != "" {
		pattern, err := regexp.Compile(text)
		switch {
		case err != nil:
			o.Refuse("pattern", err.Error(), "a regular expression in RE2 syntax")
		case pattern.NumSubexp() < 1:
			o.Refuse("pattern", fmt.Sprintf("found %q, which has no group", text), "a group around the number, as ([0-9.]+) W")
		}
		m.pattern = pattern
	}
	return m, nil
}

// wattUnit takes the option unit and returns its size in watts.
func wattUnit(o *meter.Options) float64 {
	switch o.Choice("unit", "W", "mW", "kW") {
	case "mW":
		return 1e-3
	case "kW":
		return 1e3
	}
	return 1
}

// pipeGrace is how long a child that the command left behind may keep its
// output open.
const pipeGrace = time.Second

func (m *commandMeter) Read(ctx context.Context) (meter.Reading, error) {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", m.command)
	cmd.Dir, cmd.WaitDelay = m.dir, pipeGrace
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// In a process group of its own, so that what the shell started ends with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return meter.Reading{}, fmt.Errorf("command %q: %w: %.200q", m.command, err, strings.TrimSpace(stderr.String()))
	}
	if m.parse != nil {
		return m.parse(stdout.String())
	}
	watts, err := m.find(stdout.String())
	if err != nil {
		return meter.Reading{}, err
	}
	if err := meter.Check("what the command printed", watts); err != nil {
		return meter.Reading{}, err
	}
	return meter.One(watts), nil
}

// find returns the watts in the command's output.
func (m *commandMeter) find(output string) (float64, error) {
	if m.pattern != nil {
		match := m.pattern.FindStringSubmatch(output)
		if match == nil {
			return 0, meter.NoReading("the command printed %.200q, which does not match %q", output, m.pattern)
		}
		v, err := strconv.ParseFloat(match[1], 64)
		if err != nil {
			return 0, meter.NoReading("the command printed %.200q, in which %q found %q, no number", output, m.pattern, match[1])
		}
		return v * m.unit, nil
	}
	lines := strings.Split(output, "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if v, err := strconv.ParseFloat(strings.TrimSpace(lines[i]), 64); err == nil {
			return v * m.unit, nil
		}
	}
	return 0, meter.NoReading("the command printed %.200q, in which no line is a number", output)
}

func (m *commandMeter) Close(context.Context) error { return nil }
