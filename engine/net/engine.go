// Package net is the network engine: bulk streams over TCP and UDP in either
// direction or both, request and response, connection rate, and reads and writes
// of blocks as storage over a network has them. Its other end is a server of
// bakeoff's own (bakeoff/engine/net/server, in a process of its own) or iperf3's.
//
// A worker drives one connection on one thread with plain system calls. What was
// received, and what was lost on the way, is the receiver's word: the server
// reports its counts over a control connection at both edges of the window.
package net

import (
	"context"
	"fmt"

	"bakeoff/engine/net/wire"
	"bakeoff/load"
)

// Engine is the network engine. Its zero value is ready.
//
// Spec.Secrets may hold "token" (or "password"), which the server asks for.
type Engine struct{}

// Name is "net".
func (Engine) Name() string { return "net" }

// The kinds of operation, in the order of Description.Kinds.
const (
	kindSend uint8 = iota
	kindReceive
	kindPing
	kindConnect
	kindRead
	kindWrite
)

// Describe documents the engine.
func (Engine) Describe() load.Description {
	return load.Description{
		Summary:    "Network streams, request and response, connection rate and block requests, over TCP and UDP, against bakeoff's server or iperf3's.",
		Parameters: parameters(),
		Kinds:      []string{kindSend: "send", kindReceive: "receive", kindPing: "ping", kindConnect: "connect", kindRead: "read", kindWrite: "write"},
		Parts:      []load.Part{load.Source},
		Target:     targetForms,
		Figures:    figureNames(),
	}
}

// Open validates the parameters. It sends nothing.
func (e Engine) Open(_ context.Context, spec load.Spec) (load.Session, error) {
	if spec.Part != load.Source && spec.Part != "" {
		return nil, fmt.Errorf("engine net: part is %q; it has only a source", spec.Part)
	}
	cfg, err := configure(spec, e.Describe())
	if err != nil {
		return nil, err
	}
	return newSession(cfg), nil
}

func parameters() []load.Parameter {
	modes := []string{string(wire.Stream), string(wire.PingPong), string(wire.Connect), string(wire.Blocks)}
	return []load.Parameter{
		{Name: "mode", Type: load.TypeEnum, Values: modes, Default: "stream", Doc: "stream: bulk data; pingpong: a message there and back, one at a time; connect: connections opened and closed; blocks: reads and writes of blocks at a depth."},
		{Name: "transport", Type: load.TypeEnum, Values: []string{"tcp", "udp"}, Default: "tcp", Doc: "TCP, or UDP for streams and pingpong."},
		{Name: "family", Type: load.TypeEnum, Values: []string{"any", "4", "6"}, Default: "any", Doc: "Which of a name's addresses to use: IPv4's or IPv6's."},
		{Name: "connections", Type: load.TypeInt, Default: "1", Doc: "Connections at once, a thread each; with direction both, as many each way."},
		{Name: "direction", Type: load.TypeEnum, Values: []string{"send", "receive", "both"}, Default: "send", Doc: "Of streams, as this end sees it."},
		{Name: "block", Type: load.TypeSize, Unit: "B", Doc: "Size of one operation: a write of a stream (128K by default), a datagram (1448), a message (1), a block (64K)."},
		{Name: "op", Type: load.TypeEnum, Values: []string{"read", "write", "mixed"}, Default: "read", Doc: "Of blocks: what is asked for."},
		{Name: "reads", Type: load.TypePercent, Default: "70%", Doc: "Of mixed blocks: the share of reads, drawn at random."},
		{Name: "depth", Type: load.TypeInt, Default: "32", Doc: "Of blocks: requests at once on a connection."},
		{Name: "wait", Type: load.TypeEnum, Values: []string{"block", "spin"}, Default: "block", Doc: "Of pingpong: both ends sleep until a message is there, or both poll all the time, which takes a processor each."},
		{Name: "bitrate", Type: load.TypeRate, Unit: "bit/s", Doc: "Payload to send over all connections of a stream, in bits a second, as 1G, by whichever end sends; as fast as it goes without it. (The rate of every load is in operations.)"},
		{Name: "pacing", Type: load.TypeRate, Unit: "bit/s", Doc: "What each sending socket is paced to by the kernel (SO_MAX_PACING_RATE; UDP needs the fq qdisc)."},
		{Name: "zero_copy", Type: load.TypeEnum, Values: []string{"off", "sendfile", "msg_zerocopy"}, Default: "off", Doc: "Of TCP streams: send without copying from memory."},
		{Name: "discard", Type: load.TypeBool, Default: "false", Doc: "Have the receiving kernel throw TCP data away in place of copying it to memory (MSG_TRUNC): it measures less than an application pays."},
		{Name: "low_water", Type: load.TypeBool, Default: "true", Doc: "Of TCP streams: have the receiver woken for about a millisecond's data at once, 128K at most (SO_RCVLOWAT), in place of for every packet."},
		{Name: "gso", Type: load.TypeBool, Default: "true", Doc: "Of UDP streams: let the kernel cut and join datagrams in batches (UDP_SEGMENT, UDP_GRO)."},
		{Name: "batch", Type: load.TypeInt, Default: "8", Doc: "Of UDP streams: messages a system call (sendmmsg, recvmmsg)."},
		{Name: "congestion", Type: load.TypeString, Doc: "Congestion control of both ends, as cubic; the kernel's default without it."},
		{Name: "mss", Type: load.TypeInt, Unit: "B", Doc: "Largest TCP segment, at both ends."},
		{Name: "send_buffer", Type: load.TypeSize, Unit: "B", Doc: "Send buffer of the sockets at both ends; the kernel's own tuning without it."},
		{Name: "receive_buffer", Type: load.TypeSize, Unit: "B", Doc: "Receive buffer of the sockets at both ends; the kernel's own tuning without it."},
		{Name: "dscp", Type: load.TypeString, Doc: "Differentiated services code point, 0 to 63 or a name, as ef, af41, cs5."},
		{Name: "fragment", Type: load.TypeEnum, Values: []string{"kernel", "never", "allow"}, Default: "kernel", Doc: "Packets longer than the path's MTU: as the kernel does, never (DF set), or allow IPv4 routers to fragment (DF clear)."},
		{Name: "nodelay", Type: load.TypeEnum, Values: []string{"auto", "on", "off"}, Default: "auto", Doc: "TCP_NODELAY: on for messages and blocks and off for streams, where it costs throughput."},
		{Name: "busy_poll", Type: load.TypeDuration, Doc: "How long the kernel polls the device in a receive (SO_BUSY_POLL), as 50us."},
		{Name: "device", Type: load.TypeString, Doc: "Network device that this end's sockets are bound to."},
		{Name: "bind", Type: load.TypeString, Doc: "Address that this end's data sockets are bound to."},
		{Name: "server_cpus", Type: load.TypeList, Doc: "Processors that the server's threads are bound to, in turn, as 2,3."},
	}
}
