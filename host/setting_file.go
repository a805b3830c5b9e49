package host

import (
	"context"
	"fmt"
	"path"
	"strings"
)

// fileSetting is one file of the kernel's: below /sys, or below /proc as the
// sysctls are.
type fileSetting struct {
	tree  tree
	path  string
	value string
}

func newFileSetting(t tree, spec SettingSpec, find func(target string) (string, error)) (Setting, error) {
	file, err := find(spec.Target)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(spec.Value) == "" || strings.ContainsAny(spec.Value, "\n\x00") {
		return nil, fmt.Errorf("setting %s %s: found the value %q; expected one line of text", spec.Kind, spec.Target, spec.Value)
	}
	return fileSetting{tree: t, path: file, value: spec.Value}, nil
}

// sysctlPath turns a key into a path as sysctl(8) does: dots separate, unless
// the first separator is a slash; then slashes do, and dots are part of a
// name, as in net/ipv4/conf/eth0.100/forwarding.
func sysctlPath(key string) (string, error) {
	name := key
	if i := strings.IndexAny(key, "./"); i >= 0 && key[i] == '.' {
		name = strings.NewReplacer(".", "/", "/", ".").Replace(key)
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." || strings.ContainsAny(part, " \t\n\x00") {
			return "", fmt.Errorf("setting sysctl: found the key %q; expected names joined by dots, as net.core.somaxconn", key)
		}
	}
	return "/proc/sys/" + name, nil
}

func settingPath(p string) (string, error) {
	clean := path.Clean(p)
	inside := strings.HasPrefix(clean, "/sys/") || strings.HasPrefix(clean, "/proc/")
	if !inside || strings.ContainsAny(p, "\n\x00") {
		return "", fmt.Errorf("setting file: found the path %q; expected one below /sys or /proc", p)
	}
	return clean, nil
}

// inside makes sure that no link on the way, as /proc/self/root is one, leads
// out of the kernel's own files.
func (s fileSetting) inside(ctx context.Context) error {
	to, err := s.tree.resolve(ctx, s.path)
	if err != nil {
		return err
	}
	if _, err := settingPath(to); err != nil {
		return fmt.Errorf("it leads to %s; expected a file below /sys or /proc", to)
	}
	return nil
}

func (s fileSetting) Read(ctx context.Context) (string, error) {
	err := s.inside(ctx)
	text := ""
	if err == nil {
		text, err = s.tree.read(ctx, s.path)
	}
	if err != nil {
		err = fmt.Errorf("reading setting %s: %w", s.path, unpathed(err))
		if advice := adviseOn(err, s.path, nil); advice != "" {
			err = fmt.Errorf("%w; %s", err, advice)
		}
		return "", err
	}
	if word, _, ok := selected(text); ok {
		return word, nil
	}
	text = strings.TrimRight(text, "\n")
	if strings.Contains(text, "\n") {
		return "", fmt.Errorf("reading setting %s: found %d lines; a setting has one, to be written back as it was",
			s.path, strings.Count(text, "\n")+1)
	}
	return text, nil
}

func (s fileSetting) Apply(ctx context.Context) error { return s.set(ctx, s.value) }

// Restore leaves a file alone that is as it was: it need not be one that may be
// written, where setting it failed.
func (s fileSetting) Restore(ctx context.Context, before string) error {
	if now, err := s.Read(ctx); err == nil && now == before {
		return nil
	}
	return s.set(ctx, before)
}

// writable says why the file cannot be set, without touching it.
func (s fileSetting) writable(ctx context.Context) error {
	return s.tree.writable(ctx, s.path, s.value)
}

func (s fileSetting) set(ctx context.Context, value string) error {
	err := s.inside(ctx)
	if err == nil && s.tree.fixed(ctx, s.path) {
		return &SettingError{Path: s.path, Asked: value, Err: errFixed}
	}
	if err == nil {
		err = s.tree.write(ctx, s.path, value+"\n")
	}
	if err != nil {
		text, _ := s.tree.read(ctx, s.path)
		_, choices, _ := selected(text)
		return &SettingError{Path: s.path, Asked: value, Err: unpathed(err), Advice: adviseOn(err, s.path, choices)}
	}
	found, err := s.Read(ctx)
	switch {
	case err != nil:
		return &SettingError{Path: s.path, Asked: value, Err: err}
	case !s.equal(found, value):
		return &SettingError{
			Path: s.path, Asked: value, Found: found,
			Advice: "ask for a value that the kernel keeps as it is, as what it reads now",
		}
	}
	return nil
}

// equal takes Y for 1 and N for 0 in the parameters of modules, where the
// kernel writes a bool so.
func (s fileSetting) equal(found, asked string) bool {
	if sameValue(found, asked) {
		return true
	}
	if !strings.HasPrefix(s.path, "/sys/module/") {
		return false
	}
	letter := strings.NewReplacer("1", "Y", "0", "N").Replace(strings.ToUpper(strings.TrimSpace(asked)))
	return len(letter) == 1 && letter == strings.TrimSpace(found)
}

// SysctlPath is the file of a kernel parameter, as /proc/sys/net/core/somaxconn
// of net.core.somaxconn.
func SysctlPath(key string) (string, error) { return sysctlPath(key) }
