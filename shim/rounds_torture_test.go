//go:build torture

package shim_test

// rounds is how often a tree is started and killed; kills is how often a server is.
const (
	rounds = 1000
	kills  = 1000
)
