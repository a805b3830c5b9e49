//go:build duckdb

package duckdb

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"unsafe"

	driver "github.com/duckdb/duckdb-go/v2"

	"bakeoff/engine/olap"
	"bakeoff/engine/olap/population"
	"bakeoff/engine/olap/tpch"
)

// sources hands streams of rows to DuckDB: its table function bakeoff_rows(number) gives
// the rows of the stream that was put there under that number.
type sources struct {
	mu   sync.Mutex
	last int64
	put  map[int64]*source
}

const tableFunction = "bakeoff_rows"

// register makes the table function known to the database of a connection.
func (s *sources) register(conn *sql.Conn) error {
	number, err := driver.NewTypeInfo(driver.TYPE_BIGINT)
	if err != nil {
		return err
	}
	return driver.RegisterTableUDF(conn, tableFunction, driver.ChunkTableFunction{
		Config: driver.TableFunctionConfig{Arguments: []driver.TypeInfo{number}},
		BindArguments: func(_ map[string]any, args ...any) (driver.ChunkTableSource, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			n, _ := args[0].(int64)
			found, ok := s.put[n]
			if !ok {
				return nil, fmt.Errorf("%s: there is no stream %v", tableFunction, args[0])
			}
			return found, nil
		},
	})
}

func (s *sources) add(src *source) (number int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.put == nil {
		s.put = map[int64]*source{}
	}
	s.last++
	s.put[s.last] = src
	return s.last
}

func (s *sources) remove(number int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.put, number)
}

// Copy inserts rows that DuckDB asks for, a chunk at a time. Decimals come as
// they are stored, and dates as days. Each loader has its own thread, so DuckDB gets
// none beside them: those would only poll for work.
func (d *database) Copy(ctx context.Context, conn *sql.Conn, t population.Table, rows olap.Rows) error {
	if _, err := conn.ExecContext(ctx, "set threads = 1"); err != nil {
		return err
	}
	src, err := newSource(t, rows)
	if err != nil {
		return err
	}
	number := d.sources.add(src)
	defer d.sources.remove(number)
	var columns []string
	for _, c := range tpch.Columns(t) {
		name := c.Name
		if c.Type == tpch.Date {
			name = "date '1970-01-01' + " + name
		}
		columns = append(columns, name)
	}
	_, err = conn.ExecContext(ctx, fmt.Sprintf("insert into %s select %s from %s(%d)", t, strings.Join(columns, ", "), tableFunction, number))
	if err == nil {
		err = src.err
	}
	return err
}

// source is one stream of rows. It is an Encoder too: what it takes goes to the
// chunk that is being filled.
type source struct {
	table   population.Table
	rows    olap.Rows
	columns []driver.ColumnInfo
	enums   []bool // columns of few values: numbers to DuckDB, which cost no call into C
	ended   bool

	chunk       driver.DataChunk
	row, column int
	err         error
}

func newSource(t population.Table, rows olap.Rows) (*source, error) {
	s := &source{table: t, rows: rows}
	types := map[tpch.Type]driver.Type{tpch.Integer: driver.TYPE_INTEGER, tpch.Key: driver.TYPE_BIGINT, tpch.Date: driver.TYPE_INTEGER, tpch.Char: driver.TYPE_VARCHAR, tpch.Varchar: driver.TYPE_VARCHAR}
	for _, c := range tpch.Columns(t) {
		values := tpch.Values(c.Name)
		var info driver.TypeInfo
		var err error
		switch {
		case c.Type == tpch.Decimal:
			info, err = driver.NewDecimalInfo(15, 2)
		case values != nil:
			info, err = driver.NewEnumInfo(values[0], values[1:]...)
		default:
			info, err = driver.NewTypeInfo(types[c.Type])
		}
		if err != nil {
			return nil, err
		}
		s.columns = append(s.columns, driver.ColumnInfo{Name: c.Name, T: info})
		s.enums = append(s.enums, values != nil)
	}
	return s, nil
}

// ColumnInfos describes the columns.
func (s *source) ColumnInfos() []driver.ColumnInfo { return s.columns }

// Cardinality is not known.
func (*source) Cardinality() *driver.CardinalityInfo { return nil }

// Init has nothing to do.
func (*source) Init() {}

// maxUnit bounds the rows of a unit.
const maxUnit = 7

// FillChunk fills a chunk with whole units.
func (s *source) FillChunk(chunk driver.DataChunk) error {
	s.chunk, s.row, s.column = chunk, 0, 0
	for !s.ended && s.err == nil && s.row+maxUnit <= driver.GetDataChunkCapacity() {
		s.ended = !s.rows.Next(s)
	}
	if s.err != nil {
		return s.err
	}
	return chunk.SetSize(s.row)
}

func set[T any](s *source, v T) {
	if err := driver.SetChunkValue(s.chunk, s.column, s.row, v); err != nil && s.err == nil {
		s.err = err
	}
	s.column++
}

// Int sets a number.
func (s *source) Int(v int64) { set(s, v) }

// Decimal sets hundredths, which is how DuckDB stores them.
func (s *source) Decimal(hundredths int64) { set(s, hundredths) }

// Date sets the days since 1970.
func (s *source) Date(d population.Date) { set(s, d.UnixDays()) }

// Text sets a text; DuckDB copies it.
func (s *source) Text(b []byte) {
	if s.enums[s.column] {
		set(s, unsafe.String(unsafe.SliceData(b), len(b))) // only looked up
		return
	}
	set(s, b)
}

// End ends the row.
func (s *source) End() { s.row, s.column = s.row+1, 0 }
