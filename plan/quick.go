package plan

import (
	"cmp"
	"strings"
)

// QuickHost is where the built-in plan finds room on this machine. What is
// empty is left to the system.
type QuickHost struct {
	TCP           string // endpoint, "redis://127.0.0.1:16379" where empty
	Unix          string // endpoint, "redis+unix:///tmp/bakeoff-quick.sock" where empty
	ServerCPUs    string // cores for the embedded server
	GeneratorCPUs string // cores for the load generator
}

// Quick returns the plan of "bakeoff run --quick": the embedded key-value
// server over TCP against a Unix socket, 16 trials in about two minutes.
func Quick(h QuickHost) []byte {
	pin := func(cpus string) string {
		if cpus == "" {
			return ""
		}
		return `, cpus: "` + cpus + `"`
	}
	return []byte(strings.NewReplacer(
		"<tcp>", cmp.Or(h.TCP, "redis://127.0.0.1:16379"), "<unix>", cmp.Or(h.Unix, "redis+unix:///tmp/bakeoff-quick.sock"),
		"<server>", pin(h.ServerCPUs), "<generator>", pin(h.GeneratorCPUs),
	).Replace(quickPlan))
}

const quickPlan = `# The plan of "bakeoff run --quick". Nothing but bakeoff itself takes part.
title: A Unix socket against TCP on this machine
question: Is a Unix socket faster than TCP between two processes of this machine?
hosts:
  local: {agent: local<generator>}
services:
  tcp:  {embedded: kv, endpoint: "<tcp>"<server>}
  unix: {embedded: kv, endpoint: "<unix>"<server>}
workloads:
  get: # nine reads for each write, values of 32 bytes
    engine: kv
    ratio: "1:9"
    key_maximum: 10k
    value_size: 32
    connections: 2 # more would have the generator, not the server, as the limit
    warmup: 1s
    window: 5s
factors:
  transport:
    tcp:  {workloads.get.service: tcp}
    unix: {workloads.get.service: unix}
primary:
  throughput: {better: higher, margin: 5%}
repeat: {blocks: 8}
`

// Template returns the commented plan that "bakeoff plan new" writes. It runs
// as it is on a machine with nothing installed.
func Template() []byte { return []byte(templatePlan) }

const templatePlan = `# A bake-off, as data. Check it with "bakeoff plan check", see its trials and the
# hours it takes with "bakeoff plan show", run it with "bakeoff run".
# Every key is explained in docs/plan.md; an editor that knows YAML schemas
# completes them from docs/plan.schema.json.
title: One connection against sixteen

# The question that the report answers in its first line. Without it, one is
# made from the factors.
question: Does the embedded key-value server do more with sixteen connections than with one?

# The machines that take part. "local" is the one that bakeoff runs on. Give
# the load generator cores of its own with cpus, and say what the machine costs
# where that matters: price: 31823.62 USD.
hosts:
  local: {agent: local}

# The servers under test. bakeoff starts each afresh for every trial, waits until it
# is ready and stops it. Three ways to say what it is:
#   embedded: kv                               bakeoff's own server
#   command: [redis-server, --port, "16380"]   a program that bakeoff starts
#   neither                                    it runs already, at its endpoint
services:
  store:
    embedded: kv
    endpoint: redis://127.0.0.1:16380
    # cpus: "1"            # pin it to a core

# The loads. Every workload has an engine, something under load (service or
# target), a warm-up that is not counted and a window that is. The other keys
# are the engine's own: "bakeoff load kv --help" lists them.
workloads:
  get:
    engine: kv
    service: store
    ratio: "1:9"           # writes to reads
    key_maximum: 10k       # ten thousand keys, all set before each trial
    value_size: 32         # bytes; 4K is 4096, 4KB is 4000
    connections: 1
    warmup: 1s
    window: 5s
    # rate: 30k            # operations a second: an open loop, for response times

# What is set on a host during every trial, and put back afterwards.
# settings:
#   local:
#     governor: performance
#     sysctl: {net.core.somaxconn: 4096}

# What is varied: factor -> level -> path -> value. A path leads to a value
# above, as workloads.get.connections; * stands for all names. All levels of a
# factor set the same paths. The first level is the baseline. Every
# combination of levels is a cell, and is measured once in each block.
factors:
  connections:
    one:     {workloads.get.connections: 1}
    sixteen: {workloads.get.connections: 16}

# The measures that decide, each with the smallest difference that matters to
# you. Decide that before you measure: it is what "equivalent" means.
primary:
  throughput:  {better: higher, margin: 5%}
  latency.p99: {better: lower, margin: 10%}

# How many blocks: fixed in advance, or {pilot: 8, until: 2%, max: 30} to let
# the spread of the first eight say how many are needed.
repeat: {blocks: 8}
`
