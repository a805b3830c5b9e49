package ipmi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/bougou/go-ipmi/pkg/client"
	"github.com/bougou/go-ipmi/pkg/types"

	"bakeoff/telemetry/power/meter"
)

// source is a management controller as a meter.
type source struct {
	address   string // "" for the local device
	user      string
	password  meter.Secret
	intf      client.Interface
	privilege types.PrivilegeLevel
	mode      string
	named     []string

	client  *client.Client
	sensors []wattSensor
	noDCMI  bool
}

// What is read.
const (
	modeAuto    = "auto" // DCMI, or sensors where the controller has no DCMI
	modeDCMI    = "dcmi"
	modeSensors = "sensors"
)

const (
	defaultPort = "623"
	// Requests are small: a controller that does not answer in a second has
	// lost it, and is asked again.
	requestTimeout = time.Second
	requestTries   = 3
)

// Open takes the options of an IPMI source. Nothing is asked of it yet.
func Open(o *meter.Options) (meter.Meter, error) {
	s := &source{
		address: o.Text("address", ""), user: o.Text("user", ""), password: o.Secret("password"),
		mode: o.Choice("read", modeAuto, modeDCMI, modeSensors), named: o.List("sensors"),
	}
	s.intf = client.Interface(o.Choice("interface", string(client.InterfaceLanplus), string(client.InterfaceLan), "local"))
	s.privilege = map[string]types.PrivilegeLevel{
		"user": types.PrivilegeLevelUser, "operator": types.PrivilegeLevelOperator, "administrator": types.PrivilegeLevelAdministrator,
	}[o.Choice("privilege", "user", "operator", "administrator")]
	if len(s.named) > 0 && s.mode == modeAuto {
		s.mode = modeSensors
	}
	switch {
	case s.intf == "local" && s.address != "":
		o.Refuse("address", "an address for the local device", "none, or interface: lanplus")
	case s.intf == "local":
		s.intf = client.InterfaceOpen
	case s.address == "":
		o.Refuse("address", "it is missing", "the controller's address, as bmc.example or 192.0.2.7:623; or interface: local")
	}
	return s, nil
}

// Read gives the present power.
func (s *source) Read(ctx context.Context) (meter.Reading, error) {
	if err := s.connect(ctx); err != nil {
		return meter.Reading{}, err
	}
	reading, err := s.read(ctx)
	var answered *types.ResponseError
	if err != nil && !errors.As(err, &answered) && !errors.Is(err, meter.ErrNoReading) {
		s.drop() // the session may be gone: the next reading opens another
	}
	return reading, err
}

func (s *source) read(ctx context.Context) (meter.Reading, error) {
	if s.mode != modeSensors && !s.noDCMI {
		reading, err := s.readDCMI(ctx)
		var answered *types.ResponseError
		if s.mode == modeDCMI || !errors.As(err, &answered) {
			return reading, err
		}
		s.noDCMI = true
	}
	return s.readSensors(ctx)
}

func (s *source) readDCMI(ctx context.Context) (meter.Reading, error) {
	a, err := s.client.GetDCMIPowerReading(ctx)
	if err != nil {
		return meter.Reading{}, fmt.Errorf("DCMI power reading: %w", err)
	}
	return DCMI{
		Current: float64(a.CurrentPower), Least: float64(a.MinimumPower), Most: float64(a.MaximumPower), Mean: float64(a.AveragePower),
		Active: a.PowerMeasurementActive, Stamp: int64(a.Timestamp),
	}.reading()
}

func (s *source) connect(ctx context.Context) error {
	if s.client != nil {
		return nil
	}
	c, err := s.newClient()
	if err != nil {
		return err
	}
	if err := c.Connect(ctx); err != nil {
		// There is no session to be ended; closing frees the socket.
		ended, cancel := context.WithCancel(ctx)
		cancel()
		c.Close(ended)
		return fmt.Errorf("connecting to %s: %w", s.where(), s.judge(err))
	}
	s.client, s.sensors, s.noDCMI = c, nil, false
	return nil
}

func (s *source) newClient() (*client.Client, error) {
	if s.intf == client.InterfaceOpen {
		return client.NewOpenClient()
	}
	host, port, err := net.SplitHostPort(s.address)
	if err != nil {
		host, port = strings.Trim(s.address, "[]"), defaultPort
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("address %q: found port %q, expected a number below 65536", s.address, port)
	}
	c, err := client.NewClient(host, int(number), s.user, s.password.Reveal())
	if err != nil {
		return nil, err
	}
	c.WithInterface(s.intf).WithTimeout(requestTimeout).WithRetry(requestTries).WithMaxPrivilegeLevel(s.privilege)
	// Not every controller says which suites it has when it is asked; all of
	// this century have one of these two (HMAC-SHA256 first).
	return c.WithCipherSuiteID(types.CipherSuiteID17, types.CipherSuiteID3), nil
}

// judge tells refused credentials from other faults. The library names the step
// of the handshake that failed, in text only.
func (s *source) judge(err error) error {
	text := strings.ToLower(err.Error())
	if strings.Contains(text, "timeout") || strings.Contains(text, "timed out") {
		return err
	}
	for _, sign := range []string{"rakp", "unauthorized", "invalid user", "activate session", "session challenge"} {
		if strings.Contains(text, sign) {
			return fmt.Errorf("%w: %w", meter.ErrRefused, err)
		}
	}
	return err
}

func (s *source) where() string {
	if s.intf == client.InterfaceOpen {
		return "/dev/ipmi0"
	}
	return s.address
}

// closeTime bounds the farewell to a controller that may be gone.
const closeTime = 2 * time.Second

func (s *source) drop() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	s.client.Close(ctx)
	s.client = nil
}

// Close ends the session.
func (s *source) Close(ctx context.Context) error {
	if s.client == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	err := s.client.Close(ctx)
	s.client = nil
	if err != nil {
		return fmt.Errorf("ending the session with %s: %w", s.where(), err)
	}
	return nil
}
