package tpch

import (
	"fmt"
	"maps"
	"strings"

	"bakeoff/engine/olap/population"
)

// Type is the type of a column (clause 1.3.1).
type Type int

// The types.
const (
	Integer Type = iota // an identifier or a count
	Key                 // an identifier that may need 64 bits
	Decimal             // twelve digits and more, two of them after the point
	Date
	Char    // of Width bytes
	Varchar // of up to Width bytes
)

// Column is a column of a table.
type Column struct {
	Name  string
	Type  Type
	Width int
}

// Columns returns a table's columns, in order (clause 1.4).
func Columns(t population.Table) []Column {
	return parseColumns([...]string{
		population.Region:   "r_regionkey i, r_name c25, r_comment v152",
		population.Nation:   "n_nationkey i, n_name c25, n_regionkey i, n_comment v152",
		population.Supplier: "s_suppkey i, s_name c25, s_address v40, s_nationkey i, s_phone c15, s_acctbal d, s_comment v101",
		population.Part: "p_partkey i, p_name v55, p_mfgr c25, p_brand c10, p_type v25, p_size i, p_container c10, p_retailprice d, " +
			"p_comment v23",
		population.PartSupp: "ps_partkey i, ps_suppkey i, ps_availqty i, ps_supplycost d, ps_comment v199",
		population.Customer: "c_custkey i, c_name v25, c_address v40, c_nationkey i, c_phone c15, c_acctbal d, c_mktsegment c10, c_comment v117",
		population.Orders: "o_orderkey k, o_custkey i, o_orderstatus c1, o_totalprice d, o_orderdate t, o_orderpriority c15, o_clerk c15, " +
			"o_shippriority i, o_comment v79",
		population.LineItem: "l_orderkey k, l_partkey i, l_suppkey i, l_linenumber i, l_quantity d, l_extendedprice d, l_discount d, l_tax d, " +
			"l_returnflag c1, l_linestatus c1, l_shipdate t, l_commitdate t, l_receiptdate t, l_shipinstruct c25, l_shipmode c10, l_comment v44",
	}[t])
}

func parseColumns(list string) (columns []Column) {
	for field := range strings.SplitSeq(list, ", ") {
		name, kind, _ := strings.Cut(field, " ")
		c := Column{Name: name}
		c.Type = map[byte]Type{'i': Integer, 'k': Key, 'd': Decimal, 't': Date, 'c': Char, 'v': Varchar}[kind[0]]
		if len(kind) > 1 {
			_, _ = fmt.Sscan(kind[1:], &c.Width)
		}
		columns = append(columns, c)
	}
	return columns
}

// Values are all that a column can hold, where these are few; nil elsewhere.
func Values(column string) []string {
	switch column {
	case "p_type":
		return population.Types()
	case "p_container":
		return population.Containers()
	case "c_mktsegment":
		return population.Segments()
	case "o_orderstatus":
		return []string{"F", "O", "P"}
	case "o_orderpriority":
		return population.Priorities()
	case "l_returnflag":
		return []string{"A", "N", "R"}
	case "l_linestatus":
		return []string{"F", "O"}
	case "l_shipinstruct":
		return population.Instructions()
	case "l_shipmode":
		return population.Modes()
	}
	return nil
}

// PrimaryKey returns the columns of a table's primary key.
func PrimaryKey(t population.Table) string {
	return [...]string{
		population.Region: "r_regionkey", population.Nation: "n_nationkey", population.Supplier: "s_suppkey", population.Part: "p_partkey",
		population.PartSupp: "ps_partkey, ps_suppkey", population.Customer: "c_custkey", population.Orders: "o_orderkey",
		population.LineItem: "l_orderkey, l_linenumber",
	}[t]
}

// foreignKeys are the references that no primary key begins with; each gets an
// index, and nothing else does (clause 1.5.4).
func foreignKeys(t population.Table) []string {
	return map[population.Table][]string{
		population.Nation: {"n_regionkey"}, population.Supplier: {"s_nationkey"}, population.PartSupp: {"ps_suppkey"},
		population.Customer: {"c_nationkey"}, population.Orders: {"o_custkey"}, population.LineItem: {"l_partkey, l_suppkey"},
	}[t]
}

// types are the names of the types; %d is the width.
func (d Dialect) types() map[Type]string {
	names := map[Type]string{Integer: "integer", Key: "bigint", Decimal: "decimal(15,2)", Date: "date", Char: "char(%d)", Varchar: "varchar(%d)"}
	own := map[Dialect]map[Type]string{
		Oracle: {Integer: "number(10)", Key: "number(19)", Decimal: "number(15,2)", Varchar: "varchar2(%d)"},
		SQLite: {Key: "integer", Decimal: "real", Date: "text", Char: "text", Varchar: "text"},
		DuckDB: {Char: "varchar(%d)"},
	}
	maps.Copy(names, own[d])
	return names
}

// typeOf is a column's type in a dialect.
func (d Dialect) typeOf(c Column) string {
	name := d.types()[c.Type]
	if strings.Contains(name, "%d") {
		return fmt.Sprintf(name, c.Width) + d.collation()
	}
	return name
}

// collation compares texts byte by byte, as the specification's answers are ordered.
func (d Dialect) collation() string {
	switch d {
	case PostgreSQL:
		return ` collate "C"`
	case SQLServer:
		return " collate Latin1_General_BIN2"
	}
	return ""
}

// CreateTable returns the statement that creates a table. Dialects whose tables
// are stored in the order of a key get their primary key with it.
func CreateTable(d Dialect, t population.Table) string {
	var b strings.Builder
	fmt.Fprintf(&b, "create table %s (", t)
	for i, c := range Columns(t) {
		if i > 0 {
			b.WriteString(",")
		}
		kind := d.typeOf(c)
		if d == SQLite && PrimaryKey(t) == c.Name {
			kind = "integer primary key"
		}
		fmt.Fprintf(&b, "\n  %s %s not null", c.Name, kind)
	}
	if d == MySQL {
		fmt.Fprintf(&b, ",\n  primary key (%s)", PrimaryKey(t))
	}
	b.WriteString(")")
	if d == MySQL {
		b.WriteString(" character set ascii collate ascii_bin")
	}
	return b.String()
}

// Indexes returns the statements that give a loaded table its keys: the primary key
// where CreateTable did not, and an index a foreign key. DuckDB gets none: it has
// zone maps of its own, and its indexes serve constraints only.
func Indexes(d Dialect, t population.Table) (statements []string) {
	if d == DuckDB {
		return nil
	}
	composite := strings.Contains(PrimaryKey(t), ",")
	switch {
	case d == SQLite && composite:
		statements = append(statements, fmt.Sprintf("create unique index %s_key on %s (%s)", t, t, PrimaryKey(t)))
	case d != MySQL && d != SQLite:
		statements = append(statements, fmt.Sprintf("alter table %s add primary key (%s)", t, PrimaryKey(t)))
	}
	for _, columns := range foreignKeys(t) {
		first, _, _ := strings.Cut(columns, ",")
		statements = append(statements, fmt.Sprintf("create index %s_idx on %s (%s)", first, t, columns))
	}
	return statements
}
