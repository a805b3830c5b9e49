package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// transcript puts an answer into a stream in pieces and writes down what the
// stream finds, as text, up to the answer's end or an error.
func transcript(answer []byte, form Form, noEOF bool, cut func(left int) int) string {
	var out strings.Builder
	s := Stream{NoEOF: noEOF}
	s.Expect(form)
	for len(answer) > 0 {
		n := cut(len(answer))
		// The memory of a piece is used again, as a loop does with its buffers.
		piece := append(make([]byte, 0, n), answer[:n]...)
		s.Put(piece)
		answer = answer[n:]
		for {
			event, err := s.Next()
			if err != nil {
				fmt.Fprintf(&out, "error: %v\n", err)
				return out.String()
			}
			if event == NeedMore {
				break
			}
			describe(&out, &s, event)
		}
		for i := range piece {
			piece[i] = 0xaa
		}
	}
	return out.String()
}

func describe(out *strings.Builder, s *Stream, event Event) {
	switch event {
	case RowEvent:
		out.WriteString("row")
		r := s.Row()
		for range s.Columns() {
			fmt.Fprintf(out, " %s", word(&r))
		}
		if err := r.Err(); err != nil {
			fmt.Fprintf(out, " error: %v", err)
		}
		out.WriteByte('\n')
	case ResultEvent, Done:
		fmt.Fprintf(out, "%s of %d columns, %d affected\n", map[Event]string{ResultEvent: "result", Done: "last result"}[event], s.Columns(), s.Affected)
	case Refused:
		fmt.Fprintf(out, "refused: %v\n", s.Refusal())
	}
}

// word reads a value as a number where it is one, else as text.
func word(r *Row) string {
	number, text := *r, *r
	if v, null := number.Int(); number.Err() == nil && null {
		*r = number
		return "NULL"
	} else if number.Err() == nil {
		*r = number
		return fmt.Sprint(v)
	}
	if b := text.Bytes(); text.Err() == nil {
		*r = text
		return fmt.Sprintf("%q", b)
	}
	r.Skip(1)
	return "other"
}

func whole(left int) int { return left }

func packet(sequence byte, payload ...byte) []byte {
	b, at := begin(nil)
	return finish(append(b, payload...), at, sequence)
}

func joined(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// definition is the payload that defines a column.
func definition(code, flags byte) []byte {
	p := []byte{3, 'd', 'e', 'f', 0, 0, 0, 1, 'c', 0, 12, 45, 0, 0, 0, 0, 0, code, flags, 0, 0, 0, 0}
	return p
}

func TestStream(t *testing.T) {
	ok := []byte{0, 3, 0, 2, 0, 0, 0}
	okMore := []byte{0, 3, 0, statusMore, 0, 0, 0}
	refusal := append([]byte{0xff, 0xbd, 0x04}, "#40001Deadlock found"...)
	for _, c := range []struct {
		name   string
		answer []byte
		form   Form
		noEOF  bool
		want   string
	}{
		{name: "OK", answer: packet(1, ok...), want: "last result of 0 columns, 3 affected\n"},
		{name: "two OKs", answer: joined(packet(1, okMore...), packet(2, ok...)), want: "result of 0 columns, 3 affected\nlast result of 0 columns, 3 affected\n"},
		{name: "error", answer: packet(1, refusal...), want: "refused: server error 1213 (40001): Deadlock found\n"},
		{name: "error without a state", answer: packet(1, 0xff, 0x10, 0x04, 'n', 'o'), want: "refused: server error 1040: no\n"},
		{name: "row", answer: joined(packet(1, 1), packet(2, definition(253, 0)...), packet(3, 0xfe, 0, 0, 2, 0), packet(4, 2, '4', '2'), packet(5, 0xfe, 0, 0, 2, 0)),
			want: "row 42\nlast result of 1 columns, 0 affected\n"},
		{name: "row without EOF", noEOF: true, answer: joined(packet(1, 1), packet(2, definition(253, 0)...), packet(3, 2, 'x', 'y'), packet(4, append([]byte{0xfe}, ok[1:]...)...)),
			want: "row \"xy\"\nlast result of 1 columns, 3 affected\n"},
		{name: "NULL", noEOF: true, answer: joined(packet(1, 1), packet(2, definition(253, 0)...), packet(3, 0xfb), packet(4, refusal...)),
			want: "row NULL\nrefused: server error 1213 (40001): Deadlock found\n"},
		{name: "binary", noEOF: true, form: Binary, answer: joined(packet(1, 2), packet(2, definition(typeTiny, 0)...), packet(3, definition(typeTiny, flagUnsigned)...),
			packet(4, 0, 0, 0xff, 0xff), packet(5, 0, 4, 0xff), packet(6, append([]byte{0xfe}, ok[1:]...)...)),
			want: "row -1 255\nrow NULL 255\nlast result of 2 columns, 3 affected\n"},
		{name: "short row", noEOF: true, form: Binary, answer: joined(packet(1, 1), packet(2, definition(typeLong, 0)...), packet(3, 0, 0, 1)),
			want: "row other error: column 1: a packet ends too early\n"},
		{name: "wrong number", answer: packet(7, ok...), want: "error: packet number 7; expected 1\n"},
		{name: "nobody asked", answer: joined(packet(1, ok...), packet(2, ok...)), want: "last result of 0 columns, 3 affected\nerror: a packet of 7 bytes arrived that nothing asked for\n"},
		{name: "too long", answer: []byte{0xff, 0xff, 0xff, 1}, want: "error: a packet of 16 MiB or more; expected shorter ones\n"},
		{name: "empty", answer: packet(1), want: "error: a packet ends too early\n"},
		{name: "a file is asked for", answer: packet(1, 0xfb, '/', 'x'), want: "error: the server asks for the file \"/x\", which it is not given\n"},
		{name: "no end of columns", answer: joined(packet(1, 1), packet(2, definition(253, 0)...), packet(3, 2, '4', '2')),
			want: "error: a packet that begins with 0x02; expected the end of the columns\n"},
		{name: "columns without end", answer: packet(1, 0xfd, 0xff, 0xff, 0xff), want: "error: a result of 16777215 columns; expected 1 to 4096\n"},
		{name: "not a binary row", noEOF: true, form: Binary, answer: joined(packet(1, 1), packet(2, definition(3, 0)...), packet(3, 9)),
			want: "error: a row that begins with 0x09; expected 0\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, cut := range []func(int) int{whole, func(int) int { return 1 }} {
				if got := transcript(c.answer, c.form, c.noEOF, cut); got != c.want {
					t.Errorf("got\n%swant\n%s", got, c.want)
				}
			}
		})
	}
}

// TestStreamGoesOn decodes many answers with one stream, asking no more than up to
// the end of each, whatever the pieces that they come in.
func TestStreamGoesOn(t *testing.T) {
	answer := joined(packet(1, 1), packet(2, definition(253, 0)...), packet(3, 2, '4', '2'), packet(4, 0xfe, 0, 0, 2, 0, 0, 0))
	rapid.Check(t, func(t *rapid.T) {
		s := Stream{NoEOF: true}
		answers := rapid.IntRange(1, 5).Draw(t, "answers")
		all, rows := bytes.Repeat(answer, answers), 0
		s.Expect(Text)
		for len(all) > 0 {
			n := rapid.IntRange(1, len(all)).Draw(t, "piece")
			s.Put(append([]byte{}, all[:n]...))
			all = all[n:]
			for again := true; again; {
				event, err := s.Next()
				if err != nil {
					t.Fatal(err)
				}
				switch event {
				case RowEvent:
					rows++
					if r := s.Row(); string(r.Bytes()) != "42" {
						t.Fatal("a row is wrong")
					}
				case Done:
					s.Expect(Text)
					again = s.Buffered() > 0
				default:
					again = false
				}
			}
		}
		if rows != answers {
			t.Fatalf("%d of %d rows", rows, answers)
		}
	})
}

// TestArguments reads back by hand what Execute makes.
func TestArguments(t *testing.T) {
	a := Execute(nil, Statement{ID: 7, Parameters: 4})
	a.Int(-2)
	a.Null()
	a.Text([]byte("ab"))
	a.Int32(5)
	got, err := a.Packet()
	if err != nil {
		t.Fatal(err)
	}
	want := packet(0, joined([]byte{comStmtExecute, 7, 0, 0, 0, 0, 1, 0, 0, 0, 0b0010, 1, typeLongLong, 0, typeNull, 0, typeString, 0, typeLong, 0},
		[]byte{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 'a', 'b', 5, 0, 0, 0})...)
	if !bytes.Equal(got, want) {
		t.Errorf("got % x, want % x", got, want)
	}
	for _, n := range []int{0, 2} {
		a := Execute([]byte("kept"), Statement{Parameters: n})
		a.Int(1)
		if b, err := a.Packet(); err == nil || string(b) != "kept" {
			t.Errorf("1 argument for %d parameters: %q, %v", n, b, err)
		}
	}
}

func TestLengthEncoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Uint64().Draw(t, "v")
		b := appendInt(nil, v)
		got, n := readInt(b)
		if got != v || n != len(b) {
			t.Fatalf("%d is read back as %d from %d of %d bytes", v, got, n, len(b))
		}
		if _, n := readInt(b[:len(b)-1]); n != 0 {
			t.Fatalf("a part of % x is read", b)
		}
	})
}

// TestInts checks that whole numbers are read alike from text and binary rows.
func TestInts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Int64().Draw(t, "v")
		text := fmt.Sprint(v)
		types := []columnType{{code: typeLongLong}}
		for _, r := range []Row{
			{data: append([]byte{byte(len(text))}, text...), types: types, text: true},
			{data: append([]byte{byte(len(text))}, text...), types: []columnType{{code: 246}}, nulls: []byte{0}},
			{data: []byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24), byte(v >> 32), byte(v >> 40), byte(v >> 48), byte(v >> 56)}, types: types, nulls: []byte{0}},
		} {
			if got, null := r.Int(); got != v || null || r.Err() != nil {
				t.Fatalf("%d is read as %d, %v, %v", v, got, null, r.Err())
			}
			if r.Int(); r.Err() == nil {
				t.Fatal("a column was read that is not there")
			}
		}
	})
}

func FuzzStream(f *testing.F) {
	f.Add(packet(1, 0, 3, 0, 2, 0, 0, 0), false, false, uint8(1))
	f.Add(joined(packet(1, 1), packet(2, definition(253, 0)...), packet(3, 2, 'x', 'y'), packet(4, 0xfe, 0, 0, 2, 0, 0, 0)), false, true, uint8(3))
	f.Add(joined(packet(1, 1), packet(2, definition(typeDateTime, 0)...), packet(3, 0, 0, 4, 0, 0, 0, 0), packet(4, 0xff, 1, 2)), true, true, uint8(7))
	for _, g := range goldens(f) {
		f.Add(g.answer, g.form == Binary, true, uint8(50))
	}
	f.Fuzz(func(t *testing.T, answer []byte, binary, noEOF bool, piece uint8) {
		form := Text
		if binary {
			form = Binary
		}
		a := transcript(answer, form, noEOF, whole)
		b := transcript(answer, form, noEOF, func(left int) int { return min(left, 1+int(piece)) })
		if a != b {
			t.Errorf("whole:\n%s\nin pieces:\n%s", a, b)
		}
	})
}

func FuzzGreeting(f *testing.F) {
	f.Add(greeting("10.11.6-MariaDB", nativePassword))
	f.Add(greeting("8.0.36", cachingSHA2))
	f.Add([]byte{0xff, 0x10, 0x04, 'n', 'o'})
	f.Fuzz(func(t *testing.T, b []byte) {
		g, err := ParseGreeting(b)
		var refusal *ServerError
		if err != nil && errors.As(err, &refusal) && b[0] != 0xff {
			t.Errorf("%v of what is no error packet", err)
		}
		if err == nil && (len(g.challenge) != 20 || g.capabilities&capProtocol41 == 0) {
			t.Errorf("a greeting of challenge %x and capabilities %#x is taken", g.challenge, g.capabilities)
		}
	})
}

// greeting is a server's first payload.
func greeting(version, plugin string) []byte {
	b := append([]byte{10}, version...)
	b = append(b, 0, 1, 2, 3, 4)
	b = append(b, "12345678"...)
	capabilities := uint32(1<<25 - 1)
	b = append(b, 0, byte(capabilities), byte(capabilities>>8), 45, 2, 0, byte(capabilities>>16), byte(capabilities>>24), 21)
	b = append(b, make([]byte, 10)...)
	b = append(b, "123456789012\x00"...)
	return append(append(b, plugin...), 0)
}
