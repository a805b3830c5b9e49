package record

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// An Event is one line of the journal: something that is about to happen or
// has happened in a run. Lines are numbered from 1 and chained: each carries a
// checksum over itself and the line before it.
type Event struct {
	Seq  uint64          `json:"seq"`
	At   time.Time       `json:"at"`
	Kind string          `json:"kind"` // one of those in docs/record.md, as "phase-begin"
	Data json.RawMessage `json:"data,omitempty"`
}

// maxJournalLine bounds a line, so that a damaged file cannot exhaust memory.
const maxJournalLine = 8 << 20

// sumMark separates what a line's checksum covers from the checksum.
const sumMark = `,"sum":"`

// A Journal is what was read of a journal file.
type Journal struct {
	Events []Event
	// Torn is the number of bytes after the last whole line: the beginning of
	// one that was being written when the process or the machine stopped.
	Torn int

	sum  string // of the last whole line
	size int64  // of the whole lines
}

// lineSum is the checksum of a line: the first 16 hexadecimal digits of
// SHA-256 over the previous line's checksum (none for the first) and the line
// up to its own.
func lineSum(previous string, head []byte) string {
	h := sha256.New()
	h.Write([]byte(previous))
	h.Write(head)
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// formatLine makes a journal line, with its newline, and its checksum.
func formatLine(e Event, previous string) (line []byte, sum string, err error) {
	body, err := json.Marshal(e)
	if err != nil {
		return nil, "", fmt.Errorf("journalling %s: %w", e.Kind, err)
	}
	if len(body) > maxJournalLine/2 {
		return nil, "", fmt.Errorf("journalling %s: the event has %d bytes; at most %d fit a line", e.Kind, len(body), maxJournalLine/2)
	}
	head := body[:len(body)-1] // without the closing brace
	sum = lineSum(previous, head)
	return []byte(string(head) + sumMark + sum + "\"}\n"), sum, nil
}

// parseLine reads one line, without its newline.
func parseLine(line []byte, previous string, seq uint64) (Event, string, error) {
	i := bytes.LastIndex(line, []byte(sumMark))
	if i < 0 || !bytes.HasSuffix(line[i+len(sumMark):], []byte(`"}`)) {
		return Event{}, "", errors.New("it has no checksum")
	}
	head := line[:i]
	found := string(line[i+len(sumMark) : len(line)-2])
	if want := lineSum(previous, head); found != want {
		return Event{}, "", fmt.Errorf("its checksum is %.32q, but its content and the line before give %q", found, want)
	}
	var e Event
	if err := json.Unmarshal(line, &e); err != nil {
		return Event{}, "", err
	}
	if e.Seq != seq {
		return Event{}, "", fmt.Errorf("its sequence number is %d, expected %d", e.Seq, seq)
	}
	if e.Kind == "" {
		return Event{}, "", errors.New("it has no kind")
	}
	return e, found, nil
}

// ReadJournal reads a journal. A last line without its newline was torn by a
// crash: it is counted in Torn and left out. Any other damage is an error that
// names the line.
func ReadJournal(r io.Reader) (Journal, error) {
	var j Journal
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := readLine(in)
		if errors.Is(err, io.EOF) {
			j.Torn = len(line)
			return j, nil
		}
		n := len(j.Events) + 1
		if err != nil {
			return j, fmt.Errorf("%s line %d: %w", JournalFile, n, err)
		}
		e, sum, err := parseLine(line, j.sum, uint64(n))
		if err != nil {
			return j, fmt.Errorf("%s line %d is damaged: %w; the record cannot be trusted from here on: restore the file from a copy", JournalFile, n, err)
		}
		j.Events = append(j.Events, e)
		j.sum = sum
		j.size += int64(len(line)) + 1
	}
}

// readLine returns the next line without its newline; with io.EOF, what
// remained without one.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		case len(line) > maxJournalLine:
			return nil, fmt.Errorf("longer than %d bytes", maxJournalLine)
		}
	}
}
