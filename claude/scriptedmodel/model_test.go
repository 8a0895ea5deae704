package scriptedmodel_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sayso-dev/sayso/claude/scriptedmodel"
)

// turn is one message of a conversation, as the CLI sends it.
type turn struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

func user(text string) turn      { return turn{"user", text} }
func assistant(text string) turn { return turn{"assistant", text} }

func toolResult(text string, isError bool) map[string]any {
	return map[string]any{"type": "tool_result", "tool_use_id": "toolu_1", "content": text, "is_error": isError}
}

func textBlock(text string) map[string]any { return map[string]any{"type": "text", "text": text} }

func fenced(script string) string { return "Please.\n\n```script\n" + script + "\n```\n" }

func request(stream bool, turns ...turn) map[string]any {
	return map[string]any{
		"model": "claude-test", "stream": stream, "messages": turns,
		"tools": []map[string]any{{"name": "Bash"}, {"name": "Agent"}},
	}
}

func post(t *testing.T, model http.Handler, ctx context.Context, body map[string]any) (w *httptest.ResponseRecorder) {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	w = httptest.NewRecorder()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/messages?beta=true", bytes.NewReader(raw))
	r.Header.Set("X-Claude-Code-Session-Id", "a-session")
	r.Header.Set("X-Api-Key", "a-secret")
	defer func() {
		if err := recover(); err != nil && err != http.ErrAbortHandler {
			panic(err)
		}
	}()
	model.ServeHTTP(w, r)
	return w
}

// said is the text of a reply that is not streamed.
func said(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	var m struct {
		Content []struct{ Type, Text string }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &m); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	var texts []string
	for _, b := range m.Content {
		texts = append(texts, b.Text)
	}
	return strings.Join(texts, "")
}

func ask(t *testing.T, model http.Handler, turns ...turn) string {
	t.Helper()
	return said(t, post(t, model, t.Context(), request(false, turns...)))
}

type sse struct {
	name string
	data map[string]any
}

func events(t *testing.T, r io.Reader) []sse {
	t.Helper()
	var out []sse
	var name string
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "event: "):
			name = strings.TrimPrefix(line, "event: ")
		case strings.HasPrefix(line, "data: "):
			var data map[string]any
			if err := json.Unmarshal([]byte(line[6:]), &data); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			if data["type"] != name {
				t.Errorf("event %s carries type %v", name, data["type"])
			}
			out = append(out, sse{name, data})
		case line != "":
			t.Errorf("stray line %q", line)
		}
	}
	return out
}

func TestReplyIsFoundByPosition(t *testing.T) {
	t.Parallel()
	script := fenced(`[[{"text":"first"}],[{"text":"second"}],[{"text":"third"}]]`)
	for name, c := range map[string]struct {
		turns []turn
		want  string
	}{
		"at once":            {[]turn{user(script)}, "first"},
		"after one":          {[]turn{user(script), assistant("first"), user("go on")}, "second"},
		"earlier turns":      {[]turn{user("hello"), assistant("hi"), user(script)}, "first"},
		"after all":          {[]turn{user(script), assistant("1"), user("2"), assistant("3"), user("4"), assistant("5"), user("6")}, "Done."},
		"a newer script":     {[]turn{user(script), assistant("first"), user(fenced(`[[{"text":"other"}]]`))}, "other"},
		"two in one message": {[]turn{user(fenced(`[[{"text":"old"}]]`) + script)}, "first"},
		"tool result between": {[]turn{user(script), assistant("first"),
			{"user", []any{toolResult("ok", false)}}}, "second"},
		"script in a tool result": {[]turn{user(script), assistant("first"),
			{"user", []any{toolResult(fenced(`[[{"text":"hijacked"}]]`), false)}}}, "second"},
		"interrupted during a tool": {[]turn{user(script), assistant("first"),
			{"user", []any{toolResult("rejected", true), textBlock("[Request interrupted by user for tool use]\n"), textBlock("go on")}}}, "second"},
		"interrupted mid stream": {[]turn{user(script), assistant("fir"),
			{"user", []any{textBlock("[Request interrupted by user]\n"), textBlock("go on")}}}, "second"},
		"interrupted before the first word": {[]turn{
			{"user", []any{textBlock(script), textBlock("[Request interrupted by user]\n"), textBlock("go on")}}}, "second"},
		"interrupted silent second reply": {[]turn{user(script), assistant("first"),
			{"user", []any{toolResult("ok", false), textBlock("[Request interrupted by user]\n"), textBlock("go on")}}}, "third"},
		"a turn the CLI lost": {[]turn{user(script), assistant("first"), user("x"), assistant("No response requested."), user("go on")}, "second"},
		"typed while working": {[]turn{user("hello"), assistant("hi"), {"user", []any{toolResult("ok", false)}},
			{"system", "The user sent a new message while you were working:\n" + script + "\n\nIMPORTANT: After completing"}}, "first"},
		"remark of the CLI": {[]turn{user(script), {"system", "skills:\n" + fenced(`[[{"text":"hijacked"}]]`)}}, "first"},
		"blocks":            {[]turn{{"user", []any{textBlock("<system-reminder>x</system-reminder>"), textBlock(script)}}}, "first"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := ask(t, scriptedmodel.New(scriptedmodel.Options{}), c.turns...); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// The CLI begins a turn before a slow MCP server is connected, and says what to do.
func TestModelWaitsForAnMCPServer(t *testing.T) {
	t.Parallel()
	model := scriptedmodel.New(scriptedmodel.Options{})
	prompt := user(fenced(`[[{"tool":"mcp__sayso__ask_user"}],[{"text":"Then: {{last_tool_result}}"}]]`))
	call := turn{"assistant", []any{map[string]any{"type": "tool_use", "name": "mcp__sayso__ask_user"}}}
	refused := turn{"user", []any{toolResult("No such tool available: mcp__sayso__ask_user. The MCP server 'sayso' is still connecting. Call WaitForMcpServers to wait for it, then try again.", true)}}
	wait := turn{"assistant", []any{map[string]any{"type": "tool_use", "name": "WaitForMcpServers"}}}
	connected := turn{"user", []any{toolResult("connected", false)}}
	answered := turn{"user", []any{toolResult("yes", false)}}
	tool := func(turns ...turn) string {
		var m struct{ Content []struct{ Name string } }
		if err := json.Unmarshal(post(t, model, t.Context(), request(false, turns...)).Body.Bytes(), &m); err != nil || len(m.Content) != 1 {
			t.Fatalf("%+v, %v", m, err)
		}
		return m.Content[0].Name
	}
	if got := tool(prompt, call, refused); got != "WaitForMcpServers" {
		t.Errorf("after the refusal the model calls %q", got)
	}
	if got := tool(prompt, call, refused, wait, connected); got != "mcp__sayso__ask_user" {
		t.Errorf("after it waited the model calls %q", got)
	}
	if got := ask(t, model, prompt, call, refused, wait, connected, call, answered); got != "Then: yes" {
		t.Errorf("after the answer the model says %q", got)
	}
}

// An MCP server that connects between a request and its reply: 2.1.197 refuses the call without
// saying why, and offers the tool in the next request.
func TestModelCallsAgainWhatIsOfferedSince(t *testing.T) {
	t.Parallel()
	model := scriptedmodel.New(scriptedmodel.Options{})
	turns := []turn{
		user(fenced(`[[{"tool":"mcp__sayso__ask_user"}],[{"text":"Then: {{last_tool_result}}"}]]`)),
		{"assistant", []any{map[string]any{"type": "tool_use", "name": "mcp__sayso__ask_user"}}},
		{"user", []any{toolResult("<tool_use_error>Error: No such tool available: mcp__sayso__ask_user</tool_use_error>", true)}},
	}
	if got := ask(t, model, turns...); !strings.HasPrefix(got, "Then: ") {
		t.Errorf("for a tool that is still unknown the model says %q", got)
	}
	offering := func(turns ...turn) map[string]any {
		r := request(false, turns...)
		r["tools"] = []any{map[string]any{"name": "Bash"}, map[string]any{"name": "mcp__sayso__ask_user"}}
		return r
	}
	var again struct{ Content []struct{ Name string } }
	if err := json.Unmarshal(post(t, model, t.Context(), offering(turns...)).Body.Bytes(), &again); err != nil || len(again.Content) != 1 || again.Content[0].Name != "mcp__sayso__ask_user" {
		t.Errorf("once the tool is on offer the model does %+v, %v", again, err)
	}
	turns = append(turns, turns[1], turn{"user", []any{toolResult("yes", false)}})
	var then struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(post(t, model, t.Context(), offering(turns...)).Body.Bytes(), &then); err != nil || len(then.Content) != 1 || then.Content[0].Text != "Then: yes" {
		t.Errorf("after the answer the model says %+v, %v", then, err)
	}
}

func TestTextIsFilledFromTheConversation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, want string }{
		"last result":  {`[[{"text":"-"}],[{"text":"<{{last_tool_result}}>"}]]`, `<no "way">`},
		"all results":  {`[[{"text":"-"}],[{"text":"<{{tool_results}}>"}]]`, "<\"Q\"=\"A\"\nno \"way\">"},
		"answers":      {`[[{"text":"-"}],[{"text":"{{answers}}"}]]`, "- Q **A**"},
		"fill":         {`[[{"text":"-"}],[{"text":"{{fill:5}}"}]]`, "sayso"},
		"ok":           {`[[{"text":"-"}],[{"if":"ok","text":"yes"},{"if":"error","text":"no"}]]`, "no"},
		"offered":      {`[[{"text":"-"}],[{"if":"tool:Bash","text":"a"},{"if":"tool:Task","text":"b"},{"if":"no_tool:Bash","text":"c"},{"if":"tool:Nope","text":"d"}]]`, "ab"},
		"nothing left": {`[[{"text":"-"}],[{"if":"ok","text":"yes"}]]`, "…"},
		"unknown":      {`[[{"text":"-"}],[{"text":"{{nothing}}"}]]`, "{{nothing}}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ask(t, scriptedmodel.New(scriptedmodel.Options{}), user(fenced(c.script)), assistant("-"),
				turn{"user", []any{toolResult(`"Q"="A"`, false), toolResult(`no "way"`, true)}})
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestInputIsFilledAsJSON(t *testing.T) {
	t.Parallel()
	w := post(t, scriptedmodel.New(scriptedmodel.Options{}), t.Context(), request(false,
		user("Working directory: /a \"b\"\n"), // quotes end a path
		user("Primary working directory: /home/ada\n"+fenced(`[[{"tool":"Write","input":{"file_path":"{{cwd}}/x","content":"{{last_user_text}}"}}]]`)),
		user("a \"quoted\"\nline")))
	var m struct {
		StopReason string `json:"stop_reason"`
		Content    []struct {
			Type, ID, Name string
			Input          struct {
				FilePath string `json:"file_path"`
				Content  string
			}
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &m); err != nil {
		t.Fatal(err)
	}
	b := m.Content[0]
	if m.StopReason != "tool_use" || b.Name != "Write" || !strings.HasPrefix(b.ID, "toolu_") {
		t.Errorf("got %+v", m)
	}
	if b.Input.Content != "a \"quoted\"\nline" || !strings.HasPrefix(b.Input.FilePath, "/a") {
		t.Errorf("got input %+v", b.Input)
	}
}

func TestScriptOfASubagentRidesInItsPrompt(t *testing.T) {
	t.Parallel()
	model := scriptedmodel.New(scriptedmodel.Options{})
	w := post(t, model, t.Context(), request(false, user(fenced(
		`[[{"tool":"Task","input":{"prompt":"Go."},"script":[[{"text":"I am the subagent"}]]}]]`))))
	var m struct {
		Content []struct{ Input struct{ Prompt string } }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &m); err != nil {
		t.Fatal(err)
	}
	prompt := m.Content[0].Input.Prompt
	if !strings.HasPrefix(prompt, "Go.\n") {
		t.Errorf("got prompt %q", prompt)
	}
	if got := ask(t, model, user(prompt)); got != "I am the subagent" {
		t.Errorf("got %q", got)
	}
}

func TestBadScriptSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		`[[{"text":"a"]`:                   "invalid character",
		`[[{"txet":"a"}]]`:                 `unknown field "txet"`,
		`[[{"text":"a","tool":"Bash"}]]`:   "exactly one of",
		`[{"status":200}]`:                 "status 200 is not an error status",
		`[{"delay_ms":1}]`:                 "no blocks and no failure",
		`[[{"tool":"Bash","input":"ls"}]]`: "input of Bash is not an object",
		`[[{"if":"maybe","text":"a"}]]`:    `unknown condition "maybe"`,
		`[[{"text":"a"}],[{"tool":"Task","script":[[{"text":""}]]}]]`: "reply 1, block 0",
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			got := ask(t, scriptedmodel.New(scriptedmodel.Options{}), user(fenced(script)))
			if !strings.Contains(got, "cannot be used") || !strings.Contains(got, want) {
				t.Errorf("got %q, want it to say %q", got, want)
			}
		})
	}
}

func TestConversationsWithoutAScript(t *testing.T) {
	t.Parallel()
	named, err := scriptedmodel.ParseScript([]byte(`{"replies":[[{"text":"named"}]],"after":"over: {{last_user_text}}"}`))
	if err != nil {
		t.Fatal(err)
	}
	plain := scriptedmodel.New(scriptedmodel.Options{Scripts: map[string]*scriptedmodel.Script{"mine": named}})
	if got := ask(t, plain, user("<system-reminder>x</system-reminder>"), user("hello there")); !strings.Contains(got, "demo model") || !strings.Contains(got, "> hello there") {
		t.Errorf("greeting: got %q", got)
	}
	if got := ask(t, plain, user("```script mine```")); got != "named" {
		t.Errorf("named: got %q", got)
	}
	if got := ask(t, plain, user("x\n```script mine```\n"), assistant("named"), user("more")); got != "over: more" {
		t.Errorf("after: got %q", got)
	}
	if got := ask(t, plain, user("```script nobody```")); !strings.Contains(got, `no script named "nobody"`) {
		t.Errorf("unknown name: got %q", got)
	}
	if got := ask(t, plain, user("```script demo```")); !strings.Contains(got, "demo model") {
		t.Errorf("demo: got %q", got)
	}
	byDefault := scriptedmodel.New(scriptedmodel.Options{Default: named})
	if got := ask(t, byDefault, user("hello")); got != "named" {
		t.Errorf("default: got %q", got)
	}
	noTools := request(false, user("Make a title as JSON with a single \"title\" field: "+fenced(`[[{"text":"x"}]]`)))
	delete(noTools, "tools")
	if got := said(t, post(t, plain, t.Context(), noTools)); !json.Valid([]byte(got)) {
		t.Errorf("title: got %q", got)
	}
}

func TestStreamHasTheShapeOfTheAPI(t *testing.T) {
	t.Parallel()
	const long = "A text of many words, with ünïcödé and 漢字 in it, that comes in several pieces."
	script := fenced(`[{"usage":{"input_tokens":7,"output_tokens":9},"blocks":[{"thinking":"Let me see what this is about."},{"text":"` + long + `"},{"tool":"Bash","input":{"command":"echo 漢字漢字漢字漢字漢字"}}]}]`)
	w := post(t, scriptedmodel.New(scriptedmodel.Options{}), t.Context(), request(true, user(script)))
	if got := w.Header().Get("Content-Type"); !strings.HasPrefix(got, "text/event-stream") {
		t.Errorf("content type %q", got)
	}
	all := events(t, w.Body)
	var order []string
	var text, thinking, input string
	pieces := 0
	for _, e := range all {
		if len(order) == 0 || order[len(order)-1] != e.name {
			order = append(order, e.name)
		}
		delta, _ := e.data["delta"].(map[string]any)
		switch delta["type"] {
		case "text_delta":
			text += delta["text"].(string)
			pieces++
		case "thinking_delta":
			thinking += delta["thinking"].(string)
		case "input_json_delta":
			input += delta["partial_json"].(string)
		}
	}
	if text != long || pieces < 4 {
		t.Errorf("got text %q in %d pieces", text, pieces)
	}
	if thinking != "Let me see what this is about." {
		t.Errorf("got thinking %q", thinking)
	}
	if input != `{"command":"echo 漢字漢字漢字漢字漢字"}` {
		t.Errorf("got input %s", input)
	}
	want := "message_start content_block_start ping content_block_delta content_block_stop " +
		"content_block_start content_block_delta content_block_stop " +
		"content_block_start content_block_delta content_block_stop message_delta message_stop"
	if got := strings.Join(order, " "); got != want {
		t.Errorf("got order\n%s, want\n%s", got, want)
	}
	end := all[len(all)-2].data
	if got := end["delta"].(map[string]any)["stop_reason"]; got != "tool_use" {
		t.Errorf("stop_reason %v", got)
	}
	if got := end["usage"].(map[string]any)["output_tokens"]; got != 9.0 {
		t.Errorf("output_tokens %v", got)
	}
}

func TestFailuresHaveTheShapeOfTheAPI(t *testing.T) {
	t.Parallel()
	for status, kind := range map[int]string{
		401: "authentication_error", 429: "rate_limit_error", 500: "api_error", 529: "overloaded_error",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			raw, _ := json.Marshal([]map[string]any{{"status": status, "retry_after": 3}})
			w := post(t, scriptedmodel.New(scriptedmodel.Options{}), t.Context(), request(true, user(fenced(string(raw)))))
			var body struct {
				Type      string
				Error     struct{ Type, Message string }
				RequestID string `json:"request_id"`
			}
			if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
				t.Fatal(err)
			}
			if w.Code != status || w.Header().Get("retry-after") != "3" || body.Type != "error" ||
				body.Error.Type != kind || body.Error.Message == "" || body.RequestID == "" || body.RequestID != w.Header().Get("request-id") {
				t.Errorf("got %d %v %s", w.Code, w.Header(), w.Body)
			}
		})
	}
}

func TestFailureIsBoundedByTimes(t *testing.T) {
	t.Parallel()
	model := scriptedmodel.New(scriptedmodel.Options{})
	body := request(false, user(fenced(`[{"status":529,"times":2,"blocks":[{"text":"at last"}]}]`)))
	for n, want := range []int{529, 529, 200, 200} {
		if w := post(t, model, t.Context(), body); w.Code != want {
			t.Errorf("request %d: got %d, want %d", n, w.Code, want)
		}
	}
	if got := model.Requests()[3].Outcome; got != "reply" {
		t.Errorf("got outcome %q", got)
	}
}

func TestPaceAndDelayTakeTheirTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		model := scriptedmodel.New(scriptedmodel.Options{})
		start := time.Now()
		w := post(t, model, t.Context(), request(true, user(fenced(`[{"delay_ms":1000,"chunk_ms":10,"blocks":[{"text":"0123456789 123456789 123456789 123456789 123456789 "}]}]`))))
		pieces := 0
		for _, e := range events(t, w.Body) {
			if e.name == "content_block_delta" {
				pieces++
			}
		}
		want := time.Second + time.Duration(pieces)*10*time.Millisecond
		if got := time.Since(start); got != want || pieces < 2 {
			t.Errorf("took %v for %d pieces, want %v", got, pieces, want)
		}
	})
}

func TestStallEndsWithTheClient(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"silent":   `[{"stall":true}]`,
		"half way": `[{"stall":true,"blocks":[{"text":"a text that is cut in two halves, more or less"}]}]`,
		"slow":     `[{"chunk_ms":3600000,"blocks":[{"text":"a text of several pieces"}]}]`,
		"delayed":  `[{"delay_ms":3600000,"blocks":[{"text":"a"}]}]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, leave := context.WithCancel(t.Context())
				done := make(chan *httptest.ResponseRecorder)
				go func() {
					done <- post(t, scriptedmodel.New(scriptedmodel.Options{}), ctx, request(true, user(fenced(script))))
				}()
				synctest.Wait()
				select {
				case w := <-done:
					t.Fatalf("answered %s", w.Body)
				default:
				}
				leave()
				if body := (<-done).Body.String(); strings.Contains(body, "message_stop") {
					t.Errorf("got a whole message: %s", body)
				}
			})
		})
	}
}

func TestStreamErrorComesAfterHalf(t *testing.T) {
	t.Parallel()
	model := scriptedmodel.New(scriptedmodel.Options{})
	body := request(true, user(fenced(`[{"stream_error":"overloaded_error","blocks":[{"text":"a text that is cut in two halves, more or less"}]}]`)))
	all := events(t, post(t, model, t.Context(), body).Body)
	last := all[len(all)-1]
	if last.name != "error" || last.data["error"].(map[string]any)["type"] != "overloaded_error" || len(all) < 5 {
		t.Errorf("got %v", all)
	}
	body["stream"] = false
	if w := post(t, model, t.Context(), body); w.Code != http.StatusInternalServerError {
		t.Errorf("without streaming: got %d", w.Code)
	}
}

func TestOtherAddresses(t *testing.T) {
	t.Parallel()
	model := scriptedmodel.New(scriptedmodel.Options{})
	get := func(method, path, body string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		model.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body)))
		return w
	}
	if w := get(http.MethodHead, "/", ""); w.Code != 200 {
		t.Errorf("probe: %d", w.Code)
	}
	if w := get(http.MethodPost, "/v1/messages/count_tokens?beta=true", strings.Repeat("x", 40)); w.Code != 200 || !strings.Contains(w.Body.String(), `"input_tokens":11`) {
		t.Errorf("count_tokens: %d %s", w.Code, w.Body)
	}
	for _, path := range []string{"/v1/models", "/v1/messages", "/favicon.ico"} {
		if w := get(http.MethodGet, path, ""); w.Code != 404 || !strings.Contains(w.Body.String(), "not_found_error") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if w := get(http.MethodPost, "/v1/messages", "{"); w.Code != 400 || !strings.Contains(w.Body.String(), "invalid_request_error") {
		t.Errorf("bad body: %d %s", w.Code, w.Body)
	}
}

func TestRecordIsBoundedAndKeepsNoKey(t *testing.T) {
	t.Parallel()
	model := scriptedmodel.New(scriptedmodel.Options{})
	for range 600 {
		post(t, model, t.Context(), request(false, user(fenced(`[[{"text":"a"}],[{"text":"b"}]]`)), assistant("a"),
			turn{"user", []any{toolResult(strings.Repeat("y", 20_000), true)}}))
	}
	all := model.Requests()
	last := all[len(all)-1]
	if len(all) != 512 || last.Number != 600 {
		t.Errorf("kept %d, last is number %d", len(all), last.Number)
	}
	if last.SessionID != "a-session" || last.Index != 1 || last.Outcome != "reply" || last.Messages != 3 || len(last.Body) == 0 {
		t.Errorf("got %+v", last)
	}
	if r := last.ToolResults[0]; r.Bytes != 20_000 || len(r.Text) >= r.Bytes || !r.IsError {
		t.Errorf("got tool result of %d bytes, kept %d", r.Bytes, len(r.Text))
	}
	if all[0].Body != nil {
		t.Error("an old body was kept")
	}
	w := httptest.NewRecorder()
	model.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/_requests", nil))
	var list struct{ Requests []scriptedmodel.Request }
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || len(list.Requests) != 512 {
		t.Errorf("over HTTP: %v, %d", err, len(list.Requests))
	}
	if strings.Contains(w.Body.String(), "a-secret") {
		t.Error("the key is in the record")
	}
}

func TestServerDropsEverybodyAtTheEnd(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	model := scriptedmodel.New(scriptedmodel.Options{})
	server, err := scriptedmodel.Listen("127.0.0.1:0", model)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()

	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	body := func(script string) io.Reader {
		raw, _ := json.Marshal(request(true, user(fenced(script))))
		return bytes.NewReader(raw)
	}
	send := func(script string) (*http.Response, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL()+"/v1/messages", body(script))
		if err != nil {
			t.Fatal(err)
		}
		return client.Do(r)
	}

	resp, err := send(`[{"cut":true,"blocks":[{"text":"a text that is cut in two halves, more or less"}]}]`)
	if err != nil {
		t.Fatal(err)
	}
	half, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err == nil || !bytes.Contains(half, []byte("text_delta")) || bytes.Contains(half, []byte("message_stop")) {
		t.Errorf("cut: got %v and %s", err, half)
	}
	if _, err := send(`[{"cut":true}]`); err == nil {
		t.Error("cut without blocks: got an answer")
	}

	stalled := make(chan error, 1)
	go func() {
		resp, err := send(`[{"stall":true}]`)
		if err == nil {
			_ = resp.Body.Close()
		}
		stalled <- err
	}()
	if _, err := model.AwaitRequest(t.Context(), func(q scriptedmodel.Request) bool { return q.Outcome == "stall" }); err != nil {
		t.Fatal(err)
	}
	stop()
	if err := <-stalled; err == nil {
		t.Error("the stalled request was answered")
	}
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	if _, err := model.AwaitRequest(ctx, func(scriptedmodel.Request) bool { return false }); err == nil {
		t.Error("AwaitRequest outlived its context")
	}
}
