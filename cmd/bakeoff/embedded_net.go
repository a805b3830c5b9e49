package main

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"bakeoff/engine/net/server"
	"bakeoff/internal/osenv"
	"bakeoff/unit"
)

// netFlags are the flags of the embedded network server.
type netFlags struct {
	listen, allow       []string
	tokenFile, tokenEnv string
	connections         int
	rate, time, ports   string
}

func newEmbeddedNet(env *osenv.Env) *cobra.Command {
	var f netFlags
	c := &cobra.Command{
		Use:   "net --listen ENDPOINT...",
		Short: "Run the other end of network loads until it is told to end",
		Long: `Net runs the server that loads of the engine net talk to, on this host or by hand on
another one. It receives, sends and answers what a client asks for, and counts.

A client must prove that it knows the server's token. Without a token only this host,
and the networks of --allow, are served; clients of iperf3, which have no token, come
from there in any case. It sends only to clients that asked, and no longer than they
stay connected.`,
		Example: `  bakeoff embedded net --listen tcp://[::]:5301 --token-file /etc/bakeoff/net.token
  bakeoff embedded net --listen tcp://127.0.0.1:5301 --listen iperf3://127.0.0.1:5201`,
		Args: exactArgs(0),
	}
	set := c.Flags()
	set.StringSliceVar(&f.listen, "listen", nil, "where clients connect: tcp://HOST:PORT, or iperf3://HOST:PORT for clients of iperf3; [::] is IPv6 and IPv4")
	set.StringSliceVar(&f.allow, "allow", nil, "networks that are served without a token, as 10.1.0.0/24; without it, this host alone")
	set.StringVar(&f.tokenFile, "token-file", "", "file that holds the token which clients must know")
	set.StringVar(&f.tokenEnv, "token-env", "", "environment variable that holds the token which clients must know")
	set.IntVar(&f.connections, "connections", 256, "data connections at once, over all clients, at most")
	set.StringVar(&f.rate, "max-bitrate", "", "bits a second that are sent to one client at most, as 10G; without it, no limit")
	set.StringVar(&f.time, "max-time", "1h", "how long it sends for one load at most")
	set.StringVar(&f.ports, "data-ports", "", "ports of data connections, as 5310-5399; without it, any that are free")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		config, err := f.config(env)
		if err != nil {
			return badInput(err)
		}
		// A thread that waits for data keeps its processor of the scheduler.
		runtime.GOMAXPROCS(config.Connections + 2)
		ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		return server.Serve(ctx, config)
	}
	return c
}

func (f *netFlags) config(env *osenv.Env) (server.Config, error) {
	c := server.Config{
		Listen: f.listen, Connections: f.connections, Version: version(),
		Log: func(line string) { fmt.Fprintln(env.Stderr, line) },
		Ready: func(targets []string) {
			for _, t := range targets {
				fmt.Fprintf(env.Stderr, "listening at %s\n", t)
			}
		},
	}
	var faults []error
	fault := func(flag string, err error) {
		if err != nil {
			faults = append(faults, fmt.Errorf("--%s: %w", flag, err))
		}
	}
	for _, text := range f.allow {
		p, err := netip.ParsePrefix(text)
		if a, aerr := netip.ParseAddr(text); aerr == nil {
			p, err = netip.PrefixFrom(a, a.BitLen()), nil
		}
		fault("allow", err)
		c.Allow = append(c.Allow, p)
	}
	if f.connections < 1 || f.connections > 1024 {
		fault("connections", fmt.Errorf("%d, expected 1 to 1024", f.connections))
	}
	if f.rate != "" {
		bits, err := unit.ParseRate(f.rate)
		fault("max-bitrate", err)
		c.Rate = bits / 8
	}
	limit, err := unit.ParseDuration(f.time)
	if err == nil && limit < time.Second {
		err = fmt.Errorf("%v, expected at least 1s", limit)
	}
	fault("max-time", err)
	c.Time = limit
	c.Ports, err = portRange(f.ports)
	fault("data-ports", err)
	c.Token, err = f.token(env)
	faults = append(faults, err)
	return c, errors.Join(faults...)
}

// minToken is the least length of a token: what is shorter can be guessed.
const minToken = 8

// token reads the token; it is never a flag, where others could see it.
func (f *netFlags) token(env *osenv.Env) (token string, err error) {
	switch {
	case f.tokenFile != "" && f.tokenEnv != "":
		return "", errors.New("--token-file and --token-env are both given; give one")
	case f.tokenEnv != "":
		token, _ = env.LookupEnv(f.tokenEnv)
	case f.tokenFile != "":
		text, err := os.ReadFile(f.tokenFile)
		if err != nil {
			return "", fmt.Errorf("--token-file: %w", err)
		}
		token = strings.TrimRight(string(text), "\r\n")
	default:
		return "", nil
	}
	if len(token) < minToken {
		return "", fmt.Errorf("the token has %d characters, expected at least %d", len(token), minToken)
	}
	return token, nil
}

// portRange reads FIRST-LAST; "" is none.
func portRange(text string) (ports [2]uint16, err error) {
	if text == "" {
		return ports, nil
	}
	first, last, _ := strings.Cut(text, "-")
	if last == "" {
		last = first
	}
	for i, t := range []string{first, last} {
		n, err := strconv.ParseUint(strings.TrimSpace(t), 10, 16)
		if err != nil || n == 0 {
			return ports, fmt.Errorf("found %q, expected FIRST-LAST, as 5310-5399", text)
		}
		ports[i] = uint16(n)
	}
	if ports[0] > ports[1] {
		return ports, fmt.Errorf("found %q, expected the lower port first", text)
	}
	return ports, nil
}
