package grants_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
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

func TestFilesAreFoundAndChanged(t *testing.T) {
	t.Parallel()
	home, folder := t.TempDir(), t.TempDir()
	files := grants.Files{
		Getenv: func(key string) string { return map[string]string{"HOME": home}[key] },
		As:     func(f func() error) error { return f() },
	}
	local := filepath.Join(folder, ".claude", "settings.local.json")
	for path, content := range map[string]string{
		filepath.Join(home, ".claude", "settings.json"): `{"permissions":{"allow":["Read"]}}`,
		local: `{"permissions":{"allow":["Bash(ls:*)"],"additionalDirectories":["/srv"]}}`,
		filepath.Join(folder, ".claude", "settings.json"): `no JSON`,
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	find := func() (rules []string, problems int) {
		var found grants.Found
		files.Find(&found, pending.ScopeUser, "")
		for range 2 { // a folder counts once
			files.Find(&found, pending.ScopeLocal, folder)
			files.Find(&found, pending.ScopeProject, folder)
		}
		for _, g := range found.Grants {
			rules = append(rules, g.Rule)
		}
		return rules, len(found.Problems)
	}
	if rules, problems := find(); !slices.Equal(rules, []string{"Read", "Bash(ls:*)", "/srv"}) || problems != 1 {
		t.Errorf("found %q and %d problems", rules, problems)
	}
	g := rule("Bash(ls:*)", pending.ScopeLocal)
	g.Folder = folder
	for _, want := range [][]string{{local}, nil} { // the second time it is gone
		if changed, err := files.Remove(t.Context(), g); err != nil || !slices.Equal(changed, want) {
			t.Errorf("changed %q, %v, want %q", changed, err, want)
		}
	}
	if rules, _ := find(); !slices.Equal(rules, []string{"Read", "/srv"}) {
		t.Errorf("left: %q", rules)
	}
	if err := errors.Join(os.Remove(local), syscall.Mkfifo(local, 0o600)); err != nil { // Claude may write there
		t.Fatal(err)
	}
	if rules, problems := find(); !slices.Equal(rules, []string{"Read"}) || problems != 2 {
		t.Errorf("with a pipe: found %q and %d problems", rules, problems)
	}
}

// private makes a Git repository with the folder a that exists only for who calls
// Files.As, as one that only the CLI's user may enter.
func private(t *testing.T) (files grants.Files, repository, inside string) {
	t.Helper()
	dir := t.TempDir()
	repository, hidden := filepath.Join(dir, "repository"), filepath.Join(dir, "hidden")
	for _, folder := range []string{".git", "a", ".claude"} {
		if err := os.MkdirAll(filepath.Join(hidden, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return grants.Files{As: func(f func() error) error {
		return errors.Join(os.Rename(hidden, repository), f(), os.Rename(repository, hidden))
	}}, repository, filepath.Join(repository, "a")
}

func TestGrantIsRemovedFromARepositoryOfTheUser(t *testing.T) {
	t.Parallel()
	files, repository, inside := private(t)
	local := filepath.Join(repository, ".claude", "settings.local.json")
	if err := files.As(func() error {
		return os.WriteFile(local, []byte(`{"permissions":{"allow":["Bash(ls:*)"]}}`), 0o600)
	}); err != nil {
		t.Fatal(err)
	}
	g := rule("Bash(ls:*)", pending.ScopeLocal)
	g.Folder = inside
	if changed, err := files.Remove(t.Context(), g); err != nil || !slices.Equal(changed, []string{local}) {
		t.Errorf("changed %q, %v", changed, err)
	}
}

func TestGrantsHoldInTheirScope(t *testing.T) {
	t.Parallel()
	files, repository, inside := private(t)
	p := grants.Process{SessionID: "s", ProcessID: "p", Folder: inside, Files: files}
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
		if got := p.Obeys(c.grant); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
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
		if got := p.Used(list, c.call, &claude.User{}); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
