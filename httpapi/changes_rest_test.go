package httpapi_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// repository creates a session in a folder with a repository of one commit.
func (h *harness) repository() (id, folder string) {
	h.T.Helper()
	root, err := filepath.EvalSymlinks(h.T.TempDir())
	if err != nil {
		h.T.Fatal(err)
	}
	folder = filepath.Join(root, "repo")
	h.Driver.Roots = workspace.Roots{root}
	h.file(folder, "a.txt", "one\n")
	h.file(folder, "secret/s.txt", "one\n")
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"config", "user.name", "Mara"}, {"config", "user.email", "mara@example.org"}, {"add", "-A"}, {"commit", "-q", "-m", "first"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = folder, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			h.T.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	id = uuid.NewString()
	if err := h.Store.CreateSession(h.T.Context(), session.Session{
		SessionID: id, Title: "t", CWD: folder, PermissionMode: "default", OwnerID: h.Admin.UserID, CreatedAt: time.Now(), UpdatedAt: time.Now(),
	}); err != nil {
		h.T.Fatal(err)
	}
	return id, folder
}

func (h *harness) file(folder, name, content string) {
	h.T.Helper()
	path := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		h.T.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		h.T.Fatal(err)
	}
}

func TestChangesOfASession(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	id, folder := h.repository()
	h.file(folder, "a.txt", "two\n")
	h.file(folder, "bad\xff", "x")
	api := "/api/sessions/" + id

	var changes wire.Changes
	h.CallAs(account.Viewer, "GET", api+"/changes?base=branch", nil).Decode(t, &changes)
	if changes.Repository != "found" || changes.Branch != "main" || changes.Base != "head" || len(changes.Files) != 2 ||
		changes.Files[0].Path != "a.txt" || *changes.Files[0].Added != 1 || !changes.Files[0].Readable || changes.Files[1].Readable {
		t.Fatalf("got %+v", changes)
	}
	var file wire.FileComparison
	h.CallAs(account.Viewer, "GET", api+"/changes/file?path=a.txt", nil).Decode(t, &file)
	if file.Before.Text != "one\n" || file.After.Text != "two\n" || file.Digest == "" {
		t.Errorf("got %+v", file)
	}

	// Since a message; a client can name no base of its own.
	message := uuid.NewString()
	changes = wire.Changes{}
	h.CallAs(account.Viewer, "GET", api+"/changes?base=turn&message_id="+message, nil).Decode(t, &changes)
	if changes.Base != "turn" || changes.Source != "checkpoints" || changes.Commands != 2 || len(changes.Files) != 1 || changes.Files[0].Added != nil {
		t.Errorf("got %+v", changes)
	}
	h.CallAs(account.Viewer, "GET", api+"/changes/file?base=turn&path=a.txt&message_id="+message, nil).Decode(t, &file)
	if file.Before.State != "missing" || file.After.Text != "two\n" {
		t.Errorf("got %+v", file)
	}
	if calls := strings.Join(h.Driver.Calls(), "\n"); !strings.Contains(calls, "compare a.txt of "+id+" since "+message) {
		t.Errorf("got %s", calls)
	}
	h.CallAs(account.Viewer, "GET", api+"/changes/file?base=snapshot:4b825dc642cb6eb9a060e54bf8d69288fbee4904&path=a.txt", nil).Decode(t, &file)
	if file.Before.Text != "one\n" {
		t.Errorf("got %+v", file)
	}

	// Whoever may only look changes nothing.
	discard := wire.FileDiscard{Path: "a.txt", Digest: file.Digest}
	apitest.CheckRefusal(t, h.CallAs(account.Viewer, "POST", api+"/changes/discard", discard), 403, "forbidden")
	apitest.CheckRefusal(t, h.CallAs(account.Viewer, "POST", api+"/changes/commit", wire.CommitCreate{Message: "x", Paths: []string{"a.txt"}}), 403, "forbidden")
	apitest.CheckRefusal(t, h.CallAs(account.Member, "POST", api+"/changes/discard", wire.FileDiscard{Path: "a.txt", Digest: "another"}), 409, "changed")
	apitest.CheckRefusal(t, h.CallAs(account.Member, "POST", api+"/changes/commit", wire.CommitCreate{Message: "x"}), 400, "invalid")
	apitest.CheckRefusal(t, h.CallAs(account.Member, "POST", api+"/changes/discard", wire.FileDiscard{Path: "../a.txt", Digest: "x"}), 400, "invalid")
	if got := h.CallAs(account.Member, "POST", api+"/changes/discard", discard); got.Status != 204 {
		t.Errorf("discard: %d %s", got.Status, got.Body)
	}
	h.file(folder, "a.txt", "three\n")
	var made wire.CommitCreated
	got := h.CallAs(account.Member, "POST", api+"/changes/commit", wire.CommitCreate{Message: "Change a", Paths: []string{"a.txt"}})
	got.Decode(t, &made)
	if got.Status != 201 || len(made.Commit) != 40 {
		t.Errorf("commit: %d %s", got.Status, got.Body)
	}
	if calls := strings.Join(h.Driver.Calls(), "\n"); !strings.Contains(calls, "discard a.txt in "+id+" by ") || !strings.Contains(calls, "commit [a.txt] in "+id+" by ") {
		t.Errorf("got %s", calls)
	}
	apitest.CheckRefusal(t, h.CallAs(account.Viewer, "GET", "/api/sessions/nothing/changes", nil), 404, "not_found")
}

func TestFilesOfASession(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	id, folder := h.repository()
	h.file(folder, "page.html", "<script>alert(1)</script>")
	api := "/api/sessions/" + id

	var list wire.FolderEntries
	h.CallAs(account.Viewer, "GET", api+"/files", nil).Decode(t, &list)
	want := []wire.FolderEntry{{Name: "secret", Kind: "folder", Readable: true}, {Name: "a.txt", Kind: "file", Readable: true}, {Name: "page.html", Kind: "file", Readable: true}}
	if !slices.Equal(list.Entries, want) || list.More {
		t.Errorf("got %+v", list)
	}
	var found wire.FoundFiles
	h.CallAs(account.Viewer, "GET", api+"/files/search?q=s.t", nil).Decode(t, &found)
	if !slices.Equal(found.Paths, []string{"secret/s.txt"}) {
		t.Errorf("got %+v", found)
	}
	var file wire.FileContent
	h.CallAs(account.Viewer, "GET", api+"/files/content?path=a.txt", nil).Decode(t, &file)
	if file.State != "text" || file.Text != "one\n" || file.Size != 4 {
		t.Errorf("got %+v", file)
	}
	raw := h.CallAs(account.Viewer, "GET", api+"/files/raw?path=page.html", nil)
	if raw.Status != 200 || raw.Header.Get("Content-Type") != "application/octet-stream" || !strings.HasPrefix(raw.Header.Get("Content-Disposition"), "attachment") ||
		!strings.Contains(raw.Header.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("got %d %v", raw.Status, raw.Header)
	}
	apitest.CheckRefusal(t, h.CallAs(account.Viewer, "GET", api+"/files/raw?path=secret", nil), 404, "not_found")
	apitest.CheckRefusal(t, h.CallAs(account.Viewer, "GET", api+"/files/raw?path=.git/config", nil), 400, "invalid")
}

// A session may run in a folder above that of a project which not everybody sees.
func TestChangesShowNoFileOfAHiddenProject(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	id, folder := h.repository()
	h.project("secret", filepath.Join(folder, "secret"))
	h.file(folder, "secret/s.txt", "two\n")
	h.file(folder, "secret/new.txt", "two\n")
	h.file(folder, "a.txt", "two\n")
	api := "/api/sessions/" + id
	for _, path := range []string{"/changes", "/changes/file?path=secret/s.txt", "/changes/file?path=a.txt&old_path=secret/s.txt", "/files", "/files/search?q=txt", "/files/content?path=secret/s.txt"} {
		got := h.CallAs(account.Member, "GET", api+path, nil)
		if got.Status != 200 || strings.Contains(string(got.Body), "secret") || strings.Contains(path, "secret/s.txt") && strings.Contains(string(got.Body), "one") {
			t.Errorf("%s: %d %s", path, got.Status, got.Body)
		}
		if got := h.CallAs(account.Admin, "GET", api+path, nil); path == "/files" && !strings.Contains(string(got.Body), "secret") {
			t.Errorf("an admin sees %s", got.Body)
		}
	}
	apitest.CheckRefusal(t, h.CallAs(account.Member, "GET", api+"/files?path=secret", nil), 404, "not_found")
	apitest.CheckRefusal(t, h.CallAs(account.Member, "GET", api+"/files/raw?path=secret/s.txt", nil), 404, "not_found")
	apitest.CheckRefusal(t, h.CallAs(account.Member, "POST", api+"/changes/commit", wire.CommitCreate{Message: "x", Paths: []string{"secret/s.txt"}}), 409, "changed")
}
