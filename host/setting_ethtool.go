package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/safchain/ethtool"
)

// The kinds of a network interface's settings that are several values at once.
// Their target is the interface, their value "name=value name=value": one system
// call sets them all, since drivers judge them together.
const (
	KindEthtool  = "ethtool"  // offloads and other features: tso=off gro=on
	KindRings    = "rings"    // descriptors: rx=4096 tx=4096
	KindChannels = "channels" // queues: combined=8
	KindCoalesce = "coalesce" // interrupt moderation: rx_usecs=0 adaptive_rx=off
	KindPause    = "pause"    // flow control: rx=off tx=off autoneg=off
)

// nicSetting is some values of one interface.
type nicSetting struct {
	kind, iface string
	names       []string // as the plan writes them, in its order
	value       string
	patience    time.Duration
	driver      nicDriver
}

// A nicDriver reads and writes values of an interface. Texts are pairs
// "name=value", parted by blanks.
type nicDriver interface {
	read(iface string, names []string) (string, error)
	write(iface string, values []pairOf) error
}

// pairOf is one name=value.
type pairOf struct{ name, value string }

func newNICSetting(spec SettingSpec, patience time.Duration) (Setting, error) {
	s := nicSetting{kind: spec.Kind, iface: spec.Target, value: spec.Value, patience: patience}
	if err := checkInterface(spec.Kind, spec.Target); err != nil {
		return nil, err
	}
	pairs, err := parsePairs(spec.Value)
	if err != nil {
		return nil, fmt.Errorf("setting %s %s: %w", spec.Kind, spec.Target, err)
	}
	for _, p := range pairs {
		s.names = append(s.names, p.name)
	}
	switch spec.Kind {
	case KindEthtool:
		for _, name := range s.names {
			if !IsOffload(name) {
				return nil, fmt.Errorf("setting ethtool %s: found the offload %q; expected one of %s, or a feature as ethtool -k shows it", spec.Target, name, strings.Join(OffloadNames(), ", "))
			}
		}
		s.driver = featureDriver{}
	case KindRings:
		s.driver = numberDriver[ethtool.Ring]{(*ethtool.Ethtool).GetRing, (*ethtool.Ethtool).SetRing, ringNumbers}
	case KindChannels:
		s.driver = numberDriver[ethtool.Channels]{(*ethtool.Ethtool).GetChannels, (*ethtool.Ethtool).SetChannels, channelNumbers}
	case KindCoalesce:
		s.driver = numberDriver[ethtool.Coalesce]{(*ethtool.Ethtool).GetCoalesce, (*ethtool.Ethtool).SetCoalesce, coalesceNumbers}
	case KindPause:
		s.driver = numberDriver[ethtool.Pause]{(*ethtool.Ethtool).GetPause, (*ethtool.Ethtool).SetPause, pauseNumbers}
	}
	return s, nil
}

// checkInterface judges the name of an interface, which becomes part of paths.
func checkInterface(kind, name string) error {
	if name == "" || len(name) > 15 || name == "." || name == ".." || strings.ContainsAny(name, "/ \t\n\x00:") {
		return fmt.Errorf("setting %s: found the interface %q; expected a name of at most 15 characters, as eth0", kind, name)
	}
	return nil
}

func parsePairs(text string) ([]pairOf, error) {
	var pairs []pairOf
	for word := range strings.FieldsSeq(text) {
		name, value, ok := strings.Cut(word, "=")
		if !ok || name == "" || value == "" {
			return nil, fmt.Errorf("found %q; expected name=value", word)
		}
		if slices.ContainsFunc(pairs, func(p pairOf) bool { return p.name == name }) {
			return nil, fmt.Errorf("found %q twice; expected each name once", name)
		}
		pairs = append(pairs, pairOf{name, value})
	}
	if len(pairs) == 0 {
		return nil, errors.New("found no value; expected name=value")
	}
	return pairs, nil
}

func (s nicSetting) what() string { return s.kind + " of " + s.iface }

// Read returns the values of the setting's names.
func (s nicSetting) Read(ctx context.Context) (string, error) {
	text, err := within(ctx, s.patience, func() (string, error) { return s.driver.read(s.iface, s.names) })
	if err != nil {
		return "", fmt.Errorf("reading setting %s: %w%s", s.what(), err, nicAdvice(err, s.iface))
	}
	return text, nil
}

func (s nicSetting) Apply(ctx context.Context) error { return s.set(ctx, s.value) }

// Restore leaves alone what is as it was.
func (s nicSetting) Restore(ctx context.Context, before string) error {
	if now, err := s.Read(ctx); err == nil && sameValue(now, before) {
		return nil
	}
	return s.set(ctx, before)
}

func (s nicSetting) set(ctx context.Context, value string) error {
	pairs, err := parsePairs(value)
	if err != nil {
		return &SettingError{Path: s.what(), Asked: value, Err: err}
	}
	_, err = within(ctx, s.patience, func() (struct{}, error) { return struct{}{}, s.driver.write(s.iface, pairs) })
	if err != nil {
		return &SettingError{Path: s.what(), Asked: value, Err: err, Advice: strings.TrimPrefix(nicAdvice(err, s.iface), "; ")}
	}
	found, err := s.Read(ctx)
	switch {
	case err != nil:
		return &SettingError{Path: s.what(), Asked: value, Err: err}
	case !sameValue(found, value):
		return &SettingError{Path: s.what(), Asked: value, Found: found, Advice: "the driver took another value, or a feature depends on another one (tso on sg, and sg on tx): ask for what it keeps"}
	}
	return nil
}

// nicAdvice says how to mend a refusal, with "; " before it.
func nicAdvice(err error, iface string) string {
	switch {
	case errors.Is(err, syscall.ENODEV):
		return fmt.Sprintf("; there is no interface %s here: found %s; was it renamed?", iface, foundInterfaces())
	case errors.Is(err, syscall.EOPNOTSUPP):
		return "; the driver of " + iface + " has no such thing"
	case errors.Is(err, fs.ErrPermission):
		return "; run as root (CAP_NET_ADMIN)"
	case errors.Is(err, syscall.EBUSY):
		return "; the driver cannot change that now: set the interface down first, or stop what uses it"
	case errors.Is(err, syscall.EINVAL):
		return "; the driver does not allow this value: see ethtool for what " + iface + " allows"
	}
	return ""
}

func foundInterfaces() string {
	all, err := net.Interfaces()
	if err != nil || len(all) == 0 {
		return "none"
	}
	names := make([]string, len(all))
	for i, n := range all {
		names[i] = n.Name
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// featureDriver sets features by name.
type featureDriver struct{}

func (featureDriver) read(iface string, names []string) (string, error) {
	var parts []string
	for _, name := range names {
		text, err := ReadOffload(iface, name)
		if err != nil {
			return "", err
		}
		if !strings.Contains(text, "=") {
			text = name + "=" + text
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " "), nil
}

func (featureDriver) write(iface string, values []pairOf) error { return setOffloads(iface, values) }

// A number is one value of a driver's block of values.
type number struct {
	name   string
	now    *uint32
	most   uint32 // 0: the driver does not say
	onOff  bool
	absent bool // the driver has none
}

func (n number) text() string {
	if n.onOff {
		return onOff(*n.now != 0)
	}
	return strconv.FormatUint(uint64(*n.now), 10)
}

func (n number) set(text string) error {
	var v uint64
	switch {
	case n.absent:
		return fmt.Errorf("found %s=%s; the driver has no %s", n.name, text, n.name)
	case n.onOff && (text == "on" || text == "off"):
		if text == "on" {
			v = 1
		}
	case n.onOff:
		return fmt.Errorf("found %s=%s; expected on or off", n.name, text)
	default:
		var err error
		if v, err = strconv.ParseUint(text, 10, 32); err != nil {
			return fmt.Errorf("found %s=%s; expected a whole number", n.name, text)
		}
	}
	if n.most > 0 && v > uint64(n.most) {
		return fmt.Errorf("found %s=%s; the driver allows at most %d", n.name, text, n.most)
	}
	*n.now = uint32(v)
	return nil
}

// numberDriver reads and writes a block of values by one system call each.
type numberDriver[T comparable] struct {
	get     func(*ethtool.Ethtool, string) (T, error)
	put     func(*ethtool.Ethtool, string, T) (T, error)
	numbers func(*T) []number
}

func (d numberDriver[T]) read(iface string, names []string) (string, error) {
	tool, err := ethtool.NewEthtool()
	if err != nil {
		return "", fmt.Errorf("opening a socket: %w", err)
	}
	defer tool.Close()
	block, err := d.get(tool, iface)
	if err != nil {
		return "", err
	}
	var parts []string
	for _, name := range names {
		n, err := find(d.numbers(&block), name)
		if err != nil {
			return "", err
		}
		parts = append(parts, name+"="+n.text())
	}
	return strings.Join(parts, " "), nil
}

func find(all []number, name string) (number, error) {
	var known []string
	for _, n := range all {
		if n.name == name {
			return n, nil
		}
		known = append(known, n.name)
	}
	return number{}, fmt.Errorf("found the name %q; expected one of %s", name, strings.Join(known, ", "))
}

func (d numberDriver[T]) write(iface string, values []pairOf) error {
	tool, err := ethtool.NewEthtool()
	if err != nil {
		return fmt.Errorf("opening a socket: %w", err)
	}
	defer tool.Close()
	block, err := d.get(tool, iface)
	if err != nil {
		return err
	}
	was := block
	for _, v := range values {
		n, err := find(d.numbers(&block), v.name)
		if err == nil {
			err = n.set(v.value)
		}
		if err != nil {
			return err
		}
	}
	if block == was {
		return nil // some drivers restart the interface for nothing
	}
	_, err = d.put(tool, iface, block)
	return err
}

func ringNumbers(r *ethtool.Ring) []number {
	return []number{
		{name: "rx", now: &r.RxPending, most: r.RxMaxPending, absent: r.RxMaxPending == 0},
		{name: "tx", now: &r.TxPending, most: r.TxMaxPending, absent: r.TxMaxPending == 0},
		{name: "rx_mini", now: &r.RxMiniPending, most: r.RxMiniMaxPending, absent: r.RxMiniMaxPending == 0},
		{name: "rx_jumbo", now: &r.RxJumboPending, most: r.RxJumboMaxPending, absent: r.RxJumboMaxPending == 0},
	}
}

func channelNumbers(c *ethtool.Channels) []number {
	return []number{
		{name: "rx", now: &c.RxCount, most: c.MaxRx, absent: c.MaxRx == 0},
		{name: "tx", now: &c.TxCount, most: c.MaxTx, absent: c.MaxTx == 0},
		{name: "combined", now: &c.CombinedCount, most: c.MaxCombined, absent: c.MaxCombined == 0},
		{name: "other", now: &c.OtherCount, most: c.MaxOther, absent: c.MaxOther == 0},
	}
}

func coalesceNumbers(c *ethtool.Coalesce) []number {
	return []number{
		{name: "rx_usecs", now: &c.RxCoalesceUsecs}, {name: "rx_frames", now: &c.RxMaxCoalescedFrames},
		{name: "tx_usecs", now: &c.TxCoalesceUsecs}, {name: "tx_frames", now: &c.TxMaxCoalescedFrames},
		{name: "adaptive_rx", now: &c.UseAdaptiveRxCoalesce, onOff: true},
		{name: "adaptive_tx", now: &c.UseAdaptiveTxCoalesce, onOff: true},
	}
}

func pauseNumbers(p *ethtool.Pause) []number {
	return []number{
		{name: "rx", now: &p.RxPause, onOff: true}, {name: "tx", now: &p.TxPause, onOff: true},
		{name: "autoneg", now: &p.Autoneg, onOff: true},
	}
}
