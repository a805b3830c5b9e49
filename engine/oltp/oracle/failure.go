package oracle

import (
	"context"
	"fmt"
	"slices"

	"bakeoff/engine/oltp/tpcc"
)

// conflicts are the codes (ORA-) with which the server gives up one transaction
// for another: resource busy, deadlock, serialization, timeout on a resource.
func conflicts() []int { return []int{54, 60, 4020, 8177, 30006} }

// broken are the codes with which a session ends, or the server: session killed,
// not logged on, starting, not available, shutting down, terminated, end of file,
// not connected, lost contact, and those of the transport (TNS-12500 and after).
func broken(code int) bool {
	return slices.Contains([]int{28, 31, 600, 1012, 1033, 1034, 1089, 1090, 1092, 2396, 3113, 3114, 3135}, code) || code >= 12500 && code < 12700
}

// classify says what an error means for the transaction. The routines and the
// script roll back whatever fails.
func classify(ctx context.Context, ended tpcc.Outcome, err error) (tpcc.Outcome, error) {
	if err == nil {
		return ended, nil
	}
	if ctx.Err() != nil {
		return tpcc.Broken, fmt.Errorf("%w (%w)", context.Cause(ctx), err)
	}
	return meaning(code(err)), err
}

// meaning is that of a code; 0 is an error of the network or of the driver.
func meaning(code int) tpcc.Outcome {
	switch {
	case code == 0 || broken(code):
		return tpcc.Broken
	case slices.Contains(conflicts(), code):
		return tpcc.Conflict
	}
	return tpcc.Refused
}
