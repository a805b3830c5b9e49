package server

import (
	"context"
	"errors"
	"net"
)

// serveIPerf is the conversation with one client of iperf3.
func (s *server) serveIPerf(context.Context, net.Conn) error {
	return errors.New("clients of iperf3 are not served yet")
}
