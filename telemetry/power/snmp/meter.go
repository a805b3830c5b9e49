package snmp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/gosnmp/gosnmp"

	"bakeoff/telemetry/power/meter"
)

// source is a power distribution unit as a meter.
type source struct {
	client     *gosnmp.GoSNMP
	quantities []quantity
	secrets    []meter.Secret // that no error may show
	digits     map[string]int // of quantities that have them, once asked
	connected  bool
}

const (
	defaultPort    = 161
	requestTimeout = 2 * time.Second
	retries        = 2
)

// Open takes the options of an SNMP source. Nothing is asked of it yet.
func Open(o *meter.Options) (meter.Meter, error) {
	s := &source{client: newClient(o), digits: make(map[string]int)}
	s.credentials(o)
	s.quantities = quantities(o)
	return s, nil
}

func newClient(o *meter.Options) *gosnmp.GoSNMP {
	address := o.Must("address", "the unit's address, as pdu.example or 192.0.2.9:161")
	host, port := address, uint64(defaultPort)
	if h, p, err := net.SplitHostPort(address); err == nil {
		host = h
		if port, err = strconv.ParseUint(p, 10, 16); err != nil {
			o.Refuse("address", fmt.Sprintf("found port %q", p), "a number below 65536")
		}
	}
	return &gosnmp.GoSNMP{
		Target: strings.Trim(host, "[]"), Port: uint16(port), Transport: "udp",
		Timeout: requestTimeout, Retries: retries, MaxOids: gosnmp.MaxOids,
	}
}

// credentials takes the options of the protocol's versions.
func (s *source) credentials(o *meter.Options) {
	version, community := o.Choice("version", "2c", "1", "3"), o.Secret("community")
	user := o.Text("user", "")
	authWith, authKey := o.Choice("auth_protocol", "SHA", "MD5", "SHA224", "SHA256", "SHA384", "SHA512"), o.Secret("auth_password")
	privWith, privKey := o.Choice("priv_protocol", "AES", "DES", "AES192", "AES256"), o.Secret("priv_password")
	s.secrets = []meter.Secret{community, authKey, privKey}
	if version != "3" {
		s.client.Version = map[string]gosnmp.SnmpVersion{"1": gosnmp.Version1, "2c": gosnmp.Version2c}[version]
		s.client.Community = "public"
		if !community.Empty() {
			s.client.Community = community.Reveal()
		}
		if user != "" || !authKey.Empty() || !privKey.Empty() {
			o.Refuse("version", "a user or keys with version "+version, "version: 3, or a community")
		}
		return
	}
	if user == "" || !community.Empty() || authKey.Empty() && !privKey.Empty() {
		o.Refuse("user", "no user, a community, or encryption without authentication", "user, auth_password_env and priv_password_env")
	}
	s.client.Version, s.client.SecurityModel, s.client.MsgFlags = gosnmp.Version3, gosnmp.UserSecurityModel, gosnmp.NoAuthNoPriv
	params := &gosnmp.UsmSecurityParameters{UserName: user, AuthenticationProtocol: gosnmp.NoAuth, PrivacyProtocol: gosnmp.NoPriv}
	if !authKey.Empty() {
		s.client.MsgFlags = gosnmp.AuthNoPriv
		params.AuthenticationProtocol = map[string]gosnmp.SnmpV3AuthProtocol{
			"SHA": gosnmp.SHA, "MD5": gosnmp.MD5, "SHA224": gosnmp.SHA224, "SHA256": gosnmp.SHA256, "SHA384": gosnmp.SHA384, "SHA512": gosnmp.SHA512,
		}[authWith]
		params.AuthenticationPassphrase = authKey.Reveal()
	}
	if !privKey.Empty() {
		s.client.MsgFlags = gosnmp.AuthPriv
		params.PrivacyProtocol = map[string]gosnmp.SnmpV3PrivProtocol{
			"AES": gosnmp.AES, "DES": gosnmp.DES, "AES192": gosnmp.AES192, "AES256": gosnmp.AES256,
		}[privWith]
		params.PrivacyPassphrase = privKey.Reveal()
	}
	s.client.SecurityParameters = params
}

// Read asks for all quantities at once and adds them. Each must have a number,
// or the sum would be too small; one that is at 0 W, as the idle one of two
// feeds is, counts as such.
func (s *source) Read(ctx context.Context) (meter.Reading, error) {
	s.client.Context = ctx
	if !s.connected {
		if err := s.client.Connect(); err != nil {
			return meter.Reading{}, s.explain(err)
		}
		s.connected = true
	}
	if err := s.askDigits(); err != nil {
		return meter.Reading{}, err
	}
	var oids []string
	for _, q := range s.quantities {
		oids = append(oids, q.oid)
		if q.available != "" {
			oids = append(oids, q.available)
		}
	}
	values, err := s.get(oids)
	if err != nil {
		return meter.Reading{}, err
	}
	return s.add(values)
}

func (s *source) add(values map[string]gosnmp.SnmpPDU) (meter.Reading, error) {
	var r meter.Reading
	var total float64
	for _, q := range s.quantities {
		if q.available != "" {
			if v, err := number(values[q.available]); err == nil && v != 1 {
				return r, meter.NoReading("%s: the unit says that there is none", q.name)
			}
		}
		v, err := number(values[q.oid])
		if err != nil {
			return r, meter.NoReading("%s (%s): %v", q.name, q.oid, err)
		}
		watts := math.Round(v*q.watts/math.Pow10(s.digits[q.oid])*1e9) / 1e9 // 386.8, not 386.80000000000001
		if watts != 0 {
			if err := meter.Check(q.name, watts); err != nil {
				return r, err
			}
		}
		total += watts
		if len(s.quantities) > 1 {
			r.Parts = append(r.Parts, meter.Part{Name: q.name, Watts: watts})
		}
	}
	if err := meter.Check("the sum", total); err != nil {
		return r, err
	}
	r.Power = []meter.Watts{{Value: total}}
	return r, nil
}

// askDigits asks once how many digits of the numbers are decimals.
func (s *source) askDigits() error {
	var oids []string
	for _, q := range s.quantities {
		if _, known := s.digits[q.oid]; q.digits != "" && !known {
			oids = append(oids, q.digits)
		}
	}
	if len(oids) == 0 {
		return nil
	}
	values, err := s.get(oids)
	if err != nil {
		return err
	}
	for _, q := range s.quantities {
		if q.digits == "" {
			continue
		}
		v, err := number(values[q.digits])
		if err != nil || v < 0 || v > 9 {
			return meter.NoReading("%s: how many of its digits are decimals (%s) is not to be had: %v", q.name, q.digits, err)
		}
		s.digits[q.oid] = int(v)
	}
	return nil
}

// get asks for OIDs, as many in one request as a unit answers.
func (s *source) get(oids []string) (map[string]gosnmp.SnmpPDU, error) {
	values := make(map[string]gosnmp.SnmpPDU, len(oids))
	const most = 24
	for len(oids) > 0 {
		n := min(len(oids), most)
		packet, err := s.client.Get(oids[:n])
		if err != nil {
			return nil, s.explain(err)
		}
		if packet.Error != gosnmp.NoError && packet.Error != gosnmp.NoSuchName {
			return nil, fmt.Errorf("the unit answers with error %v", packet.Error)
		}
		if packet.Error == gosnmp.NoSuchName { // version 1: one that is missing spoils all
			return nil, meter.NoReading("the unit has no %s", oids[max(0, min(n, int(packet.ErrorIndex))-1)])
		}
		for _, v := range packet.Variables {
			values[v.Name] = v
		}
		oids = oids[n:]
	}
	return values, nil
}

// number reads a value. Agents give integers, or numbers as text.
func number(v gosnmp.SnmpPDU) (float64, error) {
	switch v.Type {
	case gosnmp.NoSuchObject, gosnmp.NoSuchInstance, gosnmp.Null, gosnmp.EndOfMibView, gosnmp.UnknownType:
		return 0, errors.New("the unit has no such number")
	case gosnmp.Integer, gosnmp.Gauge32, gosnmp.Counter32, gosnmp.Counter64, gosnmp.Uinteger32, gosnmp.TimeTicks:
		f, _ := new(big.Float).SetInt(gosnmp.ToBigInt(v.Value)).Float64()
		return f, nil
	case gosnmp.OpaqueFloat:
		if f, ok := v.Value.(float32); ok {
			return float64(f), nil
		}
	case gosnmp.OpaqueDouble:
		if f, ok := v.Value.(float64); ok {
			return f, nil
		}
	case gosnmp.OctetString:
		if text, ok := v.Value.([]byte); ok {
			if f, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64); err == nil {
				return f, nil
			}
			return 0, fmt.Errorf("found %.40q, expected a number", text)
		}
	}
	return 0, fmt.Errorf("found a value of type %v, expected a number", v.Type)
}

// explain adds whom was asked, tells refused credentials from silence, and
// keeps the credentials out of what the library says.
func (s *source) explain(err error) error {
	where := net.JoinHostPort(s.client.Target, strconv.Itoa(int(s.client.Port)))
	for _, refusal := range []error{gosnmp.ErrWrongDigest, gosnmp.ErrUnknownUsername, gosnmp.ErrDecryption, gosnmp.ErrUnknownSecurityLevel} {
		if errors.Is(err, refusal) {
			return fmt.Errorf("%s: %w: %v", where, meter.ErrRefused, refusal)
		}
	}
	text := err.Error()
	for _, secret := range s.secrets {
		if !secret.Empty() && strings.Contains(text, secret.Reveal()) {
			return fmt.Errorf("%s: asking failed, in words that hold a secret", where)
		}
	}
	// An agent refuses in a report that it does not sign.
	if strings.Contains(text, "not authentic") {
		return fmt.Errorf("%s: %w: %s", where, meter.ErrRefused, text)
	}
	if strings.Contains(text, "timeout") && s.client.Version != gosnmp.Version3 {
		return fmt.Errorf("%s: no answer: it is not there, or the community is wrong: %w", where, err)
	}
	return fmt.Errorf("%s: %w", where, err)
}

// Close frees the socket.
func (s *source) Close(context.Context) error {
	if !s.connected {
		return nil
	}
	s.connected = false
	return s.client.Close()
}
