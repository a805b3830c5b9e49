package load

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"strings"
	"time"

	"bakeoff/hist"
)

// A logSet is the interval logs of one load, one for each kind of operation
// and way of timing. Offsets are from the opening of the window.
type logSet struct {
	name  string // what their file names begin with
	start time.Time
	types []latencyType
	logs  map[string]*intervalLog
}

// intervalLog is one log in memory.
type intervalLog struct {
	bytes.Buffer
	w     *hist.LogWriter
	total hist.Histogram // of all lines
}

func newLogSet(spec Spec, start time.Time, types []latencyType) *logSet {
	part := string(spec.Part)
	if part == "" {
		part = string(Source)
	}
	name := fmt.Sprintf("%s.%s.%s.%d", fileWord(spec.Workload), fileWord(part), fileWord(spec.Host), spec.Instance)
	return &logSet{name: name, start: start, types: types, logs: map[string]*intervalLog{}}
}

// fileWord keeps what is safe in a file's name on any system, and marks what it
// had to change so that no two words become one.
func fileWord(s string) string {
	safe := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '_'
	}, s)
	if safe == s && s != "" {
		return s
	}
	return fmt.Sprintf("%s_%08x", safe, crc32.ChecksumIEEE([]byte(s)))
}

// file names the log of one kind and type.
func (l *logSet) file(kind, timing string) string {
	return fmt.Sprintf("%s.%s.%s.hlog", l.name, fileWord(kind), timing)
}

// write adds one interval's histogram to its log.
func (l *logSet) write(v *interval, open int64, kind, timing string, h *hist.Histogram) error {
	file := l.file(kind, timing)
	log := l.logs[file]
	if log == nil {
		log = &intervalLog{}
		w, err := hist.NewLogWriter(log, hist.Header{Start: l.start, Comments: []string{
			fmt.Sprintf("%s, %s, %s time in ns of the operations intended in the window", l.name, kind, timing),
		}})
		if err != nil {
			return err
		}
		log.w = w
		l.logs[file] = log
	}
	log.total.Merge(h)
	return log.w.Write(hist.Interval{
		Offset: time.Duration(v.start - open), Length: time.Duration(v.end - v.start), Hist: h,
	})
}

// get returns the log of one kind and type, nil where nothing was written.
func (l *logSet) get(kind, timing string) *intervalLog { return l.logs[l.file(kind, timing)] }
