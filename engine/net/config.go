package net

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"bakeoff/engine/net/flow"
	"bakeoff/engine/net/socket"
	"bakeoff/engine/net/wire"
	"bakeoff/load"
)

// config is a Spec, validated.
type config struct {
	spec    load.Spec
	target  target
	token   string
	family  string
	bind    netip.Addr // not valid where none is given
	device  string
	op      string
	reads   float64
	depth   int
	bitrate float64   // bits a second
	test    wire.Test // what the server is asked for
	timeout int64     // ns, of an operation
}

const maxDepth = 1024

// configure reads a spec. Its error holds all that is wrong, a line each.
func configure(spec load.Spec, d load.Description) (*config, error) {
	p, err := load.ReadParams("net", d, spec.Parameters)
	if err != nil {
		return nil, err
	}
	c := &config{spec: spec, family: p.String("family"), op: p.String("op"), reads: p.Percent("reads"), device: p.String("device")}
	c.token = cmp.Or(spec.Secrets["token"], spec.Secrets["password"])
	c.timeout = int64(cmp.Or(spec.Common.OpTimeout, 10*time.Second))
	var errs []error
	check := func(name string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("engine net: %s: %w", name, err))
		}
	}
	c.target, err = parseTarget(spec.Target)
	check("target", err)
	check("mode", c.setMode(p))
	check("options", c.setOptions(p))
	check("rate", c.setRate(p))
	check("workers", c.checkWorkers())
	if bind := p.String("bind"); bind != "" {
		c.bind, err = netip.ParseAddr(bind)
		check(`parameter "bind"`, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	check("parameters", c.test.Check())
	check("parameters", c.checkTogether(p))
	return c, errors.Join(errs...)
}

// setMode reads what is done and over what.
func (c *config) setMode(p *load.Params) error {
	t := &c.test
	t.Mode, t.Datagram = wire.Mode(p.String("mode")), p.String("transport") == "udp"
	n := p.Int("connections")
	if n < 1 || n > wire.MaxConnections {
		return fmt.Errorf("parameter \"connections\": found %d, expected 1 to %d", n, wire.MaxConnections)
	}
	t.Send = int(n)
	if t.Mode == wire.Stream {
		switch p.String("direction") {
		case "receive":
			t.Send, t.Receive = 0, int(n)
		case "both":
			t.Receive = int(n)
		}
	}
	t.Block = int(p.Size("block"))
	if !p.Has("block") {
		t.Block = map[wire.Mode]int{wire.Stream: 128 << 10, wire.PingPong: 1, wire.Blocks: 64 << 10}[t.Mode]
		if t.Mode == wire.Stream && t.Datagram {
			t.Block = 1448
		}
	}
	depth := p.Int("depth")
	if depth < 1 || depth > maxDepth {
		return fmt.Errorf("parameter \"depth\": found %d, expected 1 to %d", depth, maxDepth)
	}
	c.depth = int(depth)
	t.Spin, t.Discard, t.ZeroCopy = p.String("wait") == "spin", p.Bool("discard"), flow.ZeroCopy(p.String("zero_copy"))
	t.LowWater = p.Bool("low_water") && t.Mode == wire.Stream && !t.Datagram
	if batch := p.Int("batch"); t.Datagram && t.Mode == wire.Stream {
		t.Segments, t.Batch = p.Bool("gso"), int(min(batch, wire.MaxBatch+1))
	}
	cpus, err := p.Strings("server_cpus")
	if err != nil {
		return err
	}
	for _, text := range cpus {
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return fmt.Errorf("parameter \"server_cpus\": found %q, expected numbers of processors, as 2,3", text)
		}
		t.CPUs = append(t.CPUs, int(n))
	}
	return nil
}

func (c *config) setOptions(p *load.Params) error {
	o := socket.Options{
		Congestion: p.String("congestion"), MSS: int(p.Int("mss")), SendBuffer: int(p.Size("send_buffer")), ReceiveBuffer: int(p.Size("receive_buffer")),
		Pacing: uint64(p.Rate("pacing") / 8), BusyPoll: int(p.Duration("busy_poll") / time.Microsecond), Fragment: p.String("fragment"),
	}
	if o.Fragment == "kernel" {
		o.Fragment = ""
	}
	switch p.String("nodelay") {
	case "auto":
		o.NoDelay = c.test.Mode == wire.PingPong || c.test.Mode == wire.Blocks
	case "on":
		o.NoDelay = true
	}
	if text := p.String("dscp"); text != "" {
		var err error
		if o.DSCP, err = socket.ParseDSCP(text); err != nil {
			return fmt.Errorf("parameter \"dscp\": %w", err)
		}
	}
	c.test.Options = o
	return nil
}

// serverSlack is how much longer than planned the server sends at most.
const serverSlack = 30 * time.Second

func (c *config) setRate(p *load.Params) error {
	common := c.spec.Common
	c.test.Seconds = (common.Warmup + common.Window + common.DrainTime + serverSlack).Seconds()
	if !p.Has("bitrate") {
		return nil
	}
	c.bitrate = p.Rate("bitrate")
	switch {
	case c.bitrate < 8:
		return fmt.Errorf("parameter \"bitrate\": found %g bit/s, expected at least 8", c.bitrate)
	case c.test.Mode != wire.Stream:
		return fmt.Errorf("parameter \"bitrate\" is for streams: other modes take rate, in operations a second")
	case common.Rate > 0 || len(common.Steps) > 0:
		return errors.New("found both a rate and a bitrate, expected one of them")
	case c.test.Send > 0 && c.test.Receive > 0:
		return errors.New("parameter \"bitrate\" is for one direction: use pacing with direction both")
	case c.test.Receive > 0:
		c.test.Rate = c.bitrate / 8
	}
	return nil
}

func (c *config) checkWorkers() error {
	if n := c.spec.Common.Workers; n != 0 && n != c.connections() {
		return fmt.Errorf("found %d workers for %d connections: every connection has a worker of its own; leave workers out", n, c.connections())
	}
	return nil
}

// checkTogether judges parameters that do not go with one another.
func (c *config) checkTogether(p *load.Params) error {
	t := &c.test
	stream := t.Mode == wire.Stream && !t.Datagram
	for _, f := range []struct {
		name  string
		given bool
		needs string
	}{
		{"zero_copy", t.ZeroCopy != flow.Copy && !stream, "a stream over TCP"},
		{"discard", t.Discard && !stream && t.Mode != wire.Blocks, "a stream or blocks over TCP"},
		{"low_water", p.Given("low_water") && !stream, "a stream over TCP"},
		{"wait", t.Spin && t.Mode != wire.PingPong, "mode pingpong"},
		{"direction", p.Given("direction") && t.Mode != wire.Stream, "mode stream"},
		{"op", p.Given("op") && t.Mode != wire.Blocks, "mode blocks"},
		{"depth", p.Given("depth") && t.Mode != wire.Blocks, "mode blocks"},
		{"reads", p.Given("reads") && c.op != "mixed", "op mixed"},
		{"gso", p.Given("gso") && (!t.Datagram || t.Mode != wire.Stream), "a stream over UDP"},
		{"batch", p.Given("batch") && (!t.Datagram || t.Mode != wire.Stream), "a stream over UDP"},
		{"congestion", t.Options.Congestion != "" && t.Datagram, "TCP"},
		{"mss", t.Options.MSS != 0 && t.Datagram, "TCP"},
		{"target", c.target.iperf && t.Mode != wire.Stream, "mode stream, which is all that iperf3 has"},
	} {
		if f.given {
			return fmt.Errorf("%q needs %s", f.name, f.needs)
		}
	}
	if c.target.iperf {
		return c.checkIPerf(p)
	}
	return nil
}

// six says whether the data goes over IPv6; known once the target is resolved.
func (s *session) six() bool { return s.peer.address().Addr().Is6() }

// connections is how many data connections there are in all.
func (c *config) connections() int { return c.test.Send + c.test.Receive }

// rate is how many operations a second this end is to make; 0 for as fast as it goes.
func (c *config) rate() float64 {
	if c.bitrate == 0 || c.test.Receive > 0 {
		return 0
	}
	return c.bitrate / 8 / float64(c.test.Block)
}
