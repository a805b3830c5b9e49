package server

import (
	"bytes"
	"os"
	"strconv"
)

// hostBusy is how long this host's processors have been busy since it started,
// in nanoseconds over all of them: user, nice, system, irq and softirq time of
// /proc/stat (proc(5)); 0 where that cannot be read.
func hostBusy() int64 {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return busyTicks(line) * (1e9 / ticksPerSecond)
}

// ticksPerSecond is USER_HZ, which is 100 on every architecture of Linux that Go has.
const ticksPerSecond = 100

func busyTicks(line []byte) (sum int64) {
	fields := bytes.Fields(line)
	if len(fields) < 8 || string(fields[0]) != "cpu" {
		return 0
	}
	for _, i := range []int{1, 2, 3, 6, 7} {
		n, err := strconv.ParseInt(string(fields[i]), 10, 64)
		if err != nil {
			return 0
		}
		sum += n
	}
	return sum
}
