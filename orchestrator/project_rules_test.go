package orchestrator_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// withoutProjects is a store that cannot read projects while something is wrong with it.
type withoutProjects struct {
	orchestrator.Store
	wrong *atomic.Value
}

func (s withoutProjects) Projects(ctx context.Context) ([]project.Project, error) {
	switch s.wrong.Load() {
	case "error":
		return nil, errors.New("the database is away")
	case "away":
		return nil, pending.ErrUnavailable
	case "panic":
		panic("the database is away")
	}
	return s.Store.Projects(ctx)
}

// TestRulesThatCannotBeReadMakeClaudeAsk has the hook of project rules called while the
// store is unavailable, and with input that makes no sense: it leaves nothing to the CLI,
// which would go by its own rules and modes.
func TestRulesThatCannotBeReadMakeClaudeAsk(t *testing.T) {
	hook := func(id, input string) claudetest.Step {
		return raw(`{"type":"control_request","request_id":%q,"request":{"subtype":"hook_callback","callback_id":"project_rules","input":%s}}`, id, input)
	}
	const ls, minute = `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"cwd":"/"}`, 60_000
	script := claudetest.Script{Turn: []claudetest.Step{
		hook("before", ls), {SleepMS: minute}, hook("error", ls), {SleepMS: minute}, hook("panic", ls), {SleepMS: minute},
		hook("senseless", `{"tool_name":[]}`), hook("after", ls), {SleepMS: 3_600_000},
	}}
	var wrong atomic.Value
	wrong.Store("")
	withBench(t, script, nil, func(b *bench) {
		id := b.start("Work.")
		const ask = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"The rules of the project could not be read, so Claude asks."}}`
		b.tells(id, "before", `{}`)
		for _, what := range []string{"error", "panic", ""} {
			wrong.Store(what)
			time.Sleep(time.Minute)
			if what != "" {
				b.tells(id, what, ask)
			}
		}
		b.tells(id, "senseless", ask)
		b.tells(id, "after", `{}`)
	}, func(o *orchestrator.Options) { o.Store = withoutProjects{o.Store, &wrong} })
}

// TestSessionStartsWhenTheDatabaseIsBack starts a session whose Claude is ready while the database
// is away for longer than Claude may take to start.
func TestSessionStartsWhenTheDatabaseIsBack(t *testing.T) {
	var wrong atomic.Value
	wrong.Store("")
	script := claudetest.Script{Start: []claudetest.Step{{SleepMS: 10_000}}, Turn: []claudetest.Step{{Text: "Done."}}}
	withBench(t, script, nil, func(b *bench) {
		id := b.start("Work.")
		time.Sleep(5 * time.Second)
		wrong.Store("away")
		time.Sleep(10 * time.Minute)
		wrong.Store("")
		b.wait(id, func(s session.ProcessState) bool {
			if s.State == session.Dead {
				t.Fatalf("the session is dead: %s", s.Error)
			}
			return s.State == session.UserTurn
		})
	}, func(o *orchestrator.Options) { o.Store = withoutProjects{o.Store, &wrong} })
}
