package postgres

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bakeoff/engine/oltp/tpcc"
)

// answer makes a backend message.
func answer(kind byte, body ...byte) []byte {
	m, start := open(nil, kind)
	return closed(append(m, body...), start)
}

// split gives all messages of a stream that comes in pieces.
func split(pieces [][]byte) (messages []string, err error) {
	var s splitter
	for _, p := range pieces {
		s.put(p)
		for {
			kind, body, err := s.next()
			if err != nil {
				return messages, err
			}
			if kind == 0 {
				break
			}
			messages = append(messages, fmt.Sprintf("%c%x", kind, body))
		}
	}
	return messages, nil
}

func TestAnySplitGivesTheSameMessages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var stream []byte
		var want []string
		for range rapid.IntRange(0, 6).Draw(t, "messages") {
			kind := rapid.SampledFrom([]byte("12DCZEN")).Draw(t, "kind")
			body := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "body")
			stream = append(stream, answer(kind, body...)...)
			want = append(want, fmt.Sprintf("%c%x", kind, body))
		}
		var pieces [][]byte
		for rest := stream; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			pieces, rest = append(pieces, bytes.Clone(rest[:n])), rest[n:]
		}
		got, err := split(pieces)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("found %v, %v; want %v", got, err, want)
		}
	})
}

// TestWhatFollowsAnAnswer: a notice, or the server's farewell, may come with it.
func TestWhatFollowsAnAnswer(t *testing.T) {
	reply := bytes.Join([][]byte{answer('2'), answer('D', 0, 1, 0, 0, 0, 1, 'x'), answer('C', 'S', 0), answer('Z', 'I')}, nil)
	for _, c := range []struct {
		name string
		tail []byte
		next tpcc.Outcome
	}{
		{"nothing", nil, tpcc.Committed},
		{"a notice", answer('N', 'M', 'x', 0, 0), tpcc.Committed},
		{"part of a notice", answer('N', 'M', 'x', 0, 0)[:3], tpcc.Committed},
		{"an answer too many", answer('Z', 'I'), tpcc.Broken},
	} {
		k := &talk{script: calls{}}
		tx := tpcc.Tx{Kind: tpcc.Delivery, Warehouse: 1}
		k.Begin(nil, &tx)
		first := append(bytes.Clone(reply), c.tail...)
		_, r := k.Receive(nil, first)
		clear(first) // it is the loop's again
		if c.next == tpcc.Committed {
			if !r.Ended || r.Outcome != tpcc.Committed {
				t.Errorf("%s: found %+v", c.name, r)
			}
			k.Begin(nil, &tx)
			rest := reply
			if c.name == "part of a notice" {
				rest = append(bytes.Clone(answer('N', 'M', 'x', 0, 0)[3:]), reply...)
			}
			_, r = k.Receive(nil, rest)
		}
		if !r.Ended || r.Outcome != c.next {
			t.Errorf("%s: then found %+v", c.name, r)
		}
	}
	k := &talk{script: calls{}}
	tx := tpcc.Tx{Kind: tpcc.Payment, Warehouse: 1}
	k.Begin(nil, &tx)
	farewell := append(bytes.Clone(reply), answer('E', []byte("SFATAL\x00C57P01\x00Mbye\x00\x00")...)...)
	if _, r := k.Receive(nil, farewell); r.Outcome != tpcc.Committed {
		t.Errorf("an answer with a farewell: found %+v, want it to count", r)
	}
}

func FuzzTalk(f *testing.F) {
	f.Add([]byte{}, uint8(3), uint8(0))
	ok := bytes.Join([][]byte{answer('2'), answer('D', 0, 1, 0, 0, 0, 1, 'x'), answer('C', 'S', 0), answer('Z', 'I')}, nil)
	f.Add(ok, uint8(1), uint8(0))
	f.Add(bytes.Join([][]byte{answer('E', []byte("SERROR\x00C40P01\x00Mdeadlock\x00\x00")...), answer('Z', 'E')}, nil), uint8(7), uint8(5))
	f.Add(answer('E', []byte("SFATAL\x00C57P01\x00Mbye\x00\x00")...), uint8(2), uint8(2))
	f.Fuzz(func(t *testing.T, stream []byte, piece, kind uint8) {
		for _, s := range []script{calls{}, pipeline{spec: true}, hammerdb{warehouses: 3}} {
			k := &talk{script: s}
			tx := tpcc.Tx{Kind: tpcc.Kind(kind % uint8(tpcc.Kinds)), Warehouse: 1, District: 1, LineCount: 5}
			out := k.Begin(nil, &tx)
			for rest := stream; len(rest) > 0; {
				n := min(int(piece)+1, len(rest))
				o, r := k.Receive(out[:0], rest[:n])
				if rest, out = rest[n:], o; r.Ended {
					break
				}
			}
		}
	})
}

func FuzzColumns(f *testing.F) {
	f.Add([]byte{0, 2, 0, 0, 0, 1, 'x', 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{0, 1, 0x7f, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, body []byte) {
		var into [4][]byte
		n, err := columns(body, into[:])
		if err != nil {
			return
		}
		for _, v := range into[:n] {
			if len(v) > len(body) {
				t.Fatal("a value is longer than its row")
			}
		}
		_ = readError(body).Error()
	})
}

func TestColumns(t *testing.T) {
	var into [2][]byte
	n, err := columns([]byte{0, 2, 0, 0, 0, 1, 'x', 0xff, 0xff, 0xff, 0xff}, into[:])
	if err != nil || n != 2 || string(into[0]) != "x" || into[1] != nil {
		t.Errorf("found %d columns %q, %v", n, into, err)
	}
	for _, bad := range [][]byte{{}, {0}, {0, 3, 0, 0, 0, 0}, {0, 1}, {0, 1, 0, 0, 0, 5, 'x'}} {
		if _, err := columns(bad, into[:]); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
}

func TestErrorsSayWhatTheyMean(t *testing.T) {
	e := readError([]byte("SFEHLER\x00VERROR\x00C40001\x00Mcould not serialize\x00Dmore\x00\x00"))
	if e.severity != "ERROR" || e.code != stateSerialization || e.Error() != "could not serialize (SQLSTATE 40001)" || e.fatal() {
		t.Errorf("found %+v", e)
	}
}

// decimal reads what appendNumeric wrote, as PostgreSQL does.
func decimal(b []byte) string {
	field := func(i int) int { return int(int16(binary.BigEndian.Uint16(b[4+2*i:]))) }
	count, weight, scale := field(0), field(1), field(3)
	digit := func(i int) int { // of weight i
		if k := weight - i; k >= 0 && k < count {
			return field(4 + k)
		}
		return 0
	}
	whole := 0
	for i := weight; i >= 0; i-- {
		whole = whole*10_000 + digit(i)
	}
	sign := ""
	if field(2) != 0 {
		sign = "-"
	}
	return sign + fmt.Sprint(whole) + "." + fmt.Sprintf("%04d", digit(-1))[:scale]
}

func TestNumeric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scale := rapid.SampledFrom([]int{2, 4}).Draw(t, "scale")
		v := rapid.Int64Range(-1e12, 1e12).Draw(t, "v")
		if rapid.Bool().Draw(t, "small") {
			v %= 20_000
		}
		unit := int64(100)
		if scale == 4 {
			unit = 10_000
		}
		sign, u := "", v
		if v < 0 {
			sign, u = "-", -v
		}
		want := fmt.Sprintf("%s%d.%0*d", sign, u/unit, scale, u%unit)
		b := appendNumeric(nil, v, scale)
		if int(binary.BigEndian.Uint32(b)) != len(b)-4 {
			t.Fatalf("a length of %d, of %d bytes", binary.BigEndian.Uint32(b), len(b)-4)
		}
		if got := decimal(b); got != want {
			t.Fatalf("%d with %d digits after the point: found %s, want %s", v, scale, got, want)
		}
		if count := int(binary.BigEndian.Uint16(b[4:])); count > 0 && (binary.BigEndian.Uint16(b[12:]) == 0 || binary.BigEndian.Uint16(b[10+2*count:]) == 0) {
			t.Fatalf("%s has a zero digit at an end: %x", want, b)
		}
	})
}

// The example of RFC 7677, section 3.
func TestSCRAMExample(t *testing.T) {
	s := &scram{password: "pencil", nonce: "rOprNGfwEbeRWgbNEkqO"}
	final, err := s.final([]byte("r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"))
	if err != nil {
		t.Fatal(err)
	}
	// The RFC's client sends its name, PostgreSQL's does not, so that the proof
	// differs from the RFC's; its parts are checked against a real server as well.
	if !strings.HasPrefix(string(final), "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=") {
		t.Errorf("found %s", final)
	}
	s.auth = "n=user,r=rOprNGfwEbeRWgbNEkqO,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096," +
		"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
	if err := s.verify([]byte("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")); err != nil {
		t.Error(err)
	}
	if err := s.verify([]byte("v=7rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")); err == nil {
		t.Error("a wrong signature of the server is taken")
	}
	for _, bad := range []string{"", "r=x,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "r=rOprNGfwEbeRWgbNEkqOx,s=!,i=1", "r=rOprNGfwEbeRWgbNEkqOx,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=99999999"} {
		if _, err := (&scram{password: "pencil", nonce: "rOprNGfwEbeRWgbNEkqO"}).final([]byte(bad)); err == nil {
			t.Errorf("challenge %q is taken", bad)
		}
	}
}

func FuzzChallenge(f *testing.F) {
	f.Add([]byte("r=abcdef,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=1"))
	f.Fuzz(func(t *testing.T, challenge []byte) {
		if regexp.MustCompile(`i=[+0-9]{5}`).Match(challenge) {
			return // many iterations only take time
		}
		s := &scram{password: "p", nonce: "abc"}
		if _, err := s.final(challenge); err == nil && len(s.salted) == 0 {
			t.Fatal("no key was derived")
		}
	})
}

func TestMD5(t *testing.T) {
	// md5(md5("secret" + "user") + salt), worked out with md5sum.
	if got, want := md5Password("user", "secret", []byte("salt")), "md5440c573f34f2e2f3ff4b6dbdd8a2686b"; got != want {
		t.Errorf("found %s, want %s", got, want)
	}
}

func BenchmarkNewOrder(b *testing.B) {
	u := tpcc.NewUser(tpcc.Rules{Profile: tpcc.HammerDB, Warehouses: 10, Users: 1, Homes: tpcc.RandomHome}, 0, 0)
	var tx tpcc.Tx
	k := &talk{script: calls{}}
	reply := bytes.Join([][]byte{answer('2'), answer('D', 0, 1, 0, 0, 0, 1, 'x'), answer('C', 'S', 0), answer('Z', 'I')}, nil)
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		u.Next(&tx)
		out = k.Begin(out[:0], &tx)
		if _, r := k.Receive(out, reply); !r.Ended || r.Outcome != tpcc.Committed {
			b.Fatal(r)
		}
	}
}
