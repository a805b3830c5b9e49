package hist

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// logReader holds what the lines so far have said.
type logReader struct {
	start, base *float64 // seconds since the epoch
	overflow    uint64   // of the next interval
	intervals   []Interval
}

func (r *logReader) line(s string) error {
	s = strings.TrimSuffix(s, "\r")
	switch {
	case strings.TrimSpace(s) == "", strings.HasPrefix(s, `"`):
		return nil
	case strings.HasPrefix(s, "#"):
		return r.comment(s)
	}
	iv, start, err := parseInterval(s)
	if err != nil {
		return err
	}
	if iv.Offset, err = seconds("start", r.offset(start)); err != nil {
		return err
	}
	iv.Hist.overflow += r.overflow
	r.overflow = 0
	r.intervals = append(r.intervals, iv)
	return nil
}

// comment takes what it knows from a comment and skips the rest.
func (r *logReader) comment(s string) error {
	if v, ok := bracketed(s, "#[Overflow: "); ok {
		n, err := strconv.ParseUint(v, 10, 64)
		if err != nil {
			return fmt.Errorf("found overflow %q, expected a count", v)
		}
		r.overflow = n
		return nil
	}
	for _, c := range []struct {
		prefix string
		into   **float64
	}{{"#[StartTime: ", &r.start}, {"#[BaseTime: ", &r.base}} {
		v, ok := bracketed(s, c.prefix)
		if !ok {
			continue
		}
		f, err := number(v)
		if err != nil {
			return fmt.Errorf("found %q after %q, expected seconds since the epoch", v, c.prefix)
		}
		*c.into = &f
	}
	return nil
}

// bracketed returns the first word after a prefix.
func bracketed(s, prefix string) (string, bool) {
	rest, ok := strings.CutPrefix(s, prefix)
	if !ok {
		return "", false
	}
	return strings.TrimRight(rest[:wordEnd(rest)], "],"), true
}

func wordEnd(s string) int {
	if i := strings.IndexByte(s, ' '); i >= 0 {
		return i
	}
	return len(s)
}

// offset turns a line's timestamp, in seconds, into one from the log's start.
// As in the other implementations, timestamps without a base time are relative
// where they lie more than a year before the start time.
func (r *logReader) offset(stamp float64) float64 {
	const year = 365 * 24 * 3600
	if r.start == nil {
		r.start = &stamp
	}
	if r.base == nil {
		base := 0.0
		if stamp < *r.start-year {
			base = *r.start
		}
		r.base = &base
	}
	// In this order, lest a base equal to the start cost digits.
	return stamp + (*r.base - *r.start)
}

func parseInterval(s string) (iv Interval, start float64, err error) {
	if rest, ok := strings.CutPrefix(s, "Tag="); ok {
		tag, rest, found := strings.Cut(rest, ",")
		if !found {
			return iv, 0, fmt.Errorf("found %q, expected Tag=name,start,length,max,histogram", excerpt(s))
		}
		iv.Tag, s = tag, rest
	}
	f := strings.Split(s, ",")
	if len(f) != 4 {
		return iv, 0, fmt.Errorf("found %d fields in %q, expected 4: start,length,max,histogram", len(f), excerpt(s))
	}
	if start, err = number(f[0]); err != nil {
		return iv, 0, fmt.Errorf("start: %w", err)
	}
	length, err := number(f[1])
	if err != nil {
		return iv, 0, fmt.Errorf("length: %w", err)
	}
	if iv.Length, err = seconds("length", length); err != nil {
		return iv, 0, err
	}
	if _, err := number(f[2]); err != nil {
		return iv, 0, fmt.Errorf("max: %w", err)
	}
	iv.Hist, err = decode(f[3])
	return iv, start, err
}

func number(s string) (float64, error) {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return 0, fmt.Errorf("found %q, expected a number", excerpt(s))
	}
	return f, nil
}

func seconds(what string, s float64) (time.Duration, error) {
	ns := math.Round(s * 1e9)
	if math.Abs(ns) >= math.MaxInt64 {
		return 0, fmt.Errorf("%s: found %g s, expected less than 292 years", what, s)
	}
	return time.Duration(ns), nil
}

// decode reads a histogram in the compressed V2 encoding, in base64.
func decode(s string) (*Histogram, error) {
	h, err := hdr.Decode([]byte(strings.TrimSpace(s)))
	if err != nil {
		return nil, fmt.Errorf("histogram %q: %w", excerpt(s), err)
	}
	if h == nil {
		return nil, errors.New("no histogram")
	}
	out := New()
	if h.LowestTrackableValue() <= 1 && h.SignificantFigures() == SignificantDigits {
		for i, n := range h.Export().Counts {
			if n > 0 {
				out.addAt(uint(i), uint64(n))
			}
		}
		return out, nil
	}
	for _, b := range h.Distribution() {
		if b.Count > 0 {
			out.RecordN(b.From+(b.To-b.From)/2, uint64(b.Count))
		}
	}
	return out, nil
}

// addAt adds to the count at an HdrHistogram index. An index within the last
// row stands, though above Highest: it is how others count it too.
func (h *Histogram) addAt(i uint, n uint64) {
	if i >= countsLen {
		h.recordOutside(Highest, n)
		return
	}
	row := h.rows[i/rowSize]
	if row == nil {
		row = h.addRow(i / rowSize)
	}
	row[i%rowSize] += n
}

func excerpt(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}
