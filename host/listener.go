package host

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// listeners returns the processes that hold a socket listening at the
// endpoint, by PID. There is none where the server is on another host, or
// where this user may not look into its files.
func listeners(ctx context.Context, root string, e endpoint) ([]int, error) {
	var inodes []string
	if e.network == "unix" {
		err := eachLine(root, "proc/net/unix", func(line string) {
			if s, ok := parseUnixSocket(line); ok && s.listens && s.path == e.address {
				inodes = append(inodes, s.inode)
			}
		})
		if err != nil {
			return nil, err
		}
	} else {
		addrs, port, err := e.resolve(ctx)
		if err != nil {
			return nil, err
		}
		for _, table := range []string{"proc/net/tcp", "proc/net/tcp6"} {
			err := eachLine(root, table, func(line string) {
				if s, ok := parseTCPSocket(line); ok && s.listens && s.accepts(addrs, port) {
					inodes = append(inodes, s.inode)
				}
			})
			if err != nil && !errors.Is(err, os.ErrNotExist) { // no IPv6 here
				return nil, err
			}
		}
	}
	return holders(ctx, root, inodes)
}

func eachLine(root, name string, f func(line string)) error {
	file, err := os.Open(filepath.Join(root, name))
	if err != nil {
		return fmt.Errorf("reading sockets: %w", err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		f(lines.Text())
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("reading sockets of %s: %w", name, err)
	}
	return nil
}

// resolve turns the endpoint's host into addresses.
func (e endpoint) resolve(ctx context.Context) ([]netip.Addr, uint16, error) {
	host, portText, err := net.SplitHostPort(e.address)
	if err != nil {
		return nil, 0, fmt.Errorf("endpoint %s: %w", e.url, err)
	}
	port, err := net.DefaultResolver.LookupPort(ctx, "tcp", portText)
	if err != nil {
		return nil, 0, fmt.Errorf("endpoint %s: %w", e.url, err)
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, 0, fmt.Errorf("endpoint %s: %w", e.url, err)
	}
	for i := range addrs {
		addrs[i] = addrs[i].Unmap().WithZone("")
	}
	return addrs, uint16(port), nil
}

// socket is one line of a table of sockets.
type socket struct {
	listens bool
	inode   string
	address netip.Addr // TCP
	port    uint16
	path    string // Unix
}

// accepts reports whether a connection to one of the addresses would come here.
func (s socket) accepts(addrs []netip.Addr, port uint16) bool {
	if s.port != port {
		return false
	}
	for _, a := range addrs {
		// A wildcard of IPv6 takes IPv4 too, unless it was told not to.
		if s.address == a || a.IsUnspecified() || s.address.IsUnspecified() && (s.address.Is6() || a.Is4()) {
			return true
		}
	}
	return false
}

// parseTCPSocket reads a line of /proc/net/tcp or tcp6: number, local
// address:port, remote one, state (0A listens), queues, timer, retransmits,
// uid, timeout, inode (proc_pid_net(5)). It says false of what is no such line.
func parseTCPSocket(line string) (socket, bool) {
	f := strings.Fields(line)
	if len(f) < 10 || !strings.HasSuffix(f[0], ":") {
		return socket{}, false
	}
	addrText, portText, ok := strings.Cut(f[1], ":")
	raw, err := hex.DecodeString(addrText)
	port, portErr := strconv.ParseUint(portText, 16, 16)
	if !ok || err != nil || portErr != nil || len(raw) != 4 && len(raw) != 16 {
		return socket{}, false
	}
	// The kernel prints each 32-bit word of the address as a number.
	for w := 0; w < len(raw); w += 4 {
		binary.NativeEndian.PutUint32(raw[w:], binary.BigEndian.Uint32(raw[w:]))
	}
	addr, _ := netip.AddrFromSlice(raw)
	return socket{listens: f[3] == "0A", inode: f[9], address: addr.Unmap(), port: uint16(port)}, true
}

// parseUnixSocket reads a line of /proc/net/unix: number, references, protocol,
// flags, type, state, inode and, where it is bound, path.
func parseUnixSocket(line string) (socket, bool) {
	const acceptsConnections = 0x10000 // __SO_ACCEPTCON
	f := strings.Fields(line)
	if len(f) < 7 || !strings.HasSuffix(f[0], ":") {
		return socket{}, false
	}
	flags, err := strconv.ParseUint(f[3], 16, 64)
	if err != nil {
		return socket{}, false
	}
	s := socket{listens: flags&acceptsConnections != 0, inode: f[6]}
	if len(f) > 7 {
		s.path = strings.TrimSpace(line[strings.LastIndex(line, " "+f[6]+" ")+len(f[6])+1:])
	}
	return s, true
}

// holders returns the processes that have one of the sockets open.
func holders(ctx context.Context, root string, inodes []string) ([]int, error) {
	if len(inodes) == 0 {
		return nil, nil
	}
	all, err := processes(root)
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, p := range all {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if holds(filepath.Join(root, "proc", strconv.Itoa(p.pid), "fd"), inodes) {
			pids = append(pids, p.pid)
		}
	}
	slices.Sort(pids)
	return pids, nil
}

func holds(fdDir string, inodes []string) bool {
	dir, err := os.Open(fdDir)
	if err != nil {
		return false
	}
	defer dir.Close()
	for {
		names, err := dir.Readdirnames(256)
		for _, name := range names {
			to, linkErr := os.Readlink(filepath.Join(fdDir, name))
			inode, isSocket := strings.CutPrefix(to, "socket:[")
			if linkErr == nil && isSocket && slices.Contains(inodes, strings.TrimSuffix(inode, "]")) {
				return true
			}
		}
		if err != nil {
			return false // io.EOF, or the process ended
		}
	}
}

// named returns the processes whose name, or the base name of whose program,
// is the given one, by PID.
func named(root, name string) ([]int, error) {
	all, err := processes(root)
	if err != nil {
		return nil, err
	}
	const nameRoom = 15 // what the kernel keeps of a name (TASK_COMM_LEN)
	var pids []int
	for _, p := range all {
		exe, _ := os.Readlink(filepath.Join(root, "proc", strconv.Itoa(p.pid), "exe"))
		program := strings.TrimSuffix(filepath.Base(exe), " (deleted)")
		if p.name == name || program == name || len(name) > nameRoom && p.name == name[:nameRoom] {
			pids = append(pids, p.pid)
		}
	}
	slices.Sort(pids)
	return pids, nil
}

// tail returns the last lines of what a file holds from an offset on.
func tail(f io.ReaderAt, from, size int64) string {
	const most = 4 << 10
	start := max(from, size-most)
	buf := make([]byte, max(0, size-start))
	n, _ := f.ReadAt(buf, start)
	text := strings.TrimSpace(strings.Map(plain, strings.ToValidUTF8(string(buf[:n]), "?")))
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}

// plain takes the sting out of output that would steer the terminal on which an
// error quotes it.
func plain(r rune) rune {
	if r == '\r' {
		return -1
	}
	if unicode.IsControl(r) && r != '\n' && r != '\t' {
		return '?'
	}
	return r
}
