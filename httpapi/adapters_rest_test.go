package httpapi_test

import (
	"encoding/json"
	"testing"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/apitest"
	"github.com/sayso-dev/sayso/pending"
)

// relayed makes a request one that came over the PromptManager's routes.
func relayed(questionID string, one pending.Question) func(*pending.Request) {
	return func(r *pending.Request) {
		one.ID, one.Required, one.FreeText = "q1", true, true
		r.RequestType, r.Source, r.ToolName, r.AskerRequestID = pending.AskUserQuestion, pending.SourceMCP, "ask_user", "relay/"+questionID
		r.ToolInput, r.Form = json.RawMessage(`{"question":"`+one.Question+`"}`), &pending.Form{Questions: []pending.Question{one}}
	}
}

var (
	which = pending.Question{Question: "Which?", Kind: pending.Select, Options: []pending.Option{{Label: "Option A", Value: "a"}, {Label: "Option B", Value: "b"}}}
	many  = pending.Question{Question: "Which ones?", Kind: pending.MultiSelect, Options: which.Options}
	why   = pending.Question{Question: "Why?", Kind: pending.Text}
	sure  = pending.Question{Question: "Sure?", Kind: pending.Confirm}
)

func response(values []string, text string) pending.Response {
	return pending.Response{ID: "q1", Values: values, Text: text}
}

func heard(t *testing.T, answered <-chan pending.Request, want pending.Response) {
	t.Helper()
	got := (<-answered).Resolution.Answer.Responses
	a, _ := json.Marshal(got)
	b, _ := json.Marshal([]pending.Response{want})
	if string(a) != string(b) {
		t.Errorf("got %s, want %s", a, b)
	}
}

func TestPromptManagerSubmitAnswer(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.NewSession("stream")
	token, err := h.Directory.MintStream(t.Context(), id, "api", 5, 0)
	if err != nil {
		t.Fatal(err)
	}
	submit := func(role account.Role, body map[string]any) apitest.Response {
		body["streamToken"] = token
		return h.CallAs(role, "POST", "/claude/submit-answer?p=5", body)
	}
	for i, c := range []struct {
		question pending.Question
		body     map[string]any
		want     pending.Response
	}{
		{which, map[string]any{"answer": "Option A", "selectedOptions": []int{0}}, response([]string{"a"}, "")},
		{which, map[string]any{"answer": "", "selectedOptions": []int{1}}, response([]string{"b"}, "")},
		{which, map[string]any{"answer": "neither"}, response([]string{}, "neither")},
		{which, map[string]any{"answer": "Option B", "selectedOptions": []int{}}, response([]string{"b"}, "")},
		{many, map[string]any{"answer": "Option A, and mine", "selectedOptions": []int{0}}, response([]string{"a"}, "and mine")},
		{many, map[string]any{"answer": "Option B, Option A"}, response([]string{"b", "a"}, "")},
		{sure, map[string]any{"answer": "yes"}, response([]string{"yes"}, "")},
		{many, map[string]any{"answer": "Option A, Option B", "selectedOptions": []int{0, 1}}, response([]string{"a", "b"}, "")},
		{many, map[string]any{"answer": "and mine", "selectedOptions": []int{1}}, response([]string{"b"}, "and mine")},
		{why, map[string]any{"answer": "Because.", "selectedOptions": []int{}}, response([]string{}, "Because.")},
	} {
		_, answered := h.Ask(id, string(rune('a'+i)), relayed("1", c.question))
		if a := submit(account.Member, c.body); a.Status != 200 {
			t.Fatalf("%v: %d %s", c.body, a.Status, a.Body)
		}
		heard(t, answered, c.want)
	}
	refused := func(q pending.Question, key string, bodies ...map[string]any) {
		t.Helper()
		_, answered := h.Ask(id, key, relayed("1", q))
		for _, body := range bodies {
			if a := submit(account.Member, body); a.Status != 422 {
				t.Errorf("%s: %v: got %d %s, want 422", q.Question, body, a.Status, a.Body)
			}
		}
		if a := submit(account.Member, map[string]any{"answer": "yes"}); a.Status != 200 {
			t.Fatalf("%s: %d %s", q.Question, a.Status, a.Body)
		}
		<-answered
	}
	refused(which, "two of one", map[string]any{"answer": "mine", "selectedOptions": []int{0}}, map[string]any{"answer": "Option A, mine", "selectedOptions": []int{0}},
		map[string]any{"answer": "Option B", "selectedOptions": []int{0}}, map[string]any{"selectedOptions": []int{0, 1}}, map[string]any{"answer": "Option A, Option B"},
		map[string]any{"answer": "Option A, mine"}, map[string]any{"selectedOptions": []int{2}}, map[string]any{"selectedOptions": []int{-1}})
	refused(many, "of many", map[string]any{"answer": "Option B", "selectedOptions": []int{0}}, map[string]any{"selectedOptions": []int{0, 0}})
	refused(sure, "yes or no", map[string]any{"answer": "yes, but"}, map[string]any{"answer": "yes", "selectedOptions": []int{0}})
	if a := submit(account.Member, map[string]any{"answer": "late"}); a.Status != 409 {
		t.Errorf("nothing is open: %d %s", a.Status, a.Body)
	}

	_, first := h.Ask(id, "y", relayed("first", why))
	_, second := h.Ask(id, "z", relayed("second", why))
	for _, bad := range []struct {
		role   account.Role
		path   string
		body   map[string]any
		status int
	}{
		{account.Viewer, "?p=5", map[string]any{"streamToken": token, "answer": "x"}, 403},
		{account.Member, "?p=5", map[string]any{"streamToken": "a1b2c3d4-e5f6-7890-abcd-ef1234567890", "answer": "x"}, 403},
		{account.Member, "", map[string]any{"streamToken": token, "answer": "x"}, 400},
		{account.Member, "?p=five", map[string]any{"streamToken": token, "answer": "x"}, 400},
		{account.Member, "?p=5&p=6", map[string]any{"streamToken": token, "answer": "x"}, 400},
		{account.Member, "?p=6", map[string]any{"streamToken": token, "answer": "x"}, 403}, // of another project
		{account.Member, "?p=5", map[string]any{"streamToken": token, "answer": ""}, 422},
		{account.Member, "?p=5", map[string]any{"streamToken": token, "selectedOptions": []int{0}}, 422},
		{account.Member, "?p=5", map[string]any{"streamToken": token, "answer": "x", "questionId": "third"}, 409},
	} {
		if a := h.CallAs(bad.role, "POST", "/claude/submit-answer"+bad.path, bad.body); a.Status != bad.status {
			t.Errorf("%v: got %d %s, want %d", bad.body, a.Status, a.Body, bad.status)
		}
	}
	// The token of the stream is no credential of a person.
	if a := h.Call("POST", "/claude/submit-answer?p=5", map[string]any{"streamToken": token, "answer": "x"}, apitest.Bearer(token)); a.Status != 401 {
		t.Errorf("as the stream: %d", a.Status)
	}
	if a := submit(account.Member, map[string]any{"answer": "two", "questionId": "second"}); a.Status != 200 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	heard(t, second, response([]string{}, "two"))
	if a := submit(account.Member, map[string]any{"answer": "one"}); a.Status != 200 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	heard(t, first, response([]string{}, "one"))
}

func TestMAXSIMAnswer(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	id := h.NewSession("agent")
	for i, c := range []struct {
		question pending.Question
		answer   string
		want     pending.Response
	}{
		{which, "b", response([]string{"b"}, "")},
		{which, "Option A", response([]string{"a"}, "")},
		{which, "neither", response([]string{}, "neither")},
		{many, "a", response([]string{"a"}, "")},
		{why, "Because.", response([]string{}, "Because.")},
		{sure, "yes", response([]string{"yes"}, "")},
	} {
		r, answered := h.Ask(id, string(rune('a'+i)), relayed("1", c.question))
		body := map[string]any{"questionId": r.RequestID, "answer": c.answer}
		if a := h.CallAs(account.Member, "POST", "/api/mcp-answer", body); a.Status != 200 {
			t.Fatalf("%s: %d %s", c.answer, a.Status, a.Body)
		}
		heard(t, answered, c.want)
		if a := h.CallAs(account.Member, "POST", "/api/mcp-answer", body); a.Status != 409 {
			t.Errorf("a second time: %d %s", a.Status, a.Body)
		}
	}
	agent, err := h.Directory.MintAgent(t.Context(), id, "x", 0)
	if err != nil {
		t.Fatal(err)
	}
	approval, _ := h.Ask(id, "approval", nil)
	several, _ := h.Ask(id, "several", apitest.AsQuestions)
	one, _ := h.Ask(id, "one", relayed("1", sure))
	choice, _ := h.Ask(id, "choice", relayed("2", which))
	for _, bad := range []struct {
		token, id, answer string
		status            int
	}{
		{agent, one.RequestID, "yes", 401}, // who asks can never answer
		{h.Token(account.Viewer), one.RequestID, "yes", 403},
		{h.Token(account.Member), "unknown", "yes", 404},
		{h.Token(account.Member), approval.RequestID, "allow", 404},
		{h.Token(account.Member), several.RequestID, "yes", 422},
		{h.Token(account.Member), one.RequestID, "perhaps", 422},
		{h.Token(account.Member), one.RequestID, "yes, but", 422},
		{h.Token(account.Member), choice.RequestID, "Option A, and mine", 422},
		{h.Token(account.Member), choice.RequestID, "Option A, Option B", 422},
		{h.Token(account.Member), one.RequestID, "", 400},
	} {
		a := h.Call("POST", "/api/mcp-answer", map[string]any{"questionId": bad.id, "answer": bad.answer}, apitest.Bearer(bad.token))
		if a.Status != bad.status {
			t.Errorf("%s to %s: got %d %s, want %d", bad.answer, bad.id, a.Status, a.Body, bad.status)
		}
	}
}
