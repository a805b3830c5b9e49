package self_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"bakeoff/claim"
	"bakeoff/claim/self"
)

type object = map[string]any

// wrongs are ways in which a report can say what its record does not give, with
// the claim that must be raised for each.
func wrongs() map[string]struct {
	edit func(object)
	want string
} {
	finding := func(r object, i int) object { return r["findings"].([]any)[i].(object) }
	replace := func(in object, key, old, new string) { in[key] = strings.Replace(in[key].(string), old, new, 1) }
	first := func(r object, list string) object { return r[list].([]any)[0].(object) }
	return map[string]struct {
		edit func(object)
		want string
	}{
		"effect":             {func(r object) { finding(r, 0)["effect"] = 1.5 }, "finding get / throughput / server / v1 - v2: effect"},
		"verdict":            {func(r object) { finding(r, 0)["verdict"] = "worse" }, "v1 - v2: verdict"},
		"direction":          {func(r object) { replace(finding(r, 0), "sentence", " % more", " % less") }, "v1 - v2: sentence"},
		"unit in a sentence": {func(r object) { replace(finding(r, 0), "sentence", "k ops/s", "M ops/s") }, "v1 - v2: sentence"},
		"verdict in words": {func(r object) {
			replace(finding(r, 0), "sentence", ": "+finding(r, 0)["verdict"].(string), ": invalid")
		}, "v1 - v2: sentence"},
		"confidence":          {func(r object) { finding(r, 0)["confidence"] = 0.95 }, "v1 - v2: confidence"},
		"another trial":       {func(r object) { finding(r, 0)["trials"].([]any)[0] = "0099" }, "v1 - v2: trials"},
		"another base":        {func(r object) { finding(r, 0)["base"] = "v2" }, "v1 - v2: subject"},
		"a finding left out":  {func(r object) { r["findings"] = r["findings"].([]any)[1:] }, "findings on primary measures"},
		"a finding twice":     {func(r object) { r["findings"] = append(r["findings"].([]any), finding(r, 0)) }, "result.findings["},
		"the answer":          {func(r object) { replace(r, "answer", "Of 2 comparisons", "Of 3 comparisons") }, "the answer"},
		"a trial left out":    {func(r object) { r["trials"] = r["trials"].([]any)[1:] }, "trials"},
		"a trial not counted": {func(r object) { first(r, "trials")["counted"] = false }, "trial 0001"},
		"a warning left out":  {func(r object) { finding(r, 0)["warnings"] = []any{} }, "v1 - v2: warnings"},
		"a value added":       {func(r object) { first(r, "trials")["values"].(object)["latency.p42"] = 0.1 }, "result.trials[0]"},
		"a cell left out":     {func(r object) { r["cells"] = r["cells"].([]any)[1:] }, "cells"},
		"a value of a cell":   {func(r object) { c := first(r, "cells"); c["values"] = c["values"].([]any)[1:] }, "cell throughput of server=v1"},
		"a gate":              {func(r object) { first(r, "gates")["objected"] = 3 }, "gate "},
		"a margin":            {func(r object) { first(r, "measures")["margin"] = 0.5 }, "measure throughput"},
		"a member of its own": {func(r object) { r["score"] = 97 }, "result.score"},
		"a table of its own": {func(r object) {
			r["tables"] = append(r["tables"].([]any), object{"id": "mine", "rows": []any{[]any{"7"}}})
		}, "result.tables["},
		"a chart's point":       {func(r object) { s := first(r, "charts")["series"].([]any)[0].(object); s["y"].([]any)[0] = 1 }, "chart bars-throughput"},
		"a row left out":        {func(r object) { t := first(r, "tables"); t["rows"] = t["rows"].([]any)[1:] }, "table "},
		"a note":                {func(r object) { first(r, "tables")["notes"] = []any{"about 25 % were left out"} }, "table "},
		"the blocks":            {func(r object) { r["run"].(object)["blocks"] = 80 }, "the run"},
		"another record":        {func(r object) { r["run"].(object)["root_hash"] = "sha256:00" }, "the run"},
		"the method":            {func(r object) { r["method"] = append(r["method"].([]any), "Repeated 40 times.") }, "the method"},
		"a command":             {func(r object) { r["commands"] = []any{"bakeoff run --seed 7 plan.yaml"} }, "the commands"},
		"a fact":                {func(r object) { first(r, "shared_facts")["value"] = "6.12.9" }, "facts that all levels share"},
		"a service's arguments": {func(r object) { first(r, "services")["command"].([]any)[2] = "7007" }, "result.services[0]"},
		"a number as a text":    {func(r object) { finding(r, 0)["n"] = "8" }, "v1 - v2: n"},
		"a number as null":      {func(r object) { finding(r, 0)["low"] = nil }, "v1 - v2: low"},
	}
}

func TestWhatIsWrongIsNamed(t *testing.T) {
	b := newBench(t, twoServers+"repeat: {blocks: 4}\n")
	run := b.run()
	report := b.printed(run)
	p, err := self.Prepare(run, b.plan)
	if err != nil {
		t.Fatal(err)
	}
	for name, wrong := range wrongs() {
		t.Run(name, func(t *testing.T) {
			a, err := p.Audit(edited(t, report, wrong.edit))
			if err != nil {
				t.Fatal(err)
			}
			named := slices.ContainsFunc(a.Outcomes, func(o claim.Outcome) bool { return o.Verdict.Raised() && strings.Contains(o.ID, wrong.want) })
			for _, o := range a.Outcomes {
				if o.Verdict.Raised() && o.Text == "" || o.Verdict == claim.Follows && o.Derived != "" && o.Printed == "" {
					t.Errorf("%s: printed %q, derived %q: %q", o.ID, o.Printed, o.Derived, o.Text)
				}
			}
			if !named {
				t.Errorf("%d are raised, none of them %q", a.Raised(), wrong.want)
				for _, o := range a.Outcomes {
					if o.Verdict.Raised() {
						t.Logf("%s: %s", o.ID, o.Text)
					}
				}
			}
		})
	}
}

// edited changes a report's result, with every digit of the rest as it was.
func edited(t *testing.T, report []byte, edit func(object)) []byte {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(report))
	dec.UseNumber()
	var whole object
	if err := dec.Decode(&whole); err != nil {
		t.Fatal(err)
	}
	edit(whole["result"].(object))
	out, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestReportsThatCannotBeAudited(t *testing.T) {
	b := newBench(t, twoServers+"repeat: {blocks: 2}\n")
	run := b.run()
	p, err := self.Prepare(run, b.plan)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ src, want string }{
		"no JSON":         {"report", "report.json: line 1"},
		"another format":  {`{"format": "fio", "version": 1, "result": {}}`, "expected a report that bakeoff wrote"},
		"a later version": {`{"format": "bakeoff-report", "version": 2, "result": {}}`, "version 1"},
		"printed figures": {`{"format": "bakeoff-report", "version": 1, "result": {"printed": true}}`, "audit their file"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := p.Audit([]byte(tt.src)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	a, err := p.Audit([]byte(`{"format": "bakeoff-report", "version": 1, "result": {}}`))
	if err != nil || a.Raised() == 0 {
		t.Errorf("an empty report raises %d (%v)", a.Raised(), err)
	}
}

func TestAuditsAreTheSame(t *testing.T) {
	b := newBench(t, twoServers+"repeat: {blocks: 2}\naa: true\n")
	run := b.run()
	report := b.printed(run)
	first, again := audit(t, b, run, report), audit(t, b, run, report)
	a, errA := json.Marshal(first)
	c, errC := json.Marshal(again)
	if errA != nil || errC != nil || !bytes.Equal(a, c) {
		t.Errorf("two audits of one report differ (%v, %v)", errA, errC)
	}
	if first.Hash == "" || !strings.Contains(first.Source, run.Manifest.ID) {
		t.Errorf("hash %q, source %q", first.Hash, first.Source)
	}
}
