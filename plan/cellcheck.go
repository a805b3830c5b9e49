package plan

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// services notes servers under test that cannot be started, found or reached.
func (c cellCheck) services() {
	for _, s := range c.Services {
		key := "services." + s.Name
		here := func(k string) int { return c.at("services", s.Name, k) }
		started := len(s.Command) > 0 || s.Embedded != ""
		if started || s.Host != "" {
			c.serviceHost(s, started)
		}
		switch {
		case s.Endpoint == "":
			c.add(here("endpoint"), key, "no endpoint", "the URL at which workloads reach it", "write endpoint: redis://127.0.0.1:6379, say")
		case len(s.Command) > 0 && s.Embedded != "":
			c.add(here("embedded"), key, "both command and embedded", "one of the two", "remove the other")
		case !started && len(s.Env) > 0:
			c.add(here("env"), key, "env of a service that runs already", "a command with it", "remove it, or say how to start the service")
		}
		if expected, mend := urlFault(s.Endpoint); s.Endpoint != "" && expected != "" {
			c.add(here("endpoint"), key+".endpoint", quote(s.Endpoint), expected, mend)
		}
		if s.Embedded != "" {
			continue
		}
		raw := serviceOf(s.Name, c.tree.get("services").get(s.Name), "")
		for _, p := range c.tree.get("services").get(s.Name).pairsOf("options") {
			if !raw.uses(p.key) {
				c.add(p.line, key+".options."+p.key, "an option that nothing uses", "{"+p.key+"} in its command or endpoint", "write the word {"+p.key+"} where the value belongs, or remove the option")
			}
		}
	}
}

// serviceHost notes a host that a service cannot run on.
func (c cellCheck) serviceHost(s Service, started bool) {
	if started {
		c.acts("services", s.Name, "host", s.Host, "that starts it")
		return
	}
	if c.host(s.Host) == nil {
		c.add(c.at("services", s.Name, "host"), "services."+s.Name+".host", quote(s.Host), "a host of this plan: "+oneOf(c.hostNames()), meant(s.Host, c.hostNames()))
	}
}

// maxInstances bounds how many of one load run at once.
const maxInstances = 1000

// workloads notes loads that have no end, no target or no host.
func (c cellCheck) workloads() {
	for _, w := range c.Workloads {
		c.acts("workloads", w.Name, "source", w.Source, "that makes the load")
		if w.Sink != "" {
			c.acts("workloads", w.Name, "sink", w.Sink, "at the other end")
		}
		c.workloadTime(w)
		c.workloadTarget(w)
		c.graded(w)
		key := "workloads." + w.Name
		if w.Instances > maxInstances {
			c.add(c.at("workloads", w.Name, "instances"), key+".instances", fmt.Sprint(w.Instances), fmt.Sprintf("at most %d", maxInstances), "")
		}
		if w.Rate == "" && (w.Arrival != "" || w.MaxBurst > 0) {
			c.add(c.at("workloads", w.Name, "arrival"), key, "arrival or max_burst without rate", "a rate with them", "write rate: 30k, say, or remove them")
		}
		for _, s := range w.Secrets {
			if (s.File == "") == (s.Env == "") {
				c.add(c.at("workloads", w.Name, "secrets"), key+".secrets."+s.Name, "neither or both of file and env", "one of the two", "write "+s.Name+": {env: NAME_OF_VARIABLE}")
			}
		}
	}
}

func (c cellCheck) workloadTime(w Workload) {
	key := "workloads." + w.Name
	here := func(k string) int { return c.at("workloads", w.Name, k) }
	written := c.tree.get("workloads").get(w.Name)
	switch {
	case w.Window == 0 && w.Deadline == 0 && written.get("window") == nil && written.get("deadline") == nil:
		c.add(here("window"), key, "neither window nor deadline", "how long it is measured", "write window: 30s; or, for work that ends by itself, deadline: 1h")
	case w.Window == 0 && written.get("window") != nil:
		c.add(here("window"), key+".window", quote(written.textOf("window")), "a window above 0", "write window: 30s, say")
	case w.Window > 0 && w.Deadline > 0:
		c.add(here("deadline"), key, "both window and deadline", "one of the two", "a rate is measured in a window; work that ends by itself has a deadline")
	case w.Deadline > 0 && written.get("warmup") != nil:
		c.add(here("warmup"), key+".warmup", "a warm-up of work that ends by itself", "a warm-up only before a window", "remove warmup")
	}
}

func (c cellCheck) workloadTarget(w Workload) {
	key := "workloads." + w.Name
	var known []string
	for _, p := range c.tree.pairsOf("services") {
		known = append(known, p.key)
	}
	switch {
	case w.Service != "" && !slices.Contains(known, w.Service):
		c.add(c.at("workloads", w.Name, "service"), key+".service", quote(w.Service), "a service of this plan: "+oneOf(known), meant(w.Service, known))
	case w.Service != "" && c.tree.get("workloads").get(w.Name).get("target") != nil:
		c.add(c.at("workloads", w.Name, "target"), key, "both service and target", "one of the two", "remove the other")
	}
}

// engines notes engines and parameters that do not exist. Without a catalog
// nothing is known of them, and nothing is noted.
func (c cellCheck) engines(catalog Catalog) {
	if catalog == nil {
		return
	}
	engines := catalog.Engines()
	var known []string
	for _, e := range engines {
		known = append(known, e.Name)
	}
	for _, w := range c.Workloads {
		key := "workloads." + w.Name
		i := slices.Index(known, w.Engine)
		if i < 0 && w.Engine != "" {
			c.add(c.at("workloads", w.Name, "engine"), key+".engine", quote(w.Engine), oneOf(known), meant(w.Engine, known))
		}
		if i >= 0 {
			c.engine(w, engines[i])
		}
	}
	for _, s := range c.Services {
		i := slices.IndexFunc(engines, func(e Engine) bool { return e.Embedded && e.Name == s.Embedded })
		if s.Embedded != "" && i < 0 {
			var servers []string
			for _, e := range engines {
				if e.Embedded {
					servers = append(servers, e.Name)
				}
			}
			c.add(c.at("services", s.Name, "embedded"), "services."+s.Name+".embedded", quote(s.Embedded), "an engine with an embedded server: "+oneOf(servers), meant(s.Embedded, servers))
		} else if i >= 0 {
			c.options(s, engines[i].Options)
		}
	}
}

// options judges the options of an embedded server.
func (c cellCheck) options(s Service, options []Option) {
	var known []string
	for _, o := range options {
		known = append(known, o.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Options)) {
		key, line := "services."+s.Name+".options."+name, c.at("services", s.Name, "options")
		for _, p := range c.tree.get("services").get(s.Name).pairsOf("options") {
			if p.key == name {
				line = p.line
			}
		}
		i := slices.Index(known, name)
		if i < 0 {
			c.add(line, key, "an option that the embedded server "+s.Embedded+" does not have", someOf(name, known), meant(name, known))
			continue
		}
		if check := options[i].Check; check != nil {
			if err := check(s.Options[name]); err != nil {
				c.add(line, key, quote(s.Options[name]), "a value that the embedded server "+s.Embedded+" takes: "+err.Error(), "")
			}
		}
	}
}

// engine judges one workload by what its engine takes.
func (c cellCheck) engine(w Workload, e Engine) {
	key := "workloads." + w.Name
	entry := c.tree.get("workloads").get(w.Name)
	before := c.noted
	c.section(key, entry, field{keys: append(workloadFields(), engineFields(e)...)})
	line := c.at("workloads", w.Name, "engine")
	switch {
	case e.Target && w.Service == "" && w.Target == "":
		c.add(line, key, "no service and no target", "what is under load", "write service: NAME, or target: URL")
	case w.Service != "" && c.tree.get("services").get(w.Service) == nil: // noted already
	case c.noted == before && e.Check != nil:
		if err := e.Check(w); err != nil {
			c.add(line, key, "what the engine "+e.Name+" refuses: "+err.Error(), "parameters that it takes", "")
		}
	}
}

// checkSettings judges what the shapes of settings cannot tell.
func (f *faults) checkSettings(tree *node) {
	for _, host := range tree.pairsOf("settings") {
		for _, p := range host.value.pairsOf("file") {
			clean := path.Clean(p.key)
			if !strings.HasPrefix(clean, "/sys/") && !strings.HasPrefix(clean, "/proc/") {
				f.add(p.line, fmt.Sprintf("settings.%s.file.%s", host.key, p.key), quote(p.key), "a file below /sys or /proc", "use a command with apply, read and restore for anything else")
			}
		}
		for _, p := range host.value.pairsOf("sysctl") {
			if strings.ContainsAny(p.key, " \t\n") || strings.IndexFunc(p.key, unprintable) >= 0 || strings.Contains(p.key, "..") || strings.HasPrefix(p.key, ".") {
				f.add(p.line, fmt.Sprintf("settings.%s.sysctl.%s", host.key, p.key), quote(p.key), "a kernel parameter such as net.core.somaxconn", "")
			}
		}
	}
}
