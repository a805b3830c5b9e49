package flow

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

// headerOf is the control message header that a buffer begins with. The caller
// has checked that there is one.
func headerOf(b []byte) *unix.Cmsghdr { return (*unix.Cmsghdr)(unsafe.Pointer(&b[0])) }

func int32At(b []byte) int32 { return int32(binary.NativeEndian.Uint32(b)) }

// advance is a pointer n bytes on, inside of the same buffer.
func advance(b *byte, n int) *byte { return (*byte)(unsafe.Add(unsafe.Pointer(b), n)) }
