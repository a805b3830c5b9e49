package analysis

import (
	"slices"
	"strings"

	"bakeoff/plan"
	"bakeoff/record"
)

// sutLabel stands for the host of the services where the levels put them on
// different ones.
const sutLabel = "server under test"

// factBook holds the facts of every trial.
type factBook struct {
	run   *record.Run
	files map[string]factSheet
	// before and after are the sheets of a trial by host.
	before, after map[record.TrialID]map[string]factSheet
	trials        []record.Trial
}

// factSheet is one host at one moment: the facts that two moments of one host,
// or two like hosts, should share.
type factSheet struct {
	order  []string
	values map[string]string
}

func newFactBook(run *record.Run) *factBook {
	return &factBook{run: run, files: map[string]factSheet{},
		before: map[record.TrialID]map[string]factSheet{}, after: map[record.TrialID]map[string]factSheet{}}
}

// add reads the facts of one trial.
func (b *factBook) add(t record.Trial) error {
	b.trials = append(b.trials, t)
	b.before[t.ID], b.after[t.ID] = map[string]factSheet{}, map[string]factSheet{}
	for _, moment := range []struct {
		files map[string]string
		into  map[string]factSheet
	}{{t.FactsBefore, b.before[t.ID]}, {t.FactsAfter, b.after[t.ID]}} {
		for _, host := range sortedKeys(moment.files) {
			sheet, err := b.sheet(moment.files[host])
			if err != nil {
				return err
			}
			moment.into[host] = sheet
		}
	}
	return nil
}

func (b *factBook) sheet(file string) (factSheet, error) {
	if s, known := b.files[file]; known {
		return s, nil
	}
	f, err := b.run.Facts(file)
	if err != nil {
		return factSheet{}, err
	}
	s := factSheet{values: map[string]string{}}
	for _, fact := range f.Flatten() {
		if fact.Volatile || fact.Identity {
			continue
		}
		s.order = append(s.order, fact.Path)
		s.values[fact.Path] = fact.Value
	}
	b.files[file] = s
	return s, nil
}

// subject is what a row of facts is about, with its sheet in every cell.
type subject struct {
	label string
	hosts []string             // the names of the plan that stand for it
	cells map[string]factSheet // by cell key, of the first trial of the cell
}

// subjects are the hosts whose facts are on record, machines with several names
// once; and the server under test, where it is another host in another cell.
func (b *factBook) subjects() []subject {
	var out []subject
	at := map[string]int{}
	for _, host := range b.hosts() {
		s := subject{label: host, hosts: []string{host}, cells: map[string]factSheet{}}
		var files []string
		for _, t := range b.trials {
			sheet, ok := b.before[t.ID][host]
			if _, taken := s.cells[t.Cell.Key()]; ok && !taken {
				s.cells[t.Cell.Key()] = sheet
				files = append(files, t.FactsBefore[host])
			}
		}
		key := strings.Join(files, "\x00")
		if i, known := at[key]; known {
			out[i].hosts = append(out[i].hosts, host)
			out[i].label = strings.Join(out[i].hosts, ", ")
			continue
		}
		at[key] = len(out)
		out = append(out, s)
	}
	if sut, varies := b.underTest(); varies {
		out = append(out, sut)
	}
	return out
}

func (b *factBook) hosts() []string {
	all := map[string]bool{}
	for _, sheets := range b.before {
		for host := range sheets {
			all[host] = true
		}
	}
	return sortedKeys(all)
}

// underTest gathers the services' host of every cell, and says whether it is
// not always the same.
func (b *factBook) underTest() (subject, bool) {
	s := subject{label: sutLabel, cells: map[string]factSheet{}}
	hosts := map[string]bool{}
	for _, t := range b.trials {
		if len(t.Services) == 0 {
			continue
		}
		host := t.Services[0].Host
		sheet, ok := b.before[t.ID][host]
		if _, taken := s.cells[t.Cell.Key()]; ok && !taken {
			hosts[host], s.cells[t.Cell.Key()] = true, sheet
		}
	}
	return s, len(hosts) > 1
}

// paths lists every fact of a subject, in the order of the first sheet that has it.
func (s subject) paths() []string {
	var out []string
	seen := map[string]bool{}
	for _, cell := range sortedKeys(s.cells) {
		for _, p := range s.cells[cell].order {
			if !seen[p] {
				seen[p] = true
				out = append(out, p)
			}
		}
	}
	return out
}

// value is what all cells share of a fact, and false where they do not.
func (s subject) value(path string) (string, bool) {
	first, same := "", true
	for i, cell := range sortedKeys(s.cells) {
		v, ok := s.cells[cell].values[path]
		if !ok || i > 0 && v != first {
			same = false
		}
		first = v
	}
	return first, same
}

// shared lists the facts that are alike in all cells.
func (b *factBook) shared() []FactRow {
	var out []FactRow
	for _, s := range b.subjects() {
		if s.label == sutLabel {
			continue // its hosts are listed themselves
		}
		for _, p := range s.paths() {
			if v, same := s.value(p); same {
				out = append(out, FactRow{Host: s.label, Path: p, Value: v})
			}
		}
	}
	return out
}

// differs lists the facts that differ between cells, and those that changed
// while a trial ran.
func (a *analyst) differs() []FactDiff {
	var out []FactDiff
	for _, s := range a.facts.subjects() {
		for _, p := range s.paths() {
			if _, same := s.value(p); same {
				continue
			}
			d := FactDiff{Host: s.label, Path: p, Values: map[string]string{}}
			for cell, sheet := range s.cells {
				d.Values[cell] = sheet.values[p]
			}
			d.Declared = a.declared(s.hosts, p, d.Values)
			out = append(out, d)
		}
	}
	return append(out, a.facts.changes()...)
}

// declared says whether the plan accounts for a difference: a factor sets that
// fact, or sets something on that host and the fact follows its levels, or the
// fact is the version of a service that a factor changes.
//
// Two hosts under one label, as the servers of a plan that compares machines,
// differ in more than the plan names.
func (a *analyst) declared(hosts []string, path string, values map[string]string) bool {
	for _, f := range a.plan.Factors {
		for _, l := range f.Levels {
			for _, set := range l.Sets {
				section, rest, _ := strings.Cut(set.Path, ".")
				host, _, _ := strings.Cut(rest, ".")
				mine := section == "settings" && slices.Contains(hosts, host) ||
					strings.HasPrefix(path, "versions.") && (section == "services" || section == "workloads")
				if len(hosts) > 0 && mine && a.follows(f, values) {
					return true
				}
			}
		}
	}
	return false
}

// follows says whether a fact is the same in all cells of each level.
func (a *analyst) follows(f plan.Factor, values map[string]string) bool {
	byLevel := map[string]string{}
	for _, cell := range a.plan.Cells() {
		v, known := values[cell.Key()]
		level, has := cell.Level(f.Name)
		if !known || !has {
			continue
		}
		if first, seen := byLevel[level]; seen && first != v {
			return false
		}
		byLevel[level] = v
	}
	return true
}

// factChange is one fact of a host that did not stay as it was.
type factChange struct {
	trial        record.TrialID
	host, path   string
	first, later string
	moment       string // after, or of another trial
}

// changed lists what changed within trials and between trials of one cell.
func (b *factBook) changed() []factChange {
	var out []factChange
	first := map[string]factSheet{} // by cell and host
	for _, t := range b.trials {
		for _, host := range onePerFile(t.FactsBefore) {
			sheet := b.before[t.ID][host]
			key := t.Cell.Key() + "\x00" + host
			if _, seen := first[key]; !seen {
				first[key] = sheet
			}
			out = append(out, compareSheets(t.ID, host, "between trials", first[key], sheet)...)
			if after, ok := b.after[t.ID][host]; ok {
				out = append(out, compareSheets(t.ID, host, "within the trial", sheet, after)...)
			}
		}
	}
	return out
}

// onePerFile lists the first host of each file: the others are the same machine.
func onePerFile(files map[string]string) []string {
	var out []string
	seen := map[string]bool{}
	for _, host := range sortedKeys(files) {
		if !seen[files[host]] {
			seen[files[host]] = true
			out = append(out, host)
		}
	}
	return out
}

func compareSheets(id record.TrialID, host, moment string, was, is factSheet) []factChange {
	var out []factChange
	for _, p := range was.order {
		if is.values[p] != was.values[p] {
			out = append(out, factChange{id, host, p, was.values[p], is.values[p], moment})
		}
	}
	for _, p := range is.order {
		if _, had := was.values[p]; !had {
			out = append(out, factChange{id, host, p, "", is.values[p], moment})
		}
	}
	return out
}

// changes are the facts that changed, each once, as rows of before and after.
func (b *factBook) changes() []FactDiff {
	var out []FactDiff
	for _, c := range b.changed() {
		known := slices.ContainsFunc(out, func(d FactDiff) bool { return d.Host == c.host && d.Path == c.path })
		if !known {
			out = append(out, FactDiff{Host: c.host, Path: c.path, Values: map[string]string{"before": c.first, "after": c.later}})
		}
	}
	return out
}
