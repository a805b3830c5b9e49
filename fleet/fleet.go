// Package fleet reaches the hosts that take part in a run: this machine, and
// network namespaces of it, through agents. What an agent does is run.Local's;
// this package carries the calls to where it runs, with their deadlines and
// cancellations, and what comes back.
package fleet

import (
	"errors"
	"fmt"

	"bakeoff/internal/osenv"
	"bakeoff/load"
	"bakeoff/plan"
	"bakeoff/run"
)

// A Fleet is the agents of a plan's hosts.
type Fleet struct {
	agents     map[string]run.Agent
	namespaced map[string]*Namespaced
}

// Assemble makes an agent for every host of a plan that has one. Hosts of one
// place share theirs. Nothing is started before it is needed.
func Assemble(env *osenv.Env, hosts []plan.Host, engines func(string) (load.Engine, error)) *Fleet {
	f := &Fleet{agents: map[string]run.Agent{}, namespaced: map[string]*Namespaced{}}
	here := run.NewLocal(env, engines)
	for _, h := range hosts {
		switch {
		case h.Agent != plan.AgentLocal:
		case h.Namespace == "":
			f.agents[h.Name] = here
		default:
			if f.namespaced[h.Namespace] == nil {
				f.namespaced[h.Namespace] = NewNamespaced(env, h.Namespace)
			}
			f.agents[h.Name] = f.namespaced[h.Namespace]
		}
	}
	return f
}

// Agents returns the agents by the plan's names of their hosts.
func (f *Fleet) Agents() map[string]run.Agent { return f.agents }

// Close ends every agent that was started, and what they have under way.
func (f *Fleet) Close() error {
	var all error
	for name, n := range f.namespaced {
		if err := n.Close(); err != nil {
			all = errors.Join(all, fmt.Errorf("network namespace %s: %w", name, err))
		}
	}
	return all
}
