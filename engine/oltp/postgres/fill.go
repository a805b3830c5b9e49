package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"bakeoff/engine/oltp"
	"bakeoff/engine/oltp/tpcc"
)

// columnType is a column's type in PostgreSQL.
func columnType(c tpcc.Column) string {
	switch c.Type {
	case tpcc.Int:
		return "integer"
	case tpcc.Small:
		return "smallint"
	case tpcc.Decimal:
		return fmt.Sprintf("numeric(%d,%d)", c.Size, c.Scale)
	case tpcc.Char:
		return fmt.Sprintf("character(%d)", c.Size)
	case tpcc.Text:
		return fmt.Sprintf("varchar(%d)", c.Size)
	}
	return "timestamp"
}

// Create makes the database and its tables, without keys.
func (d *database) Create(ctx context.Context, tables []tpcc.Table) error {
	if err := d.createDatabase(ctx); err != nil {
		return err
	}
	names := []string{oltp.MarkTable}
	for _, t := range tables {
		names = append(names, t.Name)
	}
	mark, content := oltp.MarkColumns()
	statements := []string{
		"DROP TABLE IF EXISTS " + strings.Join(names, ", "),
		fmt.Sprintf("CREATE TABLE %s (%s varchar(60) PRIMARY KEY, %s varchar(200) NOT NULL)", oltp.MarkTable, mark, content),
	}
	for _, t := range tables {
		var columns []string
		for _, c := range t.Columns {
			column := c.Name + " " + columnType(c)
			if !c.Null {
				column += " NOT NULL"
			}
			columns = append(columns, column)
		}
		statements = append(statements, fmt.Sprintf("CREATE TABLE %s (%s)", t.Name, strings.Join(columns, ", ")))
	}
	// The mark table comes with the tables, or not at all.
	return d.Exec(ctx, "BEGIN; "+strings.Join(statements, "; ")+"; COMMIT")
}

func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }

// createDatabase makes the database where it is missing.
func (d *database) createDatabase(ctx context.Context) error {
	err := d.with(ctx, func(*pgx.Conn) error { return nil })
	if err == nil || !isState(err, stateNoDatabase) {
		return err
	}
	return d.maintain(ctx, "CREATE DATABASE "+quoted(d.name))
}

// maintain executes statements in the database that is there for it.
func (d *database) maintain(ctx context.Context, statements ...string) error {
	c, err := d.open(ctx, "postgres")
	if isState(err, stateNoDatabase) {
		c, err = d.open(ctx, "template1")
	}
	if err != nil {
		return err
	}
	return errors.Join(d.exec(ctx, c, statements...), c.Close(ctx))
}

// Loaders are as many as wished for.
func (*database) Loaders(wish int) int { return wish }

// Load copies a chunk in.
func (d *database) Load(ctx context.Context, c tpcc.Chunk) error {
	return d.with(ctx, func(conn *pgx.Conn) error {
		// The rows and the mark are lost together or not at all, so that neither need
		// wait for the disk.
		if err := d.exec(ctx, conn, "BEGIN", "SET LOCAL synchronous_commit = off"); err != nil {
			return err
		}
		t := tpcc.Tables()[c.Table]
		sql := fmt.Sprintf("COPY %s (%s) FROM STDIN (FORMAT binary)", t.Name, strings.Join(t.Names(), ", "))
		source := newSource(ctx, d.c.Data, c)
		tag, err := conn.PgConn().CopyFrom(ctx, source, sql)
		source.close()
		if err != nil {
			return errors.Join(fmt.Errorf("copying into %s, warehouse %d: %w", t.Name, c.Warehouse, d.plain(err)), d.rollback(ctx, conn))
		}
		return d.exec(ctx, conn, oltp.Mark(c, tag.RowsAffected()), "COMMIT")
	})
}

func (d *database) rollback(ctx context.Context, c *pgx.Conn) error {
	if c.IsClosed() || ctx.Err() != nil {
		return nil
	}
	return d.exec(ctx, c, "ROLLBACK")
}

// source generates a chunk in one goroutine and is read in another.
type source struct {
	full  chan []byte
	empty chan []byte
	rest  []byte
	held  []byte
	err   error // set before full is closed
	stop  context.CancelFunc
	done  sync.WaitGroup
}

const (
	sourceBuffer  = 256 << 10
	sourceBuffers = 3
	rowSpace      = 2 << 10 // more than the longest row
)

func newSource(ctx context.Context, data tpcc.Data, c tpcc.Chunk) *source {
	s := &source{full: make(chan []byte, sourceBuffers), empty: make(chan []byte, sourceBuffers)}
	for range sourceBuffers {
		s.empty <- make([]byte, 0, sourceBuffer+rowSpace)
	}
	ctx, s.stop = context.WithCancel(ctx)
	s.done.Go(func() {
		defer close(s.full)
		w := &copyWriter{ctx: ctx, s: s, table: tpcc.Tables()[c.Table]}
		s.err = w.write(data, c)
	})
	return s
}

// close ends the generation, which may be under way after an error.
func (s *source) close() {
	s.stop()
	s.done.Wait()
}

// Read gives what was generated.
func (s *source) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		if s.held != nil {
			s.empty <- s.held[:0]
			s.held = nil
		}
		b, ok := <-s.full
		if !ok {
			if s.err != nil {
				return 0, s.err
			}
			return 0, io.EOF
		}
		s.held, s.rest = b, b
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// copyWriter writes rows in the binary format of COPY (PostgreSQL documentation,
// COPY, "Binary Format").
type copyWriter struct {
	ctx    context.Context
	s      *source
	table  tpcc.Table
	buf    []byte
	column int
}

func (w *copyWriter) write(data tpcc.Data, c tpcc.Chunk) error {
	if err := w.next(); err != nil {
		return err
	}
	w.buf = append(w.buf, "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
	w.begin()
	if err := data.Write(c, w); err != nil {
		return err
	}
	binary.BigEndian.PutUint16(w.buf[len(w.buf)-2:], 0xffff) // in place of a row
	return w.flush()
}

func (w *copyWriter) begin() {
	w.buf = binary.BigEndian.AppendUint16(w.buf, uint16(len(w.table.Columns)))
	w.column = 0
}

func (w *copyWriter) next() error {
	select {
	case w.buf = <-w.s.empty:
		return nil
	case <-w.ctx.Done():
		return context.Cause(w.ctx)
	}
}

func (w *copyWriter) flush() error {
	select {
	case w.s.full <- w.buf:
		return nil
	case <-w.ctx.Done():
		return context.Cause(w.ctx)
	}
}

// Int writes an int4, or an int2 where the column is small.
func (w *copyWriter) Int(v int64) {
	if w.table.Columns[w.column].Type == tpcc.Small {
		w.buf = binary.BigEndian.AppendUint16(append(w.buf, 0, 0, 0, 2), uint16(v))
	} else {
		w.buf = binary.BigEndian.AppendUint32(append(w.buf, 0, 0, 0, 4), uint32(v))
	}
	w.column++
}

// Decimal writes a numeric.
func (w *copyWriter) Decimal(v int64) {
	w.buf = appendNumeric(w.buf, v, w.table.Columns[w.column].Scale)
	w.column++
}

// appendNumeric appends a numeric with its length: digits of base 10,000, the
// first one's weight, a sign and the number of decimal digits after the point.
func appendNumeric(out []byte, v int64, scale int) []byte {
	const base = 10_000
	sign := uint16(0)
	if v < 0 {
		sign, v = 0x4000, -v
	}
	if scale == 2 { // after the point come whole digits of the base
		v *= 100
	}
	var digits [6]uint16
	n := 0
	for ; v > 0; v /= base {
		digits[n] = uint16(v % base)
		n++
	}
	weight := n - 2 // the last digit is after the point
	low := 0
	for low < n && digits[low] == 0 {
		low++
	}
	if low == n {
		weight, low, n = 0, 0, 0
	}
	count := n - low
	out = binary.BigEndian.AppendUint32(out, uint32(8+2*count))
	for _, f := range [4]uint16{uint16(count), uint16(weight), sign, uint16(scale)} {
		out = binary.BigEndian.AppendUint16(out, f)
	}
	for i := n - 1; i >= low; i-- {
		out = binary.BigEndian.AppendUint16(out, digits[i])
	}
	return out
}

// Text writes a text.
func (w *copyWriter) Text(b []byte) {
	w.buf = append(binary.BigEndian.AppendUint32(w.buf, uint32(len(b))), b...)
	w.column++
}

// epoch is where PostgreSQL counts microseconds from.
const epoch = 946_684_800 // 2000-01-01, in seconds of Unix time

// Time writes a timestamp.
func (w *copyWriter) Time(t time.Time) {
	w.buf = binary.BigEndian.AppendUint64(append(w.buf, 0, 0, 0, 8), uint64((t.Unix()-epoch)*1_000_000))
	w.column++
}

// Null writes an absent value.
func (w *copyWriter) Null() {
	w.buf = append(w.buf, 0xff, 0xff, 0xff, 0xff)
	w.column++
}

// EndRow ends a row, and hands a full buffer on.
func (w *copyWriter) EndRow() error {
	if len(w.buf) > sourceBuffer {
		if err := w.flush(); err != nil {
			return err
		}
		if err := w.next(); err != nil {
			return err
		}
	}
	w.begin()
	return nil
}
