package procfs

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// clockTick is the unit of processor time in /proc: USER_HZ, which is 100 on
// every Linux that Go runs on.
const clockTick = time.Second / 100

// Table returns all processes by pid, except those that end meanwhile.
func Table() (map[int]Process, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	page := uint64(os.Getpagesize())
	table := make(map[int]Process, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue
		}
		// The command name is in parentheses and may contain any character, so the fields
		// are counted from the last closing parenthesis: state ppid … utime stime cutime
		// cstime … rss.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 22 {
			continue
		}
		number := func(i int) uint64 {
			n, _ := strconv.ParseUint(string(fields[i]), 10, 64)
			return n
		}
		if fields[0][0] == 'Z' && number(17) <= 1 {
			continue // dead; with more threads, only the main one of a Z has exited
		}
		table[pid] = Process{
			Parent: int(number(1)),
			Memory: number(21) * page,
			// Includes waited-for children, so that the sum does not drop when a tool
			// ends.
			CPU: time.Duration(number(11)+number(12)+number(13)+number(14)) * clockTick,
		}
	}
	return table, nil
}
