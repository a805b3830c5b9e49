package host

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

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

// lending guards this process's own limit while it is changed.
var lending sync.Mutex

// lend runs start, which makes a process that is to have the mark's limit: it
// inherits this process's own, which is put back at once. (Given to the child
// afterwards, the limit would miss what the child starts first.)
func (m mark) lend(start func() error) error {
	lending.Lock()
	defer lending.Unlock()
	own := m.set()
	defer reset(own)
	return start()
}

// lendFromNow has all processes inherit the mark's limit until takeBack.
func (m mark) lendFromNow() *unix.Rlimit {
	lending.Lock()
	defer lending.Unlock()
	return m.set()
}

func takeBack(own *unix.Rlimit) {
	lending.Lock()
	defer lending.Unlock()
	reset(own)
}

// set gives this process the mark's limit, and returns the one before. Where it
// is limited already, as by a desktop's policy, nothing is set and nil returned.
func (m mark) set() *unix.Rlimit {
	var own unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_RTTIME, nil, &own); err != nil || own.Max != unix.RLIM_INFINITY {
		return nil
	}
	lent := own
	lent.Cur = m.Limit
	if err := unix.Prlimit(0, unix.RLIMIT_RTTIME, &lent, nil); err != nil {
		return nil
	}
	return &own
}

// reset puts this process's limit back, which is allowed: the upper one is untouched.
func reset(own *unix.Rlimit) {
	if own != nil {
		_ = unix.Prlimit(0, unix.RLIMIT_RTTIME, own, nil)
	}
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
