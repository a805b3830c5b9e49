package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"bakeoff/record"
)

// A Clock says when facts were taken.
type Clock interface {
	Now() time.Time
}

// gatherLimit bounds Gather as a whole: with a device that does not answer it
// returns what the others said.
const gatherLimit = 15 * time.Second

// Gather reads what a host is from its /proc, /sys and /etc below root: "/" for
// this machine, or a captured copy of another. Only of this machine, drivers
// are asked too (ethtool ioctls). It changes nothing and runs no program.
//
// What does not exist on this machine is absent from the facts. What is there
// but could not be read gives an error, which the facts repeat as Unread.
// Facts.Host is the caller's to fill in.
func Gather(ctx context.Context, root string, clock Clock) (record.Facts, []error) {
	g := gatherer{tree: newTree(root, filePatience)}
	if g.tree.live() {
		g.nics = askDriver
	}
	ctx, cancel := context.WithTimeoutCause(ctx, gatherLimit, fmt.Errorf("gathering facts took longer than %v", gatherLimit))
	defer cancel()
	return g.gather(ctx, clock)
}

type gatherer struct {
	tree tree
	nics driverAsker // nil for a captured copy
}

// gather reads the parts of the facts at the same time, so that one stuck
// device holds up its own part alone. Each part writes to fields of its own.
func (g gatherer) gather(ctx context.Context, clock Clock) (record.Facts, []error) {
	f := record.Facts{Taken: clock.Now().UTC().Round(0)}
	parts := []func(*part){
		func(p *part) { f.Machine, f.BIOS, f.CPU.Package, f.Memory = p.firmware() },
		func(p *part) { p.cpu(&f.CPU) },
		func(p *part) { f.Mitigations = p.mitigations() },
		func(p *part) { f.NUMA = p.numa() },
		func(p *part) { f.Kernel, f.OS = p.kernel(), p.system() },
		func(p *part) { f.Virtual = p.virtual() },
		func(p *part) { f.NICs = p.interfaces(g.nics) },
		func(p *part) { f.Disks = p.disks() },
		func(p *part) { f.Sysctls = p.sysctls() },
		func(p *part) { f.Limits = p.limits() },
		func(p *part) { f.State = p.state() },
		func(p *part) { f.Daemons = p.daemons() },
	}
	done := make([]*part, len(parts))
	var wg sync.WaitGroup
	for i, read := range parts {
		done[i] = &part{ctx: ctx, tree: g.tree}
		wg.Go(func() { read(done[i]) })
	}
	wg.Wait()
	var errs []error
	for _, p := range done {
		errs = append(errs, p.errs...)
	}
	for _, err := range errs {
		f.Unread = append(f.Unread, err.Error())
	}
	return f, errs
}

// part reads one part of the facts. It holds its context since it lives no
// longer than one call of Gather.
type part struct {
	ctx  context.Context
	tree tree
	errs []error
	hung []string // folders whose files gave no answer; no other of theirs is tried
}

// try reads and notes what went wrong, unless the thing is simply not there.
func try[T any](p *part, name string, read func(context.Context, string) (T, error)) (T, bool) {
	var none T
	for _, dir := range p.hung {
		if strings.HasPrefix(name, dir) {
			return none, false
		}
	}
	v, err := read(p.ctx, name)
	if err == nil {
		return v, true
	}
	if errors.Is(err, errHung) {
		p.hung = append(p.hung, name[:strings.LastIndexByte(name, '/')+1])
	}
	if !absent(err) {
		p.note(name, err)
	}
	return none, false
}

// absent reports whether an error is the kernel's way of saying that a thing
// has no such property now, as an interface without a link has no speed.
func absent(err error) bool {
	for _, no := range []error{fs.ErrNotExist, syscall.ENODEV, syscall.ENXIO, syscall.EINVAL, syscall.EOPNOTSUPP, syscall.ENOTDIR, syscall.ENODATA, syscall.EISDIR} {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}

func (p *part) note(name string, err error) {
	p.errs = append(p.errs, fmt.Errorf("%s: %w", name, unpathed(err)))
}

// raw is a file's text as it is, "" where there is none.
func (p *part) raw(name string) string {
	text, _ := try(p, name, p.tree.read)
	return text
}

// text is a file's text without white space around it.
func (p *part) text(name string) string { return strings.TrimSpace(p.raw(name)) }

// words is a file's text with single blanks.
func (p *part) words(name string) string { return strings.Join(strings.Fields(p.raw(name)), " ") }

// choice is the chosen word of a file that lists several.
func (p *part) choice(name string) string {
	text := p.text(name)
	if word, _, ok := selected(text); ok {
		return word
	}
	return text
}

// integer is a file's number, nil where there is none.
func (p *part) integer(name string) *int64 {
	text := p.text(name)
	if text == "" {
		return nil
	}
	n, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		p.note(name, fmt.Errorf("found %.40q; expected a whole number", text))
		return nil
	}
	return &n
}

// scaled is a file's number times a factor.
func (p *part) scaled(name string, factor int64) *int64 {
	n := p.integer(name)
	if n == nil {
		return nil
	}
	return new(*n * factor)
}

// count is a file's number where it is not negative; the kernel writes -1 for
// what is not known.
func (p *part) count(name string) *int {
	n := p.integer(name)
	if n == nil || *n < 0 {
		return nil
	}
	return new(int(*n))
}

// flag is a file's 0 or 1.
func (p *part) flag(name string) *bool {
	switch text := p.text(name); text {
	case "":
		return nil
	case "0", "N":
		return new(false)
	case "1", "Y":
		return new(true)
	default:
		p.note(name, fmt.Errorf("found %.40q; expected 0 or 1", text))
		return nil
	}
}

// list is the names in a folder, in the order in which people count: eth2
// before eth10.
func (p *part) list(dir string) []string {
	names, _ := try(p, dir, p.tree.names)
	slices.SortFunc(names, naturally)
	return names
}

// base is the last name in what a link points to.
func (p *part) base(name string) string {
	to, _ := try(p, name, p.tree.link)
	return to[strings.LastIndexByte(to, '/')+1:]
}

// naturally compares names with the numbers in them as numbers.
func naturally(a, b string) int {
	for a != "" && b != "" {
		x, y := digits(a), digits(b)
		if x > 0 && y > 0 {
			na, nb := strings.TrimLeft(a[:x], "0"), strings.TrimLeft(b[:y], "0")
			if d := len(na) - len(nb); d != 0 {
				return d
			}
			if d := strings.Compare(na, nb); d != 0 {
				return d
			}
			a, b = a[x:], b[y:]
			continue
		}
		if a[0] != b[0] {
			return int(a[0]) - int(b[0])
		}
		a, b = a[1:], b[1:]
	}
	return len(a) - len(b)
}

// digits counts the digits at the start.
func digits(s string) int {
	return len(s) - len(strings.TrimLeft(s, "0123456789"))
}

// keyed reads lines of "name<separator>value", as /proc/meminfo and
// os-release(5) have them. The first of two lines with one name counts.
func keyed(text, separator string) map[string]string {
	values := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(line, separator)
		name = strings.TrimSpace(name)
		if _, twice := values[name]; ok && !twice && name != "" {
			values[name] = strings.TrimSpace(value)
		}
	}
	return values
}
