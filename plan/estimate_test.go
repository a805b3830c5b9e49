package plan

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEstimate(t *testing.T) {
	p := mustParse(t, a3)
	e, err := p.Estimate()
	if err != nil {
		t.Fatal(err)
	}
	// Half of the 16 cells read for 6 s + 30 s, half write for 90 s + 1 d; 2 s more each.
	block := 8*(38*time.Second) + 8*(24*time.Hour+92*time.Second)
	want := Estimate{
		Cells: 16, Blocks: 8, MaxBlocks: 30, Trials: 128, MaxTrials: 480, Time: 8 * block, MaxTime: 30 * block,
		Assumptions: []string{
			"2s a trial for starting and stopping services, settings, facts and draining",
			"no time for preparing data sets, which depends on the target",
			"no block is repeated; each may be, up to 1 times",
		},
	}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Error(diff)
	}
	open := mustParse(t, strings.Replace(good, "window: 5s", "deadline: 1h", 1))
	if e, err := open.Estimate(); err != nil || e.Time != 16*(time.Hour+2*time.Second) || len(e.Assumptions) != 4 {
		t.Errorf("work that ends by itself: %+v %v", e, err)
	}
}

// The search is a part of what a plan takes, in its own shorter trials.
func TestEstimateOfSearch(t *testing.T) {
	p := mustParse(t, searchedPlan)
	e, err := p.Estimate()
	if err != nil {
		t.Fatal(err)
	}
	// Doublings from 8 to 960 are 8; 5 s + 10 s + 2 s in the search, 5 s + 30 s + 2 s in the blocks.
	if e.Searched != 2*22 || e.MaxSearched != 2*40 || e.Trials != 44+8 || e.MaxTrials != 80+8 ||
		e.Time != 44*17*time.Second+8*37*time.Second || e.MaxTime != 80*17*time.Second+8*37*time.Second {
		t.Errorf("%+v", e)
	}
	if left := p.SearchLeft(nil); left != 44 {
		t.Errorf("%d trials of the search are left at its start", left)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	outcomes := play(t, p, func(trial Trial) Outcome { return servers()["knee"].measure(trial, 0.01, rng) })
	if left := p.SearchLeft(outcomes); left != 0 {
		t.Errorf("%d trials of the search are left at its end", left)
	}
}

// A plan of more than 292 years is long; it does not end before it began.
func TestEstimateNeverTurnsNegative(t *testing.T) {
	p := mustParse(t, strings.NewReplacer("window: 5s", "window: 366d", "primary:", "repeat: {blocks: 4000}\nprimary:").Replace(good))
	e, err := p.Estimate()
	if err != nil || e.Time != math.MaxInt64 || e.MaxTime != math.MaxInt64 {
		t.Errorf("%v %v %v", e.Time, e.MaxTime, err)
	}
}

// The quick plan takes about two minutes, as its command promises.
func TestQuickIsQuick(t *testing.T) {
	p := mustParse(t, string(Quick(QuickHost{TCP: "redis://127.0.0.1:7", Unix: "redis+unix:///tmp/x.sock", ServerCPUs: "1", GeneratorCPUs: "0"})))
	e, err := p.Estimate()
	if err != nil || e.Trials != 16 || e.Time > 130*time.Second {
		t.Errorf("%d trials in %v, %v", e.Trials, e.Time, err)
	}
	if p.Hosts[0].CPUs != "0" || p.Services[0].CPUs != "1" || p.Services[0].Endpoint != "redis://127.0.0.1:7" || p.Services[1].Endpoint != "redis+unix:///tmp/x.sock" {
		t.Errorf("%+v %+v", p.Hosts, p.Services)
	}
}

// The table that "plan show" prints is the order in which trials run.
func TestTrialTable(t *testing.T) {
	p := design(t, "seed: 1\naa: true\nrepeat: {blocks: 3}", 3)
	table := p.TrialTable()
	if diff := cmp.Diff([]string{"trial", "block", "f0", "role"}, table.Columns); diff != "" {
		t.Error(diff)
	}
	done := play(t, p, complete)
	if len(done) != len(table.Rows) {
		t.Fatalf("%d rows, %d trials", len(table.Rows), len(done))
	}
	for i, o := range done {
		want := []string{string(o.Trial.ID), string(rune('0' + o.Trial.Block)), o.Trial.Cell[0].Level, string(o.Trial.Role)}
		if diff := cmp.Diff(want, table.Rows[i]); diff != "" {
			t.Error(diff)
		}
	}
}

func TestCellTable(t *testing.T) {
	p := mustParse(t, `title: recipe
workloads: {get: {engine: kv, target: "redis://127.0.0.1:1", window: 5s}}
ladder: true
factors:
  step:
    start: {}
    pipeline: {workloads.get.pipeline: 16}
    backlog: {settings.local.sysctl.net.core.somaxconn: 4096, settings.local.command.x: {apply: [a, b], read: [c], value: 1}}
primary: {throughput: {better: higher, margin: 2%}}
`)
	got, err := p.CellTable()
	if err != nil {
		t.Fatal(err)
	}
	want := Table{
		Columns: []string{"step", "workloads.get.pipeline", "settings.local.sysctl.net.core.somaxconn", "settings.local.command.x"},
		Rows: [][]string{
			{"start", "", "", ""},
			{"pipeline", "16", "", ""},
			{"backlog", "16", "4096", "{apply: [a, b], read: [c], value: 1}"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
