package httpapi_test

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

func TestWorktreeOfASession(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	_, folder := h.repository()
	h.Driver.Chosen = [2]string{"plan", "opus"}
	query := "?" + url.Values{"cwd": {folder}, "q": {"s.t"}}.Encode()

	var info wire.FolderInfo
	h.CallAs(account.Member, "GET", "/api/folders/info"+query, nil).Decode(t, &info)
	if info.Git.Repository != "found" || info.Git.Branch != "main" || info.Git.Uncommitted != 0 || !slices.Equal(info.Branches, []string{"main"}) ||
		info.PermissionMode != "plan" || info.Model != "opus" {
		t.Errorf("got %+v", info)
	}
	var found wire.FoundFiles
	h.CallAs(account.Member, "GET", "/api/folders/files"+query, nil).Decode(t, &found)
	if !slices.Equal(found.Paths, []string{"secret/s.txt"}) {
		t.Errorf("got %+v", found)
	}
	for _, path := range []string{"/api/folders/info" + query, "/api/folders/files" + query} {
		apitest.CheckRefusal(t, h.CallAs(account.Viewer, "GET", path, nil), 403, "forbidden")
	}
	// A path that is typed is often not a folder, or not one for sessions; that is no error.
	for _, path := range []string{"/etc", folder + "/gone", "~mara", ""} {
		if got := h.CallAs(account.Member, "GET", "/api/folders/info?"+url.Values{"cwd": {path}}.Encode(), nil); got.Status != 204 {
			t.Errorf("%q: got %d %s", path, got.Status, got.Body)
		}
	}
	apitest.CheckRefusal(t, h.CallAs(account.Member, "GET", "/api/folders/files?cwd=/etc", nil), 400, "invalid")

	create := wire.WorktreeCreate{CWD: folder, Branch: "fix", Base: "main"}
	apitest.CheckRefusal(t, h.CallAs(account.Viewer, "POST", "/api/worktrees", create), 403, "forbidden")
	var made wire.WorktreeCreated
	got := h.CallAs(account.Member, "POST", "/api/worktrees", create)
	got.Decode(t, &made)
	if got.Status != 201 || made.CWD != filepath.Join(folder, ".worktrees/fix") {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	apitest.CheckRefusal(t, h.CallAs(account.Member, "POST", "/api/worktrees", create), 400, "invalid")

	id := uuid.NewString()
	if err := h.Store.CreateSession(t.Context(), session.Session{
		SessionID: id, Title: "t", CWD: made.CWD, PermissionMode: "default", OwnerID: h.Admin.UserID, CreatedAt: time.Now(), UpdatedAt: time.Now(),
	}); err != nil {
		t.Fatal(err)
	}
	api := "/api/sessions/" + id
	var git wire.GitState
	h.CallAs(account.Viewer, "GET", api+"/git", nil).Decode(t, &git)
	if git.Branch != "fix" || git.Base != "main" {
		t.Errorf("got %+v", git)
	}
	state := func() (w wire.Worktree) {
		t.Helper()
		h.CallAs(account.Viewer, "GET", api+"/worktree", nil).Decode(t, &w)
		return w
	}
	h.file(made.CWD, "a.txt", "two\n")
	if w := state(); w.Merge != "uncommitted" || w.Uncommitted != 1 || w.Folder != made.CWD || w.Main != folder {
		t.Errorf("got %+v", w)
	}
	if got := h.CallAs(account.Member, "POST", api+"/changes/commit", wire.CommitCreate{Message: "Change a", Paths: []string{"a.txt"}}); got.Status != 201 {
		t.Errorf("commit: %d %s", got.Status, got.Body)
	}
	w := state()
	if w.Merge != "ready" || w.Unmerged != 1 {
		t.Errorf("got %+v", w)
	}
	for _, path := range []string{api + "/worktree/merge", api + "/worktree/remove"} {
		apitest.CheckRefusal(t, h.CallAs(account.Viewer, "POST", path, wire.WorktreeSeen{Digest: w.Digest}), 403, "forbidden")
		apitest.CheckRefusal(t, h.CallAs(account.Member, "POST", path, wire.WorktreeSeen{Digest: "another"}), 409, "changed")
	}
	if got := h.CallAs(account.Member, "POST", api+"/worktree/merge", wire.WorktreeSeen{Digest: w.Digest}); got.Status != 200 {
		t.Errorf("merge: %d %s", got.Status, got.Body)
	}
	if text, err := os.ReadFile(filepath.Join(folder, "a.txt")); err != nil || string(text) != "two\n" {
		t.Errorf("merged %q, %v", text, err)
	}
	var gone wire.WorktreeRemoved
	h.CallAs(account.Member, "POST", api+"/worktree/remove", wire.WorktreeSeen{Digest: w.Digest}).Decode(t, &gone)
	h.CallAs(account.Viewer, "GET", api+"/git", nil).Decode(t, &git)
	if git.Repository != "missing" {
		t.Errorf("of a folder that is gone: %+v", git)
	}
	if _, err := os.Stat(made.CWD); !os.IsNotExist(err) || gone.BranchKept || gone.Kept != "" {
		t.Errorf("got %+v, %v", gone, err)
	}
	calls := strings.Join(h.Driver.Calls(), "\n")
	for _, want := range []string{"add worktree fix from main by ", "merge worktree of " + id + " by ", "remove worktree of " + id + " by "} {
		if !strings.Contains(calls, want) {
			t.Errorf("%q is missing in %s", want, calls)
		}
	}
}
