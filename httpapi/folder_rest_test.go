package httpapi_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/wire"
)

func TestFoldersAreListed(t *testing.T) {
	t.Parallel()
	h := quietHarness(t)
	var list wire.FolderList
	got := h.CallAs(account.Member, "GET", "/api/folders?prefix=%2Fw%2F&hidden=true&limit=7", nil)
	got.Decode(t, &list)
	if want := []wire.Folder{{Path: "/w/two", Recent: true}, {Path: "/w/one"}}; got.Status != 200 || !list.More || !slices.Equal(list.Folders, want) {
		t.Errorf("got %d %s", got.Status, got.Body)
	}
	if asked := h.Driver.Calls(); len(asked) != 1 || !strings.HasSuffix(asked[0], `: "/w/" hidden=true limit=7`) {
		t.Errorf("asked %q", asked)
	}
	apitest.CheckRefusal(t, h.CallAs(account.Member, "GET", "/api/folders?prefix=%2Fetc", nil), 400, "invalid")
	apitest.CheckRefusal(t, h.CallAs(account.Member, "GET", "/api/folders?limit=-1", nil), 400, "invalid")
	apitest.CheckRefusal(t, h.CallAs(account.Member, "GET", "/api/folders?prefix=/w"+strings.Repeat("x", 5000), nil), 400, "invalid")
	apitest.CheckRefusal(t, h.CallAs(account.Viewer, "GET", "/api/folders", nil), 403, "forbidden")
}

// TestAFolderThatNobodyTrusts: whoever would start Claude in it is told what it
// would take, over REST and on the socket, and comes back with what they say to it.
func TestAFolderThatNobodyTrusts(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.NewSession("one")
	tab := h.OpenTab(account.Member)
	h.Driver.FailWith(&orchestrator.UntrustedError{
		Folder: "/w", Digest: "sha256:1", CannotLeaveOut: true,
		Items:  []orchestrator.FolderItem{{Kind: "hook", Danger: "runs", File: "/w/.claude/settings.json", Name: "Stop", Text: "touch a", New: true}},
		Before: &workspace.Trust{By: pending.Actor{Name: "Ada"}, At: time.Unix(10, 0)},
	})
	want := wire.FolderTrust{
		Folder: "/w", Digest: "sha256:1", Gone: []wire.FolderItem{}, Told: []string{}, Before: &wire.TrustedBy{By: "Ada", At: 10},
		Items: []wire.FolderItem{{Kind: "hook", Danger: "runs", File: "/w/.claude/settings.json", Name: "Stop", Text: "touch a", New: true}},
	}
	message := map[string]any{"text": "go on"}
	for _, c := range []struct {
		path, command string
		fields        map[string]any
	}{
		{"/api/sessions", "create_session", map[string]any{"cwd": "/w", "prompt": "x"}},
		{"/api/sessions/" + id + "/resume", "resume_session", map[string]any{}},
		{"/api/sessions/" + id + "/fork", "fork_session", map[string]any{}},
		{"/api/sessions/" + id + "/messages", "send_message", message},
	} {
		got := h.CallAs(account.Member, "POST", c.path, c.fields)
		apitest.CheckRefusal(t, got, 409, "folder_untrusted")
		if e := got.Refusal(t); e.FolderTrust == nil || !reflect.DeepEqual(*e.FolderTrust, want) {
			t.Errorf("%s: got %s", c.path, got.Body)
		}
		with := map[string]any{}
		if c.command != "create_session" {
			with["session_id"] = id
		}
		for k, v := range c.fields {
			with[k] = v
		}
		if a := tab.Do(c.command, with); a.Result != wire.Rejected || a.Error == nil || a.Error.Code != "folder_untrusted" || !reflect.DeepEqual(*a.Error.FolderTrust, want) {
			t.Errorf("%s: got %+v", c.command, a)
		}
	}
	h.Driver.FailWith(nil)
	h.CallAs(account.Member, "POST", "/api/sessions", map[string]any{"cwd": "/w", "prompt": "x", "trust": "sha256:1"})
	h.CallAs(account.Member, "POST", "/api/sessions/"+id+"/resume", map[string]any{"trust": "sha256:1"})
	h.CallAs(account.Member, "POST", "/api/sessions/"+id+"/fork", map[string]any{"without_settings": true})
	h.CallAs(account.Member, "POST", "/api/sessions/"+id+"/messages", map[string]any{"text": "go on", "trust": "sha256:1"})
	asked := strings.Join(h.Driver.Calls(), "\n")
	for _, part := range []string{
		"consent={Trust:sha256:1 LeaveOut:false}",
		"consent " + id + " {Trust:sha256:1 LeaveOut:false} by member-user\nresume " + id,
		"consent " + id + " {Trust: LeaveOut:true} by member-user\nfork " + id,
		"consent " + id + " {Trust:sha256:1 LeaveOut:false} by member-user\nsend " + id,
	} {
		if !strings.Contains(asked, part) {
			t.Errorf("asked:\n%s\nwant in it:\n%s", asked, part)
		}
	}
	apitest.CheckRefusal(t, h.CallAs(account.Member, "POST", "/api/sessions", map[string]any{"cwd": "/w", "prompt": "x", "trust": "sha256:1", "without_settings": true}), 400, "invalid")
}

// Trusted folders are listed with what was seen of them, and distrusted by admins.
func TestTrustedFolders(t *testing.T) {
	h := newHarness(t)
	var list wire.TrustedFolderList
	h.CallAs(account.Admin, "GET", "/api/trusted_folders", nil).Decode(t, &list)
	want := wire.TrustedFolderList{Folders: []wire.TrustedFolder{{
		Folder: "/w", Digest: "sha256:1", By: "Ada", TrustedAt: 10,
		Items: []wire.FolderItem{{Kind: "hook", Danger: "runs", File: "/w/.claude/settings.json", Name: "Stop", Text: "touch a"}},
	}}}
	if !reflect.DeepEqual(list, want) {
		t.Errorf("got %+v, want %+v", list, want)
	}
	for body, status := range map[string]int{
		`{"folder":"/w","digest":"sha256:1"}`:           204,
		`{"folder":"/w","digest":"sha256:0"}`:           404,
		`{"folder":"/elsewhere","digest":"sha256:1"}`:   404,
		`{"folder":"/w"}`:                               400,
		`{"folder":"/w","digest":"sha256:1","and":"x"}`: 400,
	} {
		if got := h.Call("POST", "/api/trusted_folders/revoke", body, apitest.Bearer(h.Token(account.Admin))); got.Status != status {
			t.Errorf("%s: %d %s, want %d", body, got.Status, got.Body, status)
		}
	}
	apitest.CheckRefusal(t, h.CallAs(account.Member, "GET", "/api/trusted_folders", nil), 403, "forbidden")
	apitest.CheckRefusal(t, h.CallAs(account.Member, "POST", "/api/trusted_folders/revoke", map[string]any{"folder": "/w", "digest": "sha256:1"}), 403, "forbidden")
}
