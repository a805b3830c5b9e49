// Package exec runs any command as a workload and picks named figures from what
// it prints, so that a lab's own tool can be compared on the first day.
//
// One trial is one run of the command; repetition is the plan's. The trial
// ends when the command does, and its duration is measured around it.
package exec

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"bakeoff/load"
	"bakeoff/record"
)

// Engine runs commands.
type Engine struct{}

// New returns the engine.
func New() Engine { return Engine{} }

// Name returns "exec".
func (Engine) Name() string { return "exec" }

// Describe documents the parameters.
func (Engine) Describe() load.Description {
	return load.Description{
		Summary: "Run any command as a workload, and pick figures from its output by name, unit and pattern",
		Kinds:   []string{"run"},
		Parts:   []load.Part{load.Source},
		Parameters: []load.Parameter{
			{Name: "command", Type: load.TypeList, Doc: "the command and its words; {target}, {host}, {port}, {path}, {seed}, {instance} stand for their values"},
			{Name: "shell", Type: load.TypeString, Doc: "instead of command: a line for /bin/sh, with the same placeholders"},
			{Name: "dir", Type: load.TypeString, Doc: "the folder to run it in"},
			{Name: "env", Type: load.TypeMap, Doc: "environment variables to add"},
			{Name: "figures", Type: load.TypeMap, Doc: "name: {pattern: regular expression (RE2) with the number in parentheses, unit, from: stdout or stderr, pick: only, first, last, sum, max or min}"},
		},
	}
}

// Open reads the parameters and the figures. Nothing runs yet.
func (e Engine) Open(_ context.Context, spec load.Spec) (load.Session, error) {
	params, err := load.ReadParams(e.Name(), e.Describe(), spec.Parameters)
	if err != nil {
		return nil, err
	}
	figures, err := parseFigures(params.Map("figures"))
	if err != nil {
		return nil, fmt.Errorf("engine exec: %w", err)
	}
	cmd, err := parseCommand(spec, params)
	if err != nil {
		return nil, fmt.Errorf("engine exec: %w", err)
	}
	return &session{command: cmd, figures: figures}, nil
}

// CheckHere says what would keep the command from running on this machine. It
// starts nothing.
func (e Engine) CheckHere(spec load.Spec) error {
	params, err := load.ReadParams(e.Name(), e.Describe(), spec.Parameters)
	if err != nil {
		return err
	}
	c, err := parseCommand(spec, params)
	if err != nil {
		return fmt.Errorf("engine exec: %w", err)
	}
	return c.check()
}

// parseCommand fills in the placeholders of the command's words.
func parseCommand(spec load.Spec, params *load.Params) (command, error) {
	words, err := params.Strings("command")
	if err != nil {
		return command{}, err
	}
	shell := params.String("shell")
	switch {
	case len(words) > 0 && shell != "":
		return command{}, errors.New("both command and shell are given; give one")
	case shell != "":
		words = []string{"/bin/sh", "-c", shell}
	case len(words) == 0:
		return command{}, errors.New("no command; give command: [program, argument, ...] or shell: a line")
	}
	values, err := placeholders(spec)
	if err != nil {
		return command{}, err
	}
	c := command{dir: params.String("dir")}
	for _, word := range words {
		filled, err := fill(word, values)
		if err != nil {
			return command{}, err
		}
		c.argv = append(c.argv, filled)
	}
	env := params.Map("env")
	for _, name := range slices.Sorted(maps.Keys(env)) {
		filled, err := fill(fmt.Sprint(env[name]), values)
		if err != nil {
			return command{}, err
		}
		c.env = append(c.env, name+"="+filled)
	}
	return c, nil
}

// session is one command, run once.
type session struct {
	command command
	figures []figure
	ran     bool
	out     outcome
}

// Shape says that one virtual user runs the command, and is then done.
func (s *session) Shape() load.Shape {
	return load.Shape{Workers: 1, InFlight: 1, Contract: load.Blocking, Backend: "command", Done: true}
}

// Prepare has nothing to prepare.
func (s *session) Prepare(context.Context, func(float64)) (*record.DataSet, error) { return nil, nil }

// Worker returns the one virtual user.
func (s *session) Worker(context.Context, int, int) (load.Worker, error) { return &runner{s}, nil }

// Snapshot has no counters.
func (s *session) Snapshot(context.Context) ([]load.Count, error) { return nil, nil }

// Close has nothing to free: the command has ended.
func (s *session) Close() error { return nil }

// Figures picks the figures from the command's output, and adds what the
// kernel counted of it: CPU of the command and the children it waited for, and
// the largest resident set of one process.
func (s *session) Figures(context.Context) ([]record.Figure, error) {
	if !s.ran {
		return nil, errors.New("the command has not run to its end; it gives no figures")
	}
	figures := []record.Figure{
		{Name: "command.user_cpu", Unit: "s", Value: s.out.user.Seconds()},
		{Name: "command.system_cpu", Unit: "s", Value: s.out.system.Seconds()},
		{Name: "command.max_rss", Unit: "B", Value: float64(s.out.maxRSS)},
	}
	var faults []error
	for _, f := range s.figures {
		output := s.out.stdout
		if f.from == "stderr" {
			output = s.out.stderr
		}
		picked, err := f.extract(output)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		figures = append(figures, picked)
	}
	return figures, errors.Join(faults...)
}

// Artifacts are the command's output, from which every figure can be picked again.
func (s *session) Artifacts() map[string][]byte {
	return map[string][]byte{
		"stdout.txt":  []byte(s.out.stdout),
		"stderr.txt":  []byte(s.out.stderr),
		"command.txt": []byte(strings.Join(s.command.argv, "\n") + "\n"), // a word a line
	}
}

// runner is the virtual user.
type runner struct{ session *session }

// Do runs the command once.
func (r *runner) Do(ctx context.Context, op *load.Op) error {
	if r.session.ran {
		return load.ErrDone
	}
	out, err := r.session.command.run(ctx)
	r.session.out = out
	op.BytesIn = uint64(len(out.stdout) + len(out.stderr))
	op.Items = 1
	if err != nil {
		op.Status, op.Err = load.Failed, err
		return err
	}
	r.session.ran = true
	return nil
}

// Close has nothing to free.
func (r *runner) Close() error { return nil }
