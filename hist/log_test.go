package hist

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"pgregory.net/rapid"
)

var start = time.UnixMilli(1_700_000_000_123)

func TestLogReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var in []Interval
		for i := range rapid.IntRange(0, 5).Draw(t, "intervals") {
			h := from(values(t, "values")...)
			h.RecordN(Highest+1, uint64(rapid.IntRange(0, 2).Draw(t, "beyond")))
			h.RecordN(1000, uint64(rapid.Uint64Range(0, 1<<61).Draw(t, "many")))
			in = append(in, Interval{
				Tag:    rapid.StringMatching(`[a-z.=]{0,8}`).Draw(t, "tag"),
				Offset: time.Duration(i) * time.Second,
				Length: time.Duration(rapid.Int64Range(1, 1<<40).Draw(t, "length")),
				Hist:   h,
			})
		}
		var b bytes.Buffer
		if err := WriteLog(&b, Header{Start: start, Comments: []string{"a\nb"}}, in); err != nil {
			t.Fatal(err)
		}
		out, err := ReadLog(&b)
		if err != nil {
			t.Fatal(err)
		}
		if len(out) != len(in) {
			t.Fatalf("%d intervals, want %d", len(out), len(in))
		}
		for i := range in {
			equalIntervals(t, out[i], in[i])
		}
	})
}

func equalIntervals(t *rapid.T, got, want Interval) {
	if got.Tag != want.Tag || got.Offset != want.Offset || got.Length != want.Length {
		t.Fatalf("got %q %v %v, want %q %v %v", got.Tag, got.Offset, got.Length, want.Tag, want.Offset, want.Length)
	}
	if got.Hist.Overflow() != want.Hist.Overflow() || !slices.Equal(counts(got.Hist), counts(want.Hist)) {
		t.Fatal("counts differ")
	}
}

// TestOthersReadTheLog has the reference implementation read what we write.
func TestOthersReadTheLog(t *testing.T) {
	vs := []int64{0, 1, 1023, 1024, 2047, 2048, 5_000, 5_000, 1_234_567, 98_765_432_101, Highest}
	var b bytes.Buffer
	if err := WriteLog(&b, Header{Start: start}, []Interval{
		{Offset: 0, Length: time.Second, Hist: from(vs...)},
		{Tag: "get", Offset: 1500 * time.Millisecond, Length: time.Second, Hist: from(7)},
	}); err != nil {
		t.Fatal(err)
	}
	r := hdr.NewHistogramLogReader(bytes.NewReader(b.Bytes()))
	first, err := r.NextIntervalHistogram()
	if err != nil || first == nil {
		t.Fatal(first, err)
	}
	if !slices.Equal(first.Export().Counts, peer(vs...).Export().Counts) {
		t.Fatal("the reference implementation reads other counts")
	}
	second, err := r.NextIntervalHistogram()
	if err != nil || second == nil {
		t.Fatal(second, err)
	}
	if second.Tag() != "get" || second.TotalCount() != 1 || second.StartTimeMs() != start.UnixMilli()+1500 {
		t.Fatalf("read tag %q, count %d, start %d", second.Tag(), second.TotalCount(), second.StartTimeMs())
	}
}

// TestWeReadOthersLogs reads what the reference implementation writes, with
// absolute and with relative timestamps.
func TestWeReadOthersLogs(t *testing.T) {
	for _, relative := range []bool{false, true} {
		var b bytes.Buffer
		w := hdr.NewHistogramLogWriter(&b)
		base := start.Truncate(time.Second).UnixMilli()
		h := peer(10, 20, 3_000_000)
		h.SetStartTimeMs(base + 2000)
		h.SetEndTimeMs(base + 3000)
		must(t, w.OutputLogFormatVersion(), w.OutputStartTime(base), w.OutputLegend())
		if relative {
			w.SetBaseTime(base)
		}
		must(t, w.OutputIntervalHistogram(h))
		got, err := ReadLog(&b)
		if err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
		if got[0].Offset != 2*time.Second || got[0].Length != time.Second {
			t.Errorf("relative=%v: offset %v, length %v; want 2s, 1s", relative, got[0].Offset, got[0].Length)
		}
		if !slices.Equal(counts(got[0].Hist), h.Export().Counts) {
			t.Errorf("relative=%v: counts differ", relative)
		}
	}
}

func TestAnotherGeometryIsCountedAtTheMiddle(t *testing.T) {
	coarse := hdr.New(1000, 60_000_000_000, 2)
	if err := coarse.RecordValues(5_000_000, 9); err != nil {
		t.Fatal(err)
	}
	text, err := coarse.Encode(hdr.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadLog(strings.NewReader("0.0,1.0,5.0," + string(text)))
	if err != nil {
		t.Fatal(err)
	}
	h := got[0].Hist
	if h.Count() != 9 || h.Max() < 4_950_000 || h.Max() > 5_050_000 {
		t.Fatalf("count %d, max %d; want 9 at 5 ms within 1 %%", h.Count(), h.Max())
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestBadLogsAreRefusedByLine(t *testing.T) {
	var good bytes.Buffer
	must(t, WriteLog(&good, Header{Start: start}, []Interval{{Length: time.Second, Hist: from(5)}}))
	for _, c := range []struct{ name, text, want string }{
		{"fields", good.String() + "1.0,1.0\n", "line 6: found 2 fields in \"1.0,1.0\", expected 4"},
		{"start", "x,1,1,AAAA", "line 1: start: found \"x\", expected a number"},
		{"length", "1,NaN,1,AAAA", "line 1: length: found \"NaN\", expected a number"},
		{"huge", "1,1e300,1,AAAA", "line 1: length: found 1e+300 s"},
		{"max", "1,1,-,AAAA", "line 1: max: found \"-\""},
		{"histogram", "1,1,1,AAAA", "line 1: histogram \"AAAA\""},
		{"tag", "Tag=x", "line 1: found \"Tag=x\", expected Tag=name,start"},
		{"overflow", "#[Overflow: many]", "line 1: found overflow \"many\", expected a count"},
		{"start time", "#[StartTime: soon (seconds since epoch)]", "line 1: found \"soon\" after"},
		{"truncated", strings.TrimSpace(good.String())[:good.Len()-9], "line 5: histogram"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ReadLog(strings.NewReader(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestBadTagIsRefused(t *testing.T) {
	err := WriteLog(&bytes.Buffer{}, Header{}, []Interval{{Tag: "a b", Hist: New()}})
	if err == nil || !strings.Contains(err.Error(), `tag "a b": found ' '`) {
		t.Fatalf("error %v", err)
	}
}

type failing struct{ after int }

func (f *failing) Write(p []byte) (int, error) {
	if f.after--; f.after < 0 {
		return 0, fmt.Errorf("no space left on device")
	}
	return len(p), nil
}

func TestAFullDiskIsReported(t *testing.T) {
	for after := range 2 {
		err := WriteLog(&failing{after}, Header{}, []Interval{{Hist: from(1)}})
		if err == nil || !strings.Contains(err.Error(), "no space left") {
			t.Fatalf("after %d writes: error %v", after, err)
		}
	}
	if err := WriteHGRM(&failing{}, from(1), 5, 1e6); err == nil {
		t.Fatal("no error from WriteHGRM")
	}
}

// TestPercentileTable compares the table with the reference implementation's,
// field by field, since the implementations differ in their blanks.
func TestPercentileTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		vs := values(t, "values")
		ticks := rapid.IntRange(1, 20).Draw(t, "ticks")
		var got, want bytes.Buffer
		if err := WriteHGRM(&got, from(vs...), ticks, 1e6); err != nil {
			t.Fatal(err)
		}
		if _, err := peer(vs...).PercentilesPrint(&want, int32(ticks), 1e6); err != nil {
			t.Fatal(err)
		}
		g, w := strings.Split(got.String(), "\n"), strings.Split(want.String(), "\n")
		if len(g) != len(w) {
			t.Fatalf("%d lines, want %d:\n%s\n%s", len(g), len(w), got.String(), want.String())
		}
		for i := 2; i < len(g); i++ {
			gf, wf := strings.Fields(g[i]), strings.Fields(w[i])
			if strings.HasPrefix(g[i], "#") {
				if !slices.Equal(gf, wf) {
					t.Fatalf("line %d: %q, want %q", i+1, g[i], w[i])
				}
				continue
			}
			if len(gf) == 0 {
				continue
			}
			if gf[0] != wf[0] || gf[2] != wf[2] || !strings.HasPrefix(gf[1], wf[1][:6]) {
				t.Fatalf("line %d: %q, want %q", i+1, g[i], w[i])
			}
		}
	})
}

func TestPercentileTableRefusesNonsense(t *testing.T) {
	if err := WriteHGRM(&bytes.Buffer{}, New(), 0, 1); err == nil {
		t.Error("0 ticks were taken")
	}
	if err := WriteHGRM(&bytes.Buffer{}, New(), 5, 0); err == nil {
		t.Error("a unit of 0 was taken")
	}
}

func FuzzReadLog(f *testing.F) {
	var b bytes.Buffer
	h := from(1, 2, 3, 1_000_000, Highest+1)
	if err := WriteLog(&b, Header{Start: start}, []Interval{{Length: time.Second, Hist: h}, {Tag: "get", Hist: h}}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.String())
	f.Add("#[StartTime: 1 (s)]\n1.0,1.0,1.0,HISTFAAAAA\n")
	f.Add("Tag=a,1,2,3,\r\n\"x\"\n#[Overflow: 18446744073709551615]")
	f.Fuzz(func(t *testing.T, s string) {
		in, err := ReadLog(strings.NewReader(s))
		if err != nil {
			return
		}
		for _, iv := range in {
			iv.Hist.Quantile(0.99)
			if strings.ContainsAny(iv.Tag, " \r\n") {
				return // tags that others allow and we do not write
			}
		}
		var b bytes.Buffer
		if err := WriteLog(&b, Header{}, in); err != nil {
			t.Fatal(err)
		}
		if again, err := ReadLog(&b); err != nil || len(again) != len(in) {
			t.Fatalf("%d intervals, error %v; want %d", len(again), err, len(in))
		}
	})
}
