package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/claude/claudetest"
)

// gitThatKills puts a git before the real one, which kills the server at one command, before it runs
// or after. at chooses the next: words of its arguments, one space between two.
func (h *harness) gitThatKills() (at func(when, command string)) {
	h.t.Helper()
	git, err := exec.LookPath("git")
	must(h.t, err)
	bin := h.t.TempDir()
	script := fmt.Sprintf(`#!/bin/sh
for when in before after; do
  if [ -f '%[1]s'/$when ] && case " $* " in *" $(cat '%[1]s'/$when) "*) true;; *) false;; esac; then
    rm '%[1]s'/$when
    if [ $when = after ]; then '%[2]s' "$@"; fi
    kill -9 $PPID
    exit 1
  fi
done
exec '%[2]s' "$@"
`, bin, git)
	must(h.t, os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o700))
	for i, v := range h.env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			h.env[i] = "PATH=" + bin + ":" + path
		}
	}
	return func(when, command string) {
		must(h.t, os.WriteFile(filepath.Join(bin, when), []byte(command), 0o600))
	}
}

// A server that is killed between the steps of creating or removing a worktree loses nothing: what was
// committed, written or staged is where it was or named in the answer, and the same can be done again.
func TestWorktreeCutOffByKill(t *testing.T) {
	nightly(t)
	t.Parallel()
	h := newHarness(t, claudetest.Script{Turn: []claudetest.Step{{Text: "done"}}}).asProcesses()
	repo := filepath.Join(h.work, "repo")
	must(t, os.Mkdir(repo, 0o700))
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", repo, "-c", "user.name=a", "-c", "user.email=a@localhost"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "-b", "main")
	must(t, os.WriteFile(filepath.Join(repo, "a.txt"), []byte("one\n"), 0o600))
	git("add", "a.txt")
	git("commit", "-q", "-m", "first")
	must(t, os.WriteFile(filepath.Join(repo, "mine.txt"), []byte("not committed\n"), 0o600))
	killAt := h.gitThatKills()
	s := h.start()
	// cutOff asks for something during which the server dies, and starts the next.
	cutOff := func(path string, body map[string]any) {
		t.Helper()
		if err := s.Do(t.Context(), "POST", path, body, nil); err == nil {
			t.Error("it was done")
		}
		s.gone(waitLimit)
		s = h.start()
	}
	create := func(branch string) (cwd string, status int) {
		t.Helper()
		status = s.status("POST", "/api/worktrees", map[string]any{"cwd": repo, "branch": branch, "base": "main"}, nil)
		return filepath.Join(repo, ".worktrees", branch), status
	}
	unharmed := func(when string) {
		t.Helper()
		if got := git("status", "--porcelain"); got != "?? mine.txt" {
			t.Errorf("%s: the main working tree has %q", when, got)
		}
		git("fsck", "--no-dangling")
	}

	for _, c := range []struct{ when, command string }{
		{"before", "update-ref refs/heads/cut"}, // the folders are there, the branch is not
		{"after", "update-ref refs/heads/cut"},  // nor are the files
		{"after", "read-tree -m -u HEAD"},       // only what marks it as finished is missing
	} {
		when := "creation, " + c.when + " " + c.command
		killAt(c.when, c.command[:strings.LastIndex(c.command, " ")])
		cutOff("/api/worktrees", map[string]any{"cwd": repo, "branch": "cut", "base": "main"})
		unharmed(when)
		// Another server may be creating it, for some minutes.
		if _, status := create("cut"); status < 400 {
			t.Errorf("%s: it was taken for nobody's at once: %d", when, status)
		}
		admin := filepath.Join(repo, ".git/worktrees/sayso-cut")
		long := time.Now().Add(-time.Hour)
		must(t, os.Chtimes(admin, long, long))
		if _, status := create("other"); status >= 400 {
			t.Fatalf("%s: another: %d", when, status)
		}
		cwd, status := create("cut")
		if status >= 400 {
			t.Fatalf("%s: again: %d", when, status)
		}
		if got, err := os.ReadFile(filepath.Join(cwd, "a.txt")); string(got) != "one\n" {
			t.Errorf("%s: it holds %q, %v", when, got, err)
		}
		unharmed(when)
		for _, branch := range []string{"cut", "other"} {
			git("worktree", "remove", "--force", filepath.Join(repo, ".worktrees", branch))
			git("branch", "-q", "-D", branch)
		}
	}

	cwd, status := create("cut")
	if status >= 400 {
		t.Fatal(status)
	}
	var made struct {
		SessionID string `json:"session_id"`
	}
	s.do("POST", "/api/sessions", map[string]any{"cwd": cwd, "prompt": "one"}, &made)
	s.reaches(made.SessionID, "user_turn")
	s.do("POST", "/api/sessions/"+made.SessionID+"/kill", map[string]any{}, nil)
	s.reaches(made.SessionID, "dead")
	must(t, os.WriteFile(filepath.Join(cwd, "a.txt"), []byte("two\n"), 0o600))
	api := "/api/sessions/" + made.SessionID + "/worktree"
	seen := func() map[string]any {
		t.Helper()
		var w struct{ Digest string }
		s.do("GET", api, nil, &w)
		return map[string]any{"digest": w.Digest}
	}
	kept := func() []string {
		return strings.Fields(git("for-each-ref", "--format=%(objectname)", "refs/sayso/removed/"))
	}

	// What was not committed is being kept, and nothing is removed yet.
	killAt("before", "commit-tree")
	cutOff(api+"/remove", seen())
	unharmed("removal, commit-tree")
	if got, err := os.ReadFile(filepath.Join(cwd, "a.txt")); string(got) != "two\n" || len(kept()) != 0 {
		t.Errorf("before anything is kept: it holds %q, %v, and %v is kept", got, err, kept())
	}
	// The folder is gone, and its branch is not yet.
	killAt("before", "update-ref -d")
	cutOff(api+"/remove", seen())
	unharmed("removal, update-ref -d")
	if _, err := os.Lstat(cwd); !os.IsNotExist(err) || strings.Contains(git("worktree", "list"), "cut") {
		t.Errorf("the folder is left: %v, %s", err, git("worktree", "list"))
	}
	if all := kept(); len(all) != 1 || git("show", all[0]+":a.txt") != "two" {
		t.Errorf("kept: %v", all)
	}
	// Its branch stays: nobody can tell it from one of a person. It holds nothing that main lacks.
	if git("rev-parse", "cut") != git("rev-parse", "main") {
		t.Error("the branch has moved")
	}
	if _, status := create("next"); status >= 400 {
		t.Errorf("the next: %d", status)
	}
	s.signal(syscall.SIGTERM)
	s.gone(waitLimit)
}
