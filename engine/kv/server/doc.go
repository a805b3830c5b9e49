// Package server is bakeoff's own key-value server: an embedded target that needs
// nothing installed. It keeps values in memory and speaks the part of the Redis
// protocol (RESP2 and RESP3) that loads use. It is a real server, over TCP and
// Unix sockets, in a process of its own.
package server
