package redfish

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bakeoff/internal/osenv"
	"bakeoff/telemetry/power/meter"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	testUser     = "monitor"
	testPassword = "correct horse battery"
)

// service is a Redfish service that answers from a recorded tree.
type service struct {
	*httptest.Server
	mu        sync.Mutex
	tree      map[string]json.RawMessage
	sessions  map[string]bool
	opened    int
	noSession bool
	asked     []string
}

func newService(t *testing.T, file string) *service {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	s := &service{tree: make(map[string]json.RawMessage), sessions: make(map[string]bool)}
	if err := json.Unmarshal(data, &s.tree); err != nil {
		t.Fatal(err)
	}
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // the tests of trust make it complain
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.Method+" "+r.URL.Path)
	switch {
	case r.Method == http.MethodPost && r.URL.Path == sessionsPath:
		s.login(w, r)
		return
	case r.Method == http.MethodDelete:
		delete(s.sessions, r.Header.Get("X-Auth-Token"))
		w.WriteHeader(http.StatusNoContent)
		return
	}
	user, password, basic := r.BasicAuth()
	if !s.sessions[r.Header.Get("X-Auth-Token")] && !(basic && user == testUser && password == testPassword) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	body, ok := s.tree[r.URL.Path]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Write(body)
}

func (s *service) login(w http.ResponseWriter, r *http.Request) {
	if s.noSession {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	var given struct{ UserName, Password string }
	if json.NewDecoder(r.Body).Decode(&given) != nil || given.UserName != testUser || given.Password != testPassword {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	s.opened++
	token := fmt.Sprintf("token-%d", s.opened)
	s.sessions[token] = true
	w.Header().Set("X-Auth-Token", token)
	w.Header().Set("Location", fmt.Sprintf("https://bmc.internal%s/%d", sessionsPath, s.opened))
	w.WriteHeader(http.StatusCreated)
}

func (s *service) set(path, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tree[path] = json.RawMessage(body)
}

func (s *service) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

func (s *service) fingerprint() string {
	sum := sha256.Sum256(s.Certificate().Raw)
	return fmt.Sprintf("%X", sum)
}

func testEnv() *osenv.Env {
	return &osenv.Env{
		LookupEnv: func(key string) (string, bool) { return testPassword, key == "BMC_PASSWORD" },
		Dir:       ".", Clock: osenv.System{},
	}
}

func open(options map[string]string) (meter.Meter, error) {
	o := meter.NewOptions(testEnv(), `power source "bmc"`, options)
	m, err := Open(o)
	return m, errors.Join(err, o.Err())
}

// connect opens a source on the service with further options.
func (s *service) connect(t *testing.T, more map[string]string) meter.Meter {
	t.Helper()
	options := map[string]string{"url": s.URL, "user": testUser, "password_env": "BMC_PASSWORD", "fingerprint": s.fingerprint()}
	for k, v := range more {
		options[k] = v
		if v == "" {
			delete(options, k)
		}
	}
	m, err := open(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close(context.Background()) })
	return m
}

func read(t *testing.T, m meter.Meter) meter.Reading {
	t.Helper()
	r, err := m.Read(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func wantWatts(t *testing.T, r meter.Reading, watts ...float64) {
	t.Helper()
	var got []float64
	for _, w := range r.Power {
		got = append(got, w.Value)
	}
	if !slices.Equal(got, watts) {
		t.Errorf("power %v, want %v", got, watts)
	}
}

func wantNotes(t *testing.T, r meter.Reading, parts ...string) {
	t.Helper()
	if len(r.Notes) != len(parts) {
		t.Errorf("%d notes, want %d: %q", len(r.Notes), len(parts), r.Notes)
	}
	for _, part := range parts {
		if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, part) }) {
			t.Errorf("no note says %q: %q", part, r.Notes)
		}
	}
}

func TestIDRAC(t *testing.T) {
	s := newService(t, "idrac.json")
	m := s.connect(t, nil)
	r := read(t, m)
	wantWatts(t, r, 412)
	wantNotes(t, r, "above its own limit of 390 W", "input of 900 W is above its capacity of 750 W")
	if fmt.Sprint(r.Parts) != "[{PS1 Status 195} {PS2 Status 206.5}]" {
		t.Errorf("parts %v", r.Parts)
	}
	before := len(s.requests())
	read(t, m)
	if later := s.requests()[before:]; len(later) != 1 {
		t.Errorf("a later reading asked %v, want once", later)
	}
	if err := m.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sessions) != 0 || s.opened != 1 {
		t.Errorf("%d sessions were opened and %d are left", s.opened, len(s.sessions))
	}
}

func TestILO(t *testing.T) {
	s := newService(t, "ilo.json")
	r := read(t, s.connect(t, nil))
	wantWatts(t, r, 305)
	wantNotes(t, r)
	if fmt.Sprint(r.Parts) != "[{HpeServerPowerSupply 150} {HpeServerPowerSupply 1 155}]" {
		t.Errorf("parts %v", r.Parts)
	}
}

// TestPowerSubsystem takes away where the power is stated, best first.
func TestPowerSubsystem(t *testing.T) {
	const base = "/redfish/v1/Chassis/1U/"
	s := newService(t, "subsystem.json")
	r := read(t, s.connect(t, nil))
	wantWatts(t, r, 374.5)
	s.set(base+"EnvironmentMetrics", `{"@odata.type": "#EnvironmentMetrics.v1_3_0.EnvironmentMetrics", "PowerWatts": {"Reading": null}}`)
	r = read(t, s.connect(t, nil))
	wantWatts(t, r, 379.75)
	wantNotes(t, r, "input of 199.5 W is above its capacity of 150 W", "which no supply can")
	s.set(base+"PowerSubsystem/PowerSupplies/Bay2/Metrics", `{"@odata.type": "#PowerSupplyMetrics.v1_0_1.PowerSupplyMetrics", "InputPowerWatts": {"Reading": null}}`)
	r = read(t, s.connect(t, nil))
	wantWatts(t, r, 380) // half of the supplies would be a wrong number; the sensor of the total is right
	s.set(base+"Sensors/TotalPower", `{"@odata.type": "#Sensor.v1_6_0.Sensor", "Id": "TotalPower", "ReadingType": "Power", "ReadingUnits": "W", "Status": {"State": "Absent"}, "Reading": 0}`)
	if _, err := s.connect(t, nil).Read(context.Background()); !errors.Is(err, meter.ErrNoReading) {
		t.Errorf("got %v, want no reading", err)
	}
}

func TestContradictionBetweenResources(t *testing.T) {
	s := newService(t, "subsystem.json")
	s.set("/redfish/v1/Chassis/1U", `{"Id": "1U", "Power": {"@odata.id": "/redfish/v1/Chassis/1U/Power"}, "EnvironmentMetrics": {"@odata.id": "/redfish/v1/Chassis/1U/EnvironmentMetrics"}}`)
	s.set("/redfish/v1/Chassis/1U/Power", `{"@odata.type": "#Power.v1_7_1.Power", "PowerControl": [{"PowerConsumedWatts": 344}]}`)
	r := read(t, s.connect(t, nil))
	wantWatts(t, r, 344)
	wantNotes(t, r, "is 344 W, but PowerWatts of EnvironmentMetrics env is 374.5 W; the former is taken")
}

// TestSharedSupplies checks that what several chassis state of the same
// supplies is counted once, and that a guess between several is refused.
func TestSharedSupplies(t *testing.T) {
	s := newService(t, "enclosure.json")
	_, err := s.connect(t, nil).Read(context.Background())
	if err == nil || !strings.Contains(err.Error(), "Sled1 (1100 W), Other (210 W)") {
		t.Errorf("got %v, want the chassis that are to be chosen from", err)
	}
	r := read(t, s.connect(t, map[string]string{"chassis": "Sled1, Sled2"}))
	wantWatts(t, r, 1100)
	wantNotes(t, r, "counted once")
	r = read(t, s.connect(t, map[string]string{"chassis": "Sled1,Gpu,Other"}))
	wantWatts(t, r, 1310) // the Gpu chassis lies in Sled1
	r = read(t, s.connect(t, map[string]string{"chassis": "Gpu"}))
	wantWatts(t, r, 600)
	_, err = s.connect(t, map[string]string{"chassis": "Sled9"}).Read(context.Background())
	if err == nil || !strings.Contains(err.Error(), `no chassis "Sled9"; there are Gpu, Other, Sled1, Sled2`) {
		t.Errorf("got %v", err)
	}
}

func TestPaths(t *testing.T) {
	const a, b = "/redfish/v1/PowerEquipment/RackPDUs/1/Outlets/1", "/redfish/v1/PowerEquipment/RackPDUs/2/Outlets/7"
	s := newService(t, "ilo.json")
	outlet := func(w string) string {
		return `{"@odata.type": "#Outlet.v1_4_2.Outlet", "Name": "o", "Status": {"State": "Enabled"}, "PowerState": "On", "PowerWatts": {"Reading": ` + w + `}}`
	}
	s.set(a, outlet("386.839"))
	s.set(b, outlet("0.0"))
	r := read(t, s.connect(t, map[string]string{"paths": a + "," + b}))
	wantWatts(t, r, 386.839) // the other feed of the same server idles
	if _, err := s.connect(t, map[string]string{"paths": b}).Read(context.Background()); !errors.Is(err, meter.ErrNoReading) {
		t.Errorf("0 W of all outlets: got %v, want no reading", err)
	}
	s.set(b, outlet("null"))
	if _, err := s.connect(t, map[string]string{"paths": a + "," + b}).Read(context.Background()); !errors.Is(err, meter.ErrNoReading) {
		t.Errorf("an outlet without a number: got %v, want no reading", err)
	}
}

func TestMetricReport(t *testing.T) {
	s := newService(t, "idrac.json")
	r := read(t, s.connect(t, map[string]string{"report": "PowerMetrics", "metric": "SystemPowerConsumption", "shift": "-2s"}))
	wantWatts(t, r, 411, 415)
	if want := time.Date(2026, 3, 1, 9, 59, 59, 0, time.UTC); !r.Power[0].At.Equal(want) {
		t.Errorf("stamped %v, want %v", r.Power[0].At, want)
	}
	_, err := s.connect(t, map[string]string{"report": "PowerMetrics", "metric": "Watts"}).Read(context.Background())
	if !errors.Is(err, meter.ErrNoReading) || !strings.Contains(err.Error(), "SystemPowerConsumption, TotalCPUPower") {
		t.Errorf("got %v, want what the report has", err)
	}
}

func TestAuthentication(t *testing.T) {
	s := newService(t, "ilo.json")
	m := s.connect(t, map[string]string{"auth": "session"})
	read(t, m)
	s.mu.Lock()
	clear(s.sessions) // the service ends the session, as after half an hour
	s.mu.Unlock()
	wantWatts(t, read(t, m), 305)
	if s.opened != 2 {
		t.Errorf("%d sessions, want 2", s.opened)
	}
	read(t, s.connect(t, map[string]string{"auth": "basic"}))
	if s.opened != 2 {
		t.Error("basic authentication opened a session")
	}
	s.noSession = true
	read(t, s.connect(t, nil))
	if _, err := s.connect(t, map[string]string{"user": "", "password_env": ""}).Read(context.Background()); !errors.Is(err, meter.ErrRefused) {
		t.Errorf("without credentials: got %v, want a refusal", err)
	}
	for _, auth := range []string{"session", "basic"} {
		s.noSession = false
		_, err := s.connect(t, map[string]string{"auth": auth, "user": "nobody"}).Read(context.Background())
		if !errors.Is(err, meter.ErrRefused) || strings.Contains(err.Error(), testPassword) {
			t.Errorf("%s: got %v, want a refusal without the password", auth, err)
		}
	}
}

func TestTrust(t *testing.T) {
	s := newService(t, "ilo.json")
	file := filepath.Join(t.TempDir(), "ca.pem")
	data := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	wantWatts(t, read(t, s.connect(t, map[string]string{"fingerprint": "", "ca_file": file})), 305)
	wantWatts(t, read(t, s.connect(t, map[string]string{"fingerprint": "", "insecure": "true"})), 305)
	wantWatts(t, read(t, s.connect(t, map[string]string{"fingerprint": "sha256:" + strings.ToLower(s.fingerprint())})), 305)
	for name, options := range map[string]map[string]string{
		"nothing":     {"fingerprint": ""},
		"another pin": {"fingerprint": strings.Repeat("ab", 32)},
	} {
		if _, err := s.connect(t, options).Read(context.Background()); err == nil || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("%s: got %v, want an error about the certificate", name, err)
		}
	}
}

func TestOptionsRefused(t *testing.T) {
	base := map[string]string{"url": "https://bmc.example"}
	tests := map[string]struct {
		more map[string]string
		want string
	}{
		"no address":         {map[string]string{"url": ""}, "url: it is missing"},
		"password in url":    {map[string]string{"url": "https://u:hunter2@bmc"}, "a user or password in it"},
		"password in plan":   {map[string]string{"user": "u", "password": "hunter2"}, "a secret in the plan"},
		"no password":        {map[string]string{"user": "u"}, "no password for u"},
		"unset variable":     {map[string]string{"user": "u", "password_env": "NOPE"}, "the environment has no NOPE"},
		"missing file":       {map[string]string{"user": "u", "password_file": "/nonexistent"}, "password_file"},
		"in the clear":       {map[string]string{"url": "http://bmc", "user": "u", "password_env": "BMC_PASSWORD"}, "in the clear"},
		"unknown":            {map[string]string{"hots": "x"}, "hots: no such option; it takes auth, ca_file, chassis"},
		"two kinds of trust": {map[string]string{"insecure": "true", "fingerprint": strings.Repeat("0", 64)}, "more than one of"},
		"bad pin":            {map[string]string{"fingerprint": "zz"}, "SHA-256 in hex"},
		"bad choice":         {map[string]string{"auth": "digest"}, `found "digest"; expected one of auto, session, basic`},
		"report alone":       {map[string]string{"report": "PowerMetrics"}, "metric: it is missing"},
		"inlet and outlet": {map[string]string{"paths": "/redfish/v1/PowerEquipment/RackPDUs/1/Mains/A,/redfish/v1/PowerEquipment/RackPDUs/1/Outlets/1"},
			"an inlet's power holds its outlets'"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			options := make(map[string]string)
			for k, v := range base {
				options[k] = v
			}
			for k, v := range tt.more {
				options[k] = v
			}
			_, err := open(options)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), `power source "bmc"`) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error shows a password: %v", err)
			}
		})
	}
}

func TestServiceFaults(t *testing.T) {
	s := newService(t, "ilo.json")
	for name, body := range map[string]string{"no object": `[1]`, "cut": `{"Chassis": {`, "page": `<html>login</html>`, "nothing": ``, "no chassis": `{}`} {
		s.set("/redfish/v1/", body)
		if _, err := s.connect(t, nil).Read(context.Background()); err == nil || !strings.Contains(err.Error(), "/redfish/v1/") {
			t.Errorf("%s: got %v, want an error that names the resource", name, err)
		}
	}
	s.set("/redfish/v1/", `{"Chassis": {"@odata.id": "https://elsewhere.example/redfish/v1/Chassis"}}`)
	if _, err := s.connect(t, nil).Read(context.Background()); err == nil || !strings.Contains(err.Error(), "elsewhere.example, which was not asked for") {
		t.Errorf("got %v, want a refusal to go elsewhere", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.connect(t, nil).Read(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's end", err)
	}
}

// TestMovedResource checks that a resource that is gone is looked for again.
func TestMovedResource(t *testing.T) {
	s := newService(t, "ilo.json")
	m := s.connect(t, nil)
	read(t, m)
	s.mu.Lock()
	s.tree["/redfish/v1/Chassis/1/Power"] = s.tree["/redfish/v1/Chassis/1/Power/"]
	delete(s.tree, "/redfish/v1/Chassis/1/Power/")
	s.mu.Unlock()
	s.set("/redfish/v1/Chassis/1/", `{"Id": "1", "Power": {"@odata.id": "/redfish/v1/Chassis/1/Power"}}`)
	if _, err := m.Read(context.Background()); err == nil {
		t.Error("the resource is gone, but no error says so")
	}
	wantWatts(t, read(t, m), 305)
}

func FuzzParse(f *testing.F) {
	for _, file := range []string{"idrac.json", "ilo.json", "subsystem.json"} {
		data, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			f.Fatal(err)
		}
		var tree map[string]json.RawMessage
		if err := json.Unmarshal(data, &tree); err != nil {
			f.Fatal(err)
		}
		for _, body := range tree {
			f.Add([]byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Parse(data)
		if err != nil {
			return
		}
		if len(r.Power) == 0 {
			t.Fatal("neither power nor an error")
		}
		for _, w := range r.Power {
			if meter.Check("", w.Value) != nil {
				t.Fatalf("%v W was taken for a reading", w.Value)
			}
		}
	})
}
