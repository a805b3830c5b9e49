//go:build oracle

package oracle

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/sijms/go-ora/v2/network"

	"bakeoff/engine/oltp"
)

func TestCode(t *testing.T) {
	if got := code(fmt.Errorf("running it: %w", &network.OracleError{ErrCode: 60})); got != 60 {
		t.Error(got)
	}
	if got := code(io.EOF); got != 0 {
		t.Error(got)
	}
}

// TestNobodyThere connects to a port where nobody listens.
func TestNobodyThere(t *testing.T) {
	db, err := Target{}.Open(settings(t, "oracle://127.0.0.1:1/FREEPDB1"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.(oltp.Blocking).Connect(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "connecting to 127.0.0.1:1 as tpcc") || strings.Contains(err.Error(), "se/cr") {
		t.Error(err)
	}
}
