package kv

import (
	"bytes"
	"fmt"
	"strconv"
)

// checker compares the values that come back with what their keys must hold.
type checker struct {
	data   dataSpec
	prefix string
	first  uint64
	log    *keyLog // the keys that were asked for, where replies do not name them
	want   []byte
	at     int
	key    uint64
	bad    error // the first fault since it was looked at
}

// begin starts the value of the key that is next in the log.
func (c *checker) begin(n int) {
	key, ok := c.log.pop()
	if !ok {
		c.fault(fmt.Errorf("found a value of %d bytes, expected none", n))
		c.want = c.want[:0]
		return
	}
	c.expect(key, n)
}

// beginKey starts the value of a key that the server names.
func (c *checker) beginKey(name []byte, n int) {
	number, ok := bytes.CutPrefix(name, []byte(c.prefix))
	v, err := strconv.ParseUint(string(number), 10, 64)
	if !ok || err != nil || v < c.first {
		c.fault(fmt.Errorf("found a value of key %s, which was not asked for", quoted(name)))
		c.want = c.want[:0]
		return
	}
	c.expect(v-c.first, n)
}

// skip passes over the next key, which was missed.
func (c *checker) skip() { _, _ = c.log.pop() }

func (c *checker) expect(key uint64, n int) {
	c.key, c.at = key, 0
	size := c.data.size(key)
	if n != size {
		c.fault(fmt.Errorf("value of key %s%d: found %d bytes, expected %d", c.prefix, c.first+key, n, size))
		size = 0
	}
	if cap(c.want) < size {
		c.want = make([]byte, size)
	}
	c.want = c.want[:size]
	c.data.fill(c.want, key)
}

// add compares the next bytes of the value.
func (c *checker) add(b []byte) {
	n := min(len(b), len(c.want)-c.at)
	if n > 0 && !bytes.Equal(b[:n], c.want[c.at:c.at+n]) {
		c.fault(fmt.Errorf("value of key %s%d differs from what was set, between bytes %d and %d", c.prefix, c.first+c.key, c.at, c.at+n))
	}
	c.at += len(b)
}

func (c *checker) fault(err error) {
	if c.bad == nil {
		c.bad = err
	}
}

// take returns the fault found since the last take.
func (c *checker) take() error {
	err := c.bad
	c.bad = nil
	return err
}
