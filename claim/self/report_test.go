package self_test

import (
	"testing"

	"bakeoff/claim"
	"bakeoff/claim/self"
	"bakeoff/record"
)

const hosts = `
hosts:
  client: {agent: local, cpus: "0"}
  server: {agent: local, price: 1000.00 USD}
`

const twoServers = `
title: Two servers, 1 against 2
question: Which is faster, s0 or s1?` + hosts + `
services:
  s0: {host: server, command: [server, --port, "7000"], endpoint: "redis://127.0.0.1:7000", cpus: "1"}
  s1: {host: server, command: [server, --port, "7001"], endpoint: "redis://127.0.0.1:7001", cpus: "1"}
workloads:
  get: {engine: kv, source: client, warmup: 1s, window: 10s}
factors:
  server:
    v1: {workloads.get.service: s0}
    v2: {workloads.get.service: s1}
primary:
  throughput: {better: higher, margin: 5%}
  latency.p99: {better: lower, margin: 5%}
repeat: {blocks: 8}
`

func audit(t testing.TB, b *bench, run *record.Run, report []byte) claim.Audit {
	t.Helper()
	a, err := self.AuditReport(run, b.plan, "report.json", report)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// mustFollow fails for every claim of an honest report that is raised.
func mustFollow(t *testing.T, a claim.Audit) {
	t.Helper()
	for _, o := range a.Outcomes {
		if o.Verdict.Raised() {
			t.Errorf("line %d: %s: %s %q", o.Line, o.ID, o.Text, o.Rows)
		}
	}
}

func TestAnHonestReportFollows(t *testing.T) {
	b := newBench(t, twoServers)
	run := b.run()
	a := audit(t, b, run, b.printed(run))
	mustFollow(t, a)
	t.Log(len(a.Outcomes), a.Source)
}
