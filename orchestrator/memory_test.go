package orchestrator_test

import (
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/session"
)

// The goroutines of a session that waits for a person keep small stacks: no function that
// waits has a copy of the state in its frame. It counts the stacks of the whole program, among
// them those of the scripted CLI.
func TestStacksOfIdleSessions(t *testing.T) {
	withBenchAlone(t, claudetest.Script{Turn: []claudetest.Step{{Text: "Hello."}}}, nil, func(b *bench) {
		stacks := func() int64 {
			synctest.Wait()
			for range 8 { // each halves a stack of which less than a quarter is used
				runtime.GC()
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return int64(m.StackInuse)
		}
		idle := func(count int) {
			for range count {
				b.wait(b.start("one"), in(session.UserTurn))
			}
		}
		idle(5)
		before := stacks()
		const sessions = 40
		idle(sessions)
		each := (stacks() - before) / sessions
		if each > 60<<10 { // the race detector makes it half as much again
			t.Errorf("each session takes %d KB of stack", each>>10)
		}
	})
}
