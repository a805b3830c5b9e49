package server

import (
	"context"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"bakeoff/internal/osenv"
)

// databases is how many Redis has by default.
const databases = 16

// store holds all data.
type store struct {
	dbs      [databases]*database
	seed     maphash.Seed
	limit    int64 // bytes; 0: none
	used     atomic.Int64
	expiring atomic.Bool // a key with a time to live was ever set
	expired  atomic.Uint64
}

// shards is how many parts a database has, each behind a lock of its own.
const shards = 256

type database struct {
	store *store
	parts [shards]shard
}

type shard struct {
	mu   sync.Mutex
	keys map[string]*entry
	_    [64 - 16]byte // two locks must not share a cache line
}

type entry struct {
	value   []byte
	expires int64 // Unix milliseconds; 0: never
}

// entryBytes is what a key costs beside itself and its value, roughly.
const entryBytes = 96

func newStore(limit int64) *store {
	s := &store{seed: maphash.MakeSeed(), limit: limit}
	for i := range s.dbs {
		s.dbs[i] = &database{store: s}
	}
	return s
}

func (s *store) database(i int) *database { return s.dbs[i] }

func (d *database) shard(key []byte) *shard {
	return &d.parts[maphash.Bytes(d.store.seed, key)%shards]
}

// find returns a key's entry, nil where there is none. The lock is held.
func (d *database) find(s *shard, key []byte, now int64) *entry {
	e := s.keys[string(key)]
	if e == nil {
		return nil
	}
	if e.expires != 0 && e.expires <= now {
		d.drop(s, string(key), e)
		d.store.expired.Add(1)
		return nil
	}
	return e
}

func (d *database) drop(s *shard, key string, e *entry) {
	delete(s.keys, key)
	d.store.used.Add(-int64(len(key) + cap(e.value) + entryBytes))
}

// read calls f with a key's value, under the lock, and reports whether there is one.
func (d *database) read(key []byte, now int64, f func(e *entry)) bool {
	s := d.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := d.find(s, key, now)
	if e == nil {
		return false
	}
	f(e)
	return true
}

// appendValue appends what before makes of the value's length, the value and a
// line end to dst. It is the hot path, so it has no function to call.
func (d *database) appendBulk(dst, key []byte, now int64) ([]byte, bool) {
	s := d.shard(key)
	s.mu.Lock()
	e := d.find(s, key, now)
	if e == nil {
		s.mu.Unlock()
		return dst, false
	}
	dst = appendBulk(dst, e.value)
	s.mu.Unlock()
	return dst, true
}

// outcome says what became of a write.
type outcome int

const (
	stored outcome = iota
	unmet          // its condition did not hold
	full           // it would exceed the memory limit
)

// condition is what a write asks for: that the key is there, or is not.
type condition int

const (
	always condition = iota
	absent
	present
)

// set stores a copy of a value. A value that fits is written in place.
func (d *database) set(key, value []byte, expires, now int64, when condition) outcome {
	if expires != 0 && !d.store.expiring.Load() {
		d.store.expiring.Store(true)
	}
	s := d.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := d.find(s, key, now)
	if when == absent && e != nil || when == present && e == nil {
		return unmet
	}
	if e != nil && cap(e.value) >= len(value) && cap(e.value) <= 2*len(value)+32 {
		e.value = append(e.value[:0], value...)
		e.expires = expires
		return stored
	}
	more := int64(len(value))
	if e == nil {
		more += int64(len(key)) + entryBytes
	} else {
		more -= int64(cap(e.value))
	}
	if d.store.limit > 0 && d.store.used.Load()+more > d.store.limit {
		return full
	}
	d.store.used.Add(more)
	fresh := make([]byte, len(value))
	copy(fresh, value)
	if e != nil {
		e.value, e.expires = fresh, expires
		return stored
	}
	if s.keys == nil {
		s.keys = map[string]*entry{}
	}
	s.keys[string(key)] = &entry{fresh, expires}
	return stored
}

// remove deletes a key and reports whether it was there.
func (d *database) remove(key []byte, now int64) bool {
	s := d.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	e := d.find(s, key, now)
	if e == nil {
		return false
	}
	d.drop(s, string(key), e)
	return true
}

// size counts the keys, those included that have expired and were not looked at since.
func (d *database) size() (n int) {
	for i := range d.parts {
		s := &d.parts[i]
		s.mu.Lock()
		n += len(s.keys)
		s.mu.Unlock()
	}
	return n
}

// flush deletes all keys.
func (d *database) flush() {
	for i := range d.parts {
		s := &d.parts[i]
		s.mu.Lock()
		for key, e := range s.keys {
			d.drop(s, key, e)
		}
		s.keys = nil
		s.mu.Unlock()
	}
}

// sweepInterval is how often expired keys that nobody asks for are looked for.
const sweepInterval = time.Second

// sweep deletes expired keys until ctx is done.
func (s *store) sweep(ctx context.Context, clock osenv.Clock) {
	for clock.Sleep(ctx, sweepInterval) == nil {
		if !s.expiring.Load() {
			continue
		}
		now := clock.Now().UnixMilli()
		for _, d := range s.dbs {
			for i := range d.parts {
				d.sweepShard(&d.parts[i], now)
			}
		}
	}
}

func (d *database) sweepShard(s *shard, now int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, e := range s.keys {
		if e.expires != 0 && e.expires <= now {
			d.drop(s, key, e)
			d.store.expired.Add(1)
		}
	}
}
