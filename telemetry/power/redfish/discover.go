package redfish

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"bakeoff/telemetry/power/meter"
)

// chassis is what a chassis resource says about where its power is stated.
type chassis struct {
	ID                 text   `json:"Id"`
	Self               string `json:"@odata.id"`
	Power              link
	EnvironmentMetrics link
	PowerSubsystem     link
	Sensors            link
	Links              struct{ ContainedBy link }
}

// target is where the power of one chassis is read from now on.
type target struct {
	chassis string
	paths   []string // more than one: supplies, whose inputs are added
	value   found    // as it was read when it was chosen
}

// most chassis and members that are looked at.
const mostMembers = 64

// discover finds where the power is stated. wanted names chassis; none stand
// for all, of which there must then be one with a power that lies in no other.
func discover(ctx context.Context, c *client, wanted []string) ([]target, error) {
	all, err := readChassis(ctx, c)
	if err != nil {
		return nil, err
	}
	var targets []target
	for _, ch := range all {
		if len(wanted) > 0 && !slices.Contains(wanted, string(ch.ID)) {
			continue
		}
		t, err := choose(ctx, c, ch)
		if err != nil {
			return nil, fmt.Errorf("chassis %s: %w", ch.ID, err)
		}
		if len(t.paths) > 0 {
			targets = append(targets, t)
		}
	}
	return independent(all, targets, wanted)
}

func readChassis(ctx context.Context, c *client) ([]chassis, error) {
	var root struct{ Chassis link }
	if err := c.getJSON(ctx, servicePath, &root); err != nil {
		return nil, err
	}
	if root.Chassis.ID == "" {
		return nil, fmt.Errorf("%s names no Chassis: no Redfish service, or one without any", servicePath)
	}
	paths, err := members(ctx, c, root.Chassis.ID)
	if err != nil {
		return nil, err
	}
	var all []chassis
	for _, p := range paths {
		var ch chassis
		if err := c.getJSON(ctx, p, &ch); err != nil {
			return nil, err
		}
		if ch.Self == "" {
			ch.Self = p
		}
		if ch.ID == "" {
			ch.ID = text(path.Base(p))
		}
		all = append(all, ch)
	}
	return all, nil
}

func members(ctx context.Context, c *client, collection string) ([]string, error) {
	var r struct{ Members []link }
	if err := c.getJSON(ctx, collection, &r); err != nil {
		return nil, err
	}
	if len(r.Members) > mostMembers {
		return nil, fmt.Errorf("%s has %d members, above %d: name the resources with paths", collection, len(r.Members), mostMembers)
	}
	var paths []string
	for _, m := range r.Members {
		paths = append(paths, m.ID)
	}
	return paths, nil
}

// independent leaves out the chassis that lie in another of those chosen, and
// refuses to guess between several.
func independent(all []chassis, targets []target, wanted []string) ([]target, error) {
	byPath := make(map[string]chassis)
	ids := make(map[string]bool)
	for _, ch := range all {
		byPath[trim(ch.Self)] = ch
		ids[string(ch.ID)] = true
	}
	have := strings.Join(slices.Sorted(maps.Keys(ids)), ", ")
	for _, id := range wanted {
		if !ids[id] {
			return nil, fmt.Errorf("there is no chassis %q; there are %s", id, have)
		}
		if !slices.ContainsFunc(targets, func(t target) bool { return t.chassis == id }) {
			return nil, meter.NoReading("chassis %s states no power", id)
		}
	}
	inside := func(t target) bool {
		ch := chassisOf(all, t.chassis)
		for range mostMembers { // a chain that closes on itself ends here
			above, ok := byPath[trim(ch.Links.ContainedBy.ID)]
			if !ok {
				return false
			}
			if slices.ContainsFunc(targets, func(o target) bool { return o.chassis == string(above.ID) && o.chassis != t.chassis }) {
				return true
			}
			ch = above
		}
		return false
	}
	kept := slices.DeleteFunc(slices.Clone(targets), inside)
	kept = withoutRepeats(kept)
	switch {
	case len(kept) == 0:
		return nil, meter.NoReading("no chassis states its power; there are %s", have)
	case len(wanted) == 0 && len(kept) > 1:
		return nil, fmt.Errorf("several chassis state their power, and none lies in another: %s; say chassis: with the ones that are meant", list(kept))
	}
	return kept, nil
}

func list(targets []target) string {
	var parts []string
	for _, t := range targets {
		parts = append(parts, fmt.Sprintf("%s (%v W)", t.chassis, t.value.watts.value))
	}
	return strings.Join(parts, ", ")
}

func chassisOf(all []chassis, id string) chassis {
	for _, ch := range all {
		if string(ch.ID) == id {
			return ch
		}
	}
	return chassis{}
}

// withoutRepeats leaves out what an earlier target states too: the same
// resource, or the same watts of the same supplies, as the sleds of a shared
// enclosure do.
func withoutRepeats(targets []target) []target {
	var kept []target
	for _, t := range targets {
		repeated := false
		for i := range kept {
			if kept[i].sameAs(t) {
				kept[i].value.note("chassis %s and %s state the same power of the same supplies: it is counted once", kept[i].chassis, t.chassis)
				repeated = true
				break
			}
		}
		if !repeated {
			kept = append(kept, t)
		}
	}
	return kept
}

func (t target) sameAs(o target) bool {
	for _, p := range o.paths {
		if slices.ContainsFunc(t.paths, func(q string) bool { return trim(p) == trim(q) }) {
			return true
		}
	}
	if t.value.watts != o.value.watts {
		return false
	}
	for _, s := range o.value.supplies {
		if slices.ContainsFunc(t.value.supplies, func(q supply) bool { return q.id != "" && q.id == s.id }) {
			return true
		}
	}
	return false
}

func trim(path string) string { return strings.TrimRight(path, "/") }

// choose picks where a chassis states its power best: its Power resource, its
// EnvironmentMetrics, what its supplies take, a sensor of the total; and notes
// where the first two contradict each other.
func choose(ctx context.Context, c *client, ch chassis) (target, error) {
	t := target{chassis: string(ch.ID)}
	for _, p := range []string{ch.Power.ID, ch.EnvironmentMetrics.ID} {
		f, err := readPath(ctx, c, p)
		if err != nil {
			return t, err
		}
		switch {
		case !f.watts.ok || meter.Check("", f.watts.value) != nil:
		case len(t.paths) == 0:
			t.paths, t.value = []string{p}, f
		case meter.Differ(t.value.watts.value, f.watts.value):
			t.value.note("chassis %s: %s is %v W, but %s is %v W; the former is taken", ch.ID, t.value.basis, t.value.watts.value, f.basis, f.watts.value)
		}
	}
	if len(t.paths) > 0 {
		return t, nil
	}
	if err := chooseSupplies(ctx, c, ch, &t); err != nil || len(t.paths) > 0 {
		return t, err
	}
	return t, chooseSensor(ctx, c, ch, &t)
}

// readPath reads one resource; one that is not there, or states no power, is
// no error.
func readPath(ctx context.Context, c *client, p string) (found, error) {
	if p == "" {
		return found{}, nil
	}
	data, err := c.get(ctx, p)
	if notThere(err) {
		return found{}, nil
	}
	if err != nil {
		return found{}, err
	}
	f, err := parse(data, "")
	if err != nil {
		return found{}, fmt.Errorf("%s: %w", p, err)
	}
	return f, nil
}

func notThere(err error) bool {
	var status *statusError
	return errors.As(err, &status) && status.status == 404
}

// chooseSupplies takes the metrics of all supplies of the PowerSubsystem, if
// each that is there has some.
func chooseSupplies(ctx context.Context, c *client, ch chassis, t *target) error {
	if ch.PowerSubsystem.ID == "" {
		return nil
	}
	var subsystem struct{ PowerSupplies link }
	if err := c.getJSON(ctx, ch.PowerSubsystem.ID, &subsystem); err != nil {
		return ignoreMissing(err)
	}
	if subsystem.PowerSupplies.ID == "" {
		return nil
	}
	paths, err := members(ctx, c, subsystem.PowerSupplies.ID)
	if err != nil {
		return ignoreMissing(err)
	}
	total := found{basis: "the sum of what the supplies take", watts: number{ok: true}}
	var metrics []string
	for _, p := range paths {
		s, from, notes, err := readSupply(ctx, c, p)
		if err != nil {
			return err
		}
		total.notes = append(total.notes, notes...)
		if from == "" {
			continue
		}
		total.supplies = append(total.supplies, s)
		metrics = append(metrics, from)
	}
	if total.watts = sum(total.supplies); total.watts.ok && meter.Check("", total.watts.value) == nil {
		t.paths, t.value = metrics, total
	}
	return nil
}

func ignoreMissing(err error) error {
	if notThere(err) {
		return nil
	}
	return err
}

// readSupply reads a power supply and its metrics. One that is absent has none.
func readSupply(ctx context.Context, c *client, p string) (s supply, metrics string, notes []string, err error) {
	var r struct {
		Name               text
		SerialNumber       text
		Status             status
		PowerCapacityWatts number
		Metrics            link
	}
	if err := c.getJSON(ctx, p, &r); err != nil || r.Status.off() || r.Metrics.ID == "" {
		return s, "", nil, ignoreMissing(err)
	}
	f, err := readPath(ctx, c, r.Metrics.ID)
	if err != nil {
		return s, "", nil, err
	}
	s = supply{id: r.Metrics.ID, name: cmpText(r.Name, text(path.Base(p)), 0), watts: f.watts.value, ok: f.watts.ok}
	if most := r.PowerCapacityWatts; s.ok && most.ok && most.value > 0 && s.watts > most.value*1.25 {
		f.note("supply %s: its input of %v W is above its capacity of %v W", s.name, s.watts, most.value)
	}
	return s, r.Metrics.ID, f.notes, nil
}

// totalSensor matches the names of sensors that measure a whole chassis.
var totalSensor = regexp.MustCompile(`(?i)total.*(power|pwr)|(power|pwr).*total|pwr.?consumption|power.?consumption|(system|chassis|input).?power`)

// chooseSensor takes the only sensor whose name says that it is the total.
func chooseSensor(ctx context.Context, c *client, ch chassis, t *target) error {
	if ch.Sensors.ID == "" {
		return nil
	}
	var r struct{ Members []link }
	if err := c.getJSON(ctx, ch.Sensors.ID, &r); err != nil {
		return ignoreMissing(err)
	}
	var totals []target
	for _, m := range r.Members {
		if !totalSensor.MatchString(path.Base(m.ID)) || len(totals) > mostMembers {
			continue
		}
		f, err := readPath(ctx, c, m.ID)
		if err != nil {
			return err
		}
		if f.watts.ok && meter.Check("", f.watts.value) == nil {
			totals = append(totals, target{t.chassis, []string{m.ID}, f})
		}
	}
	if len(totals) > 1 {
		var names []string
		for _, s := range totals {
			names = append(names, s.paths[0])
		}
		return fmt.Errorf("several sensors could be its power: say paths: with the one that is meant of %s", strings.Join(names, ", "))
	}
	if len(totals) == 1 {
		*t = totals[0]
	}
	return nil
}
