package kv

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// said is a reply as a test sees it.
type said struct {
	form    form
	items   uint32
	refused uint32
	text    string
}

// readAll parses a stream in chunks of the given lengths, then the rest.
func readAll(p parser, stream []byte, cuts []int) (out []said, err error) {
	var r reply
	for len(stream) > 0 {
		n := len(stream)
		if len(cuts) > 0 {
			n = min(max(cuts[0], 1), n)
			cuts = cuts[1:]
		}
		chunk := slices.Clone(stream[:n]) // so that a parser that keeps a slice is found out
		for rest := chunk; len(rest) > 0; {
			used, done, err := p.next(rest, &r)
			if err != nil {
				return out, err
			}
			if used > len(rest) || !done && used != len(rest) {
				return out, fmt.Errorf("used %d of %d bytes, done %t", used, len(rest), done)
			}
			if done {
				out = append(out, said{r.form, r.items, r.refused, string(r.text)})
			}
			if done && r.whole > used {
				return out, fmt.Errorf("a reply of %d bytes in %d", r.whole, used)
			}
			rest = rest[used:]
		}
		for i := range chunk {
			chunk[i] = 0xff
		}
		stream = stream[n:]
	}
	return out, nil
}

func TestRESPReplies(t *testing.T) {
	for _, c := range []struct {
		stream string
		want   []said
	}{
		{"+OK\r\n", []said{{form: formStatus}}},
		{":42\r\n", []said{{form: formOther, items: 1}}},
		{"$5\r\nhello\r\n", []said{{form: formValues, items: 1}}},
		{"$0\r\n\r\n", []said{{form: formValues, items: 1}}},
		{"$4\r\n\r\n\r\n\r\n", []said{{form: formValues, items: 1}}},
		{"$-1\r\n", []said{{form: formValues}}},
		{"_\r\n", []said{{form: formValues}}},
		{"*-1\r\n", []said{{form: formValues}}},
		{"*0\r\n", []said{{form: formValues}}},
		{"*3\r\n$1\r\na\r\n$-1\r\n$2\r\nbc\r\n", []said{{form: formValues, items: 2}}},
		{"*2\r\n*2\r\n:1\r\n:2\r\n*1\r\n$1\r\nx\r\n", []said{{form: formValues, items: 3}}},
		{"%2\r\n+a\r\n:1\r\n$1\r\nb\r\n#t\r\n", []said{{form: formValues, items: 3}}},
		{"~1\r\n,1.5\r\n", []said{{form: formValues, items: 1}}},
		{"=7\r\ntxt:abc\r\n", []said{{form: formValues, items: 1}}},
		{"(3492890328409238509324850943850943825024385\r\n", []said{{form: formOther, items: 1}}},
		{"-ERR unknown command\r\n", []said{{form: formError, text: "ERR unknown command"}}},
		{"!21\r\nSYNTAX invalid syntax\r\n", []said{{form: formError, text: "error of several lines"}}},
		{"*2\r\n:1\r\n-WRONGTYPE x\r\n", []said{{form: formError, items: 1, text: "WRONGTYPE x"}}},
		{">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n$1\r\nv\r\n", []said{{form: formValues, items: 1}}},
		{"|1\r\n+ttl\r\n:3600\r\n$1\r\nv\r\n", []said{{form: formValues, items: 1}}},
		{"*2\r\n|1\r\n+ttl\r\n:3600\r\n$1\r\nv\r\n$1\r\nw\r\n", []said{{form: formValues, items: 3}}},
		{"+OK\r\n$1\r\nx\r\n-OOM no memory\r\n", []said{{form: formStatus}, {form: formValues, items: 1}, {form: formError, text: "OOM no memory"}}},
	} {
		got, err := readAll(newRESP(nil), []byte(c.stream), nil)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q: got %+v, %v, want %+v", c.stream, got, err, c.want)
		}
	}
}

func TestMemcachedReplies(t *testing.T) {
	for _, c := range []struct {
		stream string
		quiet  bool
		want   []said
	}{
		{"END\r\n", false, []said{{form: formValues}}},
		{"VALUE k 0 3\r\nabc\r\nEND\r\n", false, []said{{form: formValues, items: 1}}},
		{"VALUE a 0 1\r\n1\r\nVALUE b 0 0 77\r\n\r\nEND\r\n", false, []said{{form: formValues, items: 2}}},
		{"VALUE k 0 5\r\nEND\r\n\r\nEND\r\n", false, []said{{form: formValues, items: 1}}},
		{"STORED\r\nNOT_STORED\r\n", false, []said{{form: formStatus}, {form: formError, text: "NOT_STORED"}}},
		{"SERVER_ERROR out of memory storing object\r\n", false, []said{{form: formError, text: "SERVER_ERROR out of memory storing object"}}},
		{"VA 3\r\nabc\r\nEN\r\nHD\r\n", false, []said{{form: formValues, items: 1}, {form: formValues}, {form: formStatus}}},
		{"VA 3 f0 c5\r\nabc\r\n", false, []said{{form: formValues, items: 1}}},
		{"17\r\n", false, []said{{form: formOther}}},
		{"MN\r\n", true, []said{{form: formEnd}}},
		{"VA 1\r\na\r\nVA 1\r\nb\r\nMN\r\n", true, []said{{form: formEnd, items: 2}}},
		{"NS\r\nVA 1\r\na\r\nSERVER_ERROR x\r\nMN\r\nMN\r\n", true, []said{{form: formEnd, items: 1, refused: 2, text: "NS"}, {form: formEnd}}},
	} {
		got, err := readAll(newMemcache(c.quiet, nil), []byte(c.stream), nil)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q: got %+v, %v, want %+v", c.stream, got, err, c.want)
		}
	}
}

func TestGarbageIsAnError(t *testing.T) {
	for _, stream := range []string{
		"HTTP/1.1 400 Bad Request\r\n", "\r\n", "\n", "+OK\n", "$x\r\n", "$-2\r\n", "$99999999999\r\n", "*x\r\n", "*-7\r\n",
		"$1\r\nxyz\r\n", "$1\r\nx\rz", "$\r\n", "@\r\n", "$18446744073709551616\r\n", strings.Repeat("x", maxLine+1),
	} {
		if got, err := readAll(newRESP(nil), []byte(stream), nil); err == nil {
			t.Errorf("RESP: %.40q gave %+v and no error", stream, got)
		}
	}
	for _, stream := range []string{
		"HTTP/1.1 400 Bad Request\r\n", "\r\n", "END\n", "VALUE k 0 x\r\n", "VALUE k 0 -1\r\n", "VALUE k\r\n", "VA\r\n",
		"VALUE k 0 1\r\nxyz\r\n", "+OK\r\n", strings.Repeat("x", maxLine+1),
		"ERROR\n",
	} {
		if got, err := readAll(newMemcache(false, nil), []byte(stream), nil); err == nil {
			t.Errorf("memcached: %.40q gave %+v and no error", stream, got)
		}
	}
}

func TestMemcachedWithoutMetaCommandsIsTold(t *testing.T) {
	if _, err := readAll(newMemcache(true, nil), []byte("ERROR\r\nERROR\r\n"), nil); err == nil || !strings.Contains(err.Error(), "before 1.6") {
		t.Errorf("got %v", err)
	}
	got, err := readAll(newMemcache(false, nil), []byte("ERROR\r\n"), nil)
	if want := []said{{form: formError, text: "ERROR"}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

// respStream draws a stream of good replies, as a server would send them.
func respStream(t *rapid.T) []byte {
	var b bytes.Buffer
	value := rapid.SliceOfN(rapid.Byte(), 0, 100)
	for range rapid.IntRange(1, 12).Draw(t, "replies") {
		writeRESP(&b, t, value, 0)
	}
	return b.Bytes()
}

func writeRESP(b *bytes.Buffer, t *rapid.T, value *rapid.Generator[[]byte], depth int) {
	most := 9
	if depth > 2 {
		most = 6
	}
	switch k := rapid.IntRange(0, most).Draw(t, "kind"); k {
	case 0:
		b.WriteString("+OK\r\n")
	case 1:
		b.WriteString("$-1\r\n")
	case 2:
		b.WriteString("-ERR no\r\n")
	case 3:
		b.WriteString(":7\r\n")
	case 4:
		b.WriteString("_\r\n")
	case 5, 6:
		v := value.Draw(t, "value")
		fmt.Fprintf(b, "$%d\r\n%s\r\n", len(v), v)
	default:
		n := rapid.IntRange(0, 4).Draw(t, "elements")
		sign := map[int]byte{7: '*', 8: '%', 9: '>'}[k]
		if k == 9 && depth > 0 {
			sign = '~'
		}
		fmt.Fprintf(b, "%c%d\r\n", sign, n)
		if sign == '%' {
			n *= 2
		}
		for range n {
			writeRESP(b, t, value, depth+1)
		}
	}
}

func memcachedStream(t *rapid.T) []byte {
	var b bytes.Buffer
	for range rapid.IntRange(1, 12).Draw(t, "replies") {
		v := rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "value")
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			b.WriteString("END\r\n")
		case 1:
			b.WriteString("STORED\r\n")
		case 2:
			b.WriteString("SERVER_ERROR out of memory\r\n")
		case 3:
			fmt.Fprintf(&b, "VA %d\r\n%s\r\n", len(v), v)
		default:
			for range rapid.IntRange(1, 3).Draw(t, "values") {
				fmt.Fprintf(&b, "VALUE key 0 %d\r\n%s\r\n", len(v), v)
			}
			b.WriteString("END\r\n")
		}
	}
	return b.Bytes()
}

// TestAnySplitGivesTheSameReplies is the property that a stream parser must have.
func TestAnySplitGivesTheSameReplies(t *testing.T) {
	for name, c := range map[string]struct {
		stream func(*rapid.T) []byte
		parser func() parser
	}{
		"resp":            {respStream, func() parser { return newRESP(nil) }},
		"memcached":       {memcachedStream, func() parser { return newMemcache(false, nil) }},
		"memcached quiet": {memcachedStream, func() parser { return newMemcache(true, nil) }},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				stream := c.stream(t)
				whole, err := readAll(c.parser(), stream, nil)
				if err != nil && name != "memcached quiet" {
					t.Fatalf("%q: %v", stream, err)
				}
				cuts := rapid.SliceOfN(rapid.IntRange(1, 30), len(stream), len(stream)).Draw(t, "cuts")
				split, splitErr := readAll(c.parser(), stream, cuts)
				if !slices.Equal(whole, split) || (err == nil) != (splitErr == nil) {
					t.Fatalf("%q: whole %+v %v, split %+v %v", stream, whole, err, split, splitErr)
				}
			})
		})
	}
}

func fuzz(f *testing.F, seeds []string, parsers func() parser) {
	for _, s := range seeds {
		f.Add([]byte(s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, stream []byte, cut uint8) {
		whole, err := readAll(parsers(), stream, nil)
		cuts := make([]int, len(stream))
		for i := range cuts {
			cuts[i] = int(cut)%7 + 1
		}
		split, splitErr := readAll(parsers(), stream, cuts)
		if (err == nil) != (splitErr == nil) && len(stream) < maxLine {
			t.Fatalf("whole: %v, split: %v", err, splitErr)
		}
		if !slices.Equal(whole, split) {
			t.Fatalf("whole: %+v, split: %+v", whole, split)
		}
	})
}

func FuzzRESP(f *testing.F) {
	fuzz(f, []string{"+OK\r\n$3\r\nabc\r\n", "*2\r\n$-1\r\n:1\r\n", "%1\r\n+a\r\n#t\r\n", "-ERR x\r\n", ">1\r\n+x\r\n$1\r\nv\r\n", "|1\r\n+a\r\n+b\r\n_\r\n"},
		func() parser { return newRESP(nil) })
}

func FuzzMemcached(f *testing.F) {
	fuzz(f, []string{"VALUE k 0 3\r\nabc\r\nEND\r\n", "VA 3\r\nabc\r\nHD\r\nEN\r\n", "STORED\r\nSERVER_ERROR x\r\n", "12\r\nMN\r\n"},
		func() parser { return newMemcache(false, nil) })
}

func FuzzMemcachedQuiet(f *testing.F) {
	fuzz(f, []string{"VA 3\r\nabc\r\nNS\r\nMN\r\n", "MN\r\n"}, func() parser { return newMemcache(true, nil) })
}

// TestPatternCountsOnlyLikeReplies: what run counts, the parser counts too.
func TestPatternCountsOnlyLikeReplies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var stream []byte
		first := rapid.IntRange(0, 40).Draw(t, "size")
		one := func(n int) []byte { return fmt.Appendf(nil, "$%d\r\n%s\r\n", n, strings.Repeat("\n", n)) }
		for range rapid.IntRange(0, 10).Draw(t, "replies") {
			n := first
			if rapid.IntRange(0, 5).Draw(t, "other") == 0 {
				n = rapid.IntRange(0, 40).Draw(t, "otherSize")
			}
			stream = append(stream, one(n)...)
		}
		stream = stream[:rapid.IntRange(0, len(stream)).Draw(t, "cut")]
		var p pattern
		p.learn(one(first))
		used, n := p.run(stream, 100)
		want, err := readAll(newRESP(nil), stream[:used], nil)
		if err != nil || int(n) != len(want) {
			t.Fatalf("%q: counted %d in %d bytes, the parser %d, %v", stream, n, used, len(want), err)
		}
	})
}
