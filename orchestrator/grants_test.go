package orchestrator_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// grant has a person allow a rule or a mode in a session of the other runner, and returns the grant.
func (f *twoRunners) grant(sessionID, permissions string) pending.Grant {
	b := f.b
	b.t.Helper()
	input := json.RawMessage(`{"command":"make"}`)
	r := pending.Request{
		RequestID: uuid.NewString(), SessionID: sessionID, ProcessID: "p0", RequestType: pending.ToolApproval, Source: pending.SourceClaude,
		AskerRequestID: uuid.NewString(), ToolName: "Bash", ToolInput: input, InputHash: pending.HashInput(input), CreatedAt: time.Now(),
	}
	if _, _, err := b.store.OpenRequest(b.t.Context(), r); err != nil {
		b.t.Fatal(err)
	}
	if _, _, err := b.store.ResolveRequest(b.t.Context(), r.RequestID, pending.Resolution{
		Status: pending.Answered, Actor: b.person, At: time.Now(), CommandID: uuid.NewString(),
		Answer: &pending.Answer{Decision: pending.Allow, UpdatedPermissions: json.RawMessage(permissions)},
	}); err != nil {
		b.t.Fatal(err)
	}
	list, err := b.store.Grants(b.t.Context(), pending.GrantQuery{RequestID: r.RequestID})
	if err != nil || len(list) != 1 {
		b.t.Fatalf("got %+v, %v", list, err)
	}
	return list[0]
}

// TestRevokedWhileItsRunnerIsAdopted: what a person revokes while nobody can be told on a runner is
// removed there as soon as somebody can, unless it was granted again.
func TestRevokedWhileItsRunnerIsAdopted(t *testing.T) {
	withTwoRunners(t, func(f *twoRunners) {
		b := f.b
		id := uuid.NewString()
		if err := b.store.CreateSession(b.t.Context(), session.Session{SessionID: id, RunnerID: "far", CWD: b.folder, PermissionMode: "default", CreatedAt: time.Now()}); err != nil {
			t.Fatal(err)
		}
		const makes, tests = `[{"type":"addRules","behavior":"allow","destination":"userSettings","rules":[{"toolName":"Bash","ruleContent":"make *"}]}]`,
			`[{"type":"addRules","behavior":"allow","destination":"userSettings","rules":[{"toolName":"Bash","ruleContent":"test *"}]}]`
		revoked, again := f.grant(id, makes), f.grant(id, tests)
		late := lateLauncher{f.launcher, make(chan struct{})}
		f.options.Launcher = late
		defer f.connect()()
		for _, g := range []pending.Grant{revoked, again} {
			if done, err := f.RevokeGrant(b.t.Context(), g.GrantID, b.person); err != nil || done.Grants != 1 {
				t.Fatalf("got %+v, %v", done, err)
			}
		}
		f.grant(id, tests)
		close(late.may)
		synctest.Wait()
		if !f.machine.hasRemoved(revoked.GrantID) {
			t.Error("the other machine still has what was revoked")
		}
		if f.machine.hasRemoved(again.GrantID) {
			t.Error("the other machine no longer has what was granted again")
		}
	})
}
