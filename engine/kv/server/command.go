package server

import (
	"fmt"
	"strconv"
	"strings"
)

// command does the command in c.args and appends its answer.
func (t *thread) command(c *client) {
	name := c.args[0]
	if len(name) == 3 && len(c.args) == 2 && c.allowed && name[0]|0x20 == 'g' && name[1]|0x20 == 'e' && name[2]|0x20 == 't' {
		t.get(c, c.args[1])
		return
	}
	upper := strings.ToUpper(string(name))
	do, ok := commands()[upper]
	switch {
	case !ok:
		c.err(fmt.Sprintf("ERR unknown command '%.64s': the embedded server has only what loads need", name))
	case len(c.args) < do.least || do.most > 0 && len(c.args) > do.most:
		c.err("ERR wrong number of arguments for '" + strings.ToLower(upper) + "' command")
	case !c.allowed && !do.open:
		c.err("NOAUTH Authentication required.")
	default:
		do.run(t, c)
	}
}

// known is a command that the server has.
type known struct {
	least, most int // arguments, the name included; most 0: any number
	open        bool
	run         func(*thread, *client)
}
