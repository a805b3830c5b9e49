package http

import (
	"bufio"
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	nethttp "net/http"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// whole is an answer, as a reader should find it.
type whole struct {
	status int
	close  bool
	length uint64
	sum    uint32
}

// readAll feeds a stream to a reader in pieces and returns the answers in it.
func readAll(stream []byte, pieces func() int, head bool) (all []whole, err error) {
	r := response{sums: castagnoli()}
	for len(stream) > 0 {
		piece := stream[:min(max(pieces(), 1), len(stream))]
		stream = stream[len(piece):]
		for len(piece) > 0 {
			used, done, err := r.next(piece, head)
			if err != nil {
				return all, err
			}
			if used == 0 && !done {
				return all, fmt.Errorf("nothing was taken of %q", piece)
			}
			piece = piece[used:]
			if done {
				all = append(all, whole{r.status, r.close, r.length, r.sum})
				r.begin()
			}
		}
	}
	if r.state == untilClose {
		all = append(all, whole{r.status, r.close, r.length, r.sum})
	}
	return all, nil
}

func answers() map[string]struct {
	text string
	head bool
	want []whole
} {
	sum := func(s string) uint32 { return crc32.Checksum([]byte(s), castagnoli()) }
	return map[string]struct {
		text string
		head bool
		want []whole
	}{
		"length":          {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", false, []whole{{200, false, 3, sum("abc")}}},
		"no reason":       {"HTTP/1.1 200 \r\ncontent-length:3\r\n\r\nabc", false, []whole{{200, false, 3, sum("abc")}}},
		"empty":           {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false, []whole{{200, false, 0, 0}}},
		"two":             {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\naHTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nbb", false, []whole{{200, false, 1, sum("a")}, {404, false, 2, sum("bb")}}},
		"same length two": {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na", false, []whole{{200, false, 1, sum("a")}}},
		"close":           {"HTTP/1.1 200 OK\r\nConnection: keep-alive, Close\r\nContent-Length: 1\r\n\r\na", false, []whole{{200, true, 1, sum("a")}}},
		"1.0":             {"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", false, []whole{{200, true, 1, sum("a")}}},
		"1.0 kept":        {"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\na", false, []whole{{200, false, 1, sum("a")}}},
		"until close":     {"HTTP/1.1 200 OK\r\n\r\nabcdef", false, []whole{{200, true, 6, sum("abcdef")}}},
		"not modified":    {"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", false, []whole{{304, false, 0, 0}}},
		"no content":      {"HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", false, []whole{{204, false, 0, 0}, {204, false, 0, 0}}},
		"to HEAD":         {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", true, []whole{{200, false, 0, 0}, {200, false, 0, 0}}},
		"interim":         {"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", false, []whole{{200, false, 1, sum("a")}}},
		"chunks":          {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nT: x\r\n\r\n", false, []whole{{200, false, 13, sum("abc0123456789")}}},
		"chunks, length":  {"HTTP/1.1 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", false, []whole{{200, false, 1, sum("a")}}},
		"no chunk":        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", false, []whole{{200, false, 0, 0}}},
	}
}

func TestAnswersInPiecesOfEverySize(t *testing.T) {
	for name, a := range answers() {
		for size := 1; size <= len(a.text); size++ {
			got, err := readAll([]byte(a.text), func() int { return size }, a.head)
			if err != nil {
				t.Fatalf("%s, in pieces of %d: %v", name, size, err)
			}
			if fmt.Sprint(got) != fmt.Sprint(a.want) {
				t.Fatalf("%s, in pieces of %d: found %v, expected %v", name, size, got, a.want)
			}
		}
	}
}

func TestBrokenAnswers(t *testing.T) {
	for name, text := range map[string]string{
		"other protocol":  "SSH-2.0-OpenSSH\r\n\r\n",
		"HTTP/2":          "HTTP/2.0 200 OK\r\n\r\n",
		"status":          "HTTP/1.1 2x0 OK\r\n\r\n",
		"length":          "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
		"negative length": "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"two lengths":     "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na",
		"coding":          "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
		"chunk size":      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
		"chunk end":       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
		"huge chunk":      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
		"endless head":    "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: y\r\n", 20_000),
		"endless line":    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("0", 100_000),
		"upgrade":         "HTTP/1.1 101 Switching Protocols\r\n\r\n",
	} {
		if got, err := readAll([]byte(text), func() int { return 1000 }, false); err == nil {
			t.Errorf("%s: taken, as %v", name, got)
		}
	}
}

// TestAnswersAsTheStandardLibraryReadsThem compares random answers, made and
// read by the standard library, in random pieces.
func TestAnswersAsTheStandardLibraryReadsThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.SliceOfN(rapid.Byte(), 0, 3000).Draw(t, "content")
		answer := nethttp.Response{
			StatusCode: rapid.SampledFrom([]int{200, 201, 404, 500}).Draw(t, "status"),
			ProtoMajor: 1, ProtoMinor: 1, Header: nethttp.Header{"X-Filler": {strings.Repeat("f", rapid.IntRange(0, 5000).Draw(t, "filler"))}},
			Body: io.NopCloser(bytes.NewReader(content)), ContentLength: int64(len(content)),
		}
		if rapid.Bool().Draw(t, "chunked") {
			answer.TransferEncoding, answer.ContentLength = []string{"chunked"}, -1
		}
		var stream bytes.Buffer
		if err := answer.Write(&stream); err != nil {
			t.Fatal(err)
		}
		read, err := nethttp.ReadResponse(bufio.NewReader(bytes.NewReader(stream.Bytes())), nil)
		if err != nil {
			t.Fatal(err)
		}
		want, err := io.ReadAll(read.Body)
		if err != nil {
			t.Fatal(err)
		}
		got, err := readAll(stream.Bytes(), func() int { return rapid.IntRange(1, 700).Draw(t, "piece") }, false)
		if err != nil || len(got) != 1 {
			t.Fatalf("found %v, %v, expected one answer", got, err)
		}
		if w := (whole{answer.StatusCode, got[0].close, uint64(len(want)), crc32.Checksum(want, castagnoli())}); got[0] != w {
			t.Fatalf("found %v, expected %v", got[0], w)
		}
	})
}

// FuzzAnswers: any bytes in any pieces give the same answers, and never a panic.
func FuzzAnswers(f *testing.F) {
	for _, a := range answers() {
		f.Add([]byte(a.text), 7, a.head)
	}
	f.Fuzz(func(t *testing.T, stream []byte, piece int, head bool) {
		once, errOnce := readAll(stream, func() int { return len(stream) }, head)
		parts, errParts := readAll(stream, func() int { return max(piece%97, 1) }, head)
		if errOnce == nil && errParts == nil && fmt.Sprint(once) != fmt.Sprint(parts) {
			t.Fatalf("found %v at once and %v in pieces", once, parts)
		}
	})
}
