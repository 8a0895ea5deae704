package orchestrator_test

import (
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/session"
)

// askAs asks for a command under an id of the test's own.
func askAs(id, command string) claudetest.Step {
	return raw(`{"type":"control_request","request_id":%q,"request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":%q},"tool_use_id":"toolu_1"}}`, id, command)
}

// notes counts the notes of a session that say this.
func (b *bench) notes(id, text string) (n int) {
	for _, it := range b.items(id) {
		if it.Kind == session.ItemNote && strings.Contains(string(it.Body), text) {
			n++
		}
	}
	return n
}

// Fault F13: the open request stays, nobody answers the other, and people read of it.
func TestARequestUnderAnIDThatIsOpenIsInTheTranscript(t *testing.T) {
	script := claudetest.Script{Turn: []claudetest.Step{askAs("one", "ls"), askAs("one", "ls"), askAs("one", "rm -rf build"), {SleepMS: 3_600_000}}}
	withBench(t, script, nil, func(b *bench) {
		id := b.start("Work.")
		notes := func() int { return b.notes(id, "reused the ID of an open request") }
		s := b.wait(id, func(s session.ProcessState) bool { return len(s.Requests) > 0 && notes() > 0 })
		if len(s.Requests) != 1 || !strings.Contains(string(s.Requests[0].ToolInput), `"ls"`) || notes() != 1 {
			t.Errorf("%d notes, and open is %+v", notes(), s.Requests)
		}
		if told := b.told(); len(told) != 0 {
			t.Errorf("the CLI was told %v", told)
		}
	})
}

// The same of an id that was answered: the answer stays the only one.
func TestARequestUnderAnIDThatWasAnsweredIsInTheTranscript(t *testing.T) {
	script := claudetest.Script{Turn: []claudetest.Step{askAs("one", "ls"), {SleepMS: 5_000}, askAs("one", "ls"), askAs("one", "rm -rf build"), {SleepMS: 3_600_000}}}
	withBench(t, script, nil, func(b *bench) {
		id := b.start("Work.")
		b.answer(b.wait(id, asking(1)).Requests[0], nil)
		notes := func() int { return b.notes(id, "reused the ID of a closed request") }
		b.until("people read of it", func() bool { return notes() > 0 })
		if s := b.wait(id, asking(0)); notes() != 1 {
			t.Errorf("%d notes, and open is %+v", notes(), s.Requests)
		}
		if told := b.told(); len(told) != 1 {
			t.Errorf("the CLI was told %v", told)
		}
	})
}

// The same of an id that the CLI has withdrawn, of which only the row is left, as it
// is of every id of which the server has heard before it was restarted.
func TestARequestUnderAnIDThatWasWithdrawnIsInTheTranscript(t *testing.T) {
	script := claudetest.Script{Turn: []claudetest.Step{
		askAs("one", "ls"), {SleepMS: 5_000}, raw(`{"type":"control_cancel_request","request_id":"one"}`), {SleepMS: 5_000},
		askAs("one", "rm -rf build"), {SleepMS: 3_600_000},
	}}
	withBench(t, script, nil, func(b *bench) {
		id := b.start("Work.")
		notes := func() int { return b.notes(id, "reused the ID of a closed request") }
		b.until("people read of it", func() bool { return notes() > 0 })
		if s := b.wait(id, asking(0)); notes() != 1 {
			t.Errorf("%d notes, and open is %+v", notes(), s.Requests)
		}
		if told := b.told(); len(told) != 0 {
			t.Errorf("the CLI was told %v", told)
		}
	})
}
