package mysql

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"bakeoff/engine/oltp/mysql/protocol"
	"bakeoff/engine/oltp/tpcc"
)

// spoken is a conversation with statements that nobody prepared.
func spoken(s script) *conversation {
	c := &conversation{script: s}
	c.stream.NoEOF = true
	for i, text := range s.statements() {
		c.prepared = append(c.prepared, protocol.Statement{ID: uint32(i), Parameters: bytes.Count([]byte(text), []byte("?"))})
	}
	return c
}

func scripts() map[string]func() script {
	return map[string]func() script{
		"calls, set":       func() script { return &calls{} },
		"calls, row":       func() script { return &calls{perRow: true} },
		"variables":        func() script { return newVariableCalls(false, 0) },
		"HammerDB":         func() script { return newVariableCalls(true, 5) },
		"client, set":      func() script { return newClientSQL(profile{}, false) },
		"client, row":      func() script { return newClientSQL(profile{}, true) },
		"client, spec set": func() script { return newClientSQL(profile{Spec: true}, false) },
		"client, spec row": func() script { return newClientSQL(profile{Spec: true}, true) },
	}
}

// TestRequestsDoNotAllocate begins transactions of all kinds and has every command
// answered with an OK without rows.
func TestRequestsDoNotAllocate(t *testing.T) {
	ok := []byte{7, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0}
	for name, make := range scripts() {
		c := spoken(make())
		draw := tpcc.NewUser(tpcc.Rules{Profile: tpcc.HammerDB, Warehouses: 5, Users: 1, Homes: tpcc.RandomHome, Seed: 1}, 0, 0)
		var tx tpcc.Tx
		out := []byte{}
		once := func() {
			draw.Next(&tx)
			out = c.Begin(out[:0], &tx)
			for c.tx != nil {
				out, _ = c.Receive(out[:0], ok)
			}
		}
		for range 200 {
			once()
		}
		if n := testing.AllocsPerRun(500, once); n > 0 {
			t.Errorf("%s: %.1f allocations a transaction", name, n)
		}
	}
}

// TestLines writes the lines of an order in both forms.
func TestLines(t *testing.T) {
	tx := &tpcc.Tx{LineCount: 2, Lines: [tpcc.MaxLines]tpcc.Line{{Item: 7, Supply: 1, Quantity: 10}, {Item: 100001, Supply: 1_000_000, Quantity: 1}}}
	if got, want := string(appendJSONLines(nil, tx)), "[[7,1,10],[100001,1000000,1]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := string(appendFixedLines(nil, tx)), "000007000000110100001100000001"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestDecimals(t *testing.T) {
	for _, c := range []struct {
		text  string
		v     int64
		scale int
	}{{"0.05", 5, 2}, {"-12.34", -1234, 2}, {"0.1234", 1234, 4}, {"100.00", 10000, 2}, {"7", 7, 0}, {"-0.50", -50, 2}} {
		if got := string(appendDecimal(nil, c.v, c.scale)); got != c.text {
			t.Errorf("%d is written as %s, want %s", c.v, got, c.text)
		}
		if got := unscaled([]byte(c.text), c.scale); got != c.v {
			t.Errorf("%s is read as %d, want %d", c.text, got, c.v)
		}
	}
	if got := unscaled([]byte("1.5"), 4); got != 15000 {
		t.Errorf("1.5 is read as %d", got)
	}
}

// TestAmount compares the client's arithmetic with numbers worked out by hand:
// 3 x 10.01 x (1 + 0.1 + 0.2) x (1 - 0.05) = 37.08705.
func TestAmount(t *testing.T) {
	s := &client{wTax: 1000, dTax: 2000, discount: 500}
	s.prices[0] = 10_01
	if got := s.amount(0, 3); got != 37_09 {
		t.Errorf("got %d, want 3709", got)
	}
	s.profile.Spec = true
	if got := s.amount(0, 3); got != 30_03 {
		t.Errorf("got %d, want 3003", got)
	}
}

// FuzzConversation has a server answer with anything: a transaction may end in
// any way, but not in a panic, and nothing is sent after it has ended.
func FuzzConversation(f *testing.F) {
	files, err := filepath.Glob("protocol/testdata/*.bin")
	if err != nil || len(files) == 0 {
		f.Fatalf("no captured answers: %v", err)
	}
	for i, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, uint8(i), uint8(i), uint8(60))
	}
	ok, _ := hex.DecodeString("0700000100000002000000")
	f.Add(bytes.Repeat(ok, 40), uint8(1), uint8(4), uint8(200))
	all := scripts()
	names := []string{"calls, set", "calls, row", "variables", "HammerDB", "client, set", "client, row", "client, spec set", "client, spec row"}
	f.Fuzz(func(t *testing.T, answer []byte, which, seed, piece uint8) {
		c := spoken(all[names[int(which)%len(names)]]())
		draw := tpcc.NewUser(tpcc.Rules{Profile: tpcc.HammerDB, Warehouses: 5, Users: 1, Homes: tpcc.RandomHome, Seed: uint64(seed)}, 0, 0)
		var tx tpcc.Tx
		draw.Next(&tx)
		c.Begin(nil, &tx)
		for len(answer) > 0 {
			n := min(len(answer), 1+int(piece))
			out, result := c.Receive(nil, answer[:n])
			if result.Ended && len(out) > 0 {
				t.Errorf("%d bytes are sent after the end", len(out))
			}
			if result.Ended && result.Outcome == tpcc.Broken {
				if result.Err == nil {
					t.Error("broken without a reason")
				}
				return
			}
			if result.Ended {
				draw.Next(&tx)
				c.Begin(nil, &tx)
			}
			answer = answer[n:]
		}
	})
}
