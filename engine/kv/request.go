package kv

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"bakeoff/load/gen"
)

// A request is the bytes of one operation with places for what varies.
type request struct {
	pieces []piece
	keys   gen.Keys
	items  uint32 // values that the reply holds where nothing is missed
	most   int    // bytes of the longest request
}

// piece is what one place of a request holds.
type piece struct {
	op      pieceOp
	literal string  // of opLiteral
	layout  *layout // of opKey
	extra   int     // of opLength: bytes counted beside the data
	counted bool    // of opExpiry: its own length stands before it, as in RESP
	millis  bool    // of opExpiry: milliseconds; else seconds
}

type pieceOp uint8

const (
	opLiteral pieceOp = iota
	opNextKey         // the number of a key drawn now, with what is around it
	opSameKey         // the number of the key drawn last
	opLength          // how long the data is, in decimal
	opData
	opExpiry
)

// layout is a key's number with the fixed bytes around it. Those before it
// depend on how many digits the number has, since RESP counts bytes.
type layout struct {
	before [21]string // by the number of digits
	after  string
	blocks [21]block // the same, for copying; made by compile
}

// block is a whole key with zeros for its digits. Where it fits, copying all of
// it at once costs half of copying its parts.
type block struct {
	bytes [blockSize]byte
	after uint64 // the first eight bytes after the number
	at    uint8  // where the digits are
	size  uint8  // 0 where it does not fit
}

const blockSize = 64

// newLayout reads a text in which %k is the key's number; %n is the length of
// the argument that it stands in, of which own bytes are not the number.
func newLayout(form string, own int) *layout {
	before, after, _ := strings.Cut(form, "%k")
	l := &layout{after: after}
	for d := range l.before {
		l.before[d] = strings.ReplaceAll(before, "%n", fmt.Sprint(own+d))
	}
	return l
}

// compile makes the blocks, where they and their ends are short enough.
func (l *layout) compile() {
	var after [8]byte
	copy(after[:], l.after)
	for d := range l.blocks {
		l.blocks[d] = block{after: binary.LittleEndian.Uint64(after[:])}
		size := len(l.before[d]) + d + len(l.after)
		if size <= blockSize-8 && len(l.after) <= len(after) {
			l.blocks[d].at, l.blocks[d].size = uint8(len(l.before[d])), uint8(size)
			copy(l.blocks[d].bytes[:], l.before[d])
		}
	}
}

// most is how many bytes append needs room for.
func (l *layout) most() int { return len(l.before[20]) + 20 + len(l.after) + blockSize }

// append adds the bytes for one key. The caller made room. All stores have a
// fixed length, and those that are too long are written over by what follows.
func (l *layout) append(dst []byte, number uint64) []byte {
	d := digits(number)
	b := &l.blocks[d]
	if b.size == 0 || number >= 1e8 {
		return l.parts(dst, d, number)
	}
	n := len(dst)
	room := (*[blockSize]byte)(dst[n : n+blockSize])
	*room = b.bytes
	at := int(b.at & (blockSize - 1))
	binary.LittleEndian.PutUint64(dst[n+at:n+at+8], eightDigits(number)>>(64-8*uint(d)))
	binary.LittleEndian.PutUint64(dst[n+at+d:n+at+d+8], b.after)
	return dst[:n+int(b.size)]
}

// parts is append for what is too long for a block.
func (l *layout) parts(dst []byte, d int, number uint64) []byte {
	dst = append(dst, l.before[d]...)
	n := len(dst)
	putDecimal(dst[n:n+d], number)
	return append(dst[:n+d], l.after...)
}

// encoder appends one worker's requests to output buffers.
type encoder struct {
	first  uint64 // what a key's number starts from
	data   dataSpec
	expiry expiry
	random *gen.Rand // of expiries
	key    uint64    // the one drawn last, from 0
	log    *keyLog   // where the keys are noted for verification; nil without it
}

// append adds n requests to dst.
func (e *encoder) append(dst []byte, r *request, n uint32) []byte {
	dst = slices.Grow(dst, int(n)*r.most)
	if len(r.pieces) == 1 && r.pieces[0].op == opNextKey && e.log == nil {
		l := r.pieces[0].layout
		for range n {
			dst = l.append(dst, e.first+r.keys.Next())
		}
		return dst
	}
	for range n {
		for i := range r.pieces {
			dst = e.piece(dst, &r.pieces[i], r.keys)
		}
	}
	return dst
}

func (e *encoder) piece(dst []byte, p *piece, keys gen.Keys) []byte {
	switch p.op {
	case opLiteral:
		return append(dst, p.literal...)
	case opNextKey:
		e.key = keys.Next()
		if e.log != nil {
			e.log.push(e.key)
		}
		return p.layout.append(dst, e.first+e.key)
	case opSameKey:
		return p.layout.append(dst, e.first+e.key)
	case opLength:
		return appendDecimal(dst, uint64(e.data.size(e.key)+p.extra))
	case opData:
		n := e.data.size(e.key)
		dst = dst[:len(dst)+n]
		e.data.fill(dst[len(dst)-n:], e.key)
		return dst
	}
	return e.appendExpiry(dst, p)
}

func (e *encoder) appendExpiry(dst []byte, p *piece) []byte {
	unit := int64(1e9)
	if p.millis {
		unit = 1e6
	}
	low, high := uint64(int64(e.expiry.low)/unit), uint64(int64(e.expiry.high)/unit)
	v := low
	if high > low {
		v += e.random.Below(high - low + 1)
	}
	if p.counted {
		dst = append(dst, '$')
		dst = appendDecimal(dst, uint64(digits(v)))
		dst = append(dst, "\r\n"...)
	}
	return appendDecimal(dst, v)
}

// size is how long the value of a key is, always.
func (d *dataSpec) size(key uint64) int { return d.sizes.Of(0, key) }

// fill writes the value of a key.
func (d *dataSpec) fill(dst []byte, key uint64) {
	if d.random {
		gen.FillVerifiable(dst, key, 0)
		return
	}
	gen.FillConstant(dst, 'x')
}

// keyLog holds the keys that are asked for, in the order of the replies. It is a ring.
type keyLog struct {
	keys       []uint64 // a power of two of them
	head, tail uint64
	settled    uint64 // where the replies so far end
}

func newKeyLog(most int) *keyLog { return &keyLog{keys: make([]uint64, powerOfTwo(most))} }

func (l *keyLog) push(key uint64) {
	l.keys[l.tail&uint64(len(l.keys)-1)] = key
	l.tail++
}

func (l *keyLog) pop() (uint64, bool) {
	if l.head == l.tail {
		return 0, false
	}
	key := l.keys[l.head&uint64(len(l.keys)-1)]
	l.head++
	return key, true
}

// settle passes over the keys of one reply, whether it took them out or not.
func (l *keyLog) settle(n uint64) {
	l.settled += n
	l.head = l.settled
}

func (l *keyLog) clear() { l.head, l.settled = l.tail, l.tail }

func powerOfTwo(n int) int {
	p := 1
	for p < n {
		p *= 2
	}
	return p
}
