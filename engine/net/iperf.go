package net

import (
	"context"
	"errors"

	"bakeoff/engine/net/flow"
	"bakeoff/engine/net/socket"
	"bakeoff/engine/net/wire"
	"bakeoff/load"
)

// iperf is a server of iperf3.
type iperf struct {
	c *config
	link
}

var errNotYet = errors.New("servers of iperf3 are not spoken to yet")

func (p *iperf) begin(context.Context) error               { return errNotYet }
func (p *iperf) connect(context.Context, int) (int, error) { return -1, errNotYet }
func (p *iperf) start(int, socket.Conn) error              { return errNotYet }
func (p *iperf) samples(context.Context) []flow.End        { return nil }
func (p *iperf) format() flow.Format                       { return flow.Format{IPerf: true} }
func (p *iperf) ending() bool                              { return false }
func (p *iperf) edge(context.Context, bool, []flow.End) (*wire.Report, error) {
	return nil, errNotYet
}

func (c *config) checkIPerf(*load.Params) error { return nil }
