package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"runtime"
	"strings"

	"bakeoff/load/ring"
)

// answers is how many answers are ready made, and so the most to one chunk.
const answers = 16384

// serveStub answers every request of a RESP client with the same value and does
// as little as a server can, so that generators show their own limit. It
// counts requests by their asterisks: keys must hold none.
func serveStub(ctx context.Context, address string) error {
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	defer ln.Close()
	runtime.LockOSThread()
	loop, err := ring.New(ring.Config{Conns: 512, BufferSize: 16 << 10})
	if err != nil {
		return err
	}
	defer loop.Close()
	accepted := make(chan int, 512)
	go acceptStub(ln, accepted, loop)
	one := "$32\r\n" + strings.Repeat("x", 32) + "\r\n"
	all := []byte(strings.Repeat(one, answers))
	for ctx.Err() == nil {
		events, err := loop.Wait(-1)
		if err != nil {
			return err
		}
		for len(accepted) > 0 {
			if _, err := loop.Add(<-accepted); err != nil {
				return err
			}
		}
		for _, e := range events {
			if e.Err != nil {
				loop.Remove(e.Conn)
				continue
			}
			n := min(bytes.Count(e.Data, []byte{'*'}), answers)
			e.Conn.Out = append(e.Conn.Out, all[:n*len(one)]...)
			loop.Send(e.Conn)
		}
	}
	return fmt.Errorf("stopped: %w", context.Cause(ctx))
}

func acceptStub(ln net.Listener, accepted chan<- int, loop *ring.Loop) {
	for {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		if fd, err := ring.Take(conn); err == nil {
			accepted <- fd
			_ = loop.Wake()
		}
	}
}
