package orchestrator

import (
	"sync"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/session"
)

// Write is what a CLI's lines come to in the transcript.
func Write(lines ...string) (items []session.Item, err error) { return WriteEvery(0, lines...) }

// WriteEvery is the same for lines that come so long after one another.
func WriteEvery(gap time.Duration, lines ...string) (items []session.Item, err error) {
	var s scribe
	s.init()
	for i, line := range lines {
		m, err := claude.Decode([]byte(line))
		if err != nil {
			return nil, err
		}
		items = append(items, s.write(m, time.Unix(5, 0).Add(time.Duration(i)*gap)).items...)
	}
	return items, nil
}

var trees sync.Map // of tests, by the pid of their root

// A Tree is what a test's process takes, with its children.
type Tree struct {
	Memory   uint64
	Children int
}

// SetTree has the process table show a process that no machine has.
func SetTree(pid int, t Tree) { trees.Store(pid, t) }

func init() {
	readTable = func() (map[int]taken, error) {
		table, err := processTable()
		trees.Range(func(pid, tree any) bool {
			t, root := tree.(Tree), pid.(int)
			table[root] = taken{memory: t.Memory}
			for i := range t.Children {
				table[root+1+i] = taken{parent: root}
			}
			return true
		})
		return table, err
	}
}

// WriteFrom is Write for a CLI that counts from some millionths of a dollar on, nil
// where nobody knows.
func WriteFrom(cost *int64, lines ...string) (items []session.Item, err error) {
	var s scribe
	s.init()
	s.Cost = cost
	for _, line := range lines {
		m, err := claude.Decode([]byte(line))
		if err != nil {
			return nil, err
		}
		items = append(items, s.write(m, time.Unix(5, 0)).items...)
	}
	return items, nil
}

// Spent is what each result of a CLI that counts from some millionths of a dollar
// on is taken to have cost.
func Spent(from int64, lines ...string) (list []int64, err error) {
	var s scribe
	s.init()
	s.Cost = &from
	for _, line := range lines {
		m, err := claude.Decode([]byte(line))
		if err != nil {
			return nil, err
		}
		list = append(list, s.write(m, time.Unix(5, 0)).spent)
	}
	return list, nil
}
