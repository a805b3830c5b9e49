//go:build oracle

package oracle

import (
	"crypto/tls"
	"database/sql/driver"
	"errors"

	goora "github.com/sijms/go-ora/v2"
	"github.com/sijms/go-ora/v2/network"
)

// connect returns what makes connections.
func connect(dsn string, secure *tls.Config) (driver.Connector, error) {
	connector := goora.NewConnector(dsn)
	if secure == nil {
		return connector, nil
	}
	own, ok := connector.(*goora.OracleConnector)
	if !ok {
		return nil, errors.New("this version of the driver takes no TLS configuration")
	}
	own.WithTLSConfig(secure)
	return own, nil
}

// code is the code (ORA-) of the server's error, 0 of others.
func code(err error) int {
	var e *network.OracleError
	if !errors.As(err, &e) {
		return 0
	}
	return e.ErrCode
}
