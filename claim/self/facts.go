package self

import (
	"maps"
	"slices"

	"bakeoff/record"
)

// factBook holds the facts of every trial that two moments of one host should
// share: neither volatile ones nor those that name a machine.
type factBook struct {
	run   *record.Run
	files map[string]factSheet
}

type factSheet struct {
	order  []string
	values map[string]string
}

// read returns the facts of one file, each file once.
func (b *factBook) read(file string) (factSheet, error) {
	if s, known := b.files[file]; known {
		return s, nil
	}
	f, err := b.run.Facts(file)
	if err != nil {
		return factSheet{}, err
	}
	s := factSheet{values: map[string]string{}}
	for _, fact := range f.Flatten() {
		if !fact.Volatile && !fact.Identity {
			s.order, s.values[fact.Path] = append(s.order, fact.Path), fact.Value
		}
	}
	b.files[file] = s
	return s, nil
}

// readAll reads every file that the trials name.
func (b *factBook) readAll() error {
	for _, t := range b.run.Trials {
		for _, files := range []map[string]string{t.FactsBefore, t.FactsAfter} {
			for _, host := range slices.Sorted(maps.Keys(files)) {
				if _, err := b.read(files[host]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// before returns a host's facts before a trial.
func (b *factBook) before(t record.Trial, host string) (factSheet, bool) {
	file, ok := t.FactsBefore[host]
	return b.files[file], ok
}

// A change is one fact of a host that did not stay as it was.
type change struct {
	trial            record.TrialID
	host, path       string
	was, is, between string
}

// changes lists what changed within trials, and against the first trial of the
// same cell.
func (b *factBook) changes() (out []change) {
	first := map[string]factSheet{}
	for _, t := range b.run.Trials {
		for _, host := range slices.Sorted(maps.Keys(t.FactsBefore)) {
			sheet := b.files[t.FactsBefore[host]]
			key := t.Cell.Key() + "\x00" + host
			if _, seen := first[key]; !seen {
				first[key] = sheet
			}
			out = append(out, first[key].against(sheet, change{trial: t.ID, host: host, between: "between trials"})...)
			if file, ok := t.FactsAfter[host]; ok {
				out = append(out, sheet.against(b.files[file], change{trial: t.ID, host: host, between: "within the trial"})...)
			}
		}
	}
	return out
}

func (s factSheet) against(later factSheet, like change) (out []change) {
	note := func(path string) {
		like.path, like.was, like.is = path, s.values[path], later.values[path]
		out = append(out, like)
	}
	for _, path := range s.order {
		if later.values[path] != s.values[path] {
			note(path)
		}
	}
	for _, path := range later.order {
		if _, had := s.values[path]; !had {
			note(path)
		}
	}
	return out
}

// cellSheets are a subject's facts in every cell, of the first trial that has
// them: of a host, or of whichever host the services of the cell run on.
func (b *factBook) cellSheets(hostOf func(record.Trial) string) map[string]factSheet {
	out := map[string]factSheet{}
	for _, t := range b.run.Trials {
		key := t.Cell.Key()
		if _, taken := out[key]; taken {
			continue
		}
		if sheet, ok := b.before(t, hostOf(t)); ok {
			out[key] = sheet
		}
	}
	return out
}

func serviceHost(t record.Trial) string {
	if len(t.Services) == 0 {
		return ""
	}
	return t.Services[0].Host
}
