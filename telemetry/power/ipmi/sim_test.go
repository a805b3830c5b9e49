package ipmi

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

	"bakeoff/internal/osenv"
	"bakeoff/telemetry/power/meter"
)

const (
	simUser   = "monitor"
	simSecret = "correct-battery"
)

// simSensor is a sensor of watts that the simulator has: raw times factor.
type simSensor struct {
	name     string
	raw      int
	factor   int
	disabled bool
	unit     int // 6: watts
}

// record is the sensor's Full Sensor Record (IPMI 2.0, table 43-1).
func (s simSensor) record(number int) []byte {
	const (
		fullSensor, bmc, powerSupply = 0x01, 0x20, 0x0a
		threshold, otherUnits        = 0x01, 0x0b
	)
	b := make([]byte, 48)
	copy(b, []byte{0, 0, 0x51, fullSensor, 0, bmc, 0, byte(number), powerSupply, byte(number), 0x7f, 0x68, otherUnits, threshold})
	b[21] = byte(s.unit)
	b[24], b[25] = byte(s.factor), byte(s.factor>>8)<<6 // M, ten bits
	b[34] = 0xff
	b[47] = 0xc0 | byte(len(s.name))
	b = append(b, s.name...)
	b[4] = byte(len(b) - 5)
	return b
}

// startSim starts Debian's BMC simulator and returns its address.
func startSim(t *testing.T, sensors ...simSensor) string {
	t.Helper()
	if testing.Short() {
		t.Skip("needs the simulator")
	}
	program, err := exec.LookPath("ipmi_sim")
	if err != nil {
		t.Fatal("ipmi_sim of Debian's package openipmi is needed: ", err)
	}
	port := freeUDPPort(t)
	dir := t.TempDir()
	lan := fmt.Sprintf(`name "bmc"
startlan 1
  addr 127.0.0.1 %d
  priv_limit admin
  allowed_auths_callback md5
  allowed_auths_user md5
  allowed_auths_operator md5
  allowed_auths_admin md5
  guid a123456789abcdefa123456789abcdef
endlan
user 2 true "%s" "%s" user 10
`, port, simUser, simSecret)
	emu := "mc_setbmc 0x20\nmc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02\n"
	for i, s := range sensors {
		n := i + 1
		state := "scanning"
		if s.disabled {
			state = "no-scanning"
		}
		emu += fmt.Sprintf("sensor_add 0x20 0 %d 0x0b 0x01\nsensor_set_value 0x20 0 %d %d 0\n", n, n, s.raw)
		emu += fmt.Sprintf("sensor_set_event_support 0x20 0 %d enable %s none 000000000000000 000000000000000 000000000000000 000000000000000\n", n, state)
		emu += "main_sdr_add 0x20"
		for _, b := range s.record(n) {
			emu += fmt.Sprintf(" 0x%02x", b)
		}
		emu += "\n"
	}
	emu += "mc_enable 0x20\n"
	for name, text := range map[string]string{"lan.conf": lan, "bmc.emu": emu} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(program, "-c", filepath.Join(dir, "lan.conf"), "-f", filepath.Join(dir, "bmc.emu"), "-s", dir, "-n")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	address := fmt.Sprintf("127.0.0.1:%d", port)
	awaitPong(t, address)
	return address
}

func freeUDPPort(t *testing.T) int {
	t.Helper()
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.LocalAddr().(*net.UDPAddr).Port
}

// awaitPong sends RMCP presence pings (IPMI 2.0, section 13.2.3) until one is answered.
func awaitPong(t *testing.T, address string) {
	t.Helper()
	ping := []byte{0x06, 0x00, 0xff, 0x06, 0x00, 0x00, 0x11, 0xbe, 0x80, 0x00, 0x00, 0x00}
	deadline := time.Now().Add(20 * time.Second)
	for time.Now().Before(deadline) {
		conn, err := net.Dial("udp4", address)
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(200 * time.Millisecond))
		conn.Write(ping)
		_, err = conn.Read(make([]byte, 64))
		conn.Close()
		if err == nil {
			return
		}
	}
	t.Fatalf("nothing answers at %s", address)
}

func open(t *testing.T, options map[string]string) (meter.Meter, error) {
	t.Helper()
	env := &osenv.Env{Dir: ".", LookupEnv: func(key string) (string, bool) {
		return map[string]string{"BMC": simSecret, "WRONG": "guess"}[key], key == "BMC" || key == "WRONG"
	}}
	o := meter.NewOptions(env, `power source "bmc"`, options)
	m, err := Open(o)
	if err := errors.Join(err, o.Err()); err != nil {
		return nil, err
	}
	t.Cleanup(func() { m.Close(context.Background()) })
	return m, nil
}

func mustOpen(t *testing.T, options map[string]string) meter.Meter {
	t.Helper()
	m, err := open(t, options)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// TestSimulator reads sensors from Debian's simulator, which has no DCMI, with
// both versions of the protocol.
func TestSimulator(t *testing.T) {
	address := startSim(t,
		simSensor{name: "PS1 Power In", raw: 66, factor: 2, unit: 6},
		simSensor{name: "PS2 Power In", raw: 160, factor: 1, unit: 6},
		simSensor{name: "PS1 Power Out", raw: 120, factor: 1, unit: 6},
		simSensor{name: "Ambient Temp", raw: 22, factor: 1, unit: 1},
	)
	for _, intf := range []string{"lanplus", "lan"} {
		t.Run(intf, func(t *testing.T) {
			m := mustOpen(t, map[string]string{"address": address, "interface": intf, "user": simUser, "password_env": "BMC"})
			for range 2 {
				r, err := m.Read(testContext(t))
				if err != nil {
					t.Fatal(err)
				}
				if len(r.Power) != 1 || r.Power[0].Value != 292 {
					t.Errorf("power %v, want 132 + 160 W", r.Power)
				}
				if fmt.Sprint(r.Parts) != "[{PS1 Power In 132} {PS2 Power In 160} {PS1 Power Out 120}]" {
					t.Errorf("parts %v", r.Parts)
				}
			}
			if err := m.Close(testContext(t)); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("named", func(t *testing.T) {
		m := mustOpen(t, map[string]string{"address": address, "user": simUser, "password_env": "BMC", "sensors": "PS1 Power Out"})
		if r, err := m.Read(testContext(t)); err != nil || len(r.Power) != 1 || r.Power[0].Value != 120 {
			t.Errorf("power %v (%v), want 120 W", r.Power, err)
		}
	})
	t.Run("dcmi only", func(t *testing.T) {
		m := mustOpen(t, map[string]string{"address": address, "user": simUser, "password_env": "BMC", "read": "dcmi"})
		if r, err := m.Read(testContext(t)); err == nil || !strings.Contains(err.Error(), "DCMI") {
			t.Errorf("a controller without DCMI gave %v (%v)", r, err)
		}
	})
	t.Run("refused", func(t *testing.T) {
		for name, options := range map[string]map[string]string{
			"password": {"address": address, "user": simUser, "password_env": "WRONG"},
			"user":     {"address": address, "user": "nobody", "password_env": "BMC"},
		} {
			_, err := mustOpen(t, options).Read(testContext(t))
			if !errors.Is(err, meter.ErrRefused) {
				t.Errorf("another %s: got %v, want a refusal", name, err)
			}
			if err != nil && (strings.Contains(err.Error(), simSecret) || strings.Contains(err.Error(), "guess")) {
				t.Errorf("the error shows the password: %v", err)
			}
		}
	})
}

func TestSimulatorDisabledSensor(t *testing.T) {
	address := startSim(t,
		simSensor{name: "PS1 Power In", raw: 66, factor: 2, unit: 6},
		simSensor{name: "PS2 Power In", raw: 80, factor: 2, unit: 6, disabled: true},
	)
	m := mustOpen(t, map[string]string{"address": address, "user": simUser, "password_env": "BMC"})
	if r, err := m.Read(testContext(t)); !errors.Is(err, meter.ErrNoReading) {
		t.Errorf("one of two supplies without a reading gave %v (%v), want no reading", r.Power, err)
	}
}

func TestNobodyThere(t *testing.T) {
	m := mustOpen(t, map[string]string{"address": fmt.Sprintf("127.0.0.1:%d", freeUDPPort(t)), "user": simUser, "password_env": "BMC"})
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_, err := m.Read(ctx)
	if err == nil || errors.Is(err, meter.ErrRefused) {
		t.Errorf("got %v, want an error that is no refusal", err)
	}
}
