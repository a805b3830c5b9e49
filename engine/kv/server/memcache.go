package server

import (
	"bytes"
	"fmt"
	"strconv"
)

// The part of memcached's text and meta protocols (its doc/protocol.txt) that
// loads use: get, gets, set, delete, mg, ms, mn, flush_all, stats, version, quit.

// maxKey is memcached's.
const maxKey = 250

// memcache does the first request in b and returns its length, 0 where it is
// not complete.
func (t *thread) memcache(c *client, b []byte) int {
	i := bytes.IndexByte(b, '\n')
	if i < 0 {
		if len(b) > maxInline {
			t.fail(c, "CLIENT_ERROR line too long")
		}
		return 0
	}
	line := bytes.TrimSuffix(b[:i], []byte("\r"))
	c.args = append(c.args[:0], bytes.Fields(line)...)
	if len(c.args) == 0 {
		c.out("ERROR\r\n")
		return i + 1
	}
	switch string(c.args[0]) {
	case "set", "ms":
		n := t.memcacheStore(c, b[i+1:])
		if n < 0 {
			return 0
		}
		t.counts.commands++
		return i + 1 + n
	}
	t.counts.commands++
	t.memcacheLine(c)
	return i + 1
}

// memcacheLine does a request of one line.
func (t *thread) memcacheLine(c *client) {
	name, keys := string(c.args[0]), c.args[1:]
	switch {
	case name == "mn":
		c.out("MN\r\n")
	case name == "version":
		c.out("VERSION bakeoff-" + serverVersion + "\r\n")
	case name == "flush_all":
		c.db.flush()
		c.out("OK\r\n")
	case name == "stats":
		t.memcacheStats(c)
	case name == "quit":
		c.leaving = true
	case len(keys) == 0 || len(keys[0]) > maxKey:
		c.out("ERROR\r\n")
	case name == "get" || name == "gets":
		for _, key := range keys {
			t.value(c, key, func(e *entry) { c.out(fmt.Sprintf("VALUE %s 0 %d\r\n", key, len(e.value))) })
		}
		c.out("END\r\n")
	case name == "mg":
		t.metaGet(c, keys[0], keys[1:])
	case name == "delete":
		c.out(map[bool]string{true: "DELETED\r\n", false: "NOT_FOUND\r\n"}[c.db.remove(keys[0], t.now)])
	default:
		c.out("ERROR\r\n")
	}
}

// value appends what head says and the value of a key.
func (t *thread) value(c *client, key []byte, head func(e *entry)) bool {
	found := c.db.read(key, t.now, func(e *entry) {
		head(e)
		c.conn.Out = append(append(c.conn.Out, e.value...), "\r\n"...)
	})
	if found {
		t.counts.hits++
	} else {
		t.counts.misses++
	}
	return found
}

// metaGet does mg <key> <flags>*: v asks for the value, q leaves out a miss, k
// and s and O give back the key, the size and an opaque token.
func (t *thread) metaGet(c *client, key []byte, flags [][]byte) {
	quiet, wants := false, false
	var back []byte
	for _, f := range flags {
		switch f[0] {
		case 'q':
			quiet = true
		case 'v':
			wants = true
		case 'k':
			back = append(append(back, " k"...), key...)
		case 'O':
			back = append(append(back, ' '), f...)
		}
	}
	if !wants {
		if c.db.read(key, t.now, func(*entry) {}) {
			c.out("HD" + string(back) + "\r\n")
		} else if !quiet {
			c.out("EN\r\n")
		}
		return
	}
	found := t.value(c, key, func(e *entry) {
		c.conn.Out = append(c.conn.Out, "VA "...)
		c.conn.Out = strconv.AppendInt(c.conn.Out, int64(len(e.value)), 10)
		c.conn.Out = append(append(c.conn.Out, back...), "\r\n"...)
	})
	if !found && !quiet {
		c.out("EN\r\n")
	}
}

// memcacheStore does set <key> <flags> <exptime> <bytes> [noreply] and ms <key>
// <bytes> <flags>*. It returns how much of the data it used, -1 where that is
// not complete.
func (t *thread) memcacheStore(c *client, data []byte) int {
	r, ok := readStore(c.args)
	if !ok || r.size < 0 || r.size > maxBulk || len(r.key) > maxKey {
		t.fail(c, "CLIENT_ERROR bad command line format")
		return len(data)
	}
	if len(data) < r.size+2 {
		return -1
	}
	if !bytes.Equal(data[r.size:r.size+2], []byte("\r\n")) {
		t.fail(c, "CLIENT_ERROR bad data chunk")
		return len(data)
	}
	expires := int64(0)
	if r.seconds > 0 {
		expires = t.s.cfg.Clock.Now().UnixMilli() + 1000*r.seconds
	}
	switch done := c.db.set(r.key, data[:r.size], expires, t.clock(expires), always); {
	case done == full:
		c.out("SERVER_ERROR out of memory storing object\r\n")
	case r.quiet:
	case r.meta:
		c.out("HD\r\n")
	default:
		c.out("STORED\r\n")
	}
	return r.size + 2
}

// store is a request to store.
type storeRequest struct {
	key     []byte
	size    int
	seconds int64 // to live; 0: for ever
	quiet   bool
	meta    bool
}

func readStore(args [][]byte) (r storeRequest, ok bool) {
	r.meta = string(args[0]) == "ms"
	least, size := 5, 4
	if r.meta {
		least, size = 3, 2
	}
	if len(args) < least {
		return r, false
	}
	r.key = args[1]
	n, err := strconv.Atoi(string(args[size]))
	if r.size = n; err != nil {
		return r, false
	}
	if !r.meta {
		r.seconds, err = strconv.ParseInt(string(args[3]), 10, 40)
		r.quiet = len(args) > 5 && string(args[5]) == "noreply"
		return r, err == nil
	}
	for _, f := range args[3:] {
		switch f[0] {
		case 'q':
			r.quiet = true
		case 'T':
			if r.seconds, err = strconv.ParseInt(string(f[1:]), 10, 40); err != nil {
				return r, false
			}
		}
	}
	return r, true
}

func (t *thread) memcacheStats(c *client) {
	t.tell()
	n, clients := t.s.sums()
	user, system := cpuSeconds()
	for _, s := range []struct {
		name  string
		value any
	}{
		{"get_hits", n.hits}, {"get_misses", n.misses}, {"cmd_get", n.hits + n.misses}, {"curr_items", c.db.size()},
		{"bytes", t.s.store.used.Load()}, {"curr_connections", clients}, {"evictions", 0},
		{"rusage_user", fmt.Sprintf("%.6f", user)}, {"rusage_system", fmt.Sprintf("%.6f", system)},
	} {
		c.out(fmt.Sprintf("STAT %s %v\r\n", s.name, s.value))
	}
	c.out("END\r\n")
}
