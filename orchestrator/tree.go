package orchestrator

import "time"

// usage is what a process tree takes, at one moment.
type usage struct {
	memory    uint64        // resident bytes
	cpu       time.Duration // processor time since the root started
	processes int           // members of the tree, 0 when the root is gone
}

// tableEntry is one entry of the process table.
type tableEntry struct {
	parent int
	memory uint64
	cpu    time.Duration
}

// readTable is replaced by tests that need a tree which grows.
var readTable = processTable

// sumTrees adds up the tree under each root from one sample of the process
// table. Reading the table once for all roots keeps the cost of sampling
// independent of the number of sessions.
func sumTrees(table map[int]tableEntry, roots []int) map[int]usage {
	children := make(map[int][]int, len(table))
	for pid, t := range table {
		children[t.parent] = append(children[t.parent], pid)
	}
	sums := make(map[int]usage, len(roots))
	for _, root := range roots {
		var sum usage
		for _, pid := range descend(children, table, root) {
			sum.memory += table[pid].memory
			sum.cpu += table[pid].cpu
			sum.processes++
		}
		sums[root] = sum
	}
	return sums
}

// descend lists root and everything below it.
func descend(children map[int][]int, table map[int]tableEntry, root int) []int {
	if _, ok := table[root]; !ok {
		return nil
	}
	tree := []int{root}
	for i := 0; i < len(tree); i++ {
		tree = append(tree, children[tree[i]]...)
	}
	return tree
}
