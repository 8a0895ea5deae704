package grants_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/orchestrator/grants"
	"github.com/sayso-dev/sayso/pending"
)

func rule(text string, scope pending.Scope) pending.Grant {
	return pending.Grant{GrantID: text, Kind: pending.GrantRule, Rule: text, Scope: scope}
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestRevokedRulesAreAskedForUntilTheyAreForgotten(t *testing.T) {
	t.Parallel()
	var r grants.Revoked
	if got := text(t, r.Settings()); got != `{"permissions":null}` {
		t.Errorf("nothing revoked: %s", got)
	}
	ofSession, ofUser := rule("Bash(ls:*)", pending.ScopeSession), rule("Read", pending.ScopeUser)
	for _, g := range []pending.Grant{ofSession, ofUser, ofSession, {Kind: pending.GrantDirectory, Rule: "/tmp", Scope: pending.ScopeSession}} {
		r.Add(g)
	}
	if got := text(t, r.Settings()); got != `{"permissions":{"ask":["Bash(ls:*)","Read"]}}` || r.Len() != 3 {
		t.Errorf("%d revoked: %s", r.Len(), got)
	}
	updates, settled := r.Approval(json.RawMessage(`[{"type":"addRules"}]`), nil)
	const want = `[{"behavior":"allow","destination":"session","rules":[{"ruleContent":"ls:*","toolName":"Bash"}],"type":"removeRules"},{"destination":"session","directories":["/tmp"],"type":"removeDirectories"},{"type":"addRules"}]`
	if string(updates) != want || len(settled) != 2 {
		t.Errorf("%d settled: %s", len(settled), updates)
	}
	r.Settle(settled)
	if got := text(t, r.Settings()); got != `{"permissions":{"ask":["Read"]}}` {
		t.Errorf("after the approval: %s", got)
	}
	// Granted again, it is not asked for any more.
	if updates, settled = r.Approval(nil, []pending.Grant{ofUser}); updates != nil || len(settled) != 1 {
		t.Errorf("%d settled: %s", len(settled), updates)
	}
	r.Settle(settled)
	if r.Len() != 0 {
		t.Errorf("%d are left", r.Len())
	}
}

// roots are the roots of repositories, by folders inside; a folder that is not among them
// cannot be reached.
type roots map[string]string

func (r roots) RepositoryRoot(_ context.Context, folder string) (string, error) {
	if root, ok := r[folder]; ok {
		return root, nil
	}
	return "", errUnreachable
}

var errUnreachable = errors.New("unreachable")

func TestGrantsHoldInTheirScope(t *testing.T) {
	t.Parallel()
	const repository, inside = "/repository", "/repository/a"
	p := grants.Process{SessionID: "s", ProcessID: "p", Folder: inside, Repositories: roots{repository: repository, inside: repository, "/elsewhere": "/elsewhere"}}
	for name, c := range map[string]struct {
		grant pending.Grant
		want  bool
	}{
		"user":               {pending.Grant{Scope: pending.ScopeUser}, true},
		"this process":       {pending.Grant{Scope: pending.ScopeSession, SessionID: "s", ProcessID: "p"}, true},
		"this session":       {pending.Grant{Scope: pending.ScopeSession, SessionID: "s"}, true},
		"another process":    {pending.Grant{Scope: pending.ScopeSession, SessionID: "s", ProcessID: "q"}, false},
		"the same folder":    {pending.Grant{Scope: pending.ScopeLocal, Folder: inside}, true},
		"another folder":     {pending.Grant{Scope: pending.ScopeLocal, Folder: "/elsewhere"}, false},
		"the same work tree": {pending.Grant{Scope: pending.ScopeProject, Folder: repository}, true},
	} {
		if got, err := p.Obeys(t.Context(), c.grant); got != c.want || err != nil {
			t.Errorf("%s: %t, %v", name, got, err)
		}
	}
	if _, err := p.Obeys(t.Context(), pending.Grant{Scope: pending.ScopeLocal, Folder: "/unreachable"}); !errors.Is(err, errUnreachable) {
		t.Errorf("a folder that cannot be reached: %v", err)
	}
}

func TestUsedCountsWhatCoversTheCall(t *testing.T) {
	t.Parallel()
	p := grants.Process{Folder: "/work"}
	list := []pending.Grant{rule("Bash(ls:*)", pending.ScopeUser), rule("Bash(rm:*)", pending.ScopeUser), rule("Edit", pending.ScopeUser)}
	ls, edit := json.RawMessage(`{"command":"ls -l"}`), json.RawMessage(`{"file_path":"/work/a"}`)
	for name, c := range map[string]struct {
		call grants.Call
		want []string
	}{
		"a rule":                      {grants.Call{Tool: "Bash", Input: ls, Mode: "default"}, []string{"Bash(ls:*)"}},
		"no rule":                     {grants.Call{Tool: "WebFetch", Input: json.RawMessage(`{"url":"https://a.example"}`), Mode: "default"}, nil},
		"edits":                       {grants.Call{Tool: "Edit", Input: edit, Mode: "default"}, []string{"Edit"}},
		"edits that the mode accepts": {grants.Call{Tool: "Edit", Input: edit, Mode: "acceptEdits"}, nil},
	} {
		if got, err := p.Used(t.Context(), list, c.call, &claude.User{}); !slices.Equal(got, c.want) || err != nil {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
	}
}
