package host

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Settings that say which processors take a network interface's work. Their
// target is the interface, their value a list of cores as "0-3".
const (
	KindIRQ = "irq" // its interrupts: all may go to each of these cores; "spread 0-3" gives each a core of its own, in turn
	KindRPS = "rps" // receive packet steering, of all receive queues; "off" for none
	KindXPS = "xps" // transmit packet steering, of all transmit queues; "off" for none
)

// coreFiles are files that hold a list of cores each: one an interrupt or a queue.
type coreFiles struct {
	kind, iface string
	tree        tree
	value       string
	list        func(context.Context) ([]coreFile, error)
	mask        bool // the files hold bit masks in place of lists
}

// coreFile is one of them, by a short name.
type coreFile struct{ name, path string }

const spread = "spread "

func newCoreFiles(t tree, spec SettingSpec) (Setting, error) {
	if err := checkInterface(spec.Kind, spec.Target); err != nil {
		return nil, err
	}
	s := coreFiles{kind: spec.Kind, iface: spec.Target, tree: t, value: strings.Join(strings.Fields(spec.Value), " ")}
	cores := strings.TrimPrefix(s.value, spread)
	switch spec.Kind {
	case KindIRQ:
		s.list = s.interrupts
	case KindRPS:
		s.list, s.mask = func(ctx context.Context) ([]coreFile, error) { return s.queues(ctx, "rx-", "rps_cpus") }, true
	case KindXPS:
		s.list, s.mask = func(ctx context.Context) ([]coreFile, error) { return s.queues(ctx, "tx-", "xps_cpus") }, true
	}
	if s.mask && cores == "off" {
		return s, nil
	}
	if list, err := ParseCPUs(cores); err != nil || len(list) == 0 {
		return nil, fmt.Errorf("setting %s %s: found %q; expected cores, as 0-3%s", spec.Kind, spec.Target, spec.Value, map[bool]string{true: ", or off"}[s.mask])
	}
	return s, nil
}

// interrupts lists those of the interface's device, MSI-X and MSI; a virtio
// interface's are its parent's.
func (s coreFiles) interrupts(ctx context.Context) ([]coreFile, error) {
	device, err := s.tree.resolve(ctx, netDir+s.iface+"/device")
	if err == nil {
		for _, dir := range []string{device, path.Dir(device)} {
			if files := s.interruptsOf(ctx, dir); len(files) > 0 {
				return files, nil
			}
		}
	}
	return nil, fmt.Errorf("it has no interrupts of its own (no msi_irqs below %s%s/device)", netDir, s.iface)
}

func (s coreFiles) interruptsOf(ctx context.Context, device string) (files []coreFile) {
	names, err := s.tree.names(ctx, device+"/msi_irqs")
	if err != nil {
		return nil
	}
	slices.SortFunc(names, byNumber)
	for _, n := range names {
		if file := "/proc/irq/" + n + "/smp_affinity_list"; s.tree.exists(ctx, file) {
			files = append(files, coreFile{n, file})
		}
	}
	return files
}

// byNumber sorts names by the number that they end with.
func byNumber(a, b string) int {
	number := func(s string) int {
		n, _ := strconv.Atoi(s[strings.LastIndexByte(s, '-')+1:]) // 0 sorts first, which is as good
		return n
	}
	return number(a) - number(b)
}

func (s coreFiles) queues(ctx context.Context, prefix, file string) ([]coreFile, error) {
	dir := netDir + s.iface + "/queues"
	names, err := s.tree.names(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("listing its queues: %w", unpathed(err))
	}
	slices.SortFunc(names, byNumber)
	var files []coreFile
	for _, n := range names {
		if strings.HasPrefix(n, prefix) {
			files = append(files, coreFile{n, dir + "/" + n + "/" + file})
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("it has no queues %s*", prefix)
	}
	return files, nil
}

func (s coreFiles) what() string { return s.kind + " of " + s.iface }

// Read returns the one list that all share, the plan's own where each has a core
// of its own in turn, or each with its own: "rx-0:0-3 rx-1:off".
func (s coreFiles) Read(ctx context.Context) (string, error) {
	files, err := s.list(ctx)
	if err != nil {
		return "", fmt.Errorf("reading setting %s: %w%s", s.what(), err, s.missing(ctx))
	}
	values := make([]string, len(files))
	for i, f := range files {
		text, err := s.tree.read(ctx, f.path)
		if err == nil {
			values[i], err = s.decode(strings.TrimSpace(text))
		}
		if err != nil {
			return "", fmt.Errorf("reading setting %s: %s: %w", s.what(), f.path, unpathed(err))
		}
	}
	if len(slices.Compact(slices.Clone(values))) == 1 {
		return values[0], nil
	}
	if wanted, err := s.assign(s.value, files); err == nil && slices.Equal(wanted, values) {
		return s.value, nil
	}
	parts := make([]string, len(files))
	for i, f := range files {
		parts[i] = f.name + ":" + values[i]
	}
	return strings.Join(parts, " "), nil
}

// missing says that the interface is not there at all.
func (s coreFiles) missing(ctx context.Context) string {
	if s.tree.exists(ctx, netDir+s.iface) {
		return ""
	}
	names, _ := s.tree.names(ctx, strings.TrimSuffix(netDir, "/")) // none is what is told then
	return fmt.Sprintf("; there is no interface %s here: found %s; was it renamed?", s.iface, strings.Join(names, ", "))
}

// decode turns a file's text into a list of cores, "off" for none.
func (s coreFiles) decode(text string) (string, error) {
	if !s.mask {
		list, err := ParseCPUs(text)
		return list.String(), err
	}
	var list CPUs
	words := strings.Split(text, ",")
	slices.Reverse(words) // the last one holds the first 32 cores
	for i, w := range words {
		bits, err := strconv.ParseUint(w, 16, 32)
		if err != nil {
			return "", fmt.Errorf("found %q; expected a mask in hexadecimal digits", text)
		}
		for b := range 32 {
			if bits&(1<<b) != 0 {
				list = append(list, 32*i+b)
			}
		}
	}
	if len(list) == 0 {
		return "off", nil
	}
	return list.String(), nil
}

// encode is the text that a file takes for a list of cores.
func (s coreFiles) encode(value string) (string, error) {
	if !s.mask {
		return value, nil
	}
	if value == "off" {
		return "0", nil
	}
	list, err := ParseCPUs(value)
	if err != nil {
		return "", err
	}
	words := make([]uint32, slices.Max(list)/32+1)
	for _, c := range list {
		words[len(words)-1-c/32] |= 1 << (c % 32)
	}
	parts := make([]string, len(words))
	for i, w := range words {
		parts[i] = fmt.Sprintf("%08x", w)
	}
	return strings.Join(parts, ","), nil
}

// assign gives each file its list: the same, a core each in turn, or its own.
func (s coreFiles) assign(value string, files []coreFile) ([]string, error) {
	values := make([]string, len(files))
	own := map[string]string{}
	for word := range strings.FieldsSeq(value) {
		if name, list, ok := strings.Cut(word, ":"); ok {
			own[name] = list
		}
	}
	turn, spreading := strings.CutPrefix(value, spread)
	for i, f := range files {
		switch list, named := own[f.name]; {
		case named:
			values[i] = list
		case len(own) > 0:
			return nil, fmt.Errorf("found no value for %s", f.name)
		case spreading:
			cores, err := ParseCPUs(turn)
			if err != nil || len(cores) == 0 {
				return nil, fmt.Errorf("found %q; expected cores, as spread 0-3", value)
			}
			values[i] = CPUs{cores[i%len(cores)]}.String()
		default:
			cores, err := ParseCPUs(value)
			values[i] = cores.String()
			if s.mask && value == "off" {
				values[i], err = "off", nil
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return values, nil
}

func (s coreFiles) Apply(ctx context.Context) error { return s.set(ctx, s.value) }

func (s coreFiles) Restore(ctx context.Context, before string) error { return s.set(ctx, before) }

func (s coreFiles) set(ctx context.Context, value string) error {
	files, err := s.list(ctx)
	if err != nil {
		return &SettingError{Path: s.what(), Asked: value, Err: err, Advice: strings.TrimPrefix(s.missing(ctx), "; ")}
	}
	values, err := s.assign(value, files)
	if err != nil {
		return &SettingError{Path: s.what(), Asked: value, Err: err}
	}
	for i, f := range files {
		text, err := s.tree.read(ctx, f.path)
		if err == nil {
			if now, decodeErr := s.decode(strings.TrimSpace(text)); decodeErr == nil && now == values[i] {
				continue // an interrupt that is where it should be may be one that cannot be moved
			}
			text, err = s.encode(values[i])
		}
		if err == nil {
			err = s.tree.write(ctx, f.path, text+"\n")
		}
		if err != nil {
			return &SettingError{Path: f.path, Asked: values[i], Err: unpathed(err), Advice: adviseOn(err, f.path, nil)}
		}
		if text, err = s.tree.read(ctx, f.path); err != nil {
			return &SettingError{Path: f.path, Asked: values[i], Err: unpathed(err)}
		}
		if now, err := s.decode(strings.TrimSpace(text)); err != nil || now != values[i] {
			return &SettingError{Path: f.path, Asked: values[i], Found: strings.TrimSpace(text), Advice: "are these cores online, and does anything else, as irqbalance, move it?"}
		}
	}
	return nil
}
