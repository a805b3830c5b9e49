package sqlserver

import (
	"context"
	"errors"
	"fmt"

	mssql "github.com/microsoft/go-mssqldb"

	"bakeoff/engine/oltp/tpcc"
)

// Numbers of the server's errors, as sys.messages has them.
const (
	errDeadlock       = 1205
	errLockTimeout    = 1222
	errSnapshot       = 3960 // snapshot isolation: somebody else changed the row
	errSnapshotDDL    = 3961
	errMemoryConflict = 41302 // in-memory tables
	errMemoryRepeat   = 41305
	errMemorySerial   = 41325
	errMemoryDepends  = 41301
)

// fatalClass is the severity from which on the server ends the connection.
const fatalClass = 20

// classify says what an error means for the transaction. The server rolls
// back all of it, since the routines and the script let no error stand.
func classify(ctx context.Context, ended tpcc.Outcome, err error) (tpcc.Outcome, error) {
	if err == nil {
		return ended, nil
	}
	if ctx.Err() != nil {
		return tpcc.Broken, fmt.Errorf("%w (%w)", context.Cause(ctx), err)
	}
	var e mssql.Error
	if !errors.As(err, &e) || e.Class >= fatalClass { // of the network, or of the driver
		return tpcc.Broken, err
	}
	switch e.Number {
	case errDeadlock, errLockTimeout, errSnapshot, errSnapshotDDL, errMemoryConflict, errMemoryRepeat, errMemorySerial, errMemoryDepends:
		return tpcc.Conflict, err
	}
	return tpcc.Refused, err
}

// number is the number of a server's error, 0 for others.
func number(err error) int32 {
	var e mssql.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Number
}
