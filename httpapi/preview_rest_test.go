package httpapi_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/internal/review"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/wire"
)

func TestPreviewOfACommand(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	id := h.NewSession("one")
	r, _ := h.Ask(id, "a", func(r *pending.Request) {
		r.ToolInput = json.RawMessage(`{"command":"ls -la && git push --force && frob 😀"}`)
		r.PermissionSuggestions = json.RawMessage(`[{"type":"addRules","behavior":"allow","destination":"localSettings","rules":[{"toolName":"Bash","ruleContent":"git push:*"}]},{"type":"addDirectories","directories":["/"]},{"type":"setMode","mode":"acceptEdits"}]`)
	})
	var p wire.Preview
	got := h.CallAs(account.Viewer, "GET", "/api/pending/"+r.RequestID+"/preview", nil)
	got.Decode(t, &p)
	if got.Status != 200 || p.Level != review.High || len(p.Command.Steps) != 3 || p.File != nil {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	if !slices.ContainsFunc(p.Command.Marks, func(m wire.RiskMark) bool {
		return m.Kind == review.GitForce && m.From == 10 && m.To == 26
	}) {
		t.Errorf("marks %+v", p.Command.Marks)
	}
	if len(p.Rules) != 2 || p.Rules[0].Rule != "Bash(git push:*)" || p.Rules[0].Level != review.High || p.Rules[0].WouldAllow[0] != "git push --force" || p.Rules[1].Suggestion != 1 || p.Rules[1].Level != review.High {
		t.Errorf("rules %+v", p.Rules)
	}
	want := []wire.SettingRule{{Rule: "Bash(ls:*)", Behavior: "allow", Source: "user"}, {Rule: "Bash(git push:*)", Behavior: "ask", Source: "project"}}
	if !slices.Equal(p.Why.Rules, want) || !slices.Equal(p.Why.Smallest, []string{"Bash(git push --force)", "Bash(frob 😀)"}) || p.Why.PermissionMode != "default" {
		t.Errorf("why %+v", p.Why)
	}

	// As it is edited, with nothing of the settings.
	p = wire.Preview{}
	got = h.CallAs(account.Member, "POST", "/api/pending/"+r.RequestID+"/preview", map[string]any{"tool_input": map[string]any{"command": "ls"}})
	got.Decode(t, &p)
	if got.Status != 200 || p.Level != review.Low || len(p.Command.Steps) != 1 || p.Why != nil {
		t.Errorf("got %d %s", got.Status, got.Body)
	}
	apitest.CheckRefusal(t, h.CallAs(account.Member, "POST", "/api/pending/"+r.RequestID+"/preview", map[string]any{}), 400, "invalid")
	apitest.CheckRefusal(t, h.CallAs(account.Viewer, "POST", "/api/pending/"+r.RequestID+"/preview", map[string]any{"tool_input": map[string]any{}}), 403, "forbidden")
	apitest.CheckRefusal(t, h.CallAs(account.Viewer, "GET", "/api/pending/nothing/preview", nil), 404, "not_found")

	// Of what is decided there is nothing to be seen before.
	if got := h.CallAs(account.Member, "POST", "/api/pending/"+r.RequestID+"/response", map[string]any{"request_type": "tool_approval", "decision": "deny"}); got.Status != 200 {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	if got := h.CallAs(account.Viewer, "GET", "/api/pending/"+r.RequestID+"/preview", nil); got.Status != 204 || len(got.Body) > 0 {
		t.Errorf("of what is decided: %d %s", got.Status, got.Body)
	}
	if got := h.CallAs(account.Member, "POST", "/api/pending/"+r.RequestID+"/preview", map[string]any{"tool_input": map[string]any{"command": "ls"}}); got.Status != 204 || len(got.Body) > 0 {
		t.Errorf("of what is decided, edited: %d %s", got.Status, got.Body)
	}
}

func TestPreviewOfAnEdit(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	id := h.NewSession("one")
	at := time.Unix(1_763_000_000, 0)
	h.Driver.Mu.Lock()
	h.Driver.Files = map[string]orchestrator.FilePreview{
		"/work/one/a.txt":   {File: workspace.File{State: workspace.FileRead, Data: []byte("x\na\nb\n"), ModTime: at.Add(time.Second)}, TouchedAt: at},
		"/work/one/of.root": {File: workspace.File{State: workspace.FileRead, Data: []byte("a secret")}},
		"/etc/passwd":       {File: workspace.File{State: workspace.FileOutside}},
	}
	h.Driver.Mu.Unlock()
	edit := func(path, old string) func(*pending.Request) {
		return func(r *pending.Request) {
			r.ToolName = "Edit"
			r.ToolInput, _ = json.Marshal(map[string]any{"file_path": path, "old_string": old, "new_string": "c"})
		}
	}
	preview := func(id string) (p wire.Preview) {
		t.Helper()
		got := h.CallAs(account.Viewer, "GET", "/api/pending/"+id+"/preview", nil)
		if got.Status != 200 {
			t.Fatalf("got %d %s", got.Status, got.Body)
		}
		got.Decode(t, &p)
		return p
	}
	r, _ := h.Ask(id, "a", edit("/work/one/a.txt", "b"))
	if p := preview(r.RequestID); p.Level != review.Low || p.File.State != review.Changes || p.File.Before != "x\na\nb\n" || p.File.After != "x\na\nc\n" || p.File.Line != 1 || !p.File.Drifted {
		t.Errorf("got %+v", p.File)
	}
	// A preview of an edit reads no other file than was asked for.
	got := h.CallAs(account.Member, "POST", "/api/pending/"+r.RequestID+"/preview", map[string]any{"tool_input": map[string]any{"file_path": "/work/one/of.root", "old_string": "a", "new_string": "b"}})
	if got.Status != 200 || strings.Contains(string(got.Body), "secret") {
		t.Errorf("got %d %s", got.Status, got.Body)
	}
	r, _ = h.Ask(id, "b", edit("/work/one/a.txt", "nothing"))
	if p := preview(r.RequestID); len(p.File.Failing) != 1 || p.File.Failing[0].Problem != review.TextNotFound {
		t.Errorf("got %+v", p.File)
	}
	r, _ = h.Ask(id, "c", edit("/etc/passwd", "x"))
	if p := preview(r.RequestID); p.File.State != review.NotShown || p.Level != review.High {
		t.Errorf("got %+v", p)
	}
}

// Claude may name a file of a project that whoever answers does not see.
func TestPreviewShowsNoFileOfAHiddenProject(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	h.project("secret", "/work/secret")
	id := h.NewSession("one")
	h.Driver.Mu.Lock()
	h.Driver.Files = map[string]orchestrator.FilePreview{"/work/secret/a.txt": {File: workspace.File{State: workspace.FileRead, Data: []byte("of the project")}}}
	h.Driver.Mu.Unlock()
	r, _ := h.Ask(id, "a", func(r *pending.Request) {
		r.ToolName, r.ToolInput = "Write", json.RawMessage(`{"file_path":"/work/secret/a.txt","content":"x"}`)
	})
	for role, want := range map[account.Role]review.ChangeState{account.Admin: review.Changes, account.Member: review.NotShown} {
		var p wire.Preview
		got := h.CallAs(role, "GET", "/api/pending/"+r.RequestID+"/preview", nil)
		got.Decode(t, &p)
		if got.Status != 200 || p.File == nil || p.File.State != want || want == review.NotShown && strings.Contains(string(got.Body), "of the project") {
			t.Errorf("%s: got %d %s", role, got.Status, got.Body)
		}
	}
}
