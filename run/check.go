package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"bakeoff/plan"
	"bakeoff/record"
)

// A Problem is something that would keep a run from being measured.
type Problem struct {
	Host string // the plan's name; "" where it is not about one
	Text string // what is wrong, and how to mend it
	// Cells are those that it concerns; none: all.
	Cells []string
}

// String is the problem in one line.
func (p Problem) String() string {
	text := p.Text
	if p.Host != "" {
		text = "host " + p.Host + ": " + text
	}
	switch len(p.Cells) {
	case 0:
		return text
	case 1:
		return text + " (cell " + p.Cells[0] + ")"
	}
	return fmt.Sprintf("%s (%d cells, as %s)", text, len(p.Cells), p.Cells[0])
}

// Check is a run without measuring: it resolves every cell, asks the agents
// what would be in the way, and looks whether the record could be written. It
// changes nothing. An error means that it could not look.
func Check(ctx context.Context, config Config) ([]Problem, error) {
	cfg, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	ms, err := machines(cfg.Plan, cfg.Agents)
	if err != nil {
		return nil, err
	}
	return check(ctx, cfg, ms, free(cfg))
}

// check looks for problems beside those that are known.
func check(ctx context.Context, cfg Config, ms []*machine, known ...error) ([]Problem, error) {
	c := &checker{machines: ms, cells: len(cfg.Plan.Cells()), resolver: &resolver{
		plan: cfg.Plan, machines: ms, engines: cfg.Engines, workDir: filepath.Join(cfg.Dir, "work")}}
	c.add("", "", writable(cfg.Dir))
	for _, err := range known {
		c.add("", "", err)
	}
	for _, cell := range cfg.Plan.Cells() {
		if err := c.cell(ctx, cell); err != nil {
			return nil, err
		}
	}
	return c.problems(), nil
}

// A ProblemsError says that a run was not begun, since its trials would fail.
type ProblemsError struct{ Problems []Problem }

// Error lists the problems, one on each line.
func (e *ProblemsError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	if len(lines) == 1 {
		return "this is in the way of the plan on this machine: " + lines[0]
	}
	return fmt.Sprintf("%d things are in the way of the plan on this machine:\n%s", len(lines), strings.Join(lines, "\n"))
}

type checker struct {
	machines []*machine
	resolver *resolver
	cells    int
	found    []Problem
}

// add notes a problem, once for all cells that have it.
func (c *checker) add(host, cell string, err error) {
	if err == nil {
		return
	}
	for i, p := range c.found {
		if p.Host == host && p.Text == err.Error() {
			c.found[i].Cells = append(p.Cells, cell)
			return
		}
	}
	p := Problem{Host: host, Text: err.Error()}
	if cell != "" {
		p.Cells = []string{cell}
	}
	c.found = append(c.found, p)
}

func (c *checker) cell(ctx context.Context, cell record.Cell) error {
	jobs, err := c.resolver.resolve(plan.Trial{Cell: cell})
	if err != nil {
		c.add("", cell.Key(), err)
		return nil
	}
	for _, m := range c.machines {
		problems, err := m.agent.Check(ctx, *jobs.jobs[m])
		if err != nil {
			return fmt.Errorf("host %s: %w", m.name, err)
		}
		for _, text := range problems {
			c.add(m.name, cell.Key(), errors.New(text))
		}
	}
	return nil
}

// problems leaves the cells out where all have the problem.
func (c *checker) problems() []Problem {
	for i := range c.found {
		if len(c.found[i].Cells) == c.cells {
			c.found[i].Cells = nil
		}
	}
	return c.found
}

// writable reports why runs could not be written below dir: the directory, or
// the nearest one above it that exists, must allow it.
func writable(dir string) error {
	at, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	for {
		info, err := os.Stat(at)
		switch {
		case err == nil && !info.IsDir():
			return fmt.Errorf("runs cannot be written to %s: %s is not a directory; name another one", dir, at)
		case err == nil:
			if err := unix.Access(at, unix.W_OK|unix.X_OK); err != nil {
				return fmt.Errorf("runs cannot be written to %s: %s: %w; name another directory", dir, at, err)
			}
			return nil
		case !errors.Is(err, os.ErrNotExist):
			return fmt.Errorf("runs cannot be written to %s: %w", dir, err)
		}
		at = filepath.Dir(at)
	}
}

// free reports who holds this machine's lock.
func free(cfg Config) error {
	lock, err := lockHost(cfg)
	if err != nil {
		return err
	}
	return lock.Release()
}
