package orchestrator_test

import (
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/session"
)

// Fault F13: the open request stays, nobody answers the other, and people read of it.
func TestARequestUnderAnIDThatIsOpenIsInTheTranscript(t *testing.T) {
	asks := func(command string) claudetest.Step {
		return raw(`{"type":"control_request","request_id":"one","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":%q},"tool_use_id":"toolu_1"}}`, command)
	}
	script := claudetest.Script{Turn: []claudetest.Step{asks("ls"), asks("ls"), asks("rm -rf build"), {SleepMS: 3_600_000}}}
	withBench(t, script, nil, func(b *bench) {
		id := b.start("Work.")
		notes := func() (n int) {
			page, err := b.store.Transcript(t.Context(), id, 0, 100)
			if err != nil {
				t.Fatal(err)
			}
			for _, it := range page.Items {
				if it.Kind == session.ItemNote && strings.Contains(string(it.Body), "under the id of a request that was still open") {
					n++
				}
			}
			return n
		}
		s := b.wait(id, func(s session.ProcessState) bool { return len(s.Requests) > 0 && notes() > 0 })
		if len(s.Requests) != 1 || !strings.Contains(string(s.Requests[0].ToolInput), `"ls"`) || notes() != 1 {
			t.Errorf("%d notes, and open is %+v", notes(), s.Requests)
		}
		if told := b.told(); len(told) != 0 {
			t.Errorf("the CLI was told %v", told)
		}
	})
}
