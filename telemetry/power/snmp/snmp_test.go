package snmp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gosnmp/gosnmp"
	"go.uber.org/goleak"

	"bakeoff/internal/osenv"
	"bakeoff/telemetry/power/meter"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	testCommunity = "rack-and-ruin"
	testAuthKey   = "auth-passphrase"
	testPrivKey   = "priv-passphrase"
)

// agentConfig serves the numbers of three makers' units.
const agentConfig = `
rocommunity ` + testCommunity + ` 127.0.0.1
createUser monitor SHA "` + testAuthKey + `" AES "` + testPrivKey + `"
rouser monitor priv
# APC: unit 1 at 6.13 kW, unit 2 without metering; outlets 4 and 11
override .1.3.6.1.4.1.318.1.1.26.4.3.1.5.1 integer 613
override .1.3.6.1.4.1.318.1.1.26.4.3.1.5.2 integer -1
override .1.3.6.1.4.1.318.1.1.26.9.4.3.1.7.4 integer 386
override .1.3.6.1.4.1.318.1.1.26.9.4.3.1.7.11 integer 0
override .1.3.6.1.4.1.318.1.1.26.9.4.3.1.7.12 integer -1
# Raritan: inlet 1 in watts, outlet 3 in tenths, outlet 5 not available
override .1.3.6.1.4.1.13742.6.5.2.3.1.4.1.1.5 uinteger 2210
override .1.3.6.1.4.1.13742.6.5.2.3.1.2.1.1.5 integer 1
override .1.3.6.1.4.1.13742.6.3.3.4.1.7.1.1.5 uinteger 0
override .1.3.6.1.4.1.13742.6.5.4.3.1.4.1.3.5 uinteger 3868
override .1.3.6.1.4.1.13742.6.5.4.3.1.2.1.3.5 integer 1
override .1.3.6.1.4.1.13742.6.3.5.4.1.7.1.3.5 uinteger 1
override .1.3.6.1.4.1.13742.6.5.4.3.1.4.1.5.5 uinteger 0
override .1.3.6.1.4.1.13742.6.5.4.3.1.2.1.5.5 integer 2
override .1.3.6.1.4.1.13742.6.3.5.4.1.7.1.5.5 uinteger 1
# Enlogic
override .1.3.6.1.4.1.38446.1.2.4.1.4.1 integer 868
override .1.3.6.1.4.1.38446.1.5.9.1.6.1.7 integer 229
# others: text, a sentinel, words
override .1.3.6.1.4.1.99999.1.1 octet_str "231.5"
override .1.3.6.1.4.1.99999.1.2 integer 65535
override .1.3.6.1.4.1.99999.1.3 octet_str "n/a"
override .1.3.6.1.4.1.99999.1.4 integer 1234
extend watts /bin/echo 412.25
`

// startAgent starts Net-SNMP's agent and returns its address.
func startAgent(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("needs snmpd")
	}
	program, err := exec.LookPath("snmpd")
	if err != nil {
		if program, err = exec.LookPath("/usr/sbin/snmpd"); err != nil {
			t.Fatal("snmpd of Debian's package snmpd is needed: ", err)
		}
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "snmpd.conf")
	if err := os.WriteFile(config, []byte(agentConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := conn.LocalAddr().String()
	conn.Close()
	cmd := exec.Command(program, "-f", "-C", "-c", config, "-Lf", filepath.Join(dir, "log"), "-p", filepath.Join(dir, "pid"), "-I", "-smux", "udp:"+address)
	cmd.Env = append(os.Environ(), "SNMP_PERSISTENT_DIR="+dir, "MIBS=")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	awaitAgent(t, address, filepath.Join(dir, "log"))
	return address
}

func awaitAgent(t *testing.T, address, log string) {
	t.Helper()
	host, port, _ := net.SplitHostPort(address)
	var number uint16
	fmt.Sscan(port, &number)
	deadline := time.Now().Add(20 * time.Second)
	for time.Now().Before(deadline) {
		probe := &gosnmp.GoSNMP{Target: host, Port: number, Version: gosnmp.Version2c, Community: testCommunity, Timeout: 200 * time.Millisecond, MaxOids: 1}
		if err := probe.Connect(); err != nil {
			t.Fatal(err)
		}
		_, err := probe.Get([]string{".1.3.6.1.2.1.1.3.0"})
		probe.Close()
		if err == nil {
			return
		}
	}
	text, _ := os.ReadFile(log)
	t.Fatalf("snmpd does not answer at %s: %s", address, text)
}

func open(options map[string]string) (meter.Meter, error) {
	secrets := map[string]string{"COMMUNITY": testCommunity, "AUTH": testAuthKey, "PRIV": testPrivKey, "WRONG": "guesswork"}
	env := &osenv.Env{Dir: ".", LookupEnv: func(key string) (string, bool) { v, ok := secrets[key]; return v, ok }}
	o := meter.NewOptions(env, `power source "pdu"`, options)
	m, err := Open(o)
	return m, errors.Join(err, o.Err())
}

func read(t *testing.T, options map[string]string) (meter.Reading, error) {
	t.Helper()
	m, err := open(options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	defer m.Close(ctx)
	if r, err := m.Read(ctx); err != nil {
		return r, err
	}
	return m.Read(ctx) // the second reading uses what the first found out
}

func TestUnits(t *testing.T) {
	address := startAgent(t)
	tests := map[string]struct {
		options map[string]string
		watts   float64
		parts   int
		fails   string // of what there is no reading
	}{
		"apc inlet":                {map[string]string{"pdu": "apc", "inlets": "1"}, 6130, 0, ""},
		"apc inlet not metered":    {map[string]string{"pdu": "apc", "inlets": "2"}, 0, 0, "inlet 2"},
		"apc outlets":              {map[string]string{"pdu": "apc", "outlets": "4, 11"}, 386, 2, ""},
		"apc idle outlet":          {map[string]string{"pdu": "apc", "outlets": "11"}, 0, 0, "the sum is 0 W"},
		"apc outlet not metered":   {map[string]string{"pdu": "apc", "outlets": "4,12"}, 0, 0, "outlet 12"},
		"apc outlet not there":     {map[string]string{"pdu": "apc", "outlets": "4,40"}, 0, 0, "outlet 40"},
		"raritan inlet":            {map[string]string{"pdu": "raritan", "inlets": "1"}, 2210, 0, ""},
		"raritan outlet, tenths":   {map[string]string{"pdu": "raritan", "outlets": "3"}, 386.8, 0, ""},
		"raritan, none now":        {map[string]string{"pdu": "raritan", "outlets": "5"}, 0, 0, "the unit says that there is none"},
		"raritan, another unit":    {map[string]string{"pdu": "raritan", "outlets": "3", "unit_number": "2"}, 0, 0, "outlet 3"},
		"enlogic inlet":            {map[string]string{"pdu": "enlogic", "inlets": "1"}, 868, 0, ""},
		"enlogic outlet":           {map[string]string{"pdu": "enlogic", "outlets": "7"}, 229, 0, ""},
		"oid with text":            {map[string]string{"pdu": "oid", "oids": "1.3.6.1.4.1.99999.1.1"}, 231.5, 0, ""},
		"oid in tenths":            {map[string]string{"pdu": "oid", "oids": ".1.3.6.1.4.1.99999.1.4", "scale": "0.1"}, 123.4, 0, ""},
		"oid of a script's output": {map[string]string{"pdu": "oid", "oids": "1.3.6.1.4.1.8072.1.3.2.3.1.1.5.119.97.116.116.115"}, 412.25, 0, ""},
		"oids added":               {map[string]string{"pdu": "oid", "oids": "1.3.6.1.4.1.99999.1.1,1.3.6.1.4.1.99999.1.4", "scale": "0.1"}, 146.55, 2, ""},
		"sentinel":                 {map[string]string{"pdu": "oid", "oids": "1.3.6.1.4.1.99999.1.2"}, 0, 0, "stands for none"},
		"words":                    {map[string]string{"pdu": "oid", "oids": "1.3.6.1.4.1.99999.1.3"}, 0, 0, `found "n/a"`},
	}
	versions := map[string]map[string]string{
		"2c": {"community_env": "COMMUNITY"},
		"1":  {"community_env": "COMMUNITY", "version": "1"},
		"3":  {"version": "3", "user": "monitor", "auth_password_env": "AUTH", "priv_password_env": "PRIV"},
	}
	for name, tt := range tests {
		for version, more := range versions {
			t.Run(name+" by version "+version, func(t *testing.T) {
				options := map[string]string{"address": address}
				for _, m := range []map[string]string{tt.options, more} {
					for k, v := range m {
						options[k] = v
					}
				}
				r, err := read(t, options)
				if tt.fails != "" {
					if !errors.Is(err, meter.ErrNoReading) || version != "1" && !strings.Contains(err.Error(), tt.fails) {
						t.Errorf("got %v (%v), want no reading for %q", r.Power, err, tt.fails)
					}
					return
				}
				if err != nil || len(r.Power) != 1 || r.Power[0].Value != tt.watts || len(r.Parts) != tt.parts {
					t.Errorf("got %+v (%v), want %v W in %d parts", r, err, tt.watts, tt.parts)
				}
			})
		}
	}
}

func TestRefusals(t *testing.T) {
	address := startAgent(t)
	base := map[string]string{"address": address, "pdu": "apc", "inlets": "1", "version": "3", "user": "monitor", "auth_password_env": "AUTH", "priv_password_env": "PRIV"}
	for name, change := range map[string][2]string{
		"user": {"user", "nobody"}, "authentication key": {"auth_password_env", "WRONG"},
	} {
		options := make(map[string]string)
		for k, v := range base {
			options[k] = v
		}
		options[change[0]] = change[1]
		_, err := read(t, options)
		if !errors.Is(err, meter.ErrRefused) {
			t.Errorf("another %s: got %v, want a refusal", name, err)
		}
		for _, secret := range []string{testAuthKey, testPrivKey, testCommunity, "guesswork"} {
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("the error shows a secret: %v", err)
			}
		}
	}
	m, err := open(map[string]string{"address": address, "pdu": "apc", "inlets": "1", "community_env": "WRONG"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	defer m.Close(ctx)
	if _, err := m.Read(ctx); err == nil || strings.Contains(err.Error(), "guesswork") {
		t.Errorf("another community: got %v, want an error without it", err)
	}
}

func TestOptionsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		options map[string]string
		want    string
	}{
		"no address":        {map[string]string{"pdu": "apc", "inlets": "1"}, "address: it is missing"},
		"no kind":           {map[string]string{"address": "x", "inlets": "1"}, "pdu: it is missing"},
		"unknown kind":      {map[string]string{"address": "x", "pdu": "acme"}, `found "acme"`},
		"nothing to read":   {map[string]string{"address": "x", "pdu": "apc"}, "neither outlets nor inlets"},
		"inlet and outlets": {map[string]string{"address": "x", "pdu": "apc", "inlets": "1", "outlets": "2"}, "an inlet's power holds its outlets'"},
		"no numbers":        {map[string]string{"address": "x", "pdu": "apc", "outlets": "two"}, "different whole numbers"},
		"a number twice":    {map[string]string{"address": "x", "pdu": "apc", "outlets": "2,2"}, "different whole numbers"},
		"no OIDs":           {map[string]string{"address": "x", "pdu": "oid"}, "oids: it is missing"},
		"no OID":            {map[string]string{"address": "x", "pdu": "oid", "oids": "PowerNet-MIB::x"}, "numbers between dots"},
		"scale":             {map[string]string{"address": "x", "pdu": "oid", "oids": "1.3.6", "scale": "-1"}, "found -1"},
		"community in plan": {map[string]string{"address": "x", "pdu": "apc", "inlets": "1", "community": "hunter2"}, "a secret in the plan"},
		"keys with 2c":      {map[string]string{"address": "x", "pdu": "apc", "inlets": "1", "user": "u"}, "a user or keys with version 2c"},
		"3 without a user":  {map[string]string{"address": "x", "pdu": "apc", "inlets": "1", "version": "3"}, "no user"},
		"bad port":          {map[string]string{"address": "x:y", "pdu": "apc", "inlets": "1"}, `found port "y"`},
	} {
		if _, err := open(tt.options); err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
	}
}

func FuzzOID(f *testing.F) {
	for _, s := range []string{"1.3.6", ".1.3.6.1", "1..3", "a.b", "", ".", "1.3."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if isOID(text) && (strings.Contains(text, "..") || strings.HasSuffix(text, ".") || strings.Trim(text, ".0123456789") != "") {
			t.Fatalf("%q was taken for an OID", text)
		}
	})
}
