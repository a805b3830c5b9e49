package oltp

import (
	"fmt"

	"bakeoff/engine/oltp/tpcc"
)

// MarkTable is the table that says what a database holds and how far its load
// came: name-value pairs.
const MarkTable = "bakeoff_load"

// MarkColumns are its columns: texts of up to 60 and 200 characters, the first
// of which is the key.
func MarkColumns() (name, value string) { return "mark", "content" }

// Mark returns the statement that says that a chunk is loaded, with so many
// rows. Database.Load executes it in the transaction of the rows.
func Mark(c tpcc.Chunk, rows int64) string {
	return setMark(chunkMark(c), fmt.Sprint(rows))
}

func chunkMark(c tpcc.Chunk) string { return fmt.Sprintf("chunk %s %d", c.Table, c.Warehouse) }

// setMark returns the statement that adds a mark. Neither text has a quote.
func setMark(name, value string) string {
	return fmt.Sprintf("INSERT INTO %s (mark, content) VALUES ('%s', '%s')", MarkTable, name, value)
}

// InstanceName appends an instance's number to a database's name: the first
// instance, 0, has the name as it is.
func InstanceName(name string, instance int) string {
	if instance == 0 {
		return name
	}
	return fmt.Sprintf("%s_%d", name, instance)
}
