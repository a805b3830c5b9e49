package hist

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
)

// An Interval is one line of an interval log.
type Interval struct {
	Tag    string        // "" for none
	Offset time.Duration // of its start, from the start of the log
	Length time.Duration
	Hist   *Histogram
}

// A Header is what an interval log says before its first line.
type Header struct {
	Start    time.Time
	Comments []string
}

// WriteLog writes an HdrHistogram V2 interval log (format version 1.3), values
// in nanoseconds and the column of maxima in milliseconds, as its other
// implementations write and read it.
func WriteLog(w io.Writer, header Header, intervals []Interval) error {
	l, err := NewLogWriter(w, header)
	if err != nil {
		return err
	}
	for _, iv := range intervals {
		if err := l.Write(iv); err != nil {
			return err
		}
	}
	return nil
}

// A LogWriter writes an interval log line by line, each in one Write. It keeps
// no reference to the histograms that it was given.
type LogWriter struct {
	w       io.Writer
	deflate *zlib.Writer
	payload []byte
	packed  bytes.Buffer
	line    []byte
}

// NewLogWriter writes the header of an interval log.
func NewLogWriter(w io.Writer, header Header) (*LogWriter, error) {
	var b bytes.Buffer
	for _, c := range header.Comments {
		fmt.Fprintf(&b, "#%s\n", strings.NewReplacer("\n", " ", "\r", " ").Replace(c))
	}
	start := float64(header.Start.UnixMilli()) / 1000
	b.WriteString("#[Histogram log format version 1.3]\n")
	fmt.Fprintf(&b, "#[StartTime: %.3f (seconds since epoch), %s]\n", start, header.Start.UTC().Format(time.RFC3339Nano))
	fmt.Fprintf(&b, "#[BaseTime: %.3f (seconds since epoch)]\n", start)
	b.WriteString("\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n")
	if _, err := w.Write(b.Bytes()); err != nil {
		return nil, fmt.Errorf("writing the header of a histogram log: %w", err)
	}
	l := &LogWriter{w: w}
	// The level is for speed: intervals are written while others are measured.
	deflate, err := zlib.NewWriterLevel(&l.packed, zlib.BestSpeed)
	if err != nil {
		return nil, fmt.Errorf("writing a histogram log: %w", err)
	}
	l.deflate = deflate
	return l, nil
}

// Write writes one interval. Values outside the histogram's range are told in
// a comment before its line, which ReadLog understands and others skip.
func (l *LogWriter) Write(iv Interval) error {
	if i := strings.IndexAny(iv.Tag, ", \r\n"); i >= 0 {
		return fmt.Errorf("writing a histogram log: tag %q: found %q, expected no comma, space or line break", iv.Tag, iv.Tag[i])
	}
	l.line = l.line[:0]
	if n := iv.Hist.Overflow(); n != 0 {
		l.line = fmt.Appendf(l.line, "#[Overflow: %d]\n", n)
	}
	if iv.Tag != "" {
		l.line = fmt.Appendf(l.line, "Tag=%s,", iv.Tag)
	}
	l.line = fmt.Appendf(l.line, "%.9f,%.9f,%.6f,", iv.Offset.Seconds(), iv.Length.Seconds(), float64(iv.Hist.Max())/1e6)
	if err := l.encode(iv.Hist); err != nil {
		return fmt.Errorf("writing a histogram log: %w", err)
	}
	l.line = base64.StdEncoding.AppendEncode(l.line, l.packed.Bytes())
	l.line = append(l.line, '\n')
	if _, err := l.w.Write(l.line); err != nil {
		return fmt.Errorf("writing a histogram log: %w", err)
	}
	return nil
}

// The cookies of the V2 encoding, with its word size of 16 (no fixed one).
const (
	cookieV2           = 0x1c849303 | 0x10
	cookieV2Compressed = 0x1c849304 | 0x10
	compressedHeader   = 8
)

// encode leaves the compressed V2 encoding of h in l.packed.
func (l *LogWriter) encode(h *Histogram) error {
	var err error
	if l.payload, err = appendCounts(l.payload[:0], h); err != nil {
		return err
	}
	head := make([]byte, 0, 40)
	head = binary.BigEndian.AppendUint32(head, cookieV2)
	head = binary.BigEndian.AppendUint32(head, uint32(len(l.payload)))
	head = binary.BigEndian.AppendUint32(head, 0) // normalizing index offset
	head = binary.BigEndian.AppendUint32(head, SignificantDigits)
	head = binary.BigEndian.AppendUint64(head, 1) // lowest discernible value
	head = binary.BigEndian.AppendUint64(head, Highest)
	head = binary.BigEndian.AppendUint64(head, math.Float64bits(1)) // conversion ratio

	l.packed.Reset()
	l.packed.Write(make([]byte, compressedHeader))
	l.deflate.Reset(&l.packed)
	if _, err := l.deflate.Write(head); err != nil {
		return err
	}
	if _, err := l.deflate.Write(l.payload); err != nil {
		return err
	}
	if err := l.deflate.Close(); err != nil {
		return err
	}
	out := l.packed.Bytes()
	binary.BigEndian.PutUint32(out, cookieV2Compressed)
	binary.BigEndian.PutUint32(out[4:], uint32(len(out)-compressedHeader))
	return nil
}

// appendCounts appends the counts up to the last that is not zero: each a
// ZigZag LEB128 number, a run of zeros as its negated length.
func appendCounts(b []byte, h *Histogram) ([]byte, error) {
	zeros := int64(0)
	for _, row := range h.rows {
		if row == nil {
			zeros += rowSize
			continue
		}
		for _, n := range row {
			if n == 0 {
				zeros++
				continue
			}
			if n > math.MaxInt64 {
				return nil, errors.New("a count is above 2^63 - 1")
			}
			b = appendZeros(b, zeros)
			zeros = 0
			b = appendZigZag(b, int64(n))
		}
	}
	return b, nil
}

func appendZeros(b []byte, zeros int64) []byte {
	switch zeros {
	case 0:
		return b
	case 1:
		return append(b, 0)
	}
	return appendZigZag(b, -zeros)
}

// appendZigZag differs from encoding/binary's in that the ninth byte holds
// eight bits, so that no number needs a tenth.
func appendZigZag(b []byte, v int64) []byte {
	u := uint64(v)<<1 ^ uint64(v>>63)
	for range 8 {
		if u < 0x80 {
			return append(b, byte(u))
		}
		b = append(b, byte(u)|0x80)
		u >>= 7
	}
	return append(b, byte(u))
}

// maxLine bounds a line of an interval log: a histogram of the finest geometry
// with every bucket in use still fits.
const maxLine = 64 << 20

// ReadLog reads an HdrHistogram V2 interval log, whoever wrote it. Histograms
// of another geometry are counted at the middle of their buckets. An error
// names the line.
func ReadLog(r io.Reader) ([]Interval, error) {
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxLine)
	var log logReader
	for n := 1; in.Scan(); n++ {
		if err := log.line(in.Text()); err != nil {
			return nil, fmt.Errorf("histogram log, line %d: %w", n, err)
		}
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("reading a histogram log: %w", err)
	}
	return log.intervals, nil
}
