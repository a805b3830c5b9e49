package ipmi

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bougou/go-ipmi/pkg/bmc"
	"github.com/bougou/go-ipmi/pkg/clock"
	"github.com/bougou/go-ipmi/pkg/hal/mock"
	"github.com/bougou/go-ipmi/pkg/handlers"
	"github.com/bougou/go-ipmi/pkg/server"
	"github.com/bougou/go-ipmi/pkg/transport/udp"
	"github.com/bougou/go-ipmi/pkg/types"
	"go.uber.org/goleak"

	"bakeoff/telemetry/power/meter"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// dcmiAnswer is an answer to Get Power Reading (DCMI 1.5, table 6-16).
func dcmiAnswer(current, least, most, mean uint16, active bool) []byte {
	const group, stateActive = 0xdc, 1 << 6
	b := []byte{group}
	for _, w := range []uint16{current, least, most, mean} {
		b = binary.LittleEndian.AppendUint16(b, w)
	}
	b = binary.LittleEndian.AppendUint32(b, 1_700_000_000)
	b = binary.LittleEndian.AppendUint32(b, 1000)
	if active {
		return append(b, stateActive)
	}
	return append(b, 0)
}

// startDCMI starts a controller that has DCMI, which Debian's simulator has
// not: the library's own server with answers written here.
func startDCMI(t *testing.T, answer func() []byte) string {
	t.Helper()
	b := bmc.New(bmc.DeviceInfo{IPMIVersion: 0x20}, [16]byte{}, mock.New(), bmc.WithClock(clock.Real))
	user, err := b.Users.Add(2, simUser)
	if err != nil {
		t.Fatal(err)
	}
	user.SetPassword([]byte(simSecret))
	user.Enabled = true
	user.ChannelAccess[1] = bmc.UserChannelAccess{MaxPrivilege: bmc.PrivilegeLevelAdministrator, Enabled: true}
	registry := handlers.NewRegistry()
	handlers.RegisterAllHandlers(registry)
	registry.RegisterFunc(types.CommandGetDCMIPowerReading, func(context.Context, *handlers.HandlerContext, []byte) ([]byte, types.CompletionCode, error) {
		return answer(), types.CodeOK, nil
	})
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	s := server.NewServer(b, udp.Wrap(conn, udp.WithReadTimeout(100*time.Millisecond)), server.WithHandlerRegistry(registry))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
		conn.Close()
	})
	awaitPong(t, conn.LocalAddr().String())
	return conn.LocalAddr().String()
}

func TestDCMI(t *testing.T) {
	var answer atomic.Value
	answer.Store(dcmiAnswer(167, 124, 422, 156, true))
	address := startDCMI(t, func() []byte { return answer.Load().([]byte) })
	m := mustOpen(t, map[string]string{"address": address, "user": simUser, "password_env": "BMC"})
	r, err := m.Read(testContext(t))
	if err != nil || len(r.Power) != 1 || r.Power[0].Value != 167 || len(r.Notes) != 0 {
		t.Errorf("%+v (%v), want 167 W", r, err)
	}
	answer.Store(dcmiAnswer(0, 0, 0, 0, false))
	if _, err := m.Read(testContext(t)); !errors.Is(err, meter.ErrNoReading) {
		t.Errorf("0 W: got %v, want no reading", err)
	}
	answer.Store(dcmiAnswer(360, 360, 360, 360, false))
	r, err = m.Read(testContext(t))
	if err != nil || r.Power[0].Value != 360 || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "deactivated") {
		t.Errorf("%+v (%v), want 360 W with a note", r, err)
	}
	answer.Store(dcmiAnswer(65535, 0, 0, 0, true))
	if _, err := m.Read(testContext(t)); !errors.Is(err, meter.ErrNoReading) {
		t.Errorf("65535 W: got %v, want no reading", err)
	}
	answer.Store(dcmiAnswer(200, 100, 150, 170, true))
	if r, err = m.Read(testContext(t)); err != nil || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "mean of 170 W") {
		t.Errorf("%+v (%v), want a note about the mean", r, err)
	}
	if err := m.Close(testContext(t)); err != nil {
		t.Error(err)
	}
}
