package ring

import (
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func newURing(l *Loop, cfg Config) (u *uring, err error) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		return nil, errors.New("the io_uring backend needs a little-endian machine")
	}
	u = &uring{l: l, fd: -1, wakeF: -1, raw: cfg.Raw, stamps: cfg.Stamps, discards: cfg.Discards, bufSize: cfg.BufferSize}
	u.msg.Controllen = controlSize
	defer func(made *uring) { // the result may be nil by then
		if err != nil {
			_ = made.close()
		}
	}(u)
	p, err := setup(cfg.Conns)
	if err != nil {
		return nil, err
	}
	u.fd = p.fd
	if err := u.mapRings(&p.params); err != nil {
		return nil, err
	}
	if err := u.registerFiles(len(l.conns)); err != nil {
		return nil, err
	}
	if err := u.registerBuffers(cfg.Buffers); err != nil {
		return nil, err
	}
	u.registerSelf()
	if u.wakeF, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return nil, fmt.Errorf("making an eventfd: %w", err)
	}
	return u, u.armWake()
}

type made struct {
	fd     int
	params params
}

// setup makes the ring, without the SQ array where the kernel can.
func setup(conns int) (made, error) {
	entries := min(pow2(2*conns), 4096)
	flags := uint32(setupSingleIssuer | setupDeferTaskrun | setupCQSize | setupClamp | setupSubmitAll)
	for _, more := range []uint32{setupNoSQArray, 0} {
		m := made{params: params{flags: flags | more, cqEntries: uint32(4 * entries)}}
		fd, _, errno := syscall.Syscall(sysSetup, uintptr(entries), uintptr(unsafe.Pointer(&m.params)), 0)
		if errno == syscall.EINVAL && more != 0 {
			continue
		}
		if errno != 0 {
			return m, whyNot(errno)
		}
		m.fd = int(fd)
		unix.CloseOnExec(m.fd)
		if need := uint32(featSingleMmap | featNoDrop | featExtArg | featCQESkip); m.params.features&need != need {
			unix.Close(m.fd)
			return m, errors.New("the kernel's io_uring lacks features of Linux 6.1")
		}
		return m, nil
	}
	return made{}, errors.New("the kernel's io_uring is older than Linux 6.1")
}

func (u *uring) mapRings(p *params) (err error) {
	const prot, flags = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_SHARED | unix.MAP_POPULATE
	size := p.cq.cqes + p.cqEntries*uint32(unsafe.Sizeof(cqe{}))
	withArray := p.flags&setupNoSQArray == 0
	if withArray {
		size = max(size, p.sq.array+4*p.sqEntries)
	}
	if u.rings, err = unix.Mmap(u.fd, offsetRings, int(size), prot, flags); err != nil {
		return fmt.Errorf("mapping the rings: %w", err)
	}
	if u.sqeMem, err = unix.Mmap(u.fd, offsetSQEs, int(p.sqEntries)*int(unsafe.Sizeof(sqe{})), prot, flags); err != nil {
		return fmt.Errorf("mapping the submission entries: %w", err)
	}
	u.sqes = unsafe.Slice((*sqe)(unsafe.Pointer(&u.sqeMem[0])), p.sqEntries)
	u.cqes = unsafe.Slice((*cqe)(unsafe.Pointer(&u.rings[p.cq.cqes])), p.cqEntries)
	u.owners = make([]*Conn, p.sqEntries)
	u.sqTail = u.word(p.sq.tail)
	u.cqHead, u.cqTail = u.word(p.cq.head), u.word(p.cq.tail)
	if withArray {
		array := unsafe.Slice(u.word(p.sq.array), p.sqEntries)
		for i := range array {
			array[i] = uint32(i)
		}
	}
	return nil
}

func (u *uring) word(offset uint32) *uint32 {
	return (*uint32)(unsafe.Pointer(&u.rings[offset]))
}

func (u *uring) register(op uintptr, arg unsafe.Pointer, n int) (int, error) {
	r, _, errno := syscall.Syscall6(sysRegister, uintptr(u.fd), op, uintptr(arg), uintptr(n), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(r), nil
}

func (u *uring) registerFiles(slots int) error {
	fds := make([]int32, slots)
	for i := range fds {
		fds[i] = -1
	}
	if _, err := u.register(registerFiles, unsafe.Pointer(&fds[0]), len(fds)); err != nil {
		return fmt.Errorf("registering %d files: %w", slots, err)
	}
	return nil
}

// registerBuffers makes the receive buffers. They are used in turn, so more of
// them than a round of the loop needs would only miss the cache. A shortage
// costs no data: the receive that found none is armed again.
func (u *uring) registerBuffers(n int) (err error) {
	const prot, flags = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_PRIVATE | unix.MAP_ANON | unix.MAP_POPULATE
	if u.pbufMem, err = unix.Mmap(-1, 0, n*int(unsafe.Sizeof(pbuf{})), prot, flags); err != nil {
		return fmt.Errorf("mapping the buffer ring: %w", err)
	}
	if u.bufMem, err = unix.Mmap(-1, 0, n*u.bufSize, prot, flags); err != nil {
		return fmt.Errorf("mapping %d receive buffers of %d bytes: %w", n, u.bufSize, err)
	}
	if u.discards {
		if u.scratch, err = unix.Mmap(-1, 0, maxDiscard, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON); err != nil {
			return fmt.Errorf("mapping %d bytes to throw away to: %w", maxDiscard, err)
		}
	}
	u.pbufs = unsafe.Slice((*pbuf)(unsafe.Pointer(&u.pbufMem[0])), n)
	reg := pbufReg{addr: uint64(uintptr(unsafe.Pointer(&u.pbufMem[0]))), entries: uint32(n)}
	if _, err = u.register(registerPbufRing, unsafe.Pointer(&reg), 1); err != nil {
		return fmt.Errorf("registering the buffer ring: %w", err)
	}
	u.lent = make([]uint16, 0, n)
	for i := range n {
		u.lent = append(u.lent, uint16(i))
	}
	u.recycle()
	return nil
}

// registerSelf registers the ring with this thread, which saves a reference
// count an enter. Where that fails, the plain descriptor does.
func (u *uring) registerSelf() {
	up := rsrcUpdate{offset: ^uint32(0), data: uint64(u.fd)}
	u.efd, u.flags = u.fd, enterGetEvents|enterExtArg
	if _, err := u.register(registerRingFDs, unsafe.Pointer(&up), 1); err == nil {
		u.efd, u.flags, u.tid = int(up.offset), u.flags|enterRegistered, unix.Gettid()
	}
}

func (u *uring) wake() error { return wakeUp(u.wakeF) }

func (u *uring) close() error {
	if u.tid != 0 && u.tid == unix.Gettid() {
		up := rsrcUpdate{offset: uint32(u.efd)}
		_, _ = u.register(unregisterRingFDs, unsafe.Pointer(&up), 1)
	}
	var errs []error
	for _, fd := range []int{u.wakeF, u.fd} {
		if fd >= 0 {
			errs = append(errs, unix.Close(fd))
		}
	}
	for _, m := range [][]byte{u.rings, u.sqeMem, u.pbufMem, u.bufMem, u.scratch} {
		if m != nil {
			errs = append(errs, unix.Munmap(m))
		}
	}
	return errors.Join(errs...)
}
