package host

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// CPUs is a set of logical processors, ascending and without repeats.
type CPUs []int

// maxCPU is the largest processor number that any Linux kernel can be built for.
const maxCPU = 8191

// ParseCPUs reads a list as the kernel writes it: "0-3,8". An empty list has
// no processors.
func ParseCPUs(s string) (CPUs, error) {
	var c CPUs
	if strings.TrimSpace(s) == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		a, err := cpuNumber(first)
		b := a
		if err == nil && isRange {
			b, err = cpuNumber(last)
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("list of processors %q: %w", s, err)
		case b < a:
			return nil, fmt.Errorf("list of processors %q: the range %q runs backwards; write %d-%d", s, part, b, a)
		}
		for n := a; n <= b; n++ {
			c = append(c, n)
		}
	}
	slices.Sort(c)
	return slices.Compact(c), nil
}

func cpuNumber(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n > maxCPU {
		return 0, fmt.Errorf("found %q; expected a processor's number from 0 to %d, or a range of them, as in 0-3,8", s, maxCPU)
	}
	return int(n), nil
}

// String is the shortest list in the kernel's form.
func (c CPUs) String() string {
	var b strings.Builder
	for i := 0; i < len(c); {
		j := i
		for j+1 < len(c) && c[j+1] == c[j]+1 {
			j++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(c[i]))
		if j > i {
			b.WriteByte('-')
			b.WriteString(strconv.Itoa(c[j]))
		}
		i = j + 1
	}
	return b.String()
}

// Without returns the processors of c that are not in o.
func (c CPUs) Without(o CPUs) CPUs {
	return c.filter(func(n int) bool { return !o.has(n) })
}

// And returns the processors that are in both.
func (c CPUs) And(o CPUs) CPUs { return c.filter(o.has) }

// Or returns the processors that are in either.
func (c CPUs) Or(o CPUs) CPUs {
	both := slices.Concat(c, o)
	slices.Sort(both)
	return slices.Compact(both)
}

func (c CPUs) has(n int) bool {
	_, found := slices.BinarySearch(c, n)
	return found
}

func (c CPUs) filter(keep func(int) bool) (kept CPUs) {
	for _, n := range c {
		if keep(n) {
			kept = append(kept, n)
		}
	}
	return kept
}

// PinThread binds the calling OS thread to the processors. Threads and
// processes that it makes inherit the binding; the caller has locked the
// thread to its goroutine.
func PinThread(c CPUs) error {
	if len(c) == 0 {
		return fmt.Errorf("binding to processors: the list is empty")
	}
	set := unix.NewCPUSet(c[len(c)-1] + 1)
	for _, n := range c {
		set.Set(n)
	}
	if err := unix.SchedSetaffinityDynamic(0, set); err != nil {
		return fmt.Errorf("binding to processors %s: %w (are they online, and does the cgroup's cpuset allow them?)", c, err)
	}
	return nil
}
