package claude_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/claudetest"
)

// prewarm returns a scripted CLI that waits for its folder, and its record.
func prewarm(t *testing.T, start ...claudetest.Step) (spare *claude.Spare, home, record string) {
	t.Helper()
	home = t.TempDir()
	o, record := scriptedOptions(t, claudetest.Script{Start: start, Turn: []claudetest.Step{says("done")}})
	o.Dir, o.Environ = "", []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
	spare, err := claude.Prewarm(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { spare.Close() })
	return spare, home, record
}

// spareFolders returns the folders in which CLIs wait.
func spareFolders(t *testing.T, home string) []string {
	t.Helper()
	folders, err := filepath.Glob(filepath.Join(home, ".claude", "spares", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return folders
}

func TestSpareIsClaimed(t *testing.T) {
	t.Parallel()
	spare, home, record := prewarm(t, claudetest.Step{Reply: &claudetest.Reply{Subtype: "claim_session", Response: map[string]any{
		"cwd": "/real/app", "session_id": someUUID, "parked_ms": 1500, "initialize": map[string]any{"agents": []any{map[string]any{"name": "local"}}},
	}}})
	if len(spareFolders(t, home)) != 1 {
		t.Errorf("it waits in %q, want a folder of its own", spareFolders(t, home))
	}
	query, claimed, err := spare.Claim(t.Context(), claude.Claim{
		Dir: "/app", AddDirs: []string{"/other"}, PermissionMode: "plan", Model: "opus", AppendSystemPrompt: "Be brief.", Title: "A title",
		Agents: map[string]claude.Agent{"checker": {Description: "Checks", Prompt: "Check."}}, Env: map[string]string{"CLAUDE_CODE_OAUTH_TOKEN": "t"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if claimed.Dir != "/real/app" || claimed.SessionID != someUUID || claimed.Waited != 1.5e9 {
		t.Errorf("got %+v", claimed)
	}
	if hello, err := query.Client().Ready(t.Context()); err != nil || len(hello.Agents) != 1 || hello.Agents[0].Name != "local" || len(hello.Raw) == 0 {
		t.Errorf("Ready: got %+v %v, want that of the folder", hello, err)
	}
	if said, err := textOf(query.Query(t.Context(), "hello")); said != "done" || err != nil {
		t.Errorf("got %q %v", said, err)
	}
	if len(spareFolders(t, home)) != 0 {
		t.Errorf("left over: %q", spareFolders(t, home))
	}
	var requests []string
	for _, r := range claudetest.ReadRecords(t, record) {
		switch r.Kind {
		case "start":
			if !slices.Contains(r.Args, "--await-claim") {
				t.Errorf("the arguments are %q", r.Args)
			}
		case "control_request":
			requests = append(requests, string(r.Line))
		}
	}
	if len(requests) != 2 || !strings.Contains(requests[1], `"set_model","model":"opus"`) {
		t.Fatalf("the CLI got %q", requests)
	}
	for _, want := range []string{
		`"subtype":"claim_session"`, `"cwd":"/app"`, `"additional_directories":["/other"]`, `"permission_mode":"plan"`, `"append_system_prompt":"Be brief."`, `"title":"A title"`,
		`"agents":{"checker":{"description":"Checks","prompt":"Check."}}`, `"env":{"CLAUDE_CODE_OAUTH_TOKEN":"t"}`, `"sdk_mcp_servers":[]`, `"include_initialize":true`,
	} {
		if !strings.Contains(requests[0], want) {
			t.Errorf("%s is missing in %s", want, requests[0])
		}
	}
	if _, _, err := spare.Claim(t.Context(), claude.Claim{Dir: "/app"}); err == nil {
		t.Error("it was claimed twice")
	}
}

// A claim that fails ends the CLI: nothing runs in another way than was asked for.
func TestClaimThatFailsEndsTheCLI(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		claim   claude.Claim
		refuses string // subtype
	}{
		"refused":         {claude.Claim{Dir: "/app"}, "claim_session"},
		"model refused":   {claude.Claim{Dir: "/app", Model: "opus"}, "set_model"},
		"bypass":          {claude.Claim{Dir: "/app", PermissionMode: "bypassPermissions"}, ""},
		"relative folder": {claude.Claim{Dir: "app"}, ""},
		"no folder":       {claude.Claim{}, ""},
		"agent":           {claude.Claim{Dir: "/app", Agents: map[string]claude.Agent{"x": {}}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spare, home, record := prewarm(t, claudetest.Step{Reply: &claudetest.Reply{Subtype: test.refuses, Error: "project_settings_not_claimable"}})
			_, _, err := spare.Claim(t.Context(), test.claim)
			var refused *claude.RequestError
			if test.refuses != "" && !errors.As(err, &refused) || test.refuses == "" && !errors.Is(err, claude.ErrLaunch) {
				t.Errorf("got %v", err)
			}
			if got := kinds(t, record); got[len(got)-1] != "exit" || slices.Contains(got, "user") {
				t.Errorf("the CLI saw %q, want its end", got)
			}
			if len(spareFolders(t, home)) != 0 {
				t.Errorf("left over: %q", spareFolders(t, home))
			}
		})
	}
}

func TestPrewarmRefuses(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for name, change := range map[string]func(*claude.Options){
		"resume":   func(o *claude.Options) { o.Resume = someUUID },
		"continue": func(o *claude.Options) { o.Continue = true },
		"id":       func(o *claude.Options) { o.SessionID = someUUID },
		"too old":  func(o *claude.Options) { o.Environ = append(o.Environ, "CLAUDETEST_VERSION=2.1.328") },
	} {
		o, _ := scriptedOptions(t, claudetest.Script{})
		o.Dir, o.Environ = "", []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
		change(&o)
		want := claude.ErrLaunch
		if name == "too old" {
			want = claude.ErrTooOld
		}
		if _, err := claude.Prewarm(t.Context(), o); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", name, err, want)
		}
	}
	if len(spareFolders(t, home)) != 0 {
		t.Errorf("left over: %q", spareFolders(t, home))
	}
}

// A real CLI works in the folder that it is given, also with a server of this process.
func TestRealCLIIsClaimed(t *testing.T) {
	t.Parallel()
	if os.Getenv("SAYSO_TEST_ALL") == "" {
		return // TestSpareIsClaimed shows the same with the scripted CLI
	}
	const variable = "SAYSO_TEST_CLAUDE_NEW"
	o, home := realOptions(t, realCLI(t, variable, bothCLIVersions[variable]))
	folder, refused := o.Dir, t.TempDir()
	o.Dir, o.SettingSources = "", nil
	spare, err := claude.Prewarm(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	query, claimed, err := spare.Claim(t.Context(), claude.Claim{Dir: folder, PermissionMode: "acceptEdits", Title: "A title"})
	if err != nil {
		t.Fatal(err)
	}
	if real, err := filepath.EvalSymlinks(folder); claimed.Dir != real || claimed.SessionID == "" || claimed.Waited <= 0 {
		t.Errorf("got %+v, want the folder %s %v", claimed, real, err)
	}
	if said, err := textOf(query.Query(t.Context(), script(`[[{"tool":"Bash","input":{"command":"touch made"}}],[{"text":"claimed"}]]`))); said != "claimed" || err != nil {
		t.Errorf("got %q %v", said, err)
	}
	if _, err := os.Stat(filepath.Join(folder, "made")); err != nil {
		t.Error("the tool did not run in the folder")
	}
	if s := find(t, claude.NewSavedFolder(filepath.Join(home, ".claude")), claimed.SessionID); s.Title != "A title" {
		t.Errorf("got %+v", s)
	}

	if err := os.MkdirAll(filepath.Join(refused, ".claude"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(refused, ".claude", "settings.json"), []byte(`{"env":{"A":"b"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	spare, err = claude.Prewarm(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var refusal *claude.RequestError
	if _, _, err := spare.Claim(t.Context(), claude.Claim{Dir: refused}); !errors.As(err, &refusal) {
		t.Errorf("a folder that changes the environment: got %v, want a refusal", err)
	}
}
