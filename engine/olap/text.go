package olap

import (
	"io"

	"bakeoff/engine/olap/population"
)

// textReader gives rows as text, for what reads files.
type textReader struct {
	rows  Rows
	lines population.Lines
	taken int // of the buffer
	ended bool
}

// textBuffer is about how many bytes of text are made at a time.
const textBuffer = 64 << 10

// NewTextReader gives rows as lines of text with a separator between the fields.
func NewTextReader(rows Rows, separator byte) io.Reader {
	return &textReader{rows: rows, lines: population.Lines{Separator: separator}}
}

// Read makes text when there is none.
func (r *textReader) Read(p []byte) (int, error) {
	if r.taken == len(r.lines.Buffer) {
		r.taken, r.lines.Buffer = 0, r.lines.Buffer[:0]
		for !r.ended && len(r.lines.Buffer) < textBuffer {
			r.ended = !r.rows.Next(&r.lines)
		}
		if len(r.lines.Buffer) == 0 {
			return 0, io.EOF
		}
	}
	n := copy(p, r.lines.Buffer[r.taken:])
	r.taken += n
	return n, nil
}
