package socket

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Info is what the kernel knows of a TCP connection (TCP_INFO, tcp(7)), as far
// as a measurement wants it.
type Info struct {
	Retransmits   uint64 `json:"retransmits"`    // segments, since the connection began
	BytesRetrans  uint64 `json:"bytes_retrans"`  // bytes, likewise
	RTT           int64  `json:"rtt_ns"`         // smoothed, RFC 6298
	RTTVar        int64  `json:"rtt_var_ns"`     // its mean deviation
	MinRTT        int64  `json:"min_rtt_ns"`     // least seen
	Window        uint64 `json:"cwnd_bytes"`     // congestion window
	Threshold     uint64 `json:"ssthresh_bytes"` // slow start threshold; 0 where there is none
	DeliveryRate  uint64 `json:"delivery_rate"`  // bytes a second, the kernel's latest estimate
	PathMTU       int    `json:"pmtu"`           // bytes
	SegmentSize   int    `json:"snd_mss"`        // bytes
	Reordering    uint64 `json:"reord_seen"`     // reorderings that the sender saw
	ReceiveWindow uint64 `json:"snd_wnd"`        // bytes, the peer's
}

// infinite is what the kernel has for a threshold that was never set.
const infinite = 0x7fffffff

// ReadInfo reads a connection's.
func ReadInfo(fd int) (Info, error) {
	t, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return Info{}, fmt.Errorf("reading TCP_INFO: %w", err)
	}
	i := Info{
		Retransmits: uint64(t.Total_retrans), BytesRetrans: t.Bytes_retrans,
		RTT: int64(t.Rtt) * 1000, RTTVar: int64(t.Rttvar) * 1000, MinRTT: int64(t.Min_rtt) * 1000,
		Window: uint64(t.Snd_cwnd) * uint64(t.Snd_mss), DeliveryRate: t.Delivery_rate,
		PathMTU: int(t.Pmtu), SegmentSize: int(t.Snd_mss), Reordering: uint64(t.Reord_seen), ReceiveWindow: uint64(t.Snd_wnd),
	}
	if t.Snd_ssthresh < infinite {
		i.Threshold = uint64(t.Snd_ssthresh) * uint64(t.Snd_mss)
	}
	return i, nil
}

// Drops reads how many datagrams a socket had no room for (SO_MEMINFO,
// SK_MEMINFO_DROPS of linux/sock_diag.h).
func Drops(fd int) uint64 {
	var m [9]uint32
	size := uint32(unsafe.Sizeof(m))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_MEMINFO, uintptr(unsafe.Pointer(&m)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 || size < uint32(unsafe.Sizeof(m)) {
		return 0
	}
	return uint64(m[8])
}

// PathMTU is what the kernel knows of the path of a connected socket, in bytes;
// 0 where it does not.
func PathMTU(fd int, six bool) int {
	level, name := unix.IPPROTO_IP, unix.IP_MTU
	if six {
		level, name = unix.IPPROTO_IPV6, unix.IPV6_MTU
	}
	n, err := unix.GetsockoptInt(fd, level, name)
	if err != nil {
		return 0
	}
	return n
}
