package server

import (
	"bytes"
	"crypto/subtle"
	"fmt"
	"strconv"
	"strings"
)

// known is a command that the server has.
type known struct {
	least, most int  // arguments, the name included; most 0: any number
	open        bool // it needs no authentication
	run         func(*thread, *client)
}

// commands are all that the server has, read only.
var commands = map[string]known{
	"GET":      {2, 2, false, func(t *thread, c *client) { t.get(c, c.args[1]) }},
	"SET":      {3, 0, false, (*thread).set},
	"MGET":     {2, 0, false, (*thread).mget},
	"MSET":     {3, 0, false, (*thread).mset},
	"DEL":      {2, 0, false, (*thread).del},
	"UNLINK":   {2, 0, false, (*thread).del},
	"EXISTS":   {2, 0, false, (*thread).exists},
	"TTL":      {2, 2, false, func(t *thread, c *client) { t.ttl(c, 1000) }},
	"PTTL":     {2, 2, false, func(t *thread, c *client) { t.ttl(c, 1) }},
	"PING":     {1, 2, false, (*thread).ping},
	"ECHO":     {2, 2, false, (*thread).ping},
	"AUTH":     {2, 3, true, (*thread).auth},
	"HELLO":    {1, 0, true, (*thread).hello},
	"SELECT":   {2, 2, false, (*thread).selectDB},
	"DBSIZE":   {1, 1, false, func(_ *thread, c *client) { c.number(int64(c.db.size())) }},
	"FLUSHDB":  {1, 2, false, (*thread).flushDB},
	"FLUSHALL": {1, 2, false, (*thread).flushAll},
	"INFO":     {1, 0, false, (*thread).info},
	"COMMAND":  {1, 0, false, func(_ *thread, c *client) { c.out("*0\r\n") }},
	"CLIENT":   {2, 0, false, func(_ *thread, c *client) { c.out("+OK\r\n") }},
	"QUIT":     {1, 1, true, (*thread).quit},
}

// command does the command in c.args and appends its answer.
func (t *thread) command(c *client) {
	name := c.args[0]
	if len(name) == 3 && len(c.args) == 2 && c.allowed && name[0]|0x20 == 'g' && name[1]|0x20 == 'e' && name[2]|0x20 == 't' {
		t.get(c, c.args[1]) // most of what is asked
		return
	}
	var upper [16]byte
	n := 0
	for n < len(name) && n < len(upper) {
		upper[n] = name[n]
		if 'a' <= upper[n] && upper[n] <= 'z' {
			upper[n] -= 'a' - 'A'
		}
		n++
	}
	do, ok := commands[string(upper[:n])]
	switch {
	case !ok || n < len(name):
		c.err(fmt.Sprintf("ERR unknown command '%.64s': the embedded server has only what loads need", name))
	case len(c.args) < do.least || do.most > 0 && len(c.args) > do.most:
		c.err(fmt.Sprintf("ERR wrong number of arguments for '%s' command", bytes.ToLower(name)))
	case !c.allowed && !do.open:
		c.err("NOAUTH Authentication required.")
	default:
		do.run(t, c)
	}
}

func (c *client) out(s string)            { c.conn.Out = append(c.conn.Out, s...) }
func (c *client) number(n int64)          { c.conn.Out = appendNumber(c.conn.Out, ':', n) }
func (c *client) bulk(b []byte)           { c.conn.Out = appendBulk(c.conn.Out, b) }
func (c *client) header(sign byte, n int) { c.conn.Out = appendNumber(c.conn.Out, sign, int64(n)) }
func (c *client) err(text string) {
	c.out("-" + strings.NewReplacer("\r", " ", "\n", " ").Replace(text) + "\r\n")
}
func (c *client) nothing()          { c.out(map[bool]string{false: "$-1\r\n", true: "_\r\n"}[c.version3]) }
func (t *thread) quit(c *client)    { c.out("+OK\r\n"); c.leaving = true }
func (t *thread) flushDB(c *client) { c.db.flush(); c.out("+OK\r\n") }

func (t *thread) get(c *client, key []byte) {
	var found bool
	if c.conn.Out, found = c.db.appendBulk(c.conn.Out, key, t.now); found {
		t.counts.hits++
		return
	}
	t.counts.misses++
	c.nothing()
}

func (t *thread) mget(c *client) {
	c.header('*', len(c.args)-1)
	for _, key := range c.args[1:] {
		t.get(c, key)
	}
}

func (t *thread) set(c *client) {
	expires, when, fault := t.setOptions(c.args[3:])
	if fault != "" {
		c.err(fault)
		return
	}
	switch c.db.set(c.args[1], c.args[2], expires, t.clock(expires), when) {
	case stored:
		c.out("+OK\r\n")
	case unmet:
		c.nothing()
	case full:
		c.err(outOfMemory)
	}
}

const outOfMemory = "OOM command not allowed when used memory > 'maxmemory'."

// setOptions reads EX, PX, NX and XX.
func (t *thread) setOptions(args [][]byte) (expires int64, when condition, fault string) {
	for i := 0; i < len(args); i++ {
		switch option := strings.ToUpper(string(args[i])); {
		case option == "NX":
			when = absent
		case option == "XX":
			when = present
		case (option == "EX" || option == "PX") && i+1 < len(args):
			i++
			n, err := strconv.ParseInt(string(args[i]), 10, 48)
			if err != nil || n <= 0 {
				return 0, always, "ERR invalid expire time in 'set' command"
			}
			if option == "EX" {
				n *= 1000
			}
			expires = t.s.cfg.Clock.Now().UnixMilli() + n
		default:
			return 0, always, "ERR syntax error"
		}
	}
	return expires, when, ""
}

// clock returns the time for a write, which the round has read only where
// something expired before.
func (t *thread) clock(expires int64) int64 {
	if t.now == 0 && expires != 0 {
		t.now = t.s.cfg.Clock.Now().UnixMilli()
	}
	return t.now
}

func (t *thread) mset(c *client) {
	if len(c.args)%2 == 0 {
		c.err("ERR wrong number of arguments for 'mset' command")
		return
	}
	for i := 1; i < len(c.args); i += 2 {
		if c.db.set(c.args[i], c.args[i+1], 0, t.now, always) == full {
			c.err(outOfMemory)
			return
		}
	}
	c.out("+OK\r\n")
}

func (t *thread) del(c *client) {
	n := int64(0)
	for _, key := range c.args[1:] {
		if c.db.remove(key, t.now) {
			n++
		}
	}
	c.number(n)
}

func (t *thread) exists(c *client) {
	n := int64(0)
	for _, key := range c.args[1:] {
		if c.db.read(key, t.now, func(*entry) {}) {
			n++
		}
	}
	c.number(n)
}

// ttl answers with a key's time to live in units of so many milliseconds.
func (t *thread) ttl(c *client, unit int64) {
	left := int64(-2)
	c.db.read(c.args[1], t.now, func(e *entry) {
		left = -1
		if e.expires != 0 {
			left = (e.expires - t.now + unit/2) / unit
		}
	})
	c.number(left)
}

func (t *thread) ping(c *client) {
	if len(c.args) == 1 {
		c.out("+PONG\r\n")
		return
	}
	c.bulk(c.args[1])
}

func (t *thread) auth(c *client) {
	if t.s.cfg.Password == "" {
		c.err("ERR AUTH called without any password configured: the embedded server has none")
		return
	}
	if t.login(c, c.args[1:]) {
		c.out("+OK\r\n")
	}
}

// login checks [user] password. The only user is default.
func (t *thread) login(c *client, args [][]byte) bool {
	user, password := []byte("default"), args[len(args)-1]
	if len(args) > 1 {
		user = args[0]
	}
	c.allowed = string(user) == "default" && subtle.ConstantTimeCompare(password, []byte(t.s.cfg.Password)) == 1
	if !c.allowed {
		c.err("WRONGPASS invalid username-password pair or user is disabled.")
	}
	return c.allowed
}

// hello switches the protocol: HELLO [2|3 [AUTH user password] [SETNAME name]].
func (t *thread) hello(c *client) {
	if len(c.args) > 1 {
		v := string(c.args[1])
		if v != "2" && v != "3" {
			c.err("NOPROTO unsupported protocol version")
			return
		}
		if len(c.args) >= 5 && strings.EqualFold(string(c.args[2]), "AUTH") && !t.login(c, c.args[3:5]) {
			return
		}
		if !c.allowed {
			c.err("NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time")
			return
		}
		c.version3 = v == "3"
	}
	sign, n, proto := byte('*'), 8, int64(2)
	if c.version3 {
		sign, n, proto = '%', 4, 3
	}
	c.header(sign, n)
	for _, s := range []string{"server", "bakeoff", "version", serverVersion, "mode", "standalone", "proto"} {
		c.bulk([]byte(s))
	}
	c.number(proto)
}

func (t *thread) selectDB(c *client) {
	n, err := strconv.Atoi(string(c.args[1]))
	if err != nil || n < 0 || n >= databases {
		c.err("ERR DB index is out of range")
		return
	}
	c.db = t.s.store.database(n)
	c.out("+OK\r\n")
}

func (t *thread) flushAll(c *client) {
	for _, d := range t.s.store.dbs {
		d.flush()
	}
	c.out("+OK\r\n")
}
