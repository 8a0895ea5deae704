package main_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

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

// TestServersTellEachOther: what changes on one server besides sessions reaches the tabs of another.
func TestServersTellEachOther(t *testing.T) {
	t.Parallel()
	a, b := serverPair(t, claudetest.Script{Turn: []claudetest.Step{{Text: "done"}}})
	id := a.session("one")
	a.reaches(id, "user_turn")

	here, there := a.tab(), b.tab()
	there.until(t, waitLimit, "the tab is served", ofType("active_processes"))
	here.say(t, map[string]any{"type": "draft", "session_id": id, "value": "half a"})
	draft := func(value any) func(map[string]any) bool {
		return func(f map[string]any) bool {
			return f["type"] == "draft" && f["session_id"] == id && f["value"] == value
		}
	}
	there.until(t, waitLimit, "the draft is on the other server", draft("half a"))
	here.say(t, map[string]any{"type": "draft", "session_id": id, "value": nil})
	there.until(t, waitLimit, "the draft is cleared on the other server", draft(nil))

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
