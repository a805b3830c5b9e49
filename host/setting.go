package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"time"
)

// The kinds of a setting.
const (
	KindSysctl   = "sysctl"
	KindFile     = "file"
	KindGovernor = "governor"
	KindCommand  = "command"
)

// SettingKinds lists the kinds of a setting.
func SettingKinds() []string {
	return []string{
		KindSysctl, KindFile, KindGovernor, KindCommand, KindEthtool, KindRings, KindChannels, KindCoalesce, KindPause,
		KindMTU, KindVFs, KindQdisc, KindIRQ, KindRPS, KindXPS, KindIRQBalance,
	}
}

// A Setting is one thing that can be set on a host. Its methods do not wait
// longer than the spec's timeout.
type Setting interface {
	// Read returns the present value: exactly the text that Restore needs.
	Read(ctx context.Context) (string, error)
	// Apply sets the value that was asked for, and reads it back: the kernel
	// may round, clamp or ignore what it is given, which is an error here.
	Apply(ctx context.Context) error
	// Restore puts back what Read returned before, and reads it back.
	Restore(ctx context.Context, before string) error
}

// NewSetting checks a spec and returns its setting. It touches nothing.
func NewSetting(spec SettingSpec) (Setting, error) {
	patience := seconds(spec.TimeoutSeconds, 30*time.Second)
	t := newTree(spec.Root, patience)
	switch spec.Kind {
	case KindSysctl:
		return newFileSetting(t, spec, sysctlPath)
	case KindFile:
		return newFileSetting(t, spec, settingPath)
	case KindGovernor:
		return newGovernor(t, spec)
	case KindCommand:
		return newCommandSetting(spec, patience)
	case KindEthtool, KindRings, KindChannels, KindCoalesce, KindPause:
		return newNICSetting(spec, patience)
	case KindMTU:
		return newMTU(t, spec)
	case KindVFs:
		return newVFs(t, spec)
	case KindQdisc:
		return newQdisc(spec, patience)
	case KindIRQ, KindRPS, KindXPS:
		return newCoreFiles(t, spec)
	case KindIRQBalance:
		return newIRQBalance(spec, patience)
	}
	return nil, fmt.Errorf("setting %s: found kind %q; expected one of %s", spec.Target, spec.Kind, strings.Join(SettingKinds(), ", "))
}

// CheckSetting says what would keep a setting from being applied, as far as can
// be told without touching it.
func CheckSetting(ctx context.Context, spec SettingSpec) error {
	setting, err := NewSetting(spec)
	if err != nil {
		return err
	}
	if _, err := setting.Read(ctx); err != nil {
		return err
	}
	if w, ok := setting.(interface{ writable(context.Context) error }); ok {
		return w.writable(ctx)
	}
	return nil
}

func seconds(s float64, otherwise time.Duration) time.Duration {
	if s <= 0 {
		return otherwise
	}
	return time.Duration(s * float64(time.Second))
}

// A SettingError says what was asked of a setting and what was found.
type SettingError struct {
	Path   string // of the file, or the command's words
	Asked  string
	Found  string // what it was after it was set; "" where it could not be read
	Advice string
	Err    error // why it could not be set; nil where it was taken but is not in effect
}

func (e *SettingError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "setting %s to %q: ", e.Path, e.Asked)
	switch {
	case e.Err != nil:
		b.WriteString(e.Err.Error())
	default:
		fmt.Fprintf(&b, "it was taken, but reads %q afterwards", e.Found)
	}
	if e.Advice != "" {
		b.WriteString("; ")
		b.WriteString(e.Advice)
	}
	return b.String()
}

// Unwrap returns why the setting could not be set.
func (e *SettingError) Unwrap() error { return e.Err }

// selected returns the word in brackets of a file that lists its choices, as
// "always [madvise] never" does, and whether it is such a file.
func selected(text string) (word string, choices []string, ok bool) {
	for _, w := range strings.Fields(text) {
		if inner, isChosen := strings.CutPrefix(w, "["); isChosen && strings.HasSuffix(inner, "]") {
			if word != "" {
				return "", nil, false
			}
			word = strings.TrimSuffix(inner, "]")
			w = word
		}
		choices = append(choices, w)
	}
	if word == "" {
		return "", nil, false
	}
	return word, choices, true
}

// sameValue compares a value read with one asked for: white space does not
// matter, as the kernel writes tabs where people write blanks.
func sameValue(a, b string) bool {
	return strings.Join(strings.Fields(a), " ") == strings.Join(strings.Fields(b), " ")
}

// adviseOn says how to mend a refusal.
func adviseOn(err error, path string, choices []string) string {
	switch {
	case errors.Is(err, syscall.EROFS):
		return "it is mounted read-only, as in a container: run on the host itself, or in a privileged container"
	case errors.Is(err, fs.ErrPermission):
		return "run as root (in a container also: privileged)"
	case errors.Is(err, fs.ErrNotExist):
		return "this kernel has no such file: check the spelling, and whether the module or device it belongs to is there"
	case errors.Is(err, syscall.EINVAL) && len(choices) > 0:
		return "the kernel offers: " + strings.Join(choices, ", ")
	case errors.Is(err, syscall.EINVAL):
		return "the kernel does not allow this value"
	case errors.Is(err, syscall.EBUSY):
		return "the device is in use: stop what uses it first"
	case errors.Is(err, errHung):
		return "see the kernel's log for the device behind " + path
	}
	return ""
}
