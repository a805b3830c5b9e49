package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func journalBytes(t testing.TB, n int) []byte {
	t.Helper()
	var out bytes.Buffer
	sum := ""
	for i := range n {
		line, s, err := formatLine(Event{Seq: uint64(i + 1), Kind: "phase-begin", Data: json.RawMessage(fmt.Sprintf(`{"trial":"%04d","note":"a \"quoted\" <&> ,\"sum\":\"x\" \n"}`, i))}, sum)
		if err != nil {
			t.Fatal(err)
		}
		sum = s
		out.Write(line)
	}
	return out.Bytes()
}

// TestJournalCutAnywhere cuts a journal after every byte: what is before the
// last newline is read, the rest is torn, and writing goes on from there.
func TestJournalCutAnywhere(t *testing.T) {
	whole := journalBytes(t, 4)
	for cut := range len(whole) + 1 {
		j, err := ReadJournal(bytes.NewReader(whole[:cut]))
		if err != nil {
			t.Fatalf("cut after %d bytes: %v", cut, err)
		}
		lines := bytes.Count(whole[:cut], []byte("\n"))
		rest := cut - (bytes.LastIndexByte(whole[:cut], '\n') + 1)
		if len(j.Events) != lines || j.Torn != rest {
			t.Fatalf("cut after %d bytes: %d events and %d torn bytes, want %d and %d", cut, len(j.Events), j.Torn, lines, rest)
		}
	}
}

func TestReopenAfterEveryCut(t *testing.T) {
	w := newRun(t)
	must(t, w.Close())
	name := filepath.Join(w.Dir(), JournalFile)
	whole, err := os.ReadFile(name)
	must(t, err)
	for cut := range len(whole) + 1 {
		must(t, os.WriteFile(name, whole[:cut], 0o644))
		again, events, err := Reopen(w.Dir(), clock())
		must(t, err)
		must(t, again.Append("resume", nil))
		must(t, again.Close())
		run, err := Open(w.Dir())
		must(t, err)
		after, err := run.Events()
		if err != nil || len(after) != len(events)+1 {
			t.Fatalf("cut after %d bytes: %d events after resuming from %d: %v", cut, len(after), len(events), err)
		}
	}
}

// TestJournalFindsEveryChange changes each byte of a journal in turn.
func TestJournalFindsEveryChange(t *testing.T) {
	whole := journalBytes(t, 3)
	last := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	for i := range whole {
		changed := bytes.Clone(whole)
		changed[i] ^= 1
		j, err := ReadJournal(bytes.NewReader(changed))
		if i == len(whole)-1 { // the last newline: the line counts as torn
			if err != nil || len(j.Events) != 2 || j.Torn == 0 {
				t.Errorf("without its newline the last line gives %d events, %d torn, %v", len(j.Events), j.Torn, err)
			}
			continue
		}
		line := 1 + bytes.Count(whole[:i], []byte("\n"))
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("line %d", line)) {
			t.Errorf("byte %d of line %d changed: %v", i, line, err)
		}
	}
	for name, damaged := range map[string][]byte{
		"line lost":     append(bytes.Clone(whole[:bytes.IndexByte(whole, '\n')+1]), whole[last:]...),
		"line doubled":  append(bytes.Clone(whole), whole[last:]...),
		"empty line":    append(bytes.Clone(whole), '\n'),
		"zeros in line": append(append(bytes.Clone(whole), make([]byte, 20)...), '\n'),
	} {
		if _, err := ReadJournal(bytes.NewReader(damaged)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestJournalLimitsLines(t *testing.T) {
	if _, err := ReadJournal(strings.NewReader(strings.Repeat("x", maxJournalLine+70000))); err == nil {
		t.Error("an endless line was taken")
	}
	if _, _, err := formatLine(Event{Kind: "x", Data: json.RawMessage(`"` + strings.Repeat("x", maxJournalLine) + `"`)}, ""); err == nil {
		t.Error("a line too long to be read was written")
	}
}

func TestJournalRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOf(rapid.String()).Draw(t, "texts")
		var out bytes.Buffer
		sum := ""
		for i, text := range texts {
			data, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			line, s, err := formatLine(Event{Seq: uint64(i + 1), Kind: "note", Data: data}, sum)
			if err != nil {
				t.Fatal(err)
			}
			sum = s
			out.Write(line)
		}
		j, err := ReadJournal(&out)
		if err != nil || len(j.Events) != len(texts) {
			t.Fatalf("%d events of %d: %v", len(j.Events), len(texts), err)
		}
		for i, e := range j.Events {
			var got string
			if err := json.Unmarshal(e.Data, &got); err != nil || got != strings.ToValidUTF8(texts[i], "\uFFFD") {
				t.Fatalf("event %d: %q, want %q: %v", i, got, texts[i], err)
			}
		}
	})
}

func FuzzJournal(f *testing.F) {
	whole := journalBytes(f, 3)
	f.Add(whole)
	f.Add(whole[:len(whole)-7])
	f.Add([]byte(`{"seq":1,"at":"2026-01-01T00:00:00Z","kind":"x","sum":"0000000000000000"}` + "\n"))
	f.Add([]byte("\n\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		j, err := ReadJournal(bytes.NewReader(src))
		if err != nil {
			return
		}
		if int(j.size)+j.Torn != len(src) {
			t.Errorf("%d bytes read, %d torn, of %d", j.size, j.Torn, len(src))
		}
		for i, e := range j.Events {
			if e.Seq != uint64(i+1) || e.Kind == "" {
				t.Errorf("event %d: %+v", i, e)
			}
		}
	})
}
