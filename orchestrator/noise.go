package orchestrator

import "sync"

// noise is what a CLI printed that is no message.
type noise struct {
	mu    sync.Mutex
	lines int
	first string
}

// add counts a line and returns how many there were.
func (n *noise) add(line string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.lines++; n.lines == 1 {
		n.first = line
	}
	return n.lines
}

func (n *noise) seen() (lines int, first string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.lines, n.first
}
