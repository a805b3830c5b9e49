package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bakeoff/engine/net/flow"
	"bakeoff/engine/net/socket"
)

func TestFramesReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Test{
			Mode: Stream, Send: rapid.IntRange(0, 9).Draw(t, "send"), Receive: rapid.IntRange(0, 9).Draw(t, "receive"), Block: rapid.Int().Draw(t, "block"),
			Options: socket.Options{Congestion: rapid.String().Draw(t, "congestion")},
		}
		var b bytes.Buffer
		if err := Write(&b, want); err != nil {
			t.Fatal(err)
		}
		var got Test
		if err := Read(&b, &got); err != nil || b.Len() != 0 {
			t.Fatalf("%v, %d bytes left", err, b.Len())
		}
		w, _ := json.Marshal(want)
		g, _ := json.Marshal(got)
		if !bytes.Equal(w, g) {
			t.Fatalf("%s became %s", w, g)
		}
	})
}

func TestFramesThatCannotBe(t *testing.T) {
	long := binary.BigEndian.AppendUint32(nil, MaxFrame+1)
	for name, b := range map[string][]byte{
		"empty": nil, "cut in its length": {0, 0}, "cut in its body": {0, 0, 0, 5, '{'}, "too long": long, "no JSON": append([]byte{0, 0, 0, 1}, '!'),
	} {
		var v Test
		if err := Read(bytes.NewReader(b), &v); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if err := Write(&bytes.Buffer{}, strings.Repeat("x", MaxFrame)); err == nil {
		t.Error("a frame too long was written")
	}
}

// TestProofs: a proof holds for one token, side, conversation and test alone.
func TestProofs(t *testing.T) {
	h, c, test := Hello{Nonce: NewNonce()}, Challenge{Nonce: NewNonce()}, []byte(`{"mode":"stream"}`)
	right := ClientMAC("token", h, c, test)
	if !Equal(right, ClientMAC("token", h, c, test)) {
		t.Error("a proof does not hold")
	}
	for name, wrong := range map[string]string{
		"another token": ClientMAC("tokem", h, c, test), "the server's side": ServerMAC("token", h, c, test),
		"another client": ClientMAC("token", Hello{Nonce: NewNonce()}, c, test), "another challenge": ClientMAC("token", h, Challenge{Nonce: NewNonce()}, test),
		"another test": ClientMAC("token", h, c, []byte(`{"mode":"blocks"}`)), "nothing": "",
	} {
		if Equal(right, wrong) {
			t.Errorf("the proof of %s holds", name)
		}
	}
}

func TestTestsThatCannotBe(t *testing.T) {
	good := Test{Mode: Stream, Send: 1, Block: 1000}
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Test){
		"mode": func(t *Test) { t.Mode = "flood" }, "connections": func(t *Test) { t.Send = MaxConnections + 1 }, "none": func(t *Test) { t.Send = 0 },
		"negative": func(t *Test) { t.Send, t.Receive = -1, 3 }, "block": func(t *Test) { t.Block = 0 }, "large block": func(t *Test) { t.Block = MaxBlock + 1 },
		"datagram": func(t *Test) { t.Datagram, t.Batch, t.Block = true, 1, 65508 }, "small datagram": func(t *Test) { t.Datagram, t.Batch, t.Block = true, 1, 8 },
		"batch": func(t *Test) { t.Datagram, t.Batch = true, MaxBatch+1 }, "directions": func(t *Test) { t.Mode, t.Receive = Blocks, 1 },
		"blocks over UDP": func(t *Test) { t.Mode, t.Datagram = Blocks, true }, "rate": func(t *Test) { t.Rate = -1 }, "buffer": func(t *Test) { t.Options.SendBuffer = 2 << 30 },
		"device": func(t *Test) { t.Options.Device = "eth0" }, "fragment": func(t *Test) { t.Options.Fragment = "yes" }, "zero copy": func(t *Test) { t.ZeroCopy = "magic" },
		"message": func(t *Test) { t.Mode, t.Block = PingPong, MaxMessage+1 }, "dscp": func(t *Test) { t.Options.DSCP = 64 },
	} {
		bad := good
		spoil(&bad)
		if err := bad.Check(); err == nil {
			t.Errorf("%s: taken: %+v", name, bad)
		}
	}
}

func TestJoinReadsBack(t *testing.T) {
	key := bytes.Repeat([]byte{7}, KeySize)
	b := Join(key, 258)
	got, i := ReadJoin(b)
	if len(b) != JoinSize || !bytes.Equal(got, key) || i != 258 {
		t.Errorf("%d bytes, key % x, index %d", len(b), got, i)
	}
}

// FuzzControl: whatever a stranger sends is refused or is a test within bounds.
func FuzzControl(f *testing.F) {
	var b bytes.Buffer
	_ = Write(&b, Test{Mode: Stream, Send: 1, Block: 1000, ZeroCopy: flow.Copy})
	f.Add(b.Bytes())
	f.Add([]byte("\x00\x00\x00\x02{}"))
	f.Add([]byte("\x00\x00\x00\x20{\"mode\":\"stream\",\"send\":1e99}  "))
	f.Fuzz(func(t *testing.T, b []byte) {
		raw, err := ReadRaw(bytes.NewReader(b), MaxFrame)
		if err != nil {
			return
		}
		if len(raw) > len(b) {
			t.Fatalf("%d bytes out of %d", len(raw), len(b))
		}
		test, err := ReadTest(raw)
		if err == nil && (test.Send+test.Receive < 1 || test.Send+test.Receive > MaxConnections || test.Block > MaxBlock || test.Batch > MaxBatch) {
			t.Errorf("taken: %+v", test)
		}
		var r Report
		_ = json.Unmarshal(raw, &r)
	})
}
