package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"bakeoff/internal/osenv"
	"bakeoff/plan"
	"bakeoff/record"
	"bakeoff/run"
	"bakeoff/unit"
)

// progress shows a run as it happens on standard error: one line that changes
// and one for each finished trial on a terminal, plain lines elsewhere.
type progress struct {
	env     *osenv.Env
	plan    *plan.Plan
	json    bool
	head    string // of the trial under way
	pending bool   // the changing line is on the screen
	// counted is what each workload completed in the window so far.
	counted map[string]windowCount
}

// windowCount is a workload's completed operations and the seconds they took.
type windowCount struct {
	completed uint64
	seconds   float64
}

func newProgress(env *osenv.Env, p *plan.Plan, asJSON bool) *progress {
	return &progress{env: env, plan: p, json: asJSON}
}

// undoneEvent tells what was put right of another run: Dir and Text.
const undoneEvent run.EventKind = "undone"

// show takes one event of a run.
func (p *progress) show(e run.Event) {
	if p.json {
		p.line(e)
		return
	}
	switch e.Kind {
	case undoneEvent:
		p.print("Put right after the run in " + e.Dir + ", which ended without warning: " + e.Text)
	case run.RunBegins:
		p.begin(e)
	case run.TrialBegins:
		p.counted = map[string]windowCount{}
		p.head = fmt.Sprintf("trial %d of %d  %s  %s", e.Index, e.Total, placeOf(e.Trial), e.Trial.Cell.Key())
		if e.ETA != nil {
			p.head += "  " + about(*e.ETA) + " left"
		}
		p.live(p.head)
	case run.PhaseBegins:
		p.live(p.head + "  " + e.Phase)
	case run.Measuring:
		p.measuring(e)
	case run.TrialEnds:
		p.trialEnds(e)
	case run.StopAccepted:
		if e.Text != "" {
			p.print(e.Text)
		}
	}
}

func (p *progress) begin(e run.Event) {
	p.print(p.plan.Title)
	if estimate, err := p.plan.Estimate(); err == nil {
		p.print(fmt.Sprintf("%s, %s, %s, %s", counted(estimate.Cells, "cell"), counted(estimate.Blocks, "block"), counted(estimate.Trials, "trial"), about(estimate.Time)))
	}
	p.print("Record: " + e.Dir)
	for _, undone := range e.Undone {
		p.print("Put right after the last stop: " + undone)
	}
}

func (p *progress) measuring(e run.Event) {
	if e.Progress == nil {
		return
	}
	iv := e.Progress.Interval
	text := fmt.Sprintf("%s  %s %.0f %%", p.head, e.Progress.Phase, 100*e.Progress.Fraction)
	if iv.Seconds > 0 {
		text += "  " + unit.FormatSI(float64(iv.Completed)/iv.Seconds, "ops/s", 4)
		if e.Progress.Phase == "window" {
			c := p.counted[e.Progress.Workload]
			p.counted[e.Progress.Workload] = windowCount{c.completed + iv.Completed, c.seconds + iv.Seconds}
		}
	}
	p.live(text)
}

func (p *progress) trialEnds(e run.Event) {
	text := fmt.Sprintf("%s  %s  %s  %s", e.Trial.ID, placeOf(e.Trial), e.Trial.Cell.Key(), e.Status)
	if rate := p.throughput(); rate > 0 {
		text += "  " + unit.FormatSI(rate, "ops/s", 4)
	}
	if e.Text != "" {
		text += ": " + e.Text
	}
	if e.ETA != nil && *e.ETA > 0 {
		text += "  (" + about(*e.ETA) + " left)"
	}
	p.print(text)
	p.warnings(e.Warnings)
}

// placeOf says where in the run a trial stands.
func placeOf(t plan.Trial) string {
	if t.Role == record.RoleSearch {
		return "search at " + t.At
	}
	if t.At != "" {
		return fmt.Sprintf("block %d at %s", t.Block, t.At)
	}
	return fmt.Sprintf("block %d", t.Block)
}

// throughput is what the trial's workloads did in the whole window, added up.
func (p *progress) throughput() (sum float64) {
	for _, c := range p.counted {
		if c.seconds > 0 {
			sum += float64(c.completed) / c.seconds
		}
	}
	return sum
}

// warnings prints the hard objections to a trial in full, and the soft ones by
// name: the report has them all.
func (p *progress) warnings(all []record.Warning) {
	var soft []string
	for _, w := range all {
		switch {
		case w.Severity == record.SeverityHard:
			p.print(fmt.Sprintf("      %s: %s; threshold %s", w.Gate, w.Found, w.Threshold))
		case w.Severity == record.SeveritySoft && !slices.Contains(soft, w.Gate):
			soft = append(soft, w.Gate)
		}
	}
	if len(soft) > 0 {
		p.print("      soft: " + strings.Join(soft, ", "))
	}
}

// line writes an event as a line of JSON.
func (p *progress) line(e run.Event) {
	form := map[string]any{"event": e.Kind, "at": e.At, "dir": e.Dir, "trial": e.Trial.ID, "block": e.Trial.Block, "role": e.Trial.Role, "searched": e.Trial.At, "cell": e.Trial.Cell.Key(),
		"index": e.Index, "total": e.Total, "phase": e.Phase, "status": e.Status, "text": e.Text, "progress": e.Progress, "warnings": e.Warnings}
	if e.ETA != nil {
		form["eta_seconds"] = e.ETA.Seconds()
	}
	if e.Err != nil {
		form["error"] = e.Err.Error()
	}
	text, err := json.Marshal(form)
	if err != nil {
		text = []byte(`{"event":"unprintable"}`)
	}
	fmt.Fprintln(p.env.Stderr, string(text))
}

// live shows the changing line; only a terminal has one.
func (p *progress) live(text string) {
	if !p.env.Terminal {
		return
	}
	if r := []rune(text); p.env.Width > 0 && len(r) >= p.env.Width {
		text = string(r[:p.env.Width-1])
	}
	fmt.Fprintf(p.env.Stderr, "\r\x1b[K%s", text)
	p.pending = true
}

// print writes a line that stays.
func (p *progress) print(text string) {
	if p.pending {
		fmt.Fprint(p.env.Stderr, "\r\x1b[K")
		p.pending = false
	}
	fmt.Fprintln(p.env.Stderr, text)
}

// end leaves the terminal as it was.
func (p *progress) end() {
	if p.pending {
		fmt.Fprint(p.env.Stderr, "\r\x1b[K")
		p.pending = false
	}
}

// about rounds a duration for people.
func about(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()+0.5))
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
}
