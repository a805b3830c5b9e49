package plan

import (
	"fmt"
	"slices"
	"strings"

	"bakeoff/record"
)

// Resolve returns the description of one cell, with the values of its levels
// in place: services started for it, workloads with their targets, settings.
// Where the plan searches for peaks, the load is the smallest (see ResolveTrial).
func (p *Plan) Resolve(cell record.Cell) (Resolved, error) {
	f := &faults{file: p.Name}
	tree, err := p.at(cell)
	if err != nil {
		return Resolved{}, err
	}
	r := p.resolve(cell, tree, f)
	return r, f.err()
}

// at puts the values of a cell's levels into the description.
func (p *Plan) at(cell record.Cell) (*node, error) {
	if len(cell) != len(p.Factors) {
		return nil, fmt.Errorf("cell %q has %d levels, but the plan has %d factors", cell.Key(), len(cell), len(p.Factors))
	}
	tree := p.tree
	for i, factor := range p.Factors {
		l := factor.level(cell[i].Level)
		if cell[i].Factor != factor.Name || l < 0 {
			return nil, fmt.Errorf("cell %q: the plan has no level %s=%s at place %d", cell.Key(), cell[i].Factor, cell[i].Level, i+1)
		}
		first := l
		if p.Ladder && factor.Name != WorkloadFactor {
			first = 0
		}
		for _, level := range factor.Levels[first : l+1] {
			for _, s := range level.Sets {
				tree = tree.with(s.value, s.Line, s.keys...)
			}
		}
	}
	if p.Peak != nil {
		tree = p.Peak.put(tree, loadText(p.Peak.From))
	}
	return p.rated(cell, tree), nil
}

// resolve turns the description of one cell into values and keeps what the
// cell runs. It notes what does not fit together.
func (p *Plan) resolve(cell record.Cell, tree *node, f *faults) Resolved {
	r := describe(tree)
	r.Cell = cell
	if name, ok := cell.Level(WorkloadFactor); ok {
		r.Workloads = slices.DeleteFunc(r.Workloads, func(w Workload) bool { return w.Name != name })
	}
	used := map[string]bool{}
	for _, w := range r.Workloads {
		used[w.Service] = true
	}
	r.Services = slices.DeleteFunc(r.Services, func(s Service) bool { return !s.Always && !used[s.Name] })
	for i := range r.Services {
		fill(&r.Services[i])
	}
	for i := range r.Workloads {
		w := &r.Workloads[i]
		for _, s := range r.Services {
			if s.Name == w.Service {
				w.Target = s.Endpoint
			}
		}
	}
	c := cellCheck{f, tree, r}
	c.hosts()
	c.services()
	c.workloads()
	return r
}

// fill replaces {option} in the texts of a service.
func fill(s *Service) {
	var pairs []string
	for name, value := range s.Options {
		pairs = append(pairs, "{"+name+"}", value)
	}
	replace := strings.NewReplacer(pairs...).Replace
	for _, words := range [][]string{s.Command, s.Version, s.Ready.Command} {
		for i, w := range words {
			words[i] = replace(w)
		}
	}
	for name, value := range s.Env {
		s.Env[name] = replace(value)
	}
	s.Endpoint, s.Dir = replace(s.Endpoint), replace(s.Dir)
}

// uses says whether {option} occurs in the texts of a service.
func (s Service) uses(option string) bool {
	texts := slices.Concat(s.Command, s.Version, s.Ready.Command, []string{s.Endpoint, s.Dir})
	for _, value := range s.Env {
		texts = append(texts, value)
	}
	return strings.Contains(strings.Join(texts, "\x00"), "{"+option+"}")
}

// cellCheck judges whether the parts of one cell fit together.
type cellCheck struct {
	*faults
	tree *node
	Resolved
}

// at returns the line of a key, or of the entry where the key is not written.
func (c cellCheck) at(section, name, key string) int {
	entry := c.tree.get(section).get(name)
	if entry == nil {
		return 0
	}
	for _, p := range entry.pairs {
		if p.key == key {
			return p.line
		}
	}
	return entry.line
}

func (c cellCheck) host(name string) *Host {
	for i := range c.Hosts {
		if c.Hosts[i].Name == name {
			return &c.Hosts[i]
		}
	}
	return nil
}

func (c cellCheck) hostNames() []string {
	var out []string
	for _, h := range c.Hosts {
		out = append(out, h.Name)
	}
	return out
}

// acts notes a host that is not there or that bakeoff cannot act on.
func (c cellCheck) acts(section, name, key, host, what string) {
	line, at := c.at(section, name, key), join(join(section, name), key)
	switch h := c.host(host); {
	case host == "":
		c.add(line, at, "no host", "the host "+what, "say "+key+": "+oneOf(c.hostNames()))
	case h == nil:
		c.add(line, at, quote(host), "a host of this plan: "+oneOf(c.hostNames()), meant(host, c.hostNames()))
	case h.Agent == AgentNone:
		c.add(line, at, quote(host)+", whose agent is none", "a host with an agent "+what, "say agent: local there, or run this on another host")
	}
}

func (c cellCheck) hosts() {
	for _, s := range c.Settings {
		if h := c.host(s.Host); h == nil || h.Agent == AgentNone {
			c.acts("settings", s.Host, s.Kind, s.Host, "whose settings can be changed")
		}
	}
	for _, h := range c.Hosts {
		for _, s := range h.Power {
			c.power(h, s)
		}
		if len(h.Facts) > 0 && h.Agent != AgentNone {
			c.add(c.at("hosts", h.Name, "facts"), "hosts."+h.Name+".facts", "declared facts of a host with an agent", "facts that bakeoff reads there itself", "remove facts, or say agent: none")
		}
	}
}

// power notes a source of watts without its class, or with a secret in it.
func (c cellCheck) power(h Host, s PowerSource) {
	line, key := c.at("hosts", h.Name, "power"), "hosts."+h.Name+".power"
	if s.Class == "" {
		c.add(line, key, "no class", "what its watts are of", "say class: wall-meter, psu, bmc or rapl")
	}
	for _, secret := range []string{"password", "community", "token", "secret"} {
		if s.Options[secret] != "" {
			c.add(line, key+"."+secret, "a secret in the plan", "where it is kept", "say "+secret+"_env or "+secret+"_file, and change it if this file was shared")
		}
	}
}
