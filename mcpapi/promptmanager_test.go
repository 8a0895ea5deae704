package mcpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sayso-dev/sayso/mcpapi"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/pending/pendingtest"
	"github.com/sayso-dev/sayso/session"
)

// A stream is what the PromptManager's MCP server has: a token, and routes that
// it polls every two seconds.
type stream struct {
	h         *harness
	sessionID string
	token     string
}

func (h *harness) stream() stream {
	h.t.Helper()
	a := h.agent(session.Agent, "api")
	token, err := h.directory.MintStream(h.t.Context(), a.sessionID, "api", 5, 0)
	if err != nil {
		h.t.Fatal(err)
	}
	return stream{h, a.sessionID, token}
}

func (s stream) relays(body map[string]any) *exchange {
	body["streamToken"] = s.token
	return s.h.sends("POST", "/claude/relay-question?p=5", "", body)
}

func (s stream) polls(more string) *exchange {
	return s.h.sends("GET", "/claude/poll-answer?p=5&streamToken="+s.token+more, "", nil)
}

var waiting = map[string]any{"status": "waiting"}

func options(labels ...string) []map[string]string {
	var list []map[string]string
	for _, label := range labels {
		list = append(list, map[string]string{"label": label, "description": "about " + label})
	}
	return list
}

// Its first example, from end to end.
func TestPromptManager1QuestionIsThereAtOnce(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		s := h.stream()
		began := time.Now()
		s.relays(map[string]any{"question": "Which approach should I use?", "options": options("Option A", "Option B"), "multiSelect": false}).gets(200, nil)
		r := h.asked()
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("took %s, at most 3 s", took)
		}
		q := r.Form.Questions[0]
		is(t, "question", q.Question, "Which approach should I use?")
		is(t, "kind", q.Kind, pending.Select)
		is(t, "free text", q.FreeText, true)
		same(t, "options", labels(q), []string{"Option A", "Option B"})
		is(t, "description", q.Options[0].Description, "about Option A")
		is(t, "asker", r.Asker, "agent api over MCP")
		is(t, "session", r.SessionID, s.sessionID)
	})
}

func TestPromptManager2SelectedOptionReachesClaude(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		s := h.stream()
		s.relays(map[string]any{"question": "Which?", "options": options("Option A", "Option B")})
		s.polls("").gets(202, waiting)
		h.decides(h.asked(), pending.Submission{Answers: map[string]string{"Which?": "Option B"}})
		s.polls("").gets(200, map[string]any{"status": "answered", "answer": "Option B", "selectedOptions": "[1]"})
	})
}

func TestPromptManager3FreeText(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		s := h.stream()
		s.relays(map[string]any{"question": "Why?"})
		r := h.asked()
		is(t, "kind", r.Form.Questions[0].Kind, pending.Text)
		h.decides(r, pending.Submission{Answers: map[string]string{"Why?": "Because."}})
		s.polls("").gets(200, map[string]any{"status": "answered", "answer": "Because.", "selectedOptions": "[]"})
	})
}

func TestPromptManager4SeveralOptions(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		s := h.stream()
		s.relays(map[string]any{"question": "Which?", "options": options("A", "B", "C"), "multiSelect": true})
		r := h.asked()
		is(t, "kind", r.Form.Questions[0].Kind, pending.MultiSelect)
		h.decides(r, pending.Submission{Responses: []pending.Response{{ID: "q1", Values: []string{"A", "C"}, Text: "and mine"}}})
		s.polls("").gets(200, map[string]any{"answer": "A, C, and mine", "selectedOptions": "[0 2]"})
	})
}

func TestPromptManager5OneAfterTheOther(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		s := h.stream()
		for i := range 3 {
			question, answer := fmt.Sprint("Question ", i), fmt.Sprint("answer ", i)
			s.relays(map[string]any{"question": question}).gets(200, nil)
			s.polls("").gets(202, waiting)
			h.decides(h.asked(), pending.Submission{Answers: map[string]string{question: answer}})
			s.polls("").gets(200, map[string]any{"answer": answer})
		}
	})
}

// There nothing was asked, so nothing waits; other streams notice nothing.
func TestPromptManager6WithoutAQuestion(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		s, other := h.stream(), h.stream()
		s.polls("").gets(202, waiting)
		s.relays(map[string]any{"question": "Mine?"})
		h.decides(h.asked(), pending.Submission{Answers: map[string]string{"Mine?": "yes"}})
		other.polls("").gets(202, waiting)
		s.polls("").gets(200, nil)
	})
}

func TestPromptManager7Timeout(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		s := h.stream()
		s.relays(map[string]any{"question": "Hello?", "timeout": 300})
		r := h.asked()
		for range 149 {
			s.polls("").gets(202, waiting)
			time.Sleep(2 * time.Second)
		}
		time.Sleep(3 * time.Second)
		h.ends(r, pending.Expired, "")
		s.polls("").gets(410, map[string]any{"status": "over"})
	})
}

// There the browser's stream ended with the tab; here no tab is needed, and what
// ends is the asker.
func TestPromptManager8AskerGoes(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		s := h.stream()
		s.relays(map[string]any{"question": "Hello?"})
		r := h.asked()
		for range 20 {
			s.polls("").gets(202, waiting)
			time.Sleep(2 * time.Second)
		}
		time.Sleep(mcpapi.AskerGone)
		h.ends(r, pending.Withdrawn, "The asker is gone.")
		is(t, "open", len(h.openRequests()), 0)
	})
}

func TestPromptManager9InvalidStreamToken(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		s := h.stream()
		ended := h.stream()
		if err := h.directory.RevokeAgents(t.Context(), ended.sessionID); err != nil {
			t.Fatal(err)
		}
		for _, token := range []string{"", "nonsense", uuid.NewString(), ended.token, h.agent(session.Agent, "x").secret} {
			h.sends("POST", "/claude/relay-question?p=5", "", map[string]any{"streamToken": token, "question": "Hello?"}).gets(403, nil)
			h.sends("GET", "/claude/poll-answer?p=5&streamToken="+token, "", nil).gets(403, nil)
		}
		is(t, "open", len(h.openRequests()), 0)
		ask := map[string]any{"streamToken": s.token, "question": "Hello?"}
		for _, p := range []string{"", "?p=", "?p=x", "?p=-1", "?p=5&p=6", "?p=99999999999999999999"} {
			h.sends("POST", "/claude/relay-question"+p, "", ask).gets(400, nil)
			h.sends("GET", "/claude/poll-answer?streamToken="+s.token+strings.Replace(p, "?", "&", 1), "", nil).gets(400, nil)
		}
		for _, p := range []string{"0", "6", "55"} { // of another project
			h.sends("POST", "/claude/relay-question?p="+p, "", ask).gets(403, nil)
			h.sends("GET", "/claude/poll-answer?p="+p+"&streamToken="+s.token, "", nil).gets(403, nil)
		}
		is(t, "open", len(h.openRequests()), 0)
		for _, body := range []map[string]any{
			{}, {"question": " "}, {"question": 1}, {"question": "Q", "options": "x"}, {"question": "Q", "options": []any{map[string]any{}}},
			{"question": strings.Repeat("x", pending.MaxQuestionBytes+1)}, {"question": "Q", "timeout": -1}, {"question": "Q", "timeout": 1e9},
			{"question": "Q\x00"}, {"question": "Q", "questionId": strings.Repeat("x", 201)},
		} {
			s.relays(body).gets(400, nil)
		}
		h.sends("GET", "/claude/relay-question?p=5", "", nil).gets(405, nil)
		s.polls("&wait=x").gets(400, nil)
		s.polls("&wait=NaN").gets(400, nil)
	})
}

func TestPromptManager11SwitchedOff(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		s := h.stream()
		h.policy.Disabled = true
		s.relays(map[string]any{"question": "Hello?"}).gets(403, nil)
		is(t, "open", len(h.openRequests()), 0)
		h.policy = mcpapi.Policy{Timeout: 30 * time.Second}
		s.relays(map[string]any{"question": "Hello?"}).gets(200, nil)
		r := h.asked()
		is(t, "timeout", r.ExpiresAt.Sub(r.CreatedAt), 30*time.Second)
	})
}

// From Claude's call to the form within 3 s, from the answer to Claude within 2 s:
// the first needs no poll at all, the second not even the one that is under way. 14
// was about a loop that looked for questions while it streamed; there is none.
func TestPromptManager12And13NothingWaitsForAPoll(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		s := h.stream()
		for range 5 {
			began := time.Now()
			s.relays(map[string]any{"question": "Hello?"})
			r := h.asked()
			if took := time.Since(began); took > 3*time.Second {
				t.Errorf("the question took %s", took)
			}
			poll := s.polls("&wait=25")
			time.Sleep(7 * time.Second)
			began = time.Now()
			h.decides(r, pending.Submission{Answers: map[string]string{"Hello?": "hi"}})
			poll.gets(200, map[string]any{"answer": "hi"})
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("the answer took %s", took)
			}
		}
	})
}

// There, one question overwrote the other. Here the second waits its turn and
// each gets its own answer.
func TestPromptManagerTheNextQuestionWaitsItsTurn(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		s := h.stream()
		s.relays(map[string]any{"question": "First?"}).gets(200, nil)
		second := s.relays(map[string]any{"question": "Second?"})
		for range 30 { // the first is polled for
			s.polls("").gets(202, waiting)
			time.Sleep(2 * time.Second)
			second.waits()
		}
		h.decides(h.asked(), pending.Submission{Answers: map[string]string{"First?": "one"}})
		time.Sleep(time.Second)
		second.waits() // nobody has heard the first answer yet
		s.polls("").gets(200, map[string]any{"answer": "one"})
		second.gets(200, nil)
		s.polls("").gets(202, waiting)
		h.decides(h.asked(), pending.Submission{Answers: map[string]string{"Second?": "two"}})
		s.polls("").gets(200, map[string]any{"answer": "two"})

		// An asker that gave up stands in nobody's way.
		s.relays(map[string]any{"question": "Third?"}).gets(200, nil)
		third := h.asked()
		fourth := s.relays(map[string]any{"question": "Fourth?"})
		fourth.gets(200, nil)
		h.ends(third, pending.Withdrawn, "The agent is asking another question now.")
		is(t, "question", h.asked().Form.Questions[0].Question, "Fourth?")
	})
}

// However slow the store is, one of two that come at once waits its turn.
func TestPromptManagerTwoQuestionsAtOnce(t *testing.T) {
	for _, slow := range []pendingtest.Op{pendingtest.OpAnswerable, pendingtest.OpOpen} {
		t.Run(string(slow), func(t *testing.T) {
			inHarness(t, func(t *testing.T, h *harness) {
				s := h.stream()
				h.memory.Inject(func(op pendingtest.Op, _ string) pendingtest.Fault {
					if op == slow {
						time.Sleep(time.Second)
					}
					return pendingtest.None
				})
				first, second := s.relays(map[string]any{"question": "First?"}), s.relays(map[string]any{"question": "Second?"})
				time.Sleep(2 * time.Second)
				h.memory.Inject(nil)
				first.gets(200, nil)
				second.waits()
				h.decides(h.asked(), pending.Submission{Answers: map[string]string{"First?": "one"}})
				s.polls("").gets(200, map[string]any{"answer": "one"})
				second.gets(200, nil)
				h.decides(h.asked(), pending.Submission{Answers: map[string]string{"Second?": "two"}})
				s.polls("").gets(200, map[string]any{"answer": "two"})
			})
		})
	}
}

// A server that stops waits for none of those that wait their turn.
func TestPromptManagerStopsWithQuestionsThatWaitTheirTurn(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		s := h.stream()
		s.relays(map[string]any{"question": "First?"}).gets(200, nil)
		var next []*exchange
		for i := range 30 {
			next = append(next, s.relays(map[string]any{"question": "Next? " + number(i)}))
		}
		began := time.Now()
		h.restart()
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("took %s", took)
		}
		for _, e := range next {
			<-e.done
		}
	})
}

// With a questionId of the asker's several are open, none polls for another, and
// what is sent again is one.
func TestPromptManagerQuestionsWithIds(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		s := h.stream()
		for range 2 {
			s.relays(map[string]any{"question": "First?", "questionId": "a"}).gets(200, map[string]any{"questionId": "a"})
			s.relays(map[string]any{"question": "Second?", "questionId": "b"}).gets(200, map[string]any{"questionId": "b"})
		}
		s.relays(map[string]any{"question": "Third?", "questionId": "a"}).gets(409, nil)
		rows := h.openRequests()
		is(t, "open", len(rows), 2)
		one, two := s.polls("&questionId=a&wait=25"), s.polls("&questionId=b&wait=25")
		for _, r := range rows {
			q := r.Form.Questions[0].Question
			h.decides(r, pending.Submission{Answers: map[string]string{q: "to " + q}})
		}
		one.gets(200, map[string]any{"answer": "to First?"})
		two.gets(200, map[string]any{"answer": "to Second?"})
		s.polls("&questionId=c").gets(202, waiting)
	})
}

// There an answer was deleted once read; a reader that died had lost it.
func TestPromptManagerAnswersAreToldAgain(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		s := h.stream()
		s.relays(map[string]any{"question": "Hello?"})
		r := h.asked()
		h.decides(r, pending.Submission{Answers: map[string]string{"Hello?": "hi"}})
		h.restart() // nobody has fetched it
		is(t, "delivery", h.row(r).Delivery, pending.Queued)
		for range 3 {
			s.polls("").gets(200, map[string]any{"answer": "hi"})
			time.Sleep(time.Hour)
		}
		is(t, "delivery", h.row(r).Delivery, pending.Delivered)
		// And a question that was open is polled for after a restart.
		s.relays(map[string]any{"question": "And now?"}).gets(200, nil)
		h.restart()
		s.polls("").gets(202, waiting)
		h.decides(h.asked(), pending.Submission{Answers: map[string]string{"And now?": "now"}})
		s.polls("").gets(200, map[string]any{"answer": "now"})
	})
}

func TestPromptManagerDeclined(t *testing.T) {
	inHarness(t, func(t *testing.T, h *harness) {
		s := h.stream()
		s.relays(map[string]any{"question": "Hello?"})
		h.decides(h.asked(), pending.Submission{Decision: pending.Deny, Message: "Ask my boss."})
		s.polls("").gets(200, map[string]any{"status": "declined", "reason": "Ask my boss."})
	})
}

// The rest is about its MCP server, as sayso mcp --config.

func TestPromptManager10BadConfiguration(t *testing.T) {
	t.Parallel()
	good := `{"apiUrl":"http://localhost:8080","streamToken":"a1b2c3d4-e5f6-7890-abcd-ef1234567890","userId":1,"projectId":5,"csrfToken":"abc123","timeout":60}`
	path := filepath.Join(t.TempDir(), "config.json")
	put := func(text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	put(good, 0o600)
	if c, err := mcpapi.ReadRelayConfig(path); err != nil || c.Timeout != 60 || c.ProjectID != 5 || c.CSRFToken != "abc123" {
		t.Errorf("got %+v, %v", c, err)
	}
	put(strings.Replace(good, `,"timeout":60`, "", 1), 0o600)
	if c, err := mcpapi.ReadRelayConfig(path); err != nil || c.Timeout != 300 {
		t.Errorf("got %+v, %v", c, err)
	}
	for _, url := range []string{"http://127.0.0.1:1", "http://127.8.8.8:1", "http://[::1]:1/app"} {
		put(strings.Replace(good, "http://localhost:8080", url, 1), 0o600)
		if _, err := mcpapi.ReadRelayConfig(path); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	put(good, 0o640)
	if _, err := mcpapi.ReadRelayConfig(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("readable by others: %v", err)
	}
	for bad, want := range map[string]string{
		"": "JSON", "[]": "JSON", strings.Replace(good, "8080", `8080","x`, 1): "", strings.Replace(good, "60}", `"60"}`, 1): "JSON",
		strings.Replace(good, "localhost:8080", "10.0.0.1", 1):           "another machine",
		strings.Replace(good, "localhost:8080", "evil.example@[::1]", 1): "apiUrl",
		strings.Replace(good, "localhost:8080", "169.254.169.254", 1):    "another machine",
		strings.Replace(good, "http://", "file://", 1):                   "apiUrl",
		strings.Replace(good, "a1b2c3d4", "", 1):                         "streamToken",
		strings.Replace(good, "60}", "0}", 1):                            "timeout",
		strings.Replace(good, "60}", "3600}", 1):                         "timeout",
		strings.Replace(good, `"projectId":5`, `"projectId":-5`, 1):      "projectId",
	} {
		if want == "" {
			continue
		}
		put(bad, 0o600)
		if _, err := mcpapi.ReadRelayConfig(path); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "e5f6") {
			t.Errorf("%s: got %v, want %s", bad, err, want)
		}
	}
	if _, err := mcpapi.ReadRelayConfig(path + "not"); err == nil {
		t.Error("a missing file was read")
	}
}

// their is a PromptManager, as far as its MCP server sees it: it knows nothing of
// our fields and answers every poll at once.
type their struct {
	mu       sync.Mutex
	relayed  []map[string]any
	polls    int
	answer   map[string]any // nil: waiting
	status   int            // of the relay
	csrf     string
	lastURLs []string
}

func (p *their) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lastURLs = append(p.lastURLs, r.URL.String())
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodPost && r.URL.Path == "/claude/relay-question" {
		var body map[string]any
		_ = json.NewDecoder(r.Body).Decode(&body)
		p.relayed, p.csrf = append(p.relayed, body), r.Header.Get("X-CSRF-Token")
		w.WriteHeader(p.status)
		return
	}
	p.polls++
	if p.answer == nil {
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprint(w, `{"status":"waiting"}`)
		return
	}
	_ = json.NewEncoder(w).Encode(p.answer)
}

// relaying runs the MCP server over pipes and returns a client of it.
func relaying(t *testing.T, c mcpapi.RelayConfig) *mcp.ClientSession {
	t.Helper()
	ours, theirs := pipe()
	ran := make(chan error, 1)
	go func() { ran <- mcpapi.RunRelay(context.Background(), c, ours.in, ours.out, "0.0.0-test") }()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "0"}, nil)
	cs, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: theirs.in, Writer: theirs.out}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cs.Close()
		if err := <-ran; err != nil {
			t.Errorf("RunRelay: %v", err)
		}
	})
	return cs
}

type ends struct {
	in  io.ReadCloser
	out io.WriteCloser
}

func pipe() (one, other ends) {
	r1, w1 := io.Pipe()
	r2, w2 := io.Pipe()
	return ends{r1, w2}, ends{r2, w1}
}

func callAskUser(t *testing.T, cs *mcp.ClientSession, arguments string) (text string, failed bool) {
	t.Helper()
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask_user", Arguments: json.RawMessage(arguments)})
	if err != nil {
		t.Fatal(err)
	}
	return res.Content[0].(*mcp.TextContent).Text, res.IsError
}

func TestPromptManagerItsOwnServer(t *testing.T) {
	t.Parallel()
	p := &their{status: 200, answer: map[string]any{"status": "answered", "answer": "Option A", "selectedOptions": []int{0}}}
	server := httptest.NewServer(p)
	defer server.Close()
	c := mcpapi.RelayConfig{APIURL: server.URL, StreamToken: uuid.NewString(), ProjectID: 5, CSRFToken: "abc", Timeout: 60}
	cs := relaying(t, c)
	tools, err := cs.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 1 || tools.Tools[0].Name != "ask_user" {
		t.Fatalf("tools: %+v, %v", tools, err)
	}
	text, failed := callAskUser(t, cs, `{"question":"Which approach should I use?","options":[{"label":"Option A","description":"…"},{"label":"Option B"}],"multiSelect":false}`)
	if text != "User selected: Option A" || failed {
		t.Errorf("got %q, %v", text, failed)
	}
	p.mu.Lock()
	got := p.relayed[0]
	if got["streamToken"] != c.StreamToken || got["question"] != "Which approach should I use?" || len(got["options"].([]any)) != 2 || p.csrf != "abc" {
		t.Errorf("relayed %v, csrf %q", got, p.csrf)
	}
	for _, u := range p.lastURLs {
		if !strings.Contains(u, "p=5") {
			t.Errorf("%s has no p", u)
		}
	}
	// It is told no.
	p.status = 403
	p.mu.Unlock()
	if text, failed := callAskUser(t, cs, `{"question":"Hello?"}`); !failed || !strings.Contains(text, "stream") {
		t.Errorf("got %q, %v", text, failed)
	}
	if text, failed := callAskUser(t, cs, `{"question":""}`); !failed {
		t.Errorf("got %q", text)
	}
	// Nobody answers, and nobody is there.
	for _, u := range []string{server.URL, "http://127.0.0.1:1"} {
		p.mu.Lock()
		p.status, p.answer = 200, nil
		p.mu.Unlock()
		c.APIURL, c.Timeout = u, 1
		if text, failed := callAskUser(t, relaying(t, c), `{"question":"Hello?"}`); !failed || text != "User did not respond within the timeout period. Proceeding with your best judgment." {
			t.Errorf("%s: got %q, %v", u, text, failed)
		}
	}
}

// What it has read before its input ends it answers, however much that is and
// however long a person takes.
func TestPromptManagerAnswersWhatItReadBeforeTheEndOfItsInput(t *testing.T) {
	t.Parallel()
	p := &their{status: 200, answer: map[string]any{"status": "answered", "answer": "Option A", "selectedOptions": []int{0}}}
	server := httptest.NewServer(p)
	defer server.Close()
	c := mcpapi.RelayConfig{APIURL: server.URL, StreamToken: uuid.NewString(), ProjectID: 5, Timeout: 60}
	const lists, asks = 2000, 20
	var in strings.Builder
	in.WriteString(`{"jsonrpc":"2.0","id":"first","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"0"}}}` + "\n\n")
	in.WriteString(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\r\n" + "no message\n")
	for i := range lists {
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`+"\n", i)
	}
	long := strings.Repeat("x", 15_000)
	for i := range asks {
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":"ask %d","method":"tools/call","params":{"name":"ask_user","arguments":{"question":%q,"options":[{"label":"Option A"}]}}}`+"\n", i, long)
	}
	in.WriteString(`{"jsonrpc":"2.0","id":"last","method":"tools/list"}`) // without an end of its line
	var out strings.Builder
	if err := mcpapi.RunRelay(t.Context(), c, strings.NewReader(in.String()), &out, "0.0.0-test"); err != nil {
		t.Fatal(err)
	}
	answers := map[string]int{}
	for line := range strings.Lines(out.String()) {
		var m struct {
			ID     any             `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  *struct{ Code int }
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		switch id := fmt.Sprint(m.ID); {
		case m.ID == nil && m.Error != nil && m.Error.Code == -32700:
			answers["garbage"]++
		case m.Error != nil:
			t.Errorf("%s: %s", id, line)
		case strings.HasPrefix(id, "ask ") && !strings.Contains(line, "User selected: Option A"):
			t.Errorf("%s: %s", id, line)
		default:
			answers[id]++
		}
	}
	if want := lists + asks + 3; len(answers) != want {
		t.Errorf("%d answers, want %d", len(answers), want)
	}
	for id, n := range answers {
		if n != 1 {
			t.Errorf("%s was answered %d times", id, n)
		}
	}
}

// A request that was cancelled needs no answer, so nothing waits for one.
func TestPromptManagerEndsWithACancelledRequest(t *testing.T) {
	t.Parallel()
	p := &their{status: 200}
	server := httptest.NewServer(p)
	defer server.Close()
	c := mcpapi.RelayConfig{APIURL: server.URL, StreamToken: uuid.NewString(), ProjectID: 5, Timeout: 300}
	start := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"0"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask_user","arguments":{"question":"Hello?"}}}
`
	for name, more := range map[string]string{"cancelled": `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`, "ended": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, end := context.WithCancel(t.Context())
			defer end()
			var out strings.Builder
			ran := make(chan error, 1)
			go func() { ran <- mcpapi.RunRelay(ctx, c, strings.NewReader(start+more), &out, "0.0.0-test") }()
			if more == "" {
				select {
				case err := <-ran:
					t.Fatalf("it ended before the answer: %v, %s", err, &out)
				case <-time.After(500 * time.Millisecond):
				}
				end() // as SIGTERM does
			}
			select {
			case err := <-ran:
				if err != nil || strings.Contains(out.String(), "did not respond") {
					t.Errorf("%v, %s", err, &out)
				}
			case <-time.After(2 * time.Minute):
				t.Fatal("it does not end")
			}
		})
	}
}
