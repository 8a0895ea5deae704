package launch

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/sayso-dev/sayso/pending"
)

func TestGrantsAreFoundAndRemoved(t *testing.T) {
	t.Parallel()
	home, folder := t.TempDir(), t.TempDir()
	files := grantFiles{
		getenv: func(key string) string { return map[string]string{"HOME": home}[key] },
		as:     func(f func() error) error { return f() },
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
		found := files.find([]string{folder, folder}) // a folder counts once
		for _, g := range found.Grants {
			rules = append(rules, g.Rule)
		}
		return rules, len(found.Problems)
	}
	if rules, problems := find(); !slices.Equal(rules, []string{"Read", "Bash(ls:*)", "/srv"}) || problems != 1 {
		t.Errorf("found %q and %d problems", rules, problems)
	}
	g := pending.Grant{Kind: pending.GrantRule, Rule: "Bash(ls:*)", Scope: pending.ScopeLocal, Folder: folder}
	for _, want := range [][]string{{local}, nil} { // the second time it is gone
		if changed, err := files.remove(t.Context(), g); err != nil || !slices.Equal(changed, want) {
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
// grantFiles.as, as one that only the CLI's user may enter.
func private(t *testing.T) (files grantFiles, repository, inside string) {
	t.Helper()
	dir := t.TempDir()
	repository, hidden := filepath.Join(dir, "repository"), filepath.Join(dir, "hidden")
	for _, folder := range []string{".git", "a", ".claude"} {
		if err := os.MkdirAll(filepath.Join(hidden, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return grantFiles{as: func(f func() error) error {
		return errors.Join(os.Rename(hidden, repository), f(), os.Rename(repository, hidden))
	}}, repository, filepath.Join(repository, "a")
}

func TestGrantIsRemovedFromARepositoryOfTheUser(t *testing.T) {
	t.Parallel()
	files, repository, inside := private(t)
	local := filepath.Join(repository, ".claude", "settings.local.json")
	if err := files.as(func() error {
		return os.WriteFile(local, []byte(`{"permissions":{"allow":["Bash(ls:*)"]}}`), 0o600)
	}); err != nil {
		t.Fatal(err)
	}
	g := pending.Grant{Kind: pending.GrantRule, Rule: "Bash(ls:*)", Scope: pending.ScopeLocal, Folder: inside}
	if changed, err := files.remove(t.Context(), g); err != nil || !slices.Equal(changed, []string{local}) {
		t.Errorf("changed %q, %v", changed, err)
	}
}
