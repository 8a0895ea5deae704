//go:build !linux

package orchestrator

import (
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// processTable asks ps, which is what macOS offers without cgo.
func processTable() (map[int]tableEntry, error) {
	out, err := exec.Command("ps", "-axo", "pid=,ppid=,rss=,time=").Output()
	if err != nil {
		return nil, err
	}
	table := map[int]tableEntry{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) != 4 {
			continue
		}
		pid, err1 := strconv.Atoi(fields[0])
		parent, err2 := strconv.Atoi(fields[1])
		rss, err3 := strconv.ParseUint(fields[2], 10, 64)
		if err1 != nil || err2 != nil || err3 != nil {
			continue
		}
		table[pid] = tableEntry{parent: parent, memory: rss << 10, cpu: spent(fields[3])}
	}
	return table, nil
}

// spent reads ps's [[hours:]minutes:]seconds[.hundredths].
func spent(s string) time.Duration {
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
