package dial

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"
	"time"
)

// mute is a server that takes a connection and says nothing.
type mute struct{ driver.Connector }

func (mute) Connect(ctx context.Context) (driver.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestAPatientConnectorGivesUp(t *testing.T) {
	p := Patient{Connector: mute{}, Time: time.Millisecond, Kind: "Fig"}
	if _, err := p.Connect(t.Context()); err == nil || !strings.Contains(err.Error(), "no greeting within 1ms: is this a Fig server?") {
		t.Errorf("found %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p.Time = time.Hour
	if _, err := p.Connect(ctx); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "greeting") {
		t.Errorf("found %v of one that was told to stop", err)
	}
}
