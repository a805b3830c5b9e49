package mysql

import (
	"context"
	"database/sql/driver"
	"fmt"
	"time"
)

// patient opens connections within a time of their own: the driver's is over
// when the socket is connected, before the server has said a word.
type patient struct {
	driver.Connector
	time time.Duration
}

// Connect connects and logs in.
func (p patient) Connect(ctx context.Context) (driver.Conn, error) {
	limited, cancel := context.WithTimeout(ctx, p.time)
	defer cancel()
	conn, err := p.Connector.Connect(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("no greeting within %v: is this a MariaDB or MySQL server? (%w)", p.time, err)
	}
	return conn, err
}
