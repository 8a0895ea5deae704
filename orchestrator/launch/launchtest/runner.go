// Package launchtest tests the contract of [launch.Launcher] and [launch.Runner], for implementations on
// this machine and for those that reach a runner over a connection.
package launchtest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/review"
	"github.com/sayso-dev/sayso/internal/workingtree"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/pending"
)

// savedID is the id of the conversation that the CLI of the tests has saved, and saidID the id of its
// message.
const (
	savedID = "0190b5e0-0000-7000-8000-000000000000"
	saidID  = "3cf289cc-9624-46f6-8006-86bcbd91c16c"
)

// TestRunner tests the Runner that reach returns for a CLI of this machine. own are the roots to which
// the Runner may confine itself.
func TestRunner(t *testing.T, reach func(t *testing.T, cli *launch.CLI, own workspace.Roots) launch.Runner) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, work := filepath.Join(base, "home"), filepath.Join(base, "work")
	sub := filepath.Join(work, "sub")
	roots := workspace.Roots{work}
	local := filepath.Join(work, ".claude", "settings.local.json")
	for path, content := range map[string]string{
		filepath.Join(base, "claude"):                                "#!/bin/sh\ntest \"$1\" = --version && echo '2.1.329 (Claude Code)'\n",
		filepath.Join(home, ".claude", "settings.json"):              `{"permissions":{"allow":["Read"]}}`,
		filepath.Join(home, ".claude/projects/-w", savedID+".jsonl"): `{"type":"user","cwd":"` + work + `","uuid":"` + saidID + `","message":{"role":"user","content":"hello"}}` + "\n",
		filepath.Join(work, "a.txt"):                                 "text\xff",
		filepath.Join(sub, "b.txt"):                                  "",
		filepath.Join(work, ".git", "HEAD"):                          "ref: refs/heads/main\n",
		local:                                                        `{"permissions":{"allow":["Bash(ls:*)"]},"hooks":{"Stop":[{"hooks":[{"type":"command","command":"true"}]}]}}`,
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink("sub", filepath.Join(work, "link")), os.Symlink("nowhere", filepath.Join(work, "dangling"))); err != nil {
		t.Fatal(err)
	}
	r := reach(t, &launch.CLI{Path: filepath.Join(base, "claude"), Environ: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}}, roots)
	ctx := t.Context()
	// check takes the result and the error of a call, and returns a function that compares them with
	// what the test wants.
	check := func(name string, got any, err error) func(want any) {
		return func(want any) {
			t.Helper()
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: got %+v, %v, want %+v", name, got, err, want)
			}
		}
	}
	var p *problem.Error

	got, err := r.Home(ctx)
	check("home", got, err)(home)
	got, err = r.ResolvePath(ctx, filepath.Join(work, "link/b.txt"))
	check("a link", got, err)(filepath.Join(sub, "b.txt"))
	for path, want := range map[string]review.RealPath{
		filepath.Join(work, "link/new/x"): {Path: filepath.Join(sub, "new/x"), Known: true}, filepath.Join(work, "dangling/x"): {},
	} {
		real, err := r.RealPath(ctx, path)
		check("the real path of "+path, real, err)(want)
	}
	isFolder, err := r.IsFolder(ctx, filepath.Join(work, "link"))
	check("a link to a folder", isFolder, err)(true)
	isFolder, err = r.IsFolder(ctx, filepath.Join(work, "a.txt"))
	check("no folder", isFolder, err)(false)
	matches, err := r.MatchPaths(ctx, filepath.Join(work, "*.txt"))
	check("a pattern", matches, err)(review.Matches{Paths: []string{filepath.Join(work, "a.txt")}, Known: true})
	matches, err = r.MatchPaths(ctx, filepath.Join(work, "*/*/*/*/*"))
	check("a pattern of too many folders", matches, err)(review.Matches{})
	got, err = r.RepositoryRoot(ctx, sub)
	check("root of a repository", got, err)(work)
	if i, err := r.Installation(ctx); err != nil || i.ClaudeVersion != "2.1.329" || i.SignedIn || i.Problem == "" || i.Home != home {
		t.Errorf("the CLI: %+v, %v", i, err)
	}
	if sentence, err := r.SignInSentence(ctx); err != nil || sentence == "" {
		t.Errorf("how to sign in: %q, %v", sentence, err)
	}

	got, err = r.ResolveFolder(ctx, roots, filepath.Join(work, "link"))
	check("a folder", got, err)(sub)
	if _, err := r.ResolveFolder(ctx, roots, home); !errors.As(err, &p) || p.Reason != "folder_outside" || p.Message == "" {
		t.Errorf("a folder outside of the roots: %v", err)
	}
	made := filepath.Join(work, "made", "here")
	if err := r.MakeFolder(ctx, made); err != nil {
		t.Error(err)
	}
	if list, err := r.ListFolders(ctx, roots, workspace.Search{Prefix: work + "/"}); err != nil || !slices.ContainsFunc(list.Folders, func(f workspace.Folder) bool { return f.Path == filepath.Dir(made) }) {
		t.Errorf("folders: %+v, %v", list, err)
	}
	if f, err := r.ReadFile(ctx, roots, work, "a.txt", 100); err != nil || f.State != workspace.FileRead || string(f.Data) != "text\xff" || f.ModTime.IsZero() {
		t.Errorf("a file: %+v, %v", f, err)
	}
	if f, err := r.ReadFile(ctx, roots, work, "a.txt", 2); err != nil || f.State != workspace.FileLarge {
		t.Errorf("a large file: %+v, %v", f, err)
	}
	if f, err := r.ReadFile(ctx, roots, work, filepath.Join(home, ".claude", "settings.json"), 100); err != nil || f.State != workspace.FileOutside {
		t.Errorf("a file outside: %+v, %v", f, err)
	}

	before, err := r.FolderSettings(ctx, work, nil)
	if err != nil || before.Digest == "" || len(before.Items) != 2 {
		t.Errorf("what a folder loads: %+v, %v", before, err)
	}
	if granted, err := r.FolderSettings(ctx, work, map[pending.Scope][]string{pending.ScopeLocal: {"Bash(ls:*)"}}); err != nil || len(granted.Items) != 1 {
		t.Errorf("what a folder loads besides what was granted: %+v, %v", granted, err)
	}
	files, err := r.SettingsFiles(ctx, work)
	var sources []string
	for _, f := range files {
		if f.Source != "managed" { // of this machine
			sources = append(sources, f.Source)
		}
	}
	check("settings files", sources, err)([]string{"user", "local"})
	rules := func() (all []string, err error) {
		found, err := r.FindGrants(ctx, []string{work})
		for _, g := range found.Grants {
			all = append(all, g.Rule)
		}
		return all, err
	}
	found, err := rules()
	check("grants", found, err)([]string{"Read", "Bash(ls:*)"})
	changed, err := r.RemoveGrant(ctx, pending.Grant{Kind: pending.GrantRule, Rule: "Bash(ls:*)", Scope: pending.ScopeLocal, Folder: work})
	check("files of a removed grant", changed, err)([]string{local})
	found, err = rules()
	check("grants that are left", found, err)([]string{"Read"})

	saved, err := r.SavedConversation(ctx, savedID)
	if err != nil || saved.CWD != work || saved.Title != "hello" {
		t.Errorf("a saved conversation: %+v, %v", saved, err)
	}
	if all, err := r.SavedConversations(ctx, 5); err != nil || len(all) != 1 || all[0].SessionID != savedID || !all[0].ChangedAt.Equal(saved.ChangedAt) {
		t.Errorf("saved conversations: %+v, %v", all, err)
	}
	chunk, err := r.ReadSaved(ctx, savedID, -1, 1<<20)
	if err != nil || chunk.Begin != 0 || len(chunk.Lines) != 1 {
		t.Errorf("lines of a saved conversation: %q, %v", chunk.Lines, err)
	} else if m, ok := claude.DecodeSaved(chunk.Lines[0]); !ok || m.Message.Base().UUID != saidID {
		t.Errorf("a saved line: %s", chunk.Lines[0])
	}
	mentioned, err := r.SavedMentions(ctx, savedID, saidID)
	check("a saved message", mentioned, err)(true)
	got, err = r.SavedEntryBefore(ctx, savedID, saidID)
	check("before the first message", got, err)("")
	const unknown = "0190b5e0-0000-7000-8000-00000000000f"
	for name, call := range map[string]func(context.Context) error{
		"find":     func(ctx context.Context) error { _, err := r.SavedConversation(ctx, unknown); return err },
		"read":     func(ctx context.Context) error { _, err := r.ReadSaved(ctx, unknown, -1, 1); return err },
		"mentions": func(ctx context.Context) error { _, err := r.SavedMentions(ctx, unknown, saidID); return err },
		"entry":    func(ctx context.Context) error { _, err := r.SavedEntryBefore(ctx, savedID, unknown); return err },
		"checkpoint": func(ctx context.Context) error {
			_, err := r.CheckpointChanges(ctx, workingtree.Place{Roots: roots, CWD: work}, savedID, saidID)
			return err
		},
	} {
		if err := call(ctx); !errors.Is(err, claude.ErrNotSaved) {
			t.Errorf("%s of what is not saved: %v", name, err)
		}
	}
	testTrees(t, r, roots, filepath.Join(work, "repository"))
	testCheckpoint(t, r, workingtree.Place{Roots: roots, CWD: work}, filepath.Join(home, ".claude"))
}
