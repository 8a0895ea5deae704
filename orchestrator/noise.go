package orchestrator

import "sync"

// noise counts the CLI's lines that are no messages, and keeps the first.
type noise struct {
	mu    sync.Mutex
	lines int
	first string
}

// add counts a line and returns the number of lines so far.
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
