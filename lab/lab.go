// Package lab builds small networks out of network namespaces of one machine:
// hosts, routers, and the links between them, from a file; and removes them
// without a trace, also those that a process which was killed left behind.
//
// What it makes is named bakeoff-LAB-NODE and carries a mark inside; nothing
// without that mark is ever touched.
package lab

import (
	"fmt"
	"net/netip"
)

// A Lab is a network as its file describes it.
type Lab struct {
	Name  string
	Nodes []Node // hosts first, then routers, each in the file's order
	Links []Link

	file string
	hash string // of the file's text
}

// A Node is a host or a router: one network namespace.
type Node struct {
	Name    string
	Router  bool // it forwards
	Sysctls []Sysctl
	// Routes are those of the file, or where it gives the node none the shortest
	// ways to all networks of the lab.
	Routes []Route

	line      int
	ownRoutes bool
}

// Sysctl is a kernel parameter set inside a node.
type Sysctl struct {
	Key, Value string
	line       int
}

// Route leads to a network through a neighbour.
type Route struct {
	To   netip.Prefix
	Via  netip.Addr
	MTU  int // bytes; 0: the link's
	line int
}

// A Link joins two nodes by a pair of virtual Ethernet interfaces (veth).
type Link struct {
	MTU  int // bytes, of both ends
	Ends [2]End
	line int
}

// An End is the interface of a link in one node.
type End struct {
	Node      string
	Interface string
	Addresses []netip.Prefix
	Offloads  []Offload
	Shaper    *Shaper // nil: as fast as the processors are
	line      int
}

// Offload is a feature of ethtool(8) -K that is switched at one end.
type Offload struct {
	Name string
	On   bool
	line int
}

// A Shaper is a token bucket on what an end sends (tc-tbf(8)).
type Shaper struct {
	BitsPerSecond uint64
	Burst         uint64 // bytes
	Queue         uint64 // bytes that may wait
}

// Defaults of what a file need not say.
const (
	defaultMTU   = 1500
	defaultBurst = 64 << 10
	defaultQueue = 300 << 10
)

// Namespace is the name of the network namespace of a node.
func (l *Lab) Namespace(node string) string { return prefix(l.Name) + node }

func prefix(lab string) string { return "bakeoff-" + lab + "-" }

// Node returns a node by its name, nil where there is none.
func (l *Lab) Node(name string) *Node {
	for i := range l.Nodes {
		if l.Nodes[i].Name == name {
			return &l.Nodes[i]
		}
	}
	return nil
}

// An Error says what is wrong with a lab's file.
type Error struct {
	File     string
	Line     int // 0 where it is not of one line
	Key      string
	Found    string
	Expected string
	Mend     string // "" where Expected says it
}

// Error is the fault in one line.
func (e *Error) Error() string {
	at := e.File
	if e.Line > 0 {
		at = fmt.Sprintf("%s:%d", e.File, e.Line)
	}
	text := fmt.Sprintf("%s: found %s, expected %s", at, e.Found, e.Expected)
	if e.Key != "" {
		text = fmt.Sprintf("%s: %s: found %s, expected %s", at, e.Key, e.Found, e.Expected)
	}
	if e.Mend != "" {
		text += "; " + e.Mend
	}
	return text
}
