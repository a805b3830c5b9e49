package ring

// The kernel's interface, as <linux/io_uring.h> has it since Linux 6.1.

const (
	sysSetup    = 425
	sysEnter    = 426
	sysRegister = 427
)

const (
	setupCQSize       = 1 << 3
	setupClamp        = 1 << 4
	setupSubmitAll    = 1 << 7
	setupSingleIssuer = 1 << 12
	setupDeferTaskrun = 1 << 13
	setupNoSQArray    = 1 << 16 // since 6.6
)

const (
	featSingleMmap = 1 << 0
	featNoDrop     = 1 << 1
	featExtArg     = 1 << 8
	featCQESkip    = 1 << 11
)

const (
	opPollAdd = 6
	opRecvMsg = 10
	opSend    = 26
	opRecv    = 27
)

const (
	sqeFixedFile    = 1 << 0
	sqeBufferSelect = 1 << 5
	sqeSkipSuccess  = 1 << 6

	recvPollFirst = 1 << 0
	recvMultishot = 1 << 1
	pollMulti     = 1 << 0

	cqeMore = 1 << 1
)

const (
	enterGetEvents  = 1 << 0
	enterExtArg     = 1 << 3
	enterRegistered = 1 << 4
)

const (
	registerFiles       = 2
	registerFilesUpdate = 6
	registerRingFDs     = 20
	unregisterRingFDs   = 21
	registerPbufRing    = 22
)

const (
	offsetRings = 0
	offsetSQEs  = 0x10000000
)

// params is struct io_uring_params.
type params struct {
	sqEntries, cqEntries, flags, cpu, idle, features, wqFD uint32
	_                                                      [3]uint32
	sq                                                     sqOffsets
	cq                                                     cqOffsets
}

type sqOffsets struct {
	head, tail, mask, entries, flags, dropped, array, _ uint32
	userAddr                                            uint64
}

type cqOffsets struct {
	head, tail, mask, entries, overflow, cqes, flags, _ uint32
	userAddr                                            uint64
}

// sqe is struct io_uring_sqe, 64 bytes.
type sqe struct {
	opcode, flags uint8
	ioprio        uint16
	fd            int32
	off, addr     uint64
	len, opFlags  uint32
	userData      uint64
	bufGroup      uint16
	personality   uint16
	fileIndex     uint32
	addr3         uint64
	_             uint64
}

// cqe is struct io_uring_cqe, 16 bytes.
type cqe struct {
	userData uint64
	res      int32
	flags    uint32
}

// pbuf is struct io_uring_buf. In entry 0 the last two fields also hold the
// ring's tail, in the upper half of the word that bid starts.
type pbuf struct {
	addr uint64
	len  uint32
	word uint32 // bid in the lower half
}

// pbufReg is struct io_uring_buf_reg.
type pbufReg struct {
	addr    uint64
	entries uint32
	group   uint16
	flags   uint16
	_       [3]uint64
}

// rsrcUpdate is struct io_uring_rsrc_update and io_uring_files_update.
type rsrcUpdate struct {
	offset uint32
	_      uint32
	data   uint64
}

// eventsArg is struct io_uring_getevents_arg; minWait came with 6.12.
type eventsArg struct {
	sigmask   uint64
	sigmaskSz uint32
	minWait   uint32 // microseconds
	timeout   uint64 // address of a timespec
}

type timespec struct{ sec, nsec int64 }
