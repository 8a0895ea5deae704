// Package procfs reads the process table of this machine.
package procfs

import "time"

// Process is one entry of the table.
type Process struct {
	Parent int
	Memory uint64        // resident bytes
	CPU    time.Duration // since its start, including the children it has waited for
}

// Usage is the resource use of a process tree at one time.
type Usage struct {
	Memory    uint64
	CPU       time.Duration
	Processes int // 0 when the root is gone
}

// Sum returns the usage of the tree under each root.
func Sum(table map[int]Process, roots []int) map[int]Usage {
	children := make(map[int][]int, len(table))
	for pid, p := range table {
		children[p.Parent] = append(children[p.Parent], pid)
	}
	sums := make(map[int]Usage, len(roots))
	for _, root := range roots {
		var sum Usage
		for tree := []int{root}; len(tree) > 0; tree = tree[1:] {
			p, ok := table[tree[0]]
			if !ok {
				continue // the root is gone
			}
			sum.Memory += p.Memory
			sum.CPU += p.CPU
			sum.Processes++
			tree = append(tree, children[tree[0]]...)
		}
		sums[root] = sum
	}
	return sums
}
