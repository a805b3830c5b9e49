package host

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"
)

// Settings of a network interface that are one value.
const (
	KindMTU   = "mtu"   // bytes
	KindVFs   = "vfs"   // virtual functions of an SR-IOV card
	KindQdisc = "qdisc" // queueing discipline of what it sends, without parameters: fq, pfifo
)

// newMTU is a file of sysfs: the kernel says at once where the driver allows less.
func newMTU(t tree, spec SettingSpec) (Setting, error) {
	if err := checkInterface(spec.Kind, spec.Target); err != nil {
		return nil, err
	}
	if n, err := strconv.Atoi(strings.TrimSpace(spec.Value)); err != nil || n < 68 || n > 1<<20 {
		return nil, fmt.Errorf("setting mtu %s: found %q; expected bytes, as 9000", spec.Target, spec.Value)
	}
	return fileSetting{tree: t, path: netDir + spec.Target + "/mtu", value: strings.TrimSpace(spec.Value)}, nil
}

// virtualFunctions is the number of a card's virtual functions. The kernel takes
// a number only where it is 0 (Documentation/PCI/pci-iov-howto.rst).
type virtualFunctions struct{ fileSetting }

func newVFs(t tree, spec SettingSpec) (Setting, error) {
	if err := checkInterface(spec.Kind, spec.Target); err != nil {
		return nil, err
	}
	if n, err := strconv.ParseUint(strings.TrimSpace(spec.Value), 10, 16); err != nil {
		return nil, fmt.Errorf("setting vfs %s: found %q; expected a number of virtual functions, as 8: %w", spec.Target, spec.Value, err)
	} else {
		spec.Value = strconv.FormatUint(n, 10)
	}
	return virtualFunctions{fileSetting{tree: t, path: netDir + spec.Target + "/device/sriov_numvfs", value: spec.Value}}, nil
}

func (v virtualFunctions) Apply(ctx context.Context) error { return v.change(ctx, v.value) }

func (v virtualFunctions) Restore(ctx context.Context, before string) error {
	return v.change(ctx, before)
}

func (v virtualFunctions) change(ctx context.Context, value string) error {
	now, err := v.Read(ctx)
	if err == nil && now == value {
		return nil
	}
	if most, readErr := v.tree.read(ctx, strings.TrimSuffix(v.path, "numvfs")+"totalvfs"); readErr == nil {
		limit, limitErr := strconv.Atoi(strings.TrimSpace(most))
		if asked, _ := strconv.Atoi(value); limitErr == nil && asked > limit {
			return &SettingError{Path: v.path, Asked: value, Err: fmt.Errorf("the card has at most %d virtual functions", limit)}
		}
	}
	if err == nil && now != "0" && value != "0" {
		if err := v.set(ctx, "0"); err != nil {
			return err
		}
	}
	return v.set(ctx, value)
}

// ourQdisc is the handle by which a queueing discipline is known as set by this
// setting rather than by the machine's owner.
const ourQdisc = 0xbaf0

// qdisc is the root queueing discipline of an interface.
type qdisc struct {
	iface, value string
	patience     time.Duration
}

func newQdisc(spec SettingSpec, patience time.Duration) (Setting, error) {
	if err := checkInterface(spec.Kind, spec.Target); err != nil {
		return nil, err
	}
	if f := strings.Fields(spec.Value); len(f) != 1 || strings.Trim(f[0], "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return nil, fmt.Errorf("setting qdisc %s: found %q; expected the name of one, as fq or pfifo_fast; parameters need a command", spec.Target, spec.Value)
	}
	return qdisc{spec.Target, strings.TrimSpace(spec.Value), patience}, nil
}

// root finds the root discipline; nil is that of an interface which has none.
func (q qdisc) root() (netlink.Link, netlink.Qdisc, error) {
	link, err := netlink.LinkByName(q.iface)
	if _, missing := errors.AsType[netlink.LinkNotFoundError](err); missing {
		err = syscall.ENODEV
	}
	if err != nil {
		return nil, nil, err
	}
	all, err := netlink.QdiscList(link)
	if err != nil {
		return nil, nil, err
	}
	for _, d := range all {
		if d.Attrs().Parent == netlink.HANDLE_ROOT {
			return link, d, nil
		}
	}
	return link, nil, nil
}

// Read returns the discipline's name. One that somebody set by hand may have
// parameters, which could not be put back, and is an error.
func (q qdisc) Read(ctx context.Context) (string, error) {
	return within(ctx, q.patience, func() (string, error) {
		_, d, err := q.root()
		switch {
		case err != nil:
			return "", fmt.Errorf("reading setting qdisc of %s: %w%s", q.iface, err, nicAdvice(err, q.iface))
		case d == nil:
			return "noqueue", nil
		}
		if major, _ := netlink.MajorMinor(d.Attrs().Handle); major != 0 && major != ourQdisc {
			return "", fmt.Errorf("reading setting qdisc of %s: found %s with the handle %s, which was set by hand and may have parameters that could not be put back; "+
				"remove it (tc qdisc del dev %s root), or use a command", q.iface, d.Type(), netlink.HandleStr(d.Attrs().Handle), q.iface)
		}
		return d.Type(), nil
	})
}

func (q qdisc) Apply(ctx context.Context) error {
	return q.change(ctx, q.value, func() error {
		link, d, err := q.root()
		if err != nil || d != nil && d.Type() == q.value || d == nil && q.value == "noqueue" {
			return err
		}
		return netlink.QdiscReplace(&netlink.GenericQdisc{QdiscType: q.value, QdiscAttrs: netlink.QdiscAttrs{
			LinkIndex: link.Attrs().Index, Parent: netlink.HANDLE_ROOT, Handle: netlink.MakeHandle(ourQdisc, 0)}})
	})
}

// Restore removes the discipline that was set: the kernel puts its own back.
func (q qdisc) Restore(ctx context.Context, before string) error {
	return q.change(ctx, before, func() error {
		_, d, err := q.root()
		if err != nil || d == nil {
			return err
		}
		if major, _ := netlink.MajorMinor(d.Attrs().Handle); major != ourQdisc {
			return nil
		}
		return netlink.QdiscDel(d)
	})
}

func (q qdisc) change(ctx context.Context, value string, do func() error) error {
	_, err := within(ctx, q.patience, func() (struct{}, error) { return struct{}{}, do() })
	if err != nil {
		advice := strings.TrimPrefix(nicAdvice(err, q.iface), "; ")
		if errors.Is(err, syscall.ENOENT) {
			advice = "this kernel has no such discipline: load its module (modprobe sch_" + value + ")"
		}
		return &SettingError{Path: "qdisc of " + q.iface, Asked: value, Err: err, Advice: advice}
	}
	found, err := q.Read(ctx)
	switch {
	case err != nil:
		return &SettingError{Path: "qdisc of " + q.iface, Asked: value, Err: err}
	case found != value:
		return &SettingError{Path: "qdisc of " + q.iface, Asked: value, Found: found}
	}
	return nil
}
