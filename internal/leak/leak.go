// Package leak finds goroutines that outlive the tests of a package. It is for package claude and its
// subpackages, whose tests must not add a module to the go.sum of their importers. Other packages use
// goleak.
package leak

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// patience bounds the time that a goroutine may take to end after the tests.
const patience = 3 * time.Second

// Main runs the tests of a package, then cleanup, and exits. It fails if a goroutine survives the
// tests.
func Main(m *testing.M, cleanup ...func()) {
	status := m.Run()
	for _, f := range cleanup {
		f()
	}
	if status == 0 {
		if left := survivors(time.Now().Add(patience)); left != "" {
			fmt.Fprintln(os.Stderr, "goroutines survive the tests:\n\n"+left)
			status = 1
		}
	}
	os.Exit(status)
}

// survivors waits until the given time for goroutines to end, and returns the stacks of those that
// still run, without those of the runtime and of package testing.
func survivors(until time.Time) string {
	for {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		var left []string
		for i, stack := range strings.Split(string(stacks), "\n\n") {
			if i > 0 && !isExpected(stack) { // the first one is this goroutine
				left = append(left, stack)
			}
		}
		if len(left) == 0 || time.Now().After(until) {
			return strings.Join(left, "\n\n")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func isExpected(stack string) bool {
	for _, of := range []string{"testing.RunTests", "testing.(*T).Run", "os/signal.", "runtime.ensureSigM", "testing.runFuzzing", "testing/internal/testdeps"} {
		if strings.Contains(stack, of) {
			return true
		}
	}
	return false
}
