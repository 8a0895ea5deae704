//go:build !linux

package procfs

import (
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// Table returns all processes by pid. It runs ps, because macOS offers nothing else without
// cgo.
func Table() (map[int]Process, error) {
	out, err := exec.Command("/bin/ps", "-axo", "pid=,ppid=,rss=,time=").Output()
	if err != nil {
		return nil, err
	}
	table := map[int]Process{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) != 4 {
			continue
		}
		pid, err1 := strconv.Atoi(fields[0])
		parent, err2 := strconv.Atoi(fields[1])
		rss, err3 := strconv.ParseUint(fields[2], 10, 64)
		if err1 == nil && err2 == nil && err3 == nil {
			table[pid] = Process{Parent: parent, Memory: rss << 10, CPU: cpuTime(fields[3])}
		}
	}
	return table, nil
}

// cpuTime parses [[hours:]minutes:]seconds[.hundredths].
func cpuTime(s string) time.Duration {
	var total float64
	for part := range strings.SplitSeq(s, ":") {
		n, err := strconv.ParseFloat(part, 64)
		if err != nil {
			return 0
		}
		total = total*60 + n
	}
	return time.Duration(total * float64(time.Second))
}
