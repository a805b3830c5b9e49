package host

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// markName is the variable by which all that descends from a service is
// known, even where it has left the service's session.
const markName = "BAKEOFF_SERVICE"

// A mark is what all that descends from a service inherits: a variable in its
// environment and, since servers that set their title write over theirs, a
// limit that no process of theirs ever meets, with a number of its own. The
// limit is on the time that a real-time thread runs without a pause
// (RLIMIT_RTTIME, getrlimit(2)); 73,000 years and more, in microseconds.
type mark struct {
	Variable string `json:"mark"`
	Limit    uint64 `json:"limit,omitempty"` // 0: none
}

const leastLimit = 1 << 61

func newMark() mark {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return mark{Variable: markName + "=" + rand.Text(), Limit: leastLimit | binary.NativeEndian.Uint64(b[:])>>4}
}

// limit gives a process that was just started the limit of the mark. One that
// is limited already, as by a desktop's policy, keeps its own.
func (m mark) limit(pid int) {
	var now unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_RTTIME, nil, &now); err != nil || now.Max != unix.RLIM_INFINITY {
		return
	}
	now.Cur = m.Limit
	_ = unix.Prlimit(pid, unix.RLIMIT_RTTIME, &now, nil) // the variable is left
}

// on reports whether a process has the mark. It says no where neither can be read.
func (m mark) on(pid int) bool {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err == nil && m.Variable != "" && slices.Contains(strings.Split(string(env), "\x00"), m.Variable) {
		return true
	}
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	if err != nil || m.Limit < leastLimit {
		return false
	}
	words := strings.Fields(field(string(limits), "Max realtime timeout"))
	return len(words) > 0 && words[0] == strconv.FormatUint(m.Limit, 10)
}
