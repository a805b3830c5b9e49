package flow

import "encoding/binary"

// Format is how a datagram carries its number and the time when it was sent:
// in the way of this package, or in iperf3's.
type Format struct {
	IPerf bool   // seconds, microseconds and a number from 1, big endian
	Wide  bool   // with IPerf: a number of 64 bits in place of 32
	Key   uint64 // otherwise: what every datagram of the measurement begins with
}

// HeaderSize is the least size of a datagram, in bytes.
func (f Format) HeaderSize() int {
	switch {
	case !f.IPerf:
		return 24
	case f.Wide:
		return 16
	}
	return 12
}

// put writes the header of the datagram of a number, from 0, sent at a time in
// nanoseconds.
func (f Format) put(b []byte, number uint64, now int64) {
	if !f.IPerf {
		_ = b[23]
		binary.LittleEndian.PutUint64(b, f.Key)
		binary.LittleEndian.PutUint64(b[8:], number)
		binary.LittleEndian.PutUint64(b[16:], uint64(now))
		return
	}
	_ = b[11]
	binary.BigEndian.PutUint32(b, uint32(now/1e9))
	binary.BigEndian.PutUint32(b[4:], uint32(now%1e9/1000))
	if f.Wide {
		binary.BigEndian.PutUint64(b[8:], number+1)
		return
	}
	binary.BigEndian.PutUint32(b[8:], uint32(number+1))
}

// maxJump is how far a number may be beyond the highest one seen: what is
// further away is garbage, not loss.
const maxJump = 1 << 40

// get reads what put wrote. It refuses what is too short, has another key, or
// a number that cannot be.
func (f Format) get(b []byte, next uint64) (number uint64, sent int64, ok bool) {
	if len(b) < f.HeaderSize() {
		return 0, 0, false
	}
	if !f.IPerf {
		number = binary.LittleEndian.Uint64(b[8:])
		ok = binary.LittleEndian.Uint64(b) == f.Key && number < next+maxJump
		return number, int64(binary.LittleEndian.Uint64(b[16:])), ok
	}
	sent = int64(binary.BigEndian.Uint32(b))*1e9 + int64(binary.BigEndian.Uint32(b[4:]))*1000
	if f.Wide {
		number = binary.BigEndian.Uint64(b[8:]) - 1
	} else {
		number = uint64(binary.BigEndian.Uint32(b[8:])) - 1
	}
	return number, sent, number < next+maxJump
}
