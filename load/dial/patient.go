package dial

import (
	"context"
	"database/sql/driver"
	"fmt"
	"time"
)

// Patient opens a database's connections within a time of their own: a driver's
// is over when the socket is connected, before the server has said a word.
type Patient struct {
	driver.Connector
	Time time.Duration
	Kind string // of server that was expected, for the error
}

// Connect connects and logs in.
func (p Patient) Connect(ctx context.Context) (driver.Conn, error) {
	limited, cancel := context.WithTimeout(ctx, p.Time)
	defer cancel()
	conn, err := p.Connector.Connect(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("no greeting within %v: is this a %s server? (%w)", p.Time, p.Kind, err)
	}
	return conn, err
}
