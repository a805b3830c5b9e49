package host

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"bakeoff/record"
)

// Topology is what placing loads and services needs to know of the processors.
type Topology struct {
	// Allowed are those that this process may use.
	Allowed CPUs
	// Siblings gives, for each processor, all that share its core, itself
	// included. It is empty where the kernel does not tell.
	Siblings map[int]CPUs
}

// ReadTopology reads which processors this process may use and which share a core.
func ReadTopology(ctx context.Context, root string) (Topology, error) {
	t := newTree(root, filePatience)
	allowed, err := t.allowed(ctx)
	if err != nil {
		return Topology{}, fmt.Errorf("reading which processors may be used: %w", err)
	}
	top := Topology{Allowed: allowed, Siblings: map[int]CPUs{}}
	for _, n := range allowed {
		text, err := t.read(ctx, fmt.Sprintf("%s/cpu%d/topology/thread_siblings_list", cpuDir, n))
		if err != nil {
			continue // offline, or not told
		}
		if top.Siblings[n], err = ParseCPUs(text); err != nil {
			return Topology{}, fmt.Errorf("reading which processors share the core of %d: %w", n, err)
		}
	}
	return top, nil
}

// allowed reads which processors this process may use: those that any of its
// threads may, since threads that generate load or start services are bound to
// some for a while, the first thread among them.
func (t tree) allowed(ctx context.Context) (CPUs, error) {
	status, err := t.read(ctx, "/proc/self/status")
	if err != nil {
		return nil, err
	}
	all, err := ParseCPUs(field(status, "Cpus_allowed_list:"))
	if err != nil {
		return nil, err
	}
	threads, err := t.names(ctx, "/proc/self/task")
	if err != nil {
		return all, nil // a captured tree has none
	}
	for _, id := range threads {
		status, err := t.read(ctx, "/proc/self/task/"+id+"/status")
		if err != nil {
			continue // it has ended
		}
		if cpus, err := ParseCPUs(field(status, "Cpus_allowed_list:")); err == nil {
			all = all.Or(cpus)
		}
	}
	return all, nil
}

// cores returns all processors that share a core with one of c.
func (t Topology) cores(c CPUs) CPUs {
	all := c
	for _, n := range c {
		all = all.Or(t.Siblings[n])
	}
	return all
}

// Generator returns the processors for the load: those asked for or, of an
// empty list, those that no service is bound to, whole cores where there are
// some. The warnings say where generator and services share processors or
// cores, and name services that are not bound at all.
func (t Topology) Generator(asked CPUs, services map[string]CPUs) (CPUs, []record.Warning) {
	var bound CPUs
	var names []string
	for name, cpus := range services {
		bound = bound.Or(cpus)
		names = append(names, name)
	}
	slices.Sort(names)
	chosen := asked
	if len(chosen) == 0 {
		chosen = t.free(bound)
	}
	var warnings []record.Warning
	for _, name := range names {
		if w, found := t.shares(chosen, name, services[name]); found {
			warnings = append(warnings, w)
		}
	}
	return chosen, warnings
}

// free are the allowed processors on cores without a bound service; failing
// that, those without one themselves; failing that, all.
func (t Topology) free(bound CPUs) CPUs {
	for _, c := range []CPUs{t.Allowed.Without(t.cores(bound)), t.Allowed.Without(bound)} {
		if len(c) > 0 {
			return c
		}
	}
	return t.Allowed
}

func (t Topology) shares(generator CPUs, name string, service CPUs) (record.Warning, bool) {
	w := record.Warning{
		Gate: "generator-shares-processors", Severity: record.SeveritySoft, Subject: name,
		Threshold: "no processor and no core shared",
	}
	same, cores := generator.And(service), generator.And(t.cores(service))
	switch {
	case len(service) == 0 && len(t.Allowed) > 0:
		w.Severity = record.SeverityNote
		w.Found = "the service is not bound to processors; the generator uses " + generator.String()
		w.Advice = "bind the service with cpus, so that the two do not take processor time from one another"
	case len(same) > 0:
		w.Found = "generator and service share processors " + same.String()
		w.Advice = "give them processors of their own: " + t.split(service)
	case len(cores) > 0:
		w.Found = fmt.Sprintf("processors %s of the generator are on the same cores as %s of the service", cores, service)
		w.Advice = "give them cores of their own: " + t.split(service)
	default:
		return record.Warning{}, false
	}
	return w, true
}

// split proposes where a generator could go beside a service.
func (t Topology) split(service CPUs) string {
	free := t.Allowed.Without(t.cores(service))
	if len(free) == 0 {
		return strings.Join([]string{"bind the service to fewer than all of", t.Allowed.String()}, " ")
	}
	return "the generator can have " + free.String()
}
