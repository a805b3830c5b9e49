package run

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"bakeoff/host"
	"bakeoff/load"
	"bakeoff/plan"
	"bakeoff/record"
	"bakeoff/unit"
)

// A Job is what one trial needs of one machine.
type Job struct {
	Settings []SettingSpec `json:"settings,omitempty"`
	Services []ServiceSpec `json:"services,omitempty"`
	Loads    []LoadSpec    `json:"loads,omitempty"`
	Watch    WatchSpec     `json:"watch"`
}

// A machine is an agent with the plan's names for the host it acts on. Two
// hosts of a plan may be one machine.
type machine struct {
	name  string // the first of names; stands in readings and facts
	names []string
	agent Agent
}

// machines groups the plan's hosts by their agents, in the plan's order.
func machines(p *plan.Plan, agents map[string]Agent) ([]*machine, error) {
	var all []*machine
	for _, h := range p.Hosts {
		if h.Agent == plan.AgentNone {
			continue
		}
		agent, ok := agents[h.Name]
		if !ok {
			return nil, fmt.Errorf("hosts.%s: nobody acts on it: its agent is %q; expected local, or none for a host that is only declared", h.Name, h.Agent)
		}
		i := slices.IndexFunc(all, func(m *machine) bool { return m.agent == agent })
		if i < 0 {
			all = append(all, &machine{name: h.Name, names: []string{h.Name}, agent: agent})
			continue
		}
		all[i].names = append(all[i].names, h.Name)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("the plan has no host with an agent: nothing could be measured; give one host agent: local")
	}
	return all, nil
}

// resolver turns a cell into a job for each machine.
type resolver struct {
	plan     *plan.Plan
	machines []*machine
	engines  func(name string) (load.Engine, error)
	workDir  string
}

// resolved is one trial's jobs, and what its services and workloads are called.
type resolved struct {
	plan.Resolved
	jobs map[*machine]*Job
	// elsewhere are services that run on hosts without an agent.
	elsewhere []record.Service
}

func (r *resolver) machine(name, key string) (*machine, error) {
	for _, m := range r.machines {
		if slices.Contains(m.names, name) {
			return m, nil
		}
	}
	return nil, fmt.Errorf("%s is %q, a host without an agent: expected one that bakeoff can act on", key, name)
}

func (r *resolver) resolve(t plan.Trial) (resolved, error) {
	desc, err := r.plan.ResolveTrial(t)
	if err != nil {
		return resolved{}, err
	}
	out := resolved{Resolved: desc, jobs: map[*machine]*Job{}}
	for _, m := range r.machines {
		out.jobs[m] = &Job{Watch: r.watch(m, desc)}
	}
	for _, s := range desc.Settings {
		m, err := r.machine(s.Host, "settings: the host")
		if err != nil {
			return resolved{}, err
		}
		job := out.jobs[m]
		job.Settings = append(job.Settings, settingSpec(s))
	}
	for _, s := range desc.Services {
		m, err := r.machine(s.Host, "services."+s.Name+".host")
		switch {
		case err != nil && len(s.Command) == 0 && s.Embedded == "":
			out.elsewhere = append(out.elsewhere, record.Service{Name: s.Name, Host: s.Host, Endpoint: s.Endpoint})
			continue
		case err != nil:
			return resolved{}, err
		}
		job := out.jobs[m]
		job.Services = append(job.Services, r.service(s))
	}
	for _, w := range desc.Workloads {
		if err := r.workload(t, w, desc, out.jobs); err != nil {
			return resolved{}, fmt.Errorf("workloads.%s: %w", w.Name, err)
		}
	}
	return out, nil
}

func settingSpec(s plan.Setting) SettingSpec {
	return SettingSpec{Kind: s.Kind, Target: s.Target, Value: s.Value, Apply: s.Apply, Read: s.Read, Restore: s.Restore}
}

func (r *resolver) service(s plan.Service) ServiceSpec {
	dir := s.Dir
	if dir == "" {
		dir = filepath.Join(r.workDir, s.Name)
	}
	return ServiceSpec{
		ServiceSpec: host.ServiceSpec{
			Name: s.Name, Command: s.Command, Env: s.Env, Dir: dir, CPUs: s.CPUs, Endpoint: s.Endpoint,
			Ready: s.Ready.Command, ReadySeconds: s.Ready.Timeout.Seconds(), Version: s.Version, Process: s.Process,
			Signal: s.Stop.Signal, StopSeconds: s.Stop.Timeout.Seconds(),
			Log: filepath.Join(r.workDir, s.Name+".log"), PIDFile: r.pidFile(s.Name),
		},
		Embedded: s.Embedded, Options: s.Options, OwnDir: s.Dir == "",
	}
}

func (r *resolver) pidFile(name string) string { return filepath.Join(r.workDir, name+".pid") }

func (r *resolver) loadPIDFile(m *machine) string {
	if m == r.machines[0] {
		return filepath.Join(r.workDir, ".load.pid")
	}
	return filepath.Join(r.workDir, ".load-"+m.name+".pid")
}

// readsEnergy reports whether a machine's agent reads the energy counters of the
// hardware, which all agents of one machine share: it is the one that the first
// service runs on, and without services the first.
func (r *resolver) readsEnergy(m *machine, desc plan.Resolved) bool {
	for _, s := range desc.Services {
		if on, err := r.machine(s.Host, "services."+s.Name+".host"); err == nil {
			return on == m
		}
	}
	return m == r.machines[0]
}

func (r *resolver) watch(m *machine, desc plan.Resolved) WatchSpec {
	w := WatchSpec{
		Host: m.name, PIDFile: r.loadPIDFile(m), NoEnergy: !r.readsEnergy(m, desc), IntervalSeconds: cmp.Or(r.plan.Telemetry.Interval, time.Second).Seconds(),
		Collectors: r.plan.Telemetry.Collectors, Names: slices.Clone(r.plan.Telemetry.Processes),
	}
	for _, h := range desc.Hosts {
		switch sources := powerSpecs(h); {
		case slices.Contains(m.names, h.Name):
			w.Power = append(w.Power, sources...)
		case h.Agent == plan.AgentNone && m == r.machines[0] && len(sources) > 0:
			w.Meters = append(w.Meters, MeterSpec{Host: h.Name, Power: sources})
		}
	}
	return w
}

func powerSpecs(h plan.Host) []PowerSpec {
	specs := make([]PowerSpec, len(h.Power))
	for i, p := range h.Power {
		specs[i] = PowerSpec(p)
	}
	return specs
}

// workload adds a spec for every part and instance of a workload to the
// machine that runs it: sinks first, as they open first.
func (r *resolver) workload(t plan.Trial, w plan.Workload, desc plan.Resolved, jobs map[*machine]*Job) error {
	engine, err := r.engines(w.Engine)
	if err != nil {
		return err
	}
	common, err := common(w)
	if err != nil {
		return err
	}
	parts := engine.Describe().Parts
	if len(parts) == 0 {
		parts = []load.Part{load.Source}
	}
	slices.SortStableFunc(parts, func(a, b load.Part) int { return cmp.Compare(opens(a), opens(b)) })
	for _, part := range parts {
		name := w.Source
		if part == load.Sink {
			name = w.Sink
		}
		m, err := r.machine(name, string(part))
		if err != nil {
			return err
		}
		for i := range max(1, w.Instances) {
			spec := load.Spec{
				Workload: w.Name, Part: part, Host: name, Instance: i, Engine: w.Engine, Target: w.Target,
				Parameters: maps.Clone(w.Parameters), Seed: t.Seed + uint64(i), Common: common,
			}
			jobs[m].Loads = append(jobs[m].Loads, LoadSpec{Spec: spec, SecretsFrom: w.Secrets, GeneratorCPUs: cpusOf(desc, name)})
		}
	}
	return nil
}

// partsInOrder are the parts in the order in which they open.
func partsInOrder() []load.Part { return []load.Part{load.Sink, load.Observer, load.Source} }

func opens(p load.Part) int { return slices.Index(partsInOrder(), p) }

func cpusOf(desc plan.Resolved, name string) string {
	for _, h := range desc.Hosts {
		if h.Name == name {
			return h.CPUs
		}
	}
	return ""
}

func common(w plan.Workload) (load.Common, error) {
	c := load.Common{
		Workers: w.Workers, Warmup: w.Warmup, Window: w.Window, Deadline: w.Deadline, DrainTime: w.DrainTime,
		OpTimeout: w.OpTimeout, Arrival: load.Arrival(w.Arrival), MaxBurst: w.MaxBurst,
	}
	if w.Rate == "" {
		return c, nil
	}
	rate, err := unit.ParseRate(w.Rate)
	if err != nil {
		return c, fmt.Errorf("rate: %w", err)
	}
	c.Rate, c.Arrival = rate, cmp.Or(c.Arrival, load.Constant)
	return c, nil
}

// duration is how long a trial's load takes at least, as planned; known is
// false where a load ends when its work is done.
func (r resolved) duration() (d time.Duration, known bool) {
	known = true
	for _, w := range r.Workloads {
		if w.Window == 0 {
			known = false
		}
		d = max(d, w.Warmup+w.Window)
	}
	return d, known
}

// limit is the longest that measuring may take, all told; 0 where nothing says.
func (r resolved) limit() time.Duration {
	var longest time.Duration
	for _, w := range r.Workloads {
		switch {
		case w.Window > 0:
			longest = max(longest, w.Warmup+w.Window+w.DrainTime+w.OpTimeout)
		case w.Deadline > 0:
			longest = max(longest, w.Warmup+w.Deadline+w.DrainTime)
		default:
			return 0
		}
	}
	return longest
}

// planTrialEvent is the journal line that a trial begins with.
func planTrialEvent(t plan.Trial) trialEvent {
	return trialEvent{Trial: t.ID, Role: t.Role, Block: t.Block, Attempt: t.Attempt, Cell: t.Cell, At: t.At, Seed: t.Seed}
}

func newTrial(t plan.Trial) record.Trial {
	return record.Trial{ID: t.ID, Role: t.Role, Block: t.Block, Attempt: t.Attempt, Cell: t.Cell, At: t.At, Seed: t.Seed}
}
