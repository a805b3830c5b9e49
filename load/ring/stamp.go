package ring

import (
	"encoding/binary"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Receive timestamps: SO_TIMESTAMPING and its control message
// (Documentation/networking/timestamping.rst).

const (
	scmTimestamping = 37 // SO_TIMESTAMPING_OLD
	rxSoftware      = 1 << 3
	software        = 1 << 4

	// controlSize holds one control message: its header and three timespecs, of
	// which the first is the kernel's own.
	controlSize   = unix.SizeofCmsghdr + 3*16
	recvMsgHeader = 16 // struct io_uring_recvmsg_out
)

// stampReceives asks for stamps. A socket that has none goes without.
func stampReceives(fd int) {
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPING, rxSoftware|software)
}

// unpack splits what a multishot receive of a message put into a buffer:
// lengths, room for control messages, data.
func unpack(b []byte) (data []byte, stamp int64) {
	if len(b) < recvMsgHeader+controlSize {
		return nil, 0
	}
	control := min(int(binary.NativeEndian.Uint32(b[4:])), controlSize)
	stamp = stampOf(b[recvMsgHeader : recvMsgHeader+control])
	return b[recvMsgHeader+controlSize:], stamp
}

// stampOf reads the stamp out of control messages, in nanoseconds of Unix time.
func stampOf(control []byte) int64 {
	if len(control) < controlSize {
		return 0
	}
	level, kind := binary.NativeEndian.Uint32(control[8:]), binary.NativeEndian.Uint32(control[12:])
	if level != unix.SOL_SOCKET || kind != scmTimestamping {
		return 0
	}
	return int64(binary.NativeEndian.Uint64(control[16:]))*1e9 + int64(binary.NativeEndian.Uint64(control[24:]))
}

// inbox receives with a stamp by recvmsg(2).
type inbox struct {
	msg     unix.Msghdr
	iov     unix.Iovec
	control [controlSize]byte
}

func (in *inbox) recv(fd int, b []byte) (int, int64, syscall.Errno) {
	in.iov.Base, in.iov.Len = &b[0], uint64(len(b))
	in.msg = unix.Msghdr{Iov: &in.iov, Iovlen: 1, Control: &in.control[0], Controllen: controlSize}
	n, _, errno := syscall.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&in.msg)), unix.MSG_DONTWAIT)
	if errno != 0 {
		return 0, 0, errno
	}
	return int(n), stampOf(in.control[:min(int(in.msg.Controllen), controlSize)]), 0
}
