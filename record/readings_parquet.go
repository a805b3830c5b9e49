package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
)

// readingsSchema is the version written into every file of readings. It is
// raised when a column changes its meaning.
const (
	readingsSchemaKey = "bakeoff.readings.schema"
	readingsSchema    = "1"
	readingsBatch     = 4096
)

// WriteReadings writes readings to w as one Parquet file (Zstandard, a column a
// field of Reading, in the order given). The same readings give the same bytes.
func WriteReadings(w io.Writer, readings []Reading) error {
	out := parquet.NewGenericWriter[Reading](w,
		parquet.Compression(&parquet.Zstd),
		parquet.CreatedBy("bakeoff", readingsSchema, ""),
		parquet.KeyValueMetadata(readingsSchemaKey, readingsSchema))
	for len(readings) > 0 {
		n := min(len(readings), readingsBatch)
		if _, err := out.Write(readings[:n]); err != nil {
			return fmt.Errorf("writing readings: %w", err)
		}
		readings = readings[n:]
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("writing readings: %w", err)
	}
	return nil
}

// ReadReadings reads what WriteReadings wrote, in its order. A file that is
// damaged, has other columns or is of a later version is an error: a missing
// column would read as zero.
func ReadReadings(r io.ReaderAt, size int64) (readings []Reading, err error) {
	// The Parquet library panics on some damaged files; a record that came
	// from elsewhere must not take the process down.
	defer func() {
		if p := recover(); p != nil {
			readings, err = nil, fmt.Errorf("reading readings: damaged Parquet file: %v", p)
		}
	}()
	if err := checkFooter(r, size); err != nil {
		return nil, fmt.Errorf("reading readings: not a whole Parquet file: %w", err)
	}
	file, err := parquet.OpenFile(r, size)
	if err != nil {
		return nil, fmt.Errorf("reading readings: not a whole Parquet file: %w", err)
	}
	if err := checkReadingsFile(file); err != nil {
		return nil, fmt.Errorf("reading readings: %w", err)
	}
	in := parquet.NewGenericReader[Reading](file)
	readings, err = readAllReadings(in)
	if cerr := in.Close(); err == nil {
		err = cerr
	}
	if err == nil && int64(len(readings)) != file.NumRows() {
		err = fmt.Errorf("the file says %d rows but holds %d", file.NumRows(), len(readings))
	}
	if err != nil {
		return nil, fmt.Errorf("reading readings: %w", err)
	}
	return readings, nil
}

// checkFooter refuses a footer longer than its file, for which the library
// would allocate up to 4 GiB. The last eight bytes of a Parquet file are the
// footer's length, little endian, and "PAR1".
func checkFooter(r io.ReaderAt, size int64) error {
	const magic, tail = 4, 8
	var end [tail]byte
	if size < magic+tail {
		return fmt.Errorf("%d bytes are too few", size)
	}
	if n, err := r.ReadAt(end[:], size-tail); n < tail {
		return fmt.Errorf("reading its last %d bytes: %w", tail, err)
	}
	if footer := int64(binary.LittleEndian.Uint32(end[:])); footer > size-magic-tail {
		return fmt.Errorf("its footer should have %d bytes, but the file has %d", footer, size)
	}
	return nil
}

// checkReadingsFile refuses files of another version or with other columns.
func checkReadingsFile(file *parquet.File) error {
	version, ok := file.Lookup(readingsSchemaKey)
	if !ok {
		return fmt.Errorf("no %q in the file's metadata: this is not a bakeoff readings file", readingsSchemaKey)
	}
	if version != readingsSchema {
		return fmt.Errorf("schema version %q, expected %q: read it with the bakeoff that wrote it", version, readingsSchema)
	}
	want := parquet.SchemaOf(Reading{})
	if !parquet.SameNodes(want, file.Schema()) {
		return fmt.Errorf("columns differ: found %s, expected %s", file.Schema(), want)
	}
	return nil
}

func readAllReadings(in *parquet.GenericReader[Reading]) ([]Reading, error) {
	var all []Reading
	batch := make([]Reading, readingsBatch)
	for {
		n, err := in.Read(batch)
		all = append(all, batch[:n]...)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return nil, io.ErrNoProgress
		}
		clear(batch)
	}
}
