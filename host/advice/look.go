package advice

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"bakeoff/foreign/inventory"
	"bakeoff/host"
)

// Look reads what the rules need below root: "/" for this machine, or a captured
// copy of another one's /proc and /sys. Errors are of what was there and could
// not be read; the rest is used without it.
func Look(ctx context.Context, root string, clock host.Clock) (Host, []error) {
	facts, errs := host.Gather(ctx, root, clock)
	h := Host{Facts: facts, Dropped: map[string]uint64{}}
	if err := h.backlog(root); err != nil {
		errs = append(errs, err)
	}
	for _, n := range facts.NICs {
		h.Dropped[n.Name] = lost(root, n.Name)
	}
	return h, errs
}

// backlog reads the counters of /proc/net/softnet_stat.
func (h *Host) backlog(root string) error {
	const name = "proc/net/softnet_stat"
	text, err := os.ReadFile(filepath.Join(root, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the backlog's counters: %w", err)
	}
	var f inventory.Found
	if _, err := f.Read("/"+name, string(text)); err != nil {
		return err
	}
	h.Softnet(f.Softnet)
	return nil
}

// Softnet takes over the counters of all processors.
func (h *Host) Softnet(all []inventory.Softnet) {
	if len(all) == 0 {
		return
	}
	h.BacklogDropped, h.BacklogSqueezed = new(uint64), new(uint64)
	for _, s := range all {
		*h.BacklogDropped += s.Dropped
		*h.BacklogSqueezed += s.Squeezed
	}
}

// lost adds up what an interface lost for want of buffers
// (Documentation/ABI/testing/sysfs-class-net-statistics).
func lost(root, nic string) (packets uint64) {
	for _, counter := range []string{"rx_missed_errors", "rx_fifo_errors", "rx_dropped"} {
		text, err := os.ReadFile(filepath.Join(root, "sys/class/net", nic, "statistics", counter))
		if err != nil {
			continue // not every driver has each of them
		}
		if n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil {
			packets += n
		}
	}
	return packets
}

// PathMTU asks this machine's kernel for the largest packet, in bytes, that the
// path to an address takes as far as it knows by now (IP_MTU, ip(7)). It sends nothing.
func PathMTU(ctx context.Context, address string) (int, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "udp", net.JoinHostPort(address, "9"))
	if err != nil {
		return 0, fmt.Errorf("looking up the path to %s: %w", address, err)
	}
	defer conn.Close()
	raw, err := conn.(*net.UDPConn).SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("looking up the path to %s: %w", address, err)
	}
	level, option := unix.IPPROTO_IP, unix.IP_MTU
	if ip, ok := conn.RemoteAddr().(*net.UDPAddr); ok && ip.IP.To4() == nil {
		level, option = unix.IPPROTO_IPV6, unix.IPV6_MTU
	}
	var mtu int
	var failed error
	err = raw.Control(func(fd uintptr) { mtu, failed = unix.GetsockoptInt(int(fd), level, option) })
	if err = errors.Join(err, failed); err != nil {
		return 0, fmt.Errorf("asking for the MTU of the path to %s: %w", address, err)
	}
	return mtu, nil
}
