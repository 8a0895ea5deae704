package transcript_test

import (
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/orchestrator/transcript"
	"github.com/sayso-dev/sayso/session"
)

// apply decodes lines of a CLI, which arrive at intervals of gap, and returns the change of each.
func apply(t *testing.T, b *transcript.Builder, gap time.Duration, lines ...string) (changes []transcript.Change) {
	t.Helper()
	for i, line := range lines {
		m, err := claude.Decode([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		changes = append(changes, b.Apply(m, time.Unix(5, 0).Add(time.Duration(i)*gap)))
	}
	return changes
}

// build returns the items of lines that a new CLI prints.
func build(t *testing.T, lines ...string) []session.Item {
	t.Helper()
	return items(apply(t, transcript.New(), 0, lines...))
}

func items(changes []transcript.Change) (all []session.Item) {
	for _, c := range changes {
		all = append(all, c.Items...)
	}
	return all
}
