package record

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"
)

func sampleReadings() []Reading {
	return []Reading{
		{Host: "sut", Collector: "cpu", Metric: "cpu.user", Unit: "s", Kind: Counter64, Start: 1_700_000_000_000_000_000, End: 1_700_000_000_000_100_000, Value: 12.25},
		{Host: "sut", Collector: "cpu", Metric: "cpu.user", Instance: "cpu0", Unit: "s", Kind: Counter64, Start: 1_700_000_000_000_000_000, End: 1_700_000_000_000_100_000, Value: 6},
		{Host: "sut", Collector: "redfish", Metric: "power", Instance: "psu", Unit: "W", Kind: Gauge, Start: 1, End: 2, Value: math.Nextafter(344, 345)},
	}
}

func TestReadingsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		reading := rapid.Custom(func(t *rapid.T) Reading {
			return Reading{
				Host: rapid.String().Draw(t, "host"), Collector: rapid.SampledFrom([]string{"cpu", "nic"}).Draw(t, "collector"),
				Metric: rapid.String().Draw(t, "metric"), Instance: rapid.String().Draw(t, "instance"),
				Unit: rapid.SampledFrom([]string{"s", "B", "1", "W"}).Draw(t, "unit"),
				Kind: rapid.SampledFrom([]MetricKind{Counter64, Gauge}).Draw(t, "kind"),
				// Stamps at both ends of the range, whose differences overflow.
				Start: rapid.Int64().Draw(t, "start"), End: rapid.Int64().Draw(t, "end"),
				Value: rapid.Float64().Draw(t, "value"),
			}
		})
		want := rapid.SliceOfN(reading, 0, 50).Draw(t, "readings")
		var first, second bytes.Buffer
		if err := errors.Join(WriteReadings(&first, want), WriteReadings(&second, want)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Fatal("the same readings gave different bytes")
		}
		got, err := ReadReadings(bytes.NewReader(first.Bytes()), int64(first.Len()))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateNaNs()); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestReadingsManyBatches(t *testing.T) {
	want := make([]Reading, 3*readingsBatch+7)
	for i := range want {
		want[i] = Reading{Metric: "cpu.user", Kind: Counter64, Start: int64(i), Value: float64(i)}
	}
	var buf bytes.Buffer
	if err := WriteReadings(&buf, want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadReadings(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

func TestReadingsRefused(t *testing.T) {
	var whole bytes.Buffer
	if err := WriteReadings(&whole, sampleReadings()); err != nil {
		t.Fatal(err)
	}
	type fewer struct {
		Host  string  `parquet:"host,dict"`
		Value float64 `parquet:"value"`
	}
	fewerColumns := func(version string) []byte {
		var buf bytes.Buffer
		w := parquet.NewGenericWriter[fewer](&buf, parquet.KeyValueMetadata(readingsSchemaKey, version))
		if _, err := w.Write([]fewer{{"a", 1}}); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return buf.Bytes()
	}
	tests := map[string]struct {
		data []byte
		want string
	}{
		"empty":         {nil, "not a whole Parquet file"},
		"cut":           {whole.Bytes()[:whole.Len()-9], "not a whole Parquet file"},
		"huge footer":   {[]byte("PAR1....\xff\xff\xff\xffPAR1"), "footer should have 4294967295 bytes"},
		"other columns": {fewerColumns(readingsSchema), "columns differ"},
		"later version": {fewerColumns("99"), `schema version "99"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := ReadReadings(bytes.NewReader(tt.data), int64(len(tt.data)))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// failAfter accepts n bytes and then fails, as a full disk does.
type failAfter struct{ n int }

var errFull = errors.New("no space left on device")

func (f *failAfter) Write(p []byte) (int, error) {
	if len(p) > f.n {
		return f.n, errFull
	}
	f.n -= len(p)
	return len(p), nil
}

func TestWriteReadingsReportsAFullDisk(t *testing.T) {
	for _, room := range []int{0, 3, 100} {
		if err := WriteReadings(&failAfter{room}, sampleReadings()); !errors.Is(err, errFull) {
			t.Errorf("with room for %d bytes: got %v, want %v", room, err, errFull)
		}
	}
}

func FuzzReadReadings(f *testing.F) {
	var buf bytes.Buffer
	if err := WriteReadings(&buf, sampleReadings()); err != nil {
		f.Fatal(err)
	}
	f.Add(buf.Bytes())
	f.Add([]byte("PAR1PAR1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		readings, err := ReadReadings(bytes.NewReader(data), int64(len(data)))
		if err != nil && readings != nil {
			t.Fatal("readings beside an error")
		}
	})
}
