package plan

import (
	"fmt"
	"slices"
	"strings"
)

// A path leads to one value of the description:
//
//	hosts.NAME.KEY        services.NAME.KEY        workloads.NAME.KEY
//	settings.HOST.KIND    settings.HOST.KIND.TARGET
//
// KEY may be followed by the key of a map below it (facts, options, env, ready,
// stop, secrets, or an engine's own map). What follows that dot is taken as it
// is, dots and slashes included: settings.server.sysctl.net.core.somaxconn and
// settings.server.file./sys/kernel/mm/transparent_hugepage/enabled. Only the
// commands of settings have one more: settings.HOST.command.NAME.value. A * in
// place of NAME or HOST stands for all of them.
type pathKeys []string

// splitPath parts a path into its keys, or says what is wrong with it.
func splitPath(path string) (keys pathKeys, expected, mend string) {
	section, rest, _ := strings.Cut(path, ".")
	if !slices.Contains(sections(), section) {
		return nil, "a path that begins with " + oneOf(sections()), meant(section, sections())
	}
	name, rest, _ := strings.Cut(rest, ".")
	key, sub, deeper := strings.Cut(rest, ".")
	if name == "" || key == "" || deeper && sub == "" {
		return nil, "a path of at least three parts, as " + section + ".NAME.KEY", "say which value is set, as workloads.get.value_size or settings.server.governor"
	}
	keys = pathKeys{section, name, key}
	if !deeper {
		return keys, "", ""
	}
	if section == "settings" && key == "command" {
		command, part, split := strings.Cut(sub, ".")
		keys = append(keys, command)
		if split {
			keys = append(keys, part)
		}
		return keys, "", ""
	}
	return append(keys, sub), "", ""
}

// sections are the parts of the description that levels can set.
func sections() []string { return []string{"hosts", "services", "workloads", "settings"} }

// String joins the keys again.
func (k pathKeys) String() string { return strings.Join(k, ".") }

// contains says whether one of the two paths leads into or to the other.
func (k pathKeys) contains(o pathKeys) bool {
	n := min(len(k), len(o))
	return slices.Equal(k[:n], o[:n])
}

// expand replaces a wildcard by the names that it stands for, and notes paths
// that name nothing.
func (f *faults) expand(tree *node, path string, line int) []pathKeys {
	keys, expected, mend := splitPath(path)
	if expected != "" {
		f.add(line, path, "the path "+quote(path), expected, mend)
		return nil
	}
	of := keys[0]
	if of == "settings" {
		of = "hosts"
	}
	var known []string
	for _, p := range tree.pairsOf(of) {
		known = append(known, p.key)
	}
	switch {
	case keys[1] != "*" && !slices.Contains(known, keys[1]):
		f.add(line, path, fmt.Sprintf("%s, which no entry of %s has as its name", quote(keys[1]), of), oneOf(known), meant(keys[1], known))
		return nil
	case keys[1] != "*":
		return []pathKeys{keys}
	case len(known) == 0:
		f.add(line, path, "a * that stands for nothing", "a plan with "+of, "")
	}
	var out []pathKeys
	for _, name := range known {
		one := slices.Clone(keys)
		one[1] = name
		out = append(out, one)
	}
	return out
}

// checkPath notes keys that do not exist. Keys of workloads depend on the engine;
// where that is varied they are judged in the cells.
func (f *faults) checkPath(tree *node, keys pathKeys, line int) {
	if keys[0] == "workloads" && f.keys != nil {
		known := f.keys(tree.get("workloads").get(keys[1]))
		if known != nil && !slices.Contains(known, keys[2]) {
			f.add(line, keys.String(), "the unknown key "+quote(keys[2]), someOf(keys[2], known), meant(keys[2], known))
		}
		return
	}
	table := map[string][]field{"hosts": hostFields(), "services": serviceFields(), "settings": settingFields()}[keys[0]]
	if table == nil {
		return
	}
	i := slices.IndexFunc(table, func(k field) bool { return k.name == keys[2] })
	if i < 0 {
		f.add(line, keys.String(), "the unknown key "+quote(keys[2]), someOf(keys[2], names(table)), meant(keys[2], names(table)))
		return
	}
	switch s := table[i].shape; {
	case len(keys) == 3:
	case s != shapeMap && s != shapeSection && s != shapeNamed:
		f.add(line, keys.String(), "a path below "+keys[2], "a path that ends with "+keys[2], "")
	case s == shapeSection && !slices.Contains(names(table[i].keys), keys[3]):
		f.add(line, keys.String(), "the unknown key "+quote(keys[3]), someOf(keys[3], names(table[i].keys)), meant(keys[3], names(table[i].keys)))
	}
}
