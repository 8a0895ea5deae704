package httpapi_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/internal/review"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/wire"
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
	h := newHarness(t)
	for _, c := range calls {
		t.Run(c.name, func(t *testing.T) {
			id := h.NewSession("one")
			r, answered := h.Ask(id, c.name, c.change)
			var list wire.PendingList
			h.CallAs(account.Viewer, "GET", "/api/pending", nil).Decode(t, &list)
			var ses wire.Session
			h.CallAs(account.Viewer, "GET", "/api/sessions/"+id, nil).Decode(t, &ses)
			if len(list.PendingRequests) != 1 || list.PendingRequests[0].Risk != c.level || ses.ProcessState.PendingRequests[0].Risk != c.level {
				t.Fatalf("risk %q and %q, want %q", list.PendingRequests[0].Risk, ses.ProcessState.PendingRequests[0].Risk, c.level)
			}
			give := func(more map[string]any) apitest.Response {
				body := map[string]any{"request_type": "tool_approval", "decision": "allow", "batch": true}
				for k, v := range more {
					body[k] = v
				}
				return h.CallAs(account.Member, "POST", "/api/pending/"+r.RequestID+"/response", body)
			}
			apitest.CheckRefusal(t, give(map[string]any{"request_type": "tool_approval", "decision": "deny"}), 400, "invalid")
			apitest.CheckRefusal(t, give(map[string]any{"updated_input": map[string]any{"command": "ls"}}), 400, "invalid")
			apitest.CheckRefusal(t, give(map[string]any{"updated_permissions": []any{}}), 400, "invalid")
			if c.level != review.Low {
				apitest.CheckRefusal(t, give(nil), 422, "not_low_risk")
				// Nothing is lost: on its own it can be decided.
				if got := give(map[string]any{"batch": false}); got.Status != 200 {
					t.Fatalf("on its own: %d %s", got.Status, got.Body)
				}
			} else if got := give(nil); got.Status != 200 {
				t.Fatalf("got %d %s", got.Status, got.Body)
			}
			if got := <-answered; got.Status != pending.Answered {
				t.Errorf("the asker heard %s", got.Status)
			}
		})
	}
	r, _ := h.Ask(h.NewSession("two"), "question", func(r *pending.Request) {
		r.RequestType, r.ToolName = pending.AskUserQuestion, "AskUserQuestion"
		r.Form = &pending.Form{Questions: []pending.Question{{ID: "q", Question: "Which?", Kind: pending.Text}}}
	})
	var list wire.PendingList
	h.CallAs(account.Viewer, "GET", "/api/pending", nil).Decode(t, &list)
	if got := list.PendingRequests[0].Risk; got != "" {
		t.Errorf("the risk of a question is %q", got)
	}
	apitest.CheckRefusal(t, h.CallAs(account.Member, "POST", "/api/pending/"+r.RequestID+"/response", map[string]any{"request_type": "ask_user_question", "batch": true, "responses": []any{map[string]any{"id": "q", "text": "x"}}}), 400, "invalid")
}

// TestOneBatch: who approves several at once names them, and the server looks that
// they are no more than a person reads, and of one tool.
func TestOneBatch(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	one, two := h.NewSession("one"), h.NewSession("two")
	ask := func(sessionID, key, tool, input string) string {
		r, _ := h.Ask(sessionID, key, call(tool, input))
		return r.RequestID
	}
	ls, pwd := ask(one, "ls", "Bash", `{"command":"ls"}`), ask(two, "pwd", "Bash", `{"command":"pwd"}`)
	read := ask(one, "read", "Read", `{"file_path":"/work/one/a.go"}`)
	many := []string{ls, pwd}
	for i := range 20 {
		many = append(many, ask(one, fmt.Sprint(i), "Bash", `{"command":"ls"}`))
	}
	give := func(id string, batch bool, together ...string) apitest.Response {
		return h.CallAs(account.Member, "POST", "/api/pending/"+id+"/response", map[string]any{"request_type": "tool_approval", "decision": "allow", "batch": batch, "together": together})
	}
	for name, together := range map[string][]string{
		"another tool":    {ls, read},
		"more than 20":    many,
		"one named twice": {ls, pwd, pwd},
		"not this one":    {pwd},
	} {
		t.Run(name, func(t *testing.T) {
			apitest.CheckRefusal(t, give(ls, true, together...), 422, "not_one_batch")
		})
	}
	apitest.CheckRefusal(t, give(ls, false, ls, pwd), 400, "invalid")
	// One that is no more is none that is approved.
	for _, id := range []string{ls, pwd} {
		if got := give(id, true, ls, pwd, "7d1fd1f6-5d27-4e5e-9f9c-3b6a3f9d0d11"); got.Status != 200 {
			t.Errorf("together: %d %s", got.Status, got.Body)
		}
	}
	if got := give(many[2], true, many[2:]...); got.Status != 200 {
		t.Errorf("twenty: %d %s", got.Status, got.Body)
	}
	// One session asks for one tool: a group, which may be longer and of medium risk.
	group := []string{ask(one, "make", "Bash", `{"command":"make"}`)}
	for i := range 29 {
		group = append(group, ask(one, fmt.Sprint("make", i), "Bash", `{"command":"make"}`))
	}
	for i, id := range group {
		if got := give(id, true, group[i:]...); got.Status != 200 {
			t.Errorf("number %d of a group: %d %s", i, got.Status, got.Body)
		}
	}
}
