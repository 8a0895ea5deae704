package httpapi_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/wire"
)

// TestSecondApprovalNeedsAnotherPerson: an approval does not count as the second one when one of the two
// people made a way to come in as the other, whoever of them approves first.
func TestSecondApprovalNeedsAnotherPerson(t *testing.T) {
	t.Parallel()
	type people struct{ ana, ben, cleo someone }
	for name, c := range map[string]struct {
		// given makes a way to come in as Ben, with what the context says who acts.
		given func(ctx context.Context, h *harness, p people) (as someone, err error)
	}{
		"a password": {func(ctx context.Context, h *harness, p people) (someone, error) {
			_, err := h.Directory.ResetPassword(ctx, p.ben.id, "a good long password")
			return p.ben, err
		}},
		"a sign-in link": {func(ctx context.Context, h *harness, p people) (someone, error) {
			_, err := h.Directory.NewSignInLink(ctx, p.ben.id)
			return p.ben, err
		}},
		"a token with a role": {func(ctx context.Context, h *harness, p people) (someone, error) {
			made, secret, err := h.Directory.CreateToken(ctx, account.User{UserID: p.ana.id, Role: account.Admin}, "helper", account.Member, 0)
			return someone{made.User.UserID, apitest.Bearer(secret)}, err
		}},
		"a user": {func(ctx context.Context, h *harness, p people) (someone, error) {
			made, err := h.Directory.CreateUser(ctx, "Dora", account.Member, "")
			if err != nil {
				return someone{}, err
			}
			_, secret, err := h.Directory.CreateOwnToken(t.Context(), account.Identity{User: made}, "own", "", 0)
			return someone{made.UserID, apitest.Bearer(secret)}, err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			p := people{h.someone("Ana", account.Admin), h.someone("Ben", account.Member), h.someone("Cleo", account.Member)}
			user, err := h.Directory.User(t.Context(), p.ana.id)
			if err != nil {
				t.Fatal(err)
			}
			as, err := c.given(account.WithActor(t.Context(), account.Identity{User: user}), h, p)
			if err != nil {
				t.Fatal(err)
			}
			pr := h.project("api", "/work/api", member(as, account.Member), member(p.cleo, account.Member))
			h.changed(pr, wire.ProjectChange{Rules: &[]wire.ProjectRule{{Tool: "Bash", Effect: project.TwoPeople}}})
			id := h.NewSession("api")
			say := func(who someone, r pending.Request) apitest.Response {
				return h.Call("POST", "/api/pending/"+r.RequestID+"/response", map[string]any{"request_type": "tool_approval", "session_id": id, "decision": "allow", "command_id": uuid.NewString()}, who.way)
			}
			for i, order := range [][2]someone{{p.ana, as}, {as, p.ana}} {
				r, answered := h.Ask(id, "ask"+string(rune('a'+i)), nil)
				if got := say(order[0], r); got.Status != 200 {
					t.Fatalf("got %d %s", got.Status, got.Body)
				}
				got := say(order[1], r)
				apitest.CheckRefusal(t, got, 409, "not_independent")
				want := "Ana created or reset your password, a token or another way to sign in as you, so this is not a second approval."
				if i == 1 {
					want = "You created or reset the password, a token or another way to sign in as "
				}
				if m := got.Refusal(t).Message; !strings.HasPrefix(m, want) {
					t.Errorf("got %q", m)
				}
				now, err := h.Store.Request(t.Context(), r.RequestID)
				if err != nil || now.Status != pending.Open || now.Approval == nil {
					t.Fatalf("got %+v, %v", now, err)
				}
				// Another person's counts.
				if got := say(p.cleo, r); got.Status != 200 {
					t.Fatalf("got %d %s", got.Status, got.Body)
				}
				if done := <-answered; done.Status != pending.Answered {
					t.Errorf("got %s", done.Status)
				}
			}
		})
	}
}

// TestTwoTokensOfOnePersonAreOnePerson: neither of two people is who made the tokens of both, and
// they are one.
func TestTwoTokensOfOnePersonAreOnePerson(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	ana := h.someone("Ana", account.Admin)
	user, err := h.Directory.User(t.Context(), ana.id)
	if err != nil {
		t.Fatal(err)
	}
	ctx := account.WithActor(t.Context(), account.Identity{User: user})
	var two []someone
	for _, name := range []string{"one", "two"} {
		made, secret, err := h.Directory.CreateToken(ctx, user, name, account.Member, 0)
		if err != nil {
			t.Fatal(err)
		}
		two = append(two, someone{made.User.UserID, apitest.Bearer(secret)})
	}
	p := h.project("api", "/work/api", member(two[0], account.Member), member(two[1], account.Member))
	h.changed(p, wire.ProjectChange{Rules: &[]wire.ProjectRule{{Tool: "Bash", Effect: project.TwoPeople}}})
	id := h.NewSession("api")
	r, _ := h.Ask(id, "one", nil)
	body := map[string]any{"request_type": "tool_approval", "session_id": id, "decision": "allow"}
	if got := h.Call("POST", "/api/pending/"+r.RequestID+"/response", body, two[0].way); got.Status != 200 {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	got := h.Call("POST", "/api/pending/"+r.RequestID+"/response", body, two[1].way)
	apitest.CheckRefusal(t, got, 409, "not_independent")
	if m := got.Refusal(t).Message; !strings.HasPrefix(m, "The person who created this token also created a way to sign in as one, who approved first, so this is not a second approval.") {
		t.Errorf("got %q", m)
	}
}

// TestNothingLoosensRules: tools allowed at the start, permissions beside an approval, of
// any reach, and modes are refused where they would spare what a project keeps for some.
func TestNothingLoosensRules(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	ana := h.someone("Ana", account.Member)
	ops := h.project("ops", "/work/ops", member(ana, account.Member))
	h.changed(ops, wire.ProjectChange{Rules: &[]wire.ProjectRule{{Tool: "Write", Pattern: "deploy/**", Effect: project.TwoPeople}, {Tool: "Bash", Pattern: "git push*", Effect: project.Deny}}})
	sub := h.project("sub", "/work/play/sub", member(ana, account.Member))
	h.changed(sub, wire.ProjectChange{Rules: &[]wire.ProjectRule{{Tool: "mcp__db__*", Effect: project.Allow, People: []string{ana.id}}}})
	hidden := h.project("hidden", "/work/hidden")
	h.changed(hidden, wire.ProjectChange{Rules: &[]wire.ProjectRule{{Tool: "WebFetch", Effect: project.Deny}}})
	play := h.project("play", "/work/play", member(ana, account.Member))

	for _, tool := range []string{"Edit", "Edit(/**)", "Write", "Write(x)", "MultiEdit", "NotebookEdit", "Edit(src/**)", "Bash", "Bash(ls)", "Bash(git *)"} {
		got := h.Call("POST", "/api/sessions", map[string]any{"cwd": "/work/ops", "prompt": "x", "allowed_tools": []string{"Read", tool}}, ana.way)
		apitest.CheckRefusal(t, got, 403, "forbidden")
		m := got.Refusal(t).Message
		rule := "Write deploy/**"
		if strings.HasPrefix(tool, "Bash") {
			rule = "Bash git push*"
		}
		if m != "A rule of ops restricts who can approve this ("+rule+"). Choose a permission mode that asks, and allow nothing in advance." {
			t.Errorf("%s: got %q", tool, m)
		}
	}
	apitest.CheckRefusal(t, h.Call("POST", "/api/sessions", map[string]any{"cwd": "/work/ops", "prompt": "x", "permission_mode": "acceptEdits"}, ana.way), 403, "forbidden")
	if got := h.Call("POST", "/api/sessions", map[string]any{"cwd": "/work/ops", "prompt": "x", "allowed_tools": []string{"WebSearch"}}, ana.way); got.Status != 201 {
		t.Errorf("got %d %s", got.Status, got.Body)
	}

	id := h.NewSession("play")
	grant := func(tool, content, scope string) apitest.Response {
		r := map[string]any{"toolName": tool}
		if content != "" {
			r["ruleContent"] = content
		}
		permission := map[string]any{"type": "addRules", "behavior": "allow", "destination": scope, "rules": []any{r}}
		offered, err := json.Marshal([]any{permission})
		if err != nil {
			t.Fatal(err)
		}
		req, _ := h.Ask(id, uuid.NewString(), func(r *pending.Request) { r.ToolName, r.PermissionSuggestions = tool, offered })
		return h.Call("POST", "/api/pending/"+req.RequestID+"/response", map[string]any{"request_type": "tool_approval", "session_id": id, "decision": "allow", "updated_permissions": []any{permission}}, ana.way)
	}
	for _, c := range []struct{ tool, content, scope, want string }{
		{"Edit", "/**", "userSettings", "This would also apply in ops, where a rule restricts who can approve this (Write deploy/**). Allow it for this session only."},
		{"Bash", "go test:*", "userSettings", "This would also apply in ops, where a rule restricts who can approve this (Bash git push*). Allow it for this session only."},
		{"WebFetch", "domain:a.test", "userSettings", "This would also apply in a project that restricts who can approve WebFetch. Allow it for this session only."},
		{"mcp__db__query", "", "projectSettings", "This would also apply in sub, where a rule restricts who can approve this (mcp__db__*). Allow it for this session only."},
		{"mcp__db__query", "", "localSettings", "This would also apply in sub, where"},
		{"mcp__db", "", "userSettings", "This would also apply in sub, where"},
		{"Edit", "/**", "localSettings", ""},
		{"Edit", "/**", "session", ""},
		{"mcp__db__query", "", "session", ""},
		{"WebSearch", "", "userSettings", ""},
	} {
		got := grant(c.tool, c.content, c.scope)
		if c.want == "" {
			if got.Status != 200 {
				t.Errorf("%v: got %d %s", c, got.Status, got.Body)
			}
			continue
		}
		apitest.CheckRefusal(t, got, 403, "forbidden")
		if m := got.Refusal(t).Message; !strings.HasPrefix(m, c.want) {
			t.Errorf("%v: got %q", c, m)
		}
	}
	_ = play
}
