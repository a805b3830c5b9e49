package host

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/safchain/ethtool"
)

// offloadGroups are the short names of ethtool(8) -K for the kernel's features
// (netdev-features.rst). A pattern's * stands for any text.
func offloadGroups() map[string]string {
	return map[string]string{
		"rx": "rx-checksum", "tx": "tx-checksum-*", "sg": "tx-scatter-gather*", "tso": "tx-tcp*-segmentation",
		"gso": "tx-generic-segmentation", "gro": "rx-gro", "lro": "rx-lro", "rxhash": "rx-hashing", "ntuple": "rx-ntuple-filter",
		"rxvlan": "rx-vlan-hw-parse", "txvlan": "tx-vlan-hw-insert", "uso": "tx-udp-segmentation",
	}
}

// OffloadNames lists the short names of offloads, as tso and gro. The kernel's
// own names of features, as ethtool -k shows them, are understood as well.
func OffloadNames() []string { return slices.Sorted(maps.Keys(offloadGroups())) }

// IsOffload reports whether a name may be an offload's: a short name, or one
// that looks like the kernel's own.
func IsOffload(name string) bool {
	_, short := offloadGroups()[name]
	return short || strings.Contains(name, "-") && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// feature is the state of one of the kernel's features on an interface.
type feature struct {
	name    string
	on      bool
	changes bool // it may be changed
}

// offloads lists the features of an interface that a name stands for, sorted.
func offloadFeatures(tool *ethtool.Ethtool, iface, name string) ([]feature, error) {
	states, err := tool.FeaturesWithState(iface)
	if err != nil {
		return nil, fmt.Errorf("asking %s for its features: %w", iface, err)
	}
	pattern, short := offloadGroups()[name]
	if !short {
		pattern = name
	}
	var found []feature
	for full, s := range states {
		if matches(pattern, full) {
			found = append(found, feature{name: full, on: s.Active, changes: s.Available && !s.NeverChanged})
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s has no offload %q: expected one of %s, or a feature that ethtool -k %s shows", iface, name, strings.Join(OffloadNames(), ", "), iface)
	}
	slices.SortFunc(found, func(a, b feature) int { return strings.Compare(a.name, b.name) })
	return found, nil
}

// matches compares a text with a pattern that has at most one *.
func matches(pattern, text string) bool {
	before, after, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == text
	}
	return len(text) >= len(before)+len(after) && strings.HasPrefix(text, before) && strings.HasSuffix(text, after)
}

// ReadOffload returns on or off where all features that the name stands for, and
// that may be changed, agree; else each with its own: "a=on b=off". It acts in
// the network namespace of the calling thread.
func ReadOffload(iface, name string) (string, error) {
	tool, err := ethtool.NewEthtool()
	if err != nil {
		return "", fmt.Errorf("opening a socket: %w", err)
	}
	defer tool.Close()
	features, err := offloadFeatures(tool, iface, name)
	if err != nil {
		return "", err
	}
	return offloadText(features), nil
}

func offloadText(features []feature) string {
	free := slices.DeleteFunc(slices.Clone(features), func(f feature) bool { return !f.changes })
	if len(free) == 0 {
		free = features // it is what it is
	}
	var parts []string
	on := 0
	for _, f := range free {
		parts = append(parts, f.name+"="+onOff(f.on))
		if f.on {
			on++
		}
	}
	switch on {
	case 0:
		return "off"
	case len(free):
		return "on"
	}
	return strings.Join(parts, " ")
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// SetOffload sets what ReadOffload returns: on, off, or each feature's own. It
// does not look whether the driver complied. It acts in the network namespace of
// the calling thread.
func SetOffload(iface, name, value string) error {
	if !strings.Contains(value, "=") {
		value = name + "=" + value
	}
	pairs, err := parsePairs(value)
	if err != nil {
		return err
	}
	return setOffloads(iface, pairs)
}

// setOffloads switches several offloads at once, as their features depend on one
// another. Of a group, the features that are fixed stay; one that is named by
// itself must not be.
func setOffloads(iface string, values []pairOf) error {
	tool, err := ethtool.NewEthtool()
	if err != nil {
		return fmt.Errorf("opening a socket: %w", err)
	}
	defer tool.Close()
	change := map[string]bool{}
	for _, v := range values {
		if v.value != "on" && v.value != "off" {
			return fmt.Errorf("found %s=%s; expected on or off", v.name, v.value)
		}
		features, err := offloadFeatures(tool, iface, v.name)
		if err != nil {
			return err
		}
		if name := stuck(features, v.value == "on"); name != "" {
			return fmt.Errorf("%s is fixed on %s: its driver does not let it be changed", name, iface)
		}
		for _, f := range features {
			if f.changes {
				change[f.name] = v.value == "on"
			}
		}
	}
	if len(change) == 0 {
		return nil
	}
	return tool.Change(iface, change)
}

// stuck names features none of which can be switched as wanted, "" where some can
// or are.
func stuck(features []feature, on bool) string {
	var names []string
	for _, f := range features {
		if f.changes || f.on == on {
			return ""
		}
		names = append(names, f.name)
	}
	return strings.Join(names, ", ")
}
