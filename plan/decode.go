package plan

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"bakeoff/unit"
)

// The functions here turn checked nodes into values. They take what is not as
// it should be for absent: the checks have noted it.

func (n *node) textOf(key string) string {
	if v := n.get(key); v != nil && v.kind == scalar && !v.null {
		return v.text
	}
	return ""
}

func (n *node) textOr(key, absent string) string {
	if t := n.textOf(key); t != "" {
		return t
	}
	return absent
}

func (n *node) textsOf(key string) []string {
	v := n.get(key)
	if v == nil || v.kind != list {
		return nil
	}
	out := make([]string, len(v.items))
	for i, item := range v.items {
		out[i] = item.text
	}
	return out
}

func (n *node) textMapOf(key string) map[string]string {
	v := n.get(key)
	if v == nil || v.kind != mapping {
		return nil
	}
	out := make(map[string]string, len(v.pairs))
	for _, p := range v.pairs {
		out[p.key] = p.value.text
	}
	return out
}

func (n *node) durationOf(key string, absent time.Duration) time.Duration {
	if d, err := unit.ParseDuration(n.textOf(key)); err == nil {
		return d
	}
	return absent
}

func (n *node) countOf(key string, absent int) int {
	if c, err := unit.ParseCount(n.textOf(key)); err == nil {
		return int(c)
	}
	return absent
}

// percentOf returns a percentage as a number of percent, nil where absent.
func (n *node) percentOf(key string) *float64 {
	text := n.textOf(key)
	if _, err := unit.ParsePercent(text); err != nil {
		return nil
	}
	percent, err := strconv.ParseFloat(strings.TrimRight(text, "% "), 64)
	if err != nil {
		return nil
	}
	return &percent
}

// pairsOf returns the pairs of a map, none where it is absent.
func (n *node) pairsOf(key string) []pair {
	if v := n.get(key); v != nil && v.kind == mapping {
		return v.pairs
	}
	return nil
}

// describe turns a description into values.
func describe(tree *node) Resolved {
	var r Resolved
	for _, p := range tree.pairsOf("hosts") {
		r.Hosts = append(r.Hosts, hostOf(p.key, p.value))
	}
	home := onlyAgent(r.Hosts)
	for _, p := range tree.pairsOf("services") {
		r.Services = append(r.Services, serviceOf(p.key, p.value, home))
	}
	for _, p := range tree.pairsOf("workloads") {
		r.Workloads = append(r.Workloads, workloadOf(p.key, p.value, home))
	}
	for _, p := range tree.pairsOf("settings") {
		r.Settings = append(r.Settings, settingsOf(p.key, p.value)...)
	}
	return r
}

// onlyAgent returns the name of the only host with an agent, "" where there
// are none or several.
func onlyAgent(hosts []Host) string {
	name := ""
	for _, h := range hosts {
		if h.Agent == AgentNone {
			continue
		}
		if name != "" {
			return ""
		}
		name = h.Name
	}
	return name
}

func hostOf(name string, n *node) Host {
	h := Host{
		Name: name, Agent: n.textOr("agent", AgentLocal), Namespace: n.textOf("namespace"),
		CPUs: n.textOf("cpus"), Price: n.textOf("price"), Support: n.textOf("support"),
	}
	for _, p := range n.pairsOf("facts") {
		h.Facts = append(h.Facts, Fact{p.key, p.value.text})
	}
	if power := n.get("power"); power != nil {
		for _, item := range power.items {
			h.Power = append(h.Power, powerOf(item))
		}
	}
	return h
}

func powerOf(n *node) PowerSource {
	s := PowerSource{Kind: n.textOf("kind"), Class: n.textOf("class")}
	if s.Kind == "rapl" && s.Class == "" {
		s.Class = "rapl"
	}
	for _, p := range n.pairs {
		if p.key == "kind" || p.key == "class" {
			continue
		}
		if s.Options == nil {
			s.Options = map[string]string{}
		}
		s.Options[p.key] = p.value.text
	}
	return s
}

func serviceOf(name string, n *node, home string) Service {
	ready, stop := n.get("ready"), n.get("stop")
	return Service{
		Name: name, Host: n.textOr("host", home), Command: n.textsOf("command"), Embedded: n.textOf("embedded"),
		Options: n.textMapOf("options"), Env: n.textMapOf("env"), Dir: n.textOf("dir"), CPUs: n.textOf("cpus"), Endpoint: n.textOf("endpoint"),
		Ready:   Ready{Timeout: ready.durationOf("timeout", 30*time.Second), Command: ready.textsOf("command")},
		Version: n.textsOf("version"), Process: n.textOf("process"),
		Stop:    Stop{Signal: stop.textOr("signal", "TERM"), Timeout: stop.durationOf("timeout", 10*time.Second)},
		Restart: Restart(n.textOr("restart", string(RestartTrial))), Always: n.textOf("always") == "true",
	}
}

func workloadOf(name string, n *node, home string) Workload {
	w := Workload{
		Name: name, Engine: n.textOf("engine"), Source: n.textOr("source", home), Sink: n.textOf("sink"),
		Service: n.textOf("service"), Target: n.textOf("target"), Instances: n.countOf("instances", 1), Workers: n.countOf("workers", 0),
		Rate: n.textOf("rate"), Peak: n.textOf("peak"), Arrival: n.textOf("arrival"), MaxBurst: n.countOf("max_burst", 0),
		Window: n.durationOf("window", 0), OpTimeout: n.durationOf("op_timeout", 0), DrainTime: n.durationOf("drain", 0), Deadline: n.durationOf("deadline", 0),
		Parameters: map[string]any{},
	}
	w.Warmup = n.durationOf("warmup", w.Window/5)
	for _, p := range n.pairsOf("secrets") {
		w.Secrets = append(w.Secrets, Secret{p.key, p.value.textOf("file"), p.value.textOf("env")})
	}
	shared := names(workloadFields())
	if n.kind != mapping {
		return w
	}
	for _, p := range n.pairs {
		if !slices.Contains(shared, p.key) {
			w.Parameters[p.key] = p.value.plain()
		}
	}
	return w
}

func settingsOf(host string, n *node) []Setting {
	var out []Setting
	if g := n.textOf("governor"); g != "" {
		out = append(out, Setting{Host: host, Kind: "governor", Value: g})
	}
	for _, kind := range []string{"sysctl", "file"} {
		for _, p := range n.pairsOf(kind) {
			out = append(out, Setting{Host: host, Kind: kind, Target: p.key, Value: p.value.text})
		}
	}
	out = append(out, interfaceSettings(host, n)...)
	for _, p := range n.pairsOf("command") {
		c := p.value
		out = append(out, Setting{
			Host: host, Kind: "command", Target: p.key, Value: strings.TrimSpace(c.textOf("value")),
			Apply: c.textsOf("apply"), Read: c.textsOf("read"), Restore: c.textsOf("restore"),
		})
	}
	return out
}

// interfaceSettings are those of network interfaces and their interrupts.
func interfaceSettings(host string, n *node) []Setting {
	var out []Setting
	if text := n.textOf("irqbalance"); text != "" {
		out = append(out, Setting{Host: host, Kind: "irqbalance", Value: text})
	}
	for _, kind := range interfaceKinds() {
		for _, p := range n.pairsOf(kind) {
			out = append(out, Setting{Host: host, Kind: kind, Target: p.key, Value: p.value.text})
		}
	}
	for _, kind := range pairKinds() {
		for _, p := range n.pairsOf(kind) {
			var values []string
			for _, v := range p.value.pairs {
				values = append(values, v.key+"="+driverText(v.value.text))
			}
			out = append(out, Setting{Host: host, Kind: kind, Target: p.key, Value: strings.Join(values, " ")})
		}
	}
	return out
}

// driverText is a switch or a count as drivers take it.
func driverText(text string) string {
	switch text {
	case "true":
		return "on"
	case "false":
		return "off"
	}
	if n, err := unit.ParseCount(text); err == nil {
		return strconv.FormatInt(n, 10)
	}
	return text
}
