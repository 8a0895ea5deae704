package main_test

import (
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/claude/claudetest"
	"github.com/sayso-dev/sayso/cmd/blackbox"
	"github.com/sayso-dev/sayso/store/postgrestest"
)

// serverPair starts two servers on one database, each with a machine of its own.
func serverPair(t *testing.T, script claudetest.Script) (a, b *server) {
	t.Helper()
	dsn := postgrestest.Database(t)
	first, second := newHarness(t, script), newHarness(t, script)
	return first.start("--database", dsn, "--node-id", "a"), second.start("--database", dsn, "--node-id", "b")
}

// draftOf fits the frame of a draft in a session.
func draftOf(sessionID string, value any) func(map[string]any) bool {
	return func(f map[string]any) bool {
		return f["type"] == "draft" && f["session_id"] == sessionID && f["value"] == value
	}
}

// TestServersTellEachOther: what changes on one server besides sessions reaches the tabs of another.
func TestServersTellEachOther(t *testing.T) {
	t.Parallel()
	a, b := serverPair(t, claudetest.Script{Turn: []claudetest.Step{{Text: "done"}}})
	id := a.session("one")
	a.reaches(id, "user_turn")

	here, there := a.tab(), b.tab()
	there.until(t, waitLimit, "the tab is served", ofType("active_processes"))
	here.say(t, map[string]any{"type": "draft", "session_id": id, "value": "half a"})
	there.until(t, waitLimit, "the draft is on the other server", draftOf(id, "half a"))
	here.say(t, map[string]any{"type": "draft", "session_id": id, "value": nil})
	there.until(t, waitLimit, "the draft is cleared on the other server", draftOf(id, nil))

	a.do("PATCH", "/api/bookmarks", map[string]any{"bookmarks": []any{map[string]any{"session_id": id, "pinned": true}}}, nil)
	there.until(t, waitLimit, "the bookmark is on the other server", func(f map[string]any) bool {
		list, _ := f["bookmarks"].([]any)
		one, _ := append(list, nil)[0].(map[string]any)
		return f["type"] == "bookmarks" && one["session_id"] == id && one["pinned_at"] != nil
	})

	// A limit is a setting of all servers, and counts what runs on all.
	a.do("PATCH", "/api/settings", map[string]any{"name": "user_sessions", "value": "1"}, nil)
	eventually(t, "the other server refuses a second session", func() bool {
		var refused struct {
			Error struct{ Reason string } `json:"error"`
		}
		status := b.status("POST", "/api/sessions", map[string]any{"cwd": b.h.work, "prompt": "two"}, &refused)
		return status == 429 && strings.HasPrefix(refused.Error.Reason, "limit_")
	})

	// Of two starts at the same instant, one gets what is left.
	type limits struct {
		Mine struct {
			Limits struct {
				Sessions int `json:"sessions"`
			} `json:"limits"`
			Use struct {
				Sessions int `json:"sessions"`
			} `json:"use"`
		} `json:"mine"`
	}
	var before limits
	a.do("GET", "/api/limits", nil, &before)
	a.do("PATCH", "/api/settings", map[string]any{"name": "user_sessions", "value": strconv.Itoa(before.Mine.Use.Sessions + 1)}, nil)
	eventually(t, "the other server knows the limit", func() bool {
		var now limits
		b.do("GET", "/api/limits", nil, &now)
		return now.Mine.Limits.Sessions == before.Mine.Use.Sessions+1
	})
	starts := make(chan int, 2)
	for _, s := range []*server{a, b} {
		go func() {
			var refused *blackbox.StatusError
			err := s.Do(t.Context(), "POST", "/api/sessions", map[string]any{"cwd": s.h.work, "prompt": "race"}, nil)
			switch {
			case err == nil:
				starts <- 200
			case errors.As(err, &refused):
				starts <- refused.Status
			default:
				starts <- 0
			}
		}()
	}
	if one, other := <-starts, <-starts; one+other != 200+429 {
		t.Errorf("two starts for one slot: %d and %d", one, other)
	}

	var made struct {
		Token   string `json:"token"`
		TokenID string `json:"token_id"`
	}
	a.do("POST", "/api/tokens", map[string]any{"name": "script"}, &made)
	guest := b.as(made.Token).tab()
	guest.until(t, waitLimit, "the tab of the token is served", ofType("active_processes"))
	a.do("DELETE", "/api/tokens/"+made.TokenID, nil, nil)
	if err := guest.close(t, waitLimit); err == nil {
		t.Error("the tab of a revoked token ended without a reason")
	}
}

// TestAnyServerServesAnySession: a session that one server drives is used on the other, as if it were
// there, and each answer reaches the CLI once.
func TestAnyServerServesAnySession(t *testing.T) {
	t.Parallel()
	a, b := serverPair(t, claudetest.Script{Turn: []claudetest.Step{bash, {Text: "done"}}})
	id := a.session("one")
	first := b.asks(id)
	there, here := b.tab(), a.tab()
	there.until(t, waitLimit, "the session can be reached", func(f map[string]any) bool {
		list, _ := f["processes"].([]any)
		one, _ := append(list, nil)[0].(map[string]any)
		return one["session_id"] == id && one["unreachable"] == nil || unreachable(id, false)(f)
	})
	b.allow(first)
	b.reaches(id, "user_turn")
	b.do("POST", "/api/sessions/"+id+"/messages", map[string]any{"text": "two"}, nil)
	b.allow(b.asks(id))
	b.reaches(id, "user_turn")
	if all := b.troubles(); len(all) > 0 {
		t.Errorf("the other server reports %v", all)
	}
	if n := len(a.h.records("control_response")); n != 2 {
		t.Errorf("the CLI got %d answers, want 2", n)
	}

	// Who looks at it on one server is seen on the other.
	there.say(t, map[string]any{"type": "subscribe", "session_id": id, "after": 0})
	here.say(t, map[string]any{"type": "subscribe", "session_id": id, "after": 0})
	there.say(t, map[string]any{"type": "typing", "session_id": id})
	here.until(t, waitLimit, "somebody types on the other server", func(f map[string]any) bool {
		list, _ := f["viewers"].([]any)
		one, _ := append(list, nil)[0].(map[string]any)
		return f["type"] == "presence" && one["typing"] == true
	})

	must(t, os.WriteFile(filepath.Join(a.h.work, "notes.txt"), []byte("there"), 0o600))
	var listed struct {
		Entries []struct{ Name string } `json:"entries"`
	}
	b.do("GET", "/api/sessions/"+id+"/files", nil, &listed)
	if len(listed.Entries) != 1 || listed.Entries[0].Name != "notes.txt" {
		t.Errorf("the files of the session are %+v", listed)
	}
	var refused struct {
		Error struct{ Reason string } `json:"error"`
	}
	if status := b.status("GET", "/api/sessions/"+id+"/context", nil, &refused); status != 422 || refused.Error.Reason != "context_unreported" {
		t.Errorf("what the CLI does not report: %d %+v", status, refused)
	}
	b.do("POST", "/api/sessions/"+id+"/permission_mode", map[string]any{"permission_mode": "plan"}, nil)
	eventually(t, "the mode is set", func() bool { return a.process(id).PermissionMode == "plan" })
	b.do("POST", "/api/sessions/"+id+"/kill", map[string]any{}, nil)
	a.reaches(id, "dead")
	b.do("POST", "/api/sessions/"+id+"/resume", map[string]any{}, nil)
	b.reaches(id, "user_turn")
	if pid := b.pid(id); !alive(pid) {
		t.Errorf("the CLI %d does not run", pid)
	}
}

// TestServersBehindPoolerInTransactionMode: they say that they poll, an answer on one reaches Claude on the
// other, and what is deleted on one disappears from the tabs of the other.
func TestServersBehindPoolerInTransactionMode(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.NewPooler(t, postgrestest.Database(t), "transaction")
	script := claudetest.Script{Turn: []claudetest.Step{bash, {Text: "done"}}}
	a := newHarness(t, script).start("--database", dsn, "--node-id", "a")
	b := newHarness(t, script).start("--database", dsn, "--node-id", "b")
	eventually(t, "the server says that it polls", a.logged("no notifications arrive through the connection pooler"))
	id := a.session("one")
	b.allow(b.asks(id))
	b.reaches(id, "user_turn")
	a.h.answeredOnce(1)

	here, there := a.tab(), b.tab()
	there.until(t, waitLimit, "the tab is served", ofType("active_processes"))
	here.say(t, map[string]any{"type": "draft", "session_id": id, "value": "half a"})
	there.until(t, waitLimit, "the draft is on the other server", draftOf(id, "half a"))
	here.say(t, map[string]any{"type": "draft", "session_id": id, "value": nil})
	there.until(t, waitLimit, "the draft is gone on the other server", draftOf(id, nil))
	a.do("DELETE", "/api/sessions/"+id, nil, nil)
	there.until(t, waitLimit, "the session is gone on the other server", func(f map[string]any) bool {
		return f["type"] == "process_state" && f["session_id"] == id && f["deleted"] == true
	})
}

// TestMachineOfAnotherServer: what New session, Terminal sessions and Grants show of a machine, and change on
// it, also works on a server that does not drive it, and a new name reaches its ended sessions.
func TestMachineOfAnotherServer(t *testing.T) {
	t.Parallel()
	a, b := serverPair(t, claudetest.Script{})
	asks := claudetest.Step{Ask: map[string]any{"tool_name": "Bash", "input": map[string]any{"command": "touch a"}, "permission_suggestions": []any{
		map[string]any{"type": "addRules", "rules": []any{map[string]any{"toolName": "Bash", "ruleContent": "touch a"}}, "behavior": "allow", "destination": "session"},
	}}}
	f := newFar(a, newHarness(t, claudetest.Script{Turn: []claudetest.Step{asks, {Text: "done"}}}))
	signedOut := filepath.Join(filepath.Dir(f.work), "claude")
	must(t, os.WriteFile(signedOut, []byte("#!/bin/sh\n[ \"$1\" = auth ] && exit 1\nexec '"+f.claude+"' \"$@\"\n"), 0o700))
	f.claude = signedOut
	f.runs(a, a.URL)
	of := "runner_id=" + f.id
	var environment struct {
		WorkspaceRoots []string `json:"workspace_roots"`
		Claude         struct {
			Problem string `json:"problem"`
		} `json:"claude"`
	}
	eventually(t, "the other server reaches the machine", func() bool {
		return b.Do(t.Context(), "GET", "/api/environment?"+of, nil, &environment) == nil
	})
	if !slices.Equal(environment.WorkspaceRoots, []string{f.work}) {
		t.Errorf("roots there: %q", environment.WorkspaceRoots)
	}
	if want := "Claude is not signed in on build-02. Run " + signedOut + " there once"; !strings.HasPrefix(environment.Claude.Problem, want) {
		t.Errorf("the problem there is %q", environment.Claude.Problem)
	}
	var runners struct {
		Runners []struct {
			Name string    `json:"name"`
			Load *struct{} `json:"load"`
		} `json:"runners"`
	}
	b.do("GET", "/api/runners", nil, &runners)
	for _, r := range runners.Runners {
		if r.Load == nil {
			t.Errorf("the load of %s is not known on the other server", r.Name)
		}
	}
	repo := filepath.Join(f.work, "repo")
	must(t, os.Mkdir(repo, 0o700))
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "--allow-empty", "-m", "first"}} {
		git := exec.Command("git", args...)
		git.Dir, git.Env = repo, f.env
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	var folders struct {
		Folders []struct {
			Path string `json:"path"`
		} `json:"folders"`
	}
	b.do("GET", "/api/folders?"+of+"&prefix="+url.QueryEscape(f.work+"/re"), nil, &folders)
	if len(folders.Folders) != 1 || folders.Folders[0].Path != repo {
		t.Errorf("folders there: %+v", folders)
	}
	var tree struct {
		CWD string `json:"cwd"`
	}
	b.do("POST", "/api/worktrees", map[string]any{"runner_id": f.id, "cwd": repo, "branch": "topic", "base": "main"}, &tree)
	var info struct {
		Git struct {
			Branch string `json:"branch"`
		} `json:"git"`
	}
	b.do("GET", "/api/folders/info?"+of+"&cwd="+url.QueryEscape(tree.CWD), nil, &info)
	if info.Git.Branch != "topic" {
		t.Errorf("the worktree %s is %+v", tree.CWD, info)
	}

	var made struct {
		SessionID string `json:"session_id"`
	}
	b.do("POST", "/api/sessions", map[string]any{"runner_id": f.id, "cwd": f.work, "prompt": "go"}, &made)
	b.always(made.SessionID, "session")
	b.reaches(made.SessionID, "user_turn")
	var models struct {
		CLIVersion string `json:"cli_version"`
	}
	b.do("GET", "/api/models?"+of, nil, &models)
	if models.CLIVersion == "" {
		t.Error("the machine's CLI offers no models after a session")
	}

	saved := uuid.NewString()
	folder := filepath.Join(filepath.Dir(f.work), ".claude", "projects", "-w")
	must(t, os.MkdirAll(folder, 0o700))
	must(t, os.WriteFile(filepath.Join(folder, saved+".jsonl"), []byte(`{"type":"user","cwd":"`+f.work+`","uuid":"`+uuid.NewString()+`","message":{"role":"user","content":"hello"}}`+"\n"), 0o600))
	var terminal struct {
		Sessions []struct {
			SessionID string `json:"session_id"`
			Machine   string `json:"machine"`
		} `json:"sessions"`
	}
	b.do("GET", "/api/terminal_sessions", nil, &terminal)
	if len(terminal.Sessions) != 1 || terminal.Sessions[0].SessionID != saved || terminal.Sessions[0].Machine != "build-02" {
		t.Errorf("terminal sessions: %+v", terminal)
	}
	var page struct {
		Items []json.RawMessage `json:"items"`
	}
	if b.do("GET", "/api/terminal_sessions/"+saved+"/transcript", nil, &page); len(page.Items) != 1 {
		t.Errorf("its transcript: %s", page.Items)
	}

	settings := filepath.Join(f.work, ".claude", "settings.local.json")
	must(t, os.MkdirAll(filepath.Dir(settings), 0o700))
	must(t, os.WriteFile(settings, []byte(`{"permissions":{"allow":["Bash(uptime)"]}}`), 0o600))
	var revoked struct {
		Revoked int      `json:"revoked"`
		Asking  int      `json:"asking"`
		Until   []string `json:"until"`
	}
	granted := b.grants("").Grants
	if len(granted) != 1 || granted[0].State != "in_force" {
		t.Fatalf("granted %+v", granted)
	}
	b.do("POST", "/api/grants/revoke", map[string]any{"grant_id": granted[0].GrantID}, &revoked)
	if revoked.Revoked != 1 || revoked.Asking != 1 {
		t.Errorf("revoked: %+v", revoked)
	}
	found := b.grants("").Found
	if len(found) != 1 || found[0].Rule != "Bash(uptime)" || found[0].File != settings {
		t.Fatalf("found %+v", found)
	}
	b.do("POST", "/api/grants/revoke", map[string]any{"found": found[0]}, nil)
	if text, err := os.ReadFile(settings); err != nil || strings.Contains(string(text), "uptime") || len(b.grants("").Found) != 0 {
		t.Errorf("after revoking: %s, %v", text, err)
	}

	b.do("POST", "/api/sessions/"+made.SessionID+"/kill", map[string]any{}, nil)
	b.reaches(made.SessionID, "dead")
	tab := b.tab()
	named := func(name string) func(map[string]any) bool {
		return func(frame map[string]any) bool {
			list, _ := frame["processes"].([]any)
			return slices.ContainsFunc(append(list, frame), func(p any) bool {
				one, _ := p.(map[string]any)
				return one["session_id"] == made.SessionID && one["node_id"] == name
			})
		}
	}
	tab.until(t, waitLimit, "the ended session and its machine", named("build-02"))
	a.do("PATCH", "/api/runners/"+f.id, map[string]any{"name": "atlas"}, nil)
	tab.until(t, waitLimit, "the new name of its machine", named("atlas"))
}

// TestRunnerMovesToAnotherServer: the server that drives a runner on another host is paused with a form
// open, and another takes it: the answer reaches the CLI once, and what was paused writes nothing when
// it continues. Then the other one is killed, and the first has the runner again.
func TestRunnerMovesToAnotherServer(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Database(t)
	a := newHarness(t, claudetest.Script{}).asProcesses().start("--database", dsn, "--node-id", "a")
	b := newHarness(t, claudetest.Script{}).asProcesses().start("--database", dsn, "--node-id", "b")
	f := newFar(a, newHarness(t, claudetest.Script{Turn: []claudetest.Step{bash, {Text: "done"}}}))
	f.runs(a, a.URL+","+b.URL)

	var made struct {
		SessionID string `json:"session_id"`
	}
	begin := map[string]any{"runner_id": f.id, "cwd": f.work, "prompt": "one"}
	eventually(t, "the other server starts a session there", func() bool { return b.Do(t.Context(), "POST", "/api/sessions", begin, &made) == nil })
	id := made.SessionID
	question := b.asks(id)
	pid := a.pid(id)

	a.signal(syscall.SIGSTOP)
	began := time.Now()
	b.allow(question)
	b.reaches(id, "user_turn")
	t.Logf("another server had the runner %v after the first was paused", time.Since(began))
	a.signal(syscall.SIGCONT)
	send := func(s *server) { // refused while nobody has the runner
		eventually(t, "a message is taken", func() bool {
			return s.status("POST", "/api/sessions/"+id+"/messages", map[string]any{"text": "again"}, nil) < 300
		})
	}
	send(a)
	question = a.asks(id)

	local := b.session("on the server's own host")
	must(t, b.cmd.Process.Kill())
	began = time.Now()
	a.allow(question)
	a.reaches(id, "user_turn")
	t.Logf("the first server had the runner again %v after the other was killed", time.Since(began))
	f.answeredOnce(2)
	if now := a.pid(id); now != pid || !alive(pid) {
		t.Errorf("the CLI is %d, was %d", now, pid)
	}

	// What ran on the host of the server that was killed waits for it.
	var refused struct {
		Error struct{ Reason string } `json:"error"`
	}
	eventually(t, "a session of a server that is gone is unreachable", func() bool {
		status := a.status("POST", "/api/sessions/"+local+"/resume", map[string]any{}, &refused)
		return status == 409 && refused.Error.Reason == "runner_unreachable"
	})
	tab := a.tab()
	tab.until(t, waitLimit, "the tab shows that it is", func(frame map[string]any) bool {
		list, _ := frame["processes"].([]any)
		for _, p := range list {
			if one, _ := p.(map[string]any); one["session_id"] == local {
				return one["unreachable"] == true
			}
		}
		return false
	})
}

// TestRealSessionOnAnotherServer is the same with the real CLI, which does what was allowed on a server
// that did not drive it, and then once more on the one that took its runner.
func TestRealSessionOnAnotherServer(t *testing.T) {
	onCLIs(t, func(t *testing.T, version string) {
		dsn := postgrestest.Database(t)
		a := newHarness(t, claudetest.Script{}).asProcesses().start("--database", dsn, "--node-id", "a")
		b := newHarness(t, claudetest.Script{}).start("--database", dsn, "--node-id", "b")
		host, _ := realHarness(t, version)
		f := newFar(a, host)
		f.runs(a, a.URL+","+b.URL)
		script := func(file string) string {
			return "```script\n" + `[[{"tool":"Bash","input":{"command":"echo once >> ` + file + `","description":"d"}}],[{"text":"done"}]]` + "\n```"
		}
		var made struct {
			SessionID string `json:"session_id"`
		}
		begin := map[string]any{"runner_id": f.id, "cwd": f.work, "prompt": script("other")}
		eventually(t, "the other server starts a session there", func() bool { return b.Do(t.Context(), "POST", "/api/sessions", begin, &made) == nil })
		id := made.SessionID
		b.allow(b.asks(id))
		b.reaches(id, "user_turn")
		b.do("POST", "/api/sessions/"+id+"/messages", map[string]any{"text": script("killed")}, nil)
		question, pid := b.asks(id), b.pid(id)
		must(t, a.cmd.Process.Kill())
		b.allow(question)
		b.reaches(id, "user_turn")
		for _, file := range []string{"other", "killed"} {
			if text, err := os.ReadFile(filepath.Join(f.work, file)); err != nil || string(text) != "once\n" {
				t.Errorf("%s: %q, %v", file, text, err)
			}
		}
		if now := b.pid(id); now != pid {
			t.Errorf("the CLI is %d, was %d", now, pid)
		}
	})
}
