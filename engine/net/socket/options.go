// Package socket opens raw sockets with the options that network measurements
// vary, and drives them by plain system calls: no poller, no copies, nothing
// between the caller and the kernel.
package socket

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Options are what is set on a socket before it is used. The zero value leaves
// all to the kernel, but NoDelay, which is then off.
type Options struct {
	Congestion    string `json:"congestion,omitempty"`     // tcp(7), TCP_CONGESTION
	MSS           int    `json:"mss,omitempty"`            // bytes, TCP_MAXSEG
	SendBuffer    int    `json:"send_buffer,omitempty"`    // bytes, as asked for: the kernel doubles them (socket(7))
	ReceiveBuffer int    `json:"receive_buffer,omitempty"` // bytes
	DSCP          int    `json:"dscp,omitempty"`           // 0 to 63, RFC 2474
	Device        string `json:"device,omitempty"`         // SO_BINDTODEVICE
	NoDelay       bool   `json:"nodelay,omitempty"`        // TCP_NODELAY
	Pacing        uint64 `json:"pacing,omitempty"`         // bytes a second, SO_MAX_PACING_RATE
	BusyPoll      int    `json:"busy_poll,omitempty"`      // microseconds, SO_BUSY_POLL
	// Fragment says whether the path MTU is minded: "" as the kernel does,
	// "never" sets DF and refuses what does not fit, "allow" lets IPv4 routers
	// fragment (IP_MTU_DISCOVER, ip(7), ipv6(7)).
	Fragment string `json:"fragment,omitempty"`
}

// option is one setsockopt with the name that an error gives it.
type option struct {
	name string
	want string
	set  func() error
	mend string
}

// Apply sets the options on a socket that is neither connected nor listening.
// The error names the option, what was asked for, and how to mend it.
func (o Options) Apply(fd int, six, stream bool) error {
	for _, p := range o.list(fd, six, stream) {
		if err := p.set(); err != nil {
			return fmt.Errorf("setting %s to %s: %w%s", p.name, p.want, err, mend(err, p.mend))
		}
	}
	return nil
}

func mend(err error, text string) string {
	if text == "" || !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.ENOENT) && !errors.Is(err, errShort) {
		return ""
	}
	return ": " + text
}

func (o Options) list(fd int, six, stream bool) []option {
	level := func(level, name, value int) func() error {
		return func() error { return unix.SetsockoptInt(fd, level, name, value) }
	}
	var all []option
	add := func(asked bool, name, want string, set func() error, mend string) {
		if asked {
			all = append(all, option{name, want, set, mend})
		}
	}
	add(o.SendBuffer > 0, "send_buffer", strconv.Itoa(o.SendBuffer)+" B", func() error {
		return buffer(fd, unix.SO_SNDBUF, unix.SO_SNDBUFFORCE, o.SendBuffer)
	}, "raise net.core.wmem_max, or run as root")
	add(o.ReceiveBuffer > 0, "receive_buffer", strconv.Itoa(o.ReceiveBuffer)+" B", func() error {
		return buffer(fd, unix.SO_RCVBUF, unix.SO_RCVBUFFORCE, o.ReceiveBuffer)
	}, "raise net.core.rmem_max, or run as root")
	add(o.Device != "", "device", o.Device, func() error { return unix.BindToDevice(fd, o.Device) }, "binding to a device needs root (CAP_NET_RAW) before Linux 5.7")
	add(o.BusyPoll > 0, "busy_poll", strconv.Itoa(o.BusyPoll)+" us", level(unix.SOL_SOCKET, unix.SO_BUSY_POLL, o.BusyPoll), "it needs root (CAP_NET_ADMIN)")
	add(o.Pacing > 0, "pacing", strconv.FormatUint(o.Pacing, 10)+" B/s", func() error { return setPacing(fd, o.Pacing) }, "")
	tos := o.DSCP << 2
	add(o.DSCP > 0, "dscp", strconv.Itoa(o.DSCP), func() error {
		err := unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_TOS, tos)
		if six {
			err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_TCLASS, tos)
		}
		return err
	}, "")
	add(o.Fragment != "", "fragment", o.Fragment, func() error { return setFragment(fd, six, o.Fragment) }, "")
	if stream {
		add(o.Congestion != "", "congestion", o.Congestion, func() error {
			return unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, o.Congestion)
		}, "the kernel has those in /proc/sys/net/ipv4/tcp_available_congestion_control; without root only those in tcp_allowed_congestion_control")
		add(o.MSS > 0, "mss", strconv.Itoa(o.MSS), level(unix.IPPROTO_TCP, unix.TCP_MAXSEG, o.MSS), "")
		add(true, "nodelay", strconv.FormatBool(o.NoDelay), level(unix.IPPROTO_TCP, unix.TCP_NODELAY, number(o.NoDelay)), "")
	}
	return all
}

func number(on bool) int {
	if on {
		return 1
	}
	return 0
}

var errShort = errors.New("the kernel gave less")

// buffer sets the size of a socket's buffer: with the privilege beyond the
// system's limit, without it up to that. Less than asked for is an error.
func buffer(fd, name, force, size int) error {
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, force, size) == nil {
		return nil
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, name, size); err != nil {
		return err
	}
	got, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, name)
	if err == nil && got/2 < size {
		err = fmt.Errorf("%w, %d B", errShort, got/2)
	}
	return err
}

// setPacing takes 64 bits where the kernel does (since 4.20), else 32.
func setPacing(fd int, rate uint64) error {
	return unix.SetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, rate)
}

func setFragment(fd int, six bool, how string) error {
	value := map[string]int{"never": unix.IP_PMTUDISC_DO, "allow": unix.IP_PMTUDISC_DONT}[how]
	if six {
		// The values of IPV6_MTU_DISCOVER are the same; routers never fragment.
		return unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, value)
	}
	return unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, value)
}

// ParseDSCP reads a differentiated services code point: a number from 0 to 63,
// or a name of RFC 2474, 2597, 3246 or 5865, as ef, af41, cs5.
func ParseDSCP(text string) (int, error) {
	if n, err := strconv.ParseUint(text, 0, 8); err == nil && n <= 63 {
		return int(n), nil
	}
	name := strings.ToLower(text)
	switch {
	case name == "ef":
		return 46, nil
	case name == "va", name == "voice-admit":
		return 44, nil
	case name == "le":
		return 1, nil
	case len(name) == 3 && name[:2] == "cs" && '0' <= name[2] && name[2] <= '7':
		return int(name[2]-'0') << 3, nil
	case len(name) == 4 && name[:2] == "af" && '1' <= name[2] && name[2] <= '4' && '1' <= name[3] && name[3] <= '3':
		return int(name[2]-'0')<<3 | int(name[3]-'0')<<1, nil
	}
	return 0, fmt.Errorf("found %q, expected 0 to 63 or a name: ef, va, le, cs0 to cs7, af11 to af43", text)
}

// Effective is what the kernel made of a connected socket.
type Effective struct {
	Congestion    string `json:"congestion,omitempty"`
	MSS           int    `json:"mss,omitempty"`
	SendBuffer    int    `json:"send_buffer"` // bytes, half of what the kernel says, which it doubled
	ReceiveBuffer int    `json:"receive_buffer"`
}

// ReadBack reads what is in effect. What cannot be read stays zero.
func ReadBack(fd int, stream bool) Effective {
	var e Effective
	if n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF); err == nil {
		e.SendBuffer = n / 2
	}
	if n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF); err == nil {
		e.ReceiveBuffer = n / 2
	}
	if !stream {
		return e
	}
	if name, err := unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION); err == nil {
		e.Congestion = strings.TrimRight(name, "\x00")
	}
	if n, err := unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_MAXSEG); err == nil {
		e.MSS = n
	}
	return e
}
