package wsapi_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/review"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wsapi"
)

// calls are tool calls in /work/one with the level that is told of them.
var calls = []struct {
	name   string
	level  review.Level
	change func(*pending.Request)
}{
	{"harmless", review.Low, call("Bash", `{"command":"cat a && ls -la"}`)},
	{"writes", review.Medium, call("Bash", `{"command":"touch a"}`)},
	{"subscript", review.Medium, call("Bash", `{"command":"[[ -v 'a[$(id)]' ]]"}`)},
	{"arithmetic", review.Medium, call("Bash", `{"command":"let 'x=a[$(id)]'"}`)},
	{"of_the_folder", review.Medium, call("Bash", `{"command":"./ls"}`)},
	{"unknown_field", review.Medium, call("Bash", `{"command":"ls","shell":"./x"}`)},
	{"delete", review.Medium, call("Bash", `{"command":"rm a"}`)},
	{"red", review.High, call("Bash", `{"command":"rm -rf build"}`)},
	{"broken", review.Medium, call("Bash", `{"command":"ls ("}`)},
	{"read", review.Low, call("Read", `{"file_path":"/work/one/a.go"}`)},
	{"secret", review.Medium, call("Read", `{"file_path":"/work/one/.env"}`)},
	{"outside", review.Medium, call("Read", `{"file_path":"/work/two/a.go"}`)},
	{"link", review.Medium, func(r *pending.Request) {
		call("Read", `{"file_path":"/work/one/a.go"}`)(r)
		r.BlockedPath = "/home/ada/.ssh/id_rsa"
	}},
	{"blocked_inside", review.Low, func(r *pending.Request) {
		call("Bash", `{"command":"ls"}`)(r)
		r.BlockedPath = "sub/../a.go"
	}},
	{"blocked_outside", review.Medium, func(r *pending.Request) {
		call("Bash", `{"command":"ls"}`)(r)
		r.BlockedPath = "../two/a.go"
	}},
	{"write", review.Medium, call("Write", `{"file_path":"/work/one/a.go","content":"x"}`)},
	{"unknown", review.Medium, call("mcp__x__look", `{}`)},
	{"another_asker", review.Medium, func(r *pending.Request) {
		call("Bash", `{"command":"ls"}`)(r)
		r.Source = pending.SourceHook
	}},
}

func call(tool, input string) func(*pending.Request) {
	return func(r *pending.Request) {
		r.ToolName, r.ToolInput, r.InputHash = tool, json.RawMessage(input), pending.HashInput(json.RawMessage(input))
	}
}

// TestRiskAndBatch: each request says in frames and lists how much harm it can do,
// and with others only what is of low risk can be approved.
func TestRiskAndBatch(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for _, c := range calls {
		t.Run(c.name, func(t *testing.T) {
			id := h.session("one")
			r, answered := h.ask(id, c.name, c.change)
			var list wsapi.PendingList
			h.as(account.Viewer, "GET", "/api/pending", nil).into(t, &list)
			var ses wsapi.Session
			h.as(account.Viewer, "GET", "/api/sessions/"+id, nil).into(t, &ses)
			if len(list.PendingRequests) != 1 || list.PendingRequests[0].Risk != c.level || ses.ProcessState.PendingRequests[0].Risk != c.level {
				t.Fatalf("risk %q and %q, want %q", list.PendingRequests[0].Risk, ses.ProcessState.PendingRequests[0].Risk, c.level)
			}
			give := func(more map[string]any) answer {
				body := map[string]any{"request_type": "tool_approval", "decision": "allow", "batch": true}
				for k, v := range more {
					body[k] = v
				}
				return h.as(account.Member, "POST", "/api/pending/"+r.RequestID+"/response", body)
			}
			checkRefusal(t, give(map[string]any{"request_type": "tool_approval", "decision": "deny"}), 400, "invalid")
			checkRefusal(t, give(map[string]any{"updated_input": map[string]any{"command": "ls"}}), 400, "invalid")
			checkRefusal(t, give(map[string]any{"updated_permissions": []any{}}), 400, "invalid")
			if c.level != review.Low {
				checkRefusal(t, give(nil), 422, "not_low_risk")
				// Nothing is lost: on its own it can be decided.
				if got := give(map[string]any{"batch": false}); got.status != 200 {
					t.Fatalf("on its own: %d %s", got.status, got.body)
				}
			} else if got := give(nil); got.status != 200 {
				t.Fatalf("got %d %s", got.status, got.body)
			}
			if got := <-answered; got.Status != pending.Answered {
				t.Errorf("the asker heard %s", got.Status)
			}
		})
	}
	r, _ := h.ask(h.session("two"), "question", func(r *pending.Request) {
		r.RequestType, r.ToolName = pending.AskUserQuestion, "AskUserQuestion"
		r.Form = &pending.Form{Questions: []pending.Question{{ID: "q", Question: "Which?", Kind: pending.Text}}}
	})
	var list wsapi.PendingList
	h.as(account.Viewer, "GET", "/api/pending", nil).into(t, &list)
	if got := list.PendingRequests[0].Risk; got != "" {
		t.Errorf("the risk of a question is %q", got)
	}
	checkRefusal(t, h.as(account.Member, "POST", "/api/pending/"+r.RequestID+"/response", map[string]any{"request_type": "ask_user_question", "batch": true, "responses": []any{map[string]any{"id": "q", "text": "x"}}}), 400, "invalid")
}

// TestOneBatch: who approves several at once names them, and the server looks that
// they are no more than a person reads, and of one tool.
func TestOneBatch(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	one, two := h.session("one"), h.session("two")
	ask := func(sessionID, key, tool, input string) string {
		r, _ := h.ask(sessionID, key, call(tool, input))
		return r.RequestID
	}
	ls, pwd := ask(one, "ls", "Bash", `{"command":"ls"}`), ask(two, "pwd", "Bash", `{"command":"pwd"}`)
	read := ask(one, "read", "Read", `{"file_path":"/work/one/a.go"}`)
	many := []string{ls}
	for i := range 20 {
		many = append(many, ask(one, fmt.Sprint(i), "Bash", `{"command":"ls"}`))
	}
	give := func(id string, batch bool, together ...string) answer {
		return h.as(account.Member, "POST", "/api/pending/"+id+"/response", map[string]any{"request_type": "tool_approval", "decision": "allow", "batch": batch, "together": together})
	}
	for name, together := range map[string][]string{
		"another tool":    {ls, read},
		"more than 20":    many,
		"one named twice": {ls, pwd, pwd},
		"not this one":    {pwd},
	} {
		t.Run(name, func(t *testing.T) {
			checkRefusal(t, give(ls, true, together...), 422, "not_one_batch")
		})
	}
	checkRefusal(t, give(ls, false, ls, pwd), 400, "invalid")
	// One that is no more is none that is approved.
	for _, id := range []string{ls, pwd} {
		if got := give(id, true, ls, pwd, "7d1fd1f6-5d27-4e5e-9f9c-3b6a3f9d0d11"); got.status != 200 {
			t.Errorf("together: %d %s", got.status, got.body)
		}
	}
	if got := give(many[1], true, many[1:]...); got.status != 200 {
		t.Errorf("twenty: %d %s", got.status, got.body)
	}
}

// BenchmarkStateOfManyRequests makes the frame of a session with 200 open requests,
// whose levels are known after the first.
func BenchmarkStateOfManyRequests(b *testing.B) {
	p := session.ProcessState{SessionID: "one", CWD: "/work/one"}
	for i := range 200 {
		r := bashRequest()
		r.RequestID = fmt.Sprint(i)
		p.Requests = append(p.Requests, r)
	}
	b.Run("new", func(b *testing.B) {
		for range b.N {
			wsapi.WireProcessState(p)
		}
	})
	b.Run("known", func(b *testing.B) {
		tell := wsapi.WireAgain()
		tell(p)
		b.ResetTimer()
		for range b.N {
			tell(p)
		}
	})
}

func TestLevelsRememberedAreBounded(t *testing.T) {
	t.Parallel()
	many := make([]pending.Request, 3*wsapi.MaxLevels)
	for i := range many {
		many[i] = pending.Request{RequestID: fmt.Sprint(i), RequestType: pending.ToolApproval}
	}
	if n := wsapi.LevelsRemembered(many, "/work"); n > wsapi.MaxLevels || n == 0 {
		t.Errorf("%d are remembered", n)
	}
}

// TestLevelFollowsLinks: a file of the folder that leads elsewhere, to a secret or to
// the server's own state is not of low risk to read, by whatever tool.
func TestLevelFollowsLinks(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cwd := root + "/one"
	for _, file := range []string{cwd + "/a.go", cwd + "/sub/b.go", cwd + "/.env", cwd + "/state/sayso.db", root + "/two/c.go"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"out.go": "../two/c.go", "secret.go": ".env", "two": "../two", "in.go": "a.go", "inside": "sub", "db.go": "state/sayso.db", "nowhere.go": "/nowhere/x"} {
		if err := os.Symlink(to, filepath.Join(cwd, name)); err != nil {
			t.Fatal(err)
		}
	}
	for level, calls := range map[review.Level][][2]string{
		review.Low: {{"Bash", "cat a.go in.go inside/b.go sub/*.go missing.go"}, {"Bash", "ls"}, {"Bash", "cd inside && cat b.go"}, {"Read", "in.go"}, {"Read", "inside/b.go"}, {"LS", "sub"}, {"Bash", "diff a.go in.go"}},
		review.Medium: {{"Bash", "cat out.go"}, {"Bash", "cat secret.go"}, {"Bash", "cat two/c.go"}, {"Bash", "cat *.go"}, {"Bash", "cat o*.go"}, {"Bash", "cat db.go"}, {"Bash", "cat nowhere.go"}, {"Bash", "cd two && cat c.go"}, {"Bash", "cat state/sayso.db"}, {"Bash", "grep -rn TODO ."}, {"Bash", "find two"}, {"Bash", "for f in out.go; do cat $f; done"}, {"Bash", "cat < out.go"}, {"Bash", "diff sub state"},
			{"Read", "out.go"}, {"Read", "secret.go"}, {"Read", "two/c.go"}, {"Read", "db.go"}, {"Read", cwd + "/state/sayso.db"}, {"LS", "two"}, {"LS", "state"}},
	} {
		for _, c := range calls {
			field := map[string]string{"Bash": "command", "Read": "file_path", "LS": "path"}[c[0]]
			input, _ := json.Marshal(map[string]string{field: c[1]}) // of strings alone
			r := pending.Request{RequestID: c[1], RequestType: pending.ToolApproval, Source: pending.SourceClaude, ToolName: c[0], ToolInput: input}
			if got := wsapi.LevelOf(r, cwd, cwd+"/state"); got != level {
				t.Errorf("%s %s: %s, want %s", c[0], c[1], got, level)
			}
		}
	}
}
