package scriptedmodel

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Options configures a [Model].
type Options struct {
	// Default is the script of conversations without one; if nil, the model greets.
	Default *Script
	// Scripts are the scripts that a prompt can refer to, by name. "demo" always exists.
	Scripts map[string]*Script
}

// A Model answers like the Messages API, with scripted replies. It is an http.Handler and is safe for
// concurrent use.
type Model struct {
	opts Options
	mux  *http.ServeMux
	seen record

	mu       sync.Mutex
	failures map[string]int // how often each reply with Times has failed
}

// New returns a model.
func New(opts Options) *Model {
	m := &Model{opts: opts, mux: http.NewServeMux(), failures: make(map[string]int)}
	m.mux.HandleFunc("POST /v1/messages", m.messages)
	m.mux.HandleFunc("POST /v1/messages/count_tokens", m.countTokens)
	m.mux.HandleFunc("GET /_requests", m.requests)
	m.mux.HandleFunc("/", m.serveOther)
	return m
}

// ServeHTTP answers one request.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.mux.ServeHTTP(w, r) }

// Requests returns the latest requests, oldest first. GET /_requests returns them as JSON.
func (m *Model) Requests() []Request {
	all, _ := m.seen.all()
	return all
}

// AwaitRequest returns the first recorded request that matches. It blocks until there is one,
// or returns the error of ctx.
func (m *Model) AwaitRequest(ctx context.Context, match func(Request) bool) (Request, error) {
	return m.seen.await(ctx, match)
}

// maxRequest bounds a request body, in bytes. The real API refuses more than 32 MB, but a test may
// send more to see what the CLI does.
const maxRequest = 256 << 20

func (m *Model) messages(w http.ResponseWriter, r *http.Request) {
	rec := newRequest(r)
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			m.seen.add(rec)
			writeError(w, http.StatusRequestEntityTooLarge, "", "Request exceeds the maximum size")
		}
		return
	}
	rec.Body, rec.BodyBytes = body, len(body)
	req := new(messagesRequest)
	if err := json.Unmarshal(body, req); err != nil {
		rec.Body = nil // may not be JSON at all
		m.seen.add(rec)
		writeError(w, http.StatusBadRequest, "", err.Error())
		return
	}
	rec.Model, rec.Stream, rec.Tools = req.Model, req.Stream, req.toolNames()
	rec.Messages, rec.UserText, rec.ToolResults = len(req.Messages), req.lastUserText(), req.toolResults()

	reply, key := m.choose(req, &rec)
	if reply.fails() && reply.Times > 0 && !m.failAgain(rec.SessionID+"/"+key, reply.Times) {
		reply.Status, reply.Stall, reply.Cut, reply.StreamError = 0, false, false, ""
		if len(reply.Blocks) == 0 {
			reply.Blocks = textBlocks("Done.")
		}
	}
	rec.Outcome = outcome(reply, rec.Outcome)
	m.seen.add(rec)
	if !sendReply(w, r, req, reply, len(body)) {
		panic(http.ErrAbortHandler) // drops the connection; returning would end the response properly
	}
}

// choose returns the reply to a request, and completes its record. key identifies the reply, to count
// its failures.
func (m *Model) choose(req *messagesRequest, rec *Request) (reply Reply, key string) {
	rec.Index = -1
	if len(req.Tools) == 0 {
		rec.Outcome = "canned"
		return Reply{Blocks: textBlocks(cannedReply(req))}, ""
	}
	name, body, index, ok := req.scripted()
	script := m.opts.Default
	switch {
	case !ok && script == nil:
		rec.Outcome = "greeting"
		return Reply{Blocks: textBlocks(greeting)}, ""
	case ok && name != "":
		if script = m.scriptNamed(name); script == nil {
			rec.Outcome = "bad_script"
			return Reply{Blocks: textBlocks("There is no script named " + strconv.Quote(name) + ".")}, ""
		}
		body = name
	case ok:
		var err error
		if script, err = ParseScript([]byte(body)); err != nil {
			rec.Outcome = "bad_script"
			return Reply{Blocks: textBlocks("The script in the prompt cannot be used: " + err.Error())}, ""
		}
	}
	rec.Index = index
	if last := len(req.Messages) - 1; last >= 0 && req.Messages[last].serversConnecting() {
		return Reply{Blocks: []Block{{Tool: waitTool, Input: json.RawMessage(`{}`)}}}, ""
	}
	if index >= len(script.Replies) {
		rec.Outcome = "after"
		after := script.After
		if after == "" {
			after = "Done."
		}
		return Reply{Blocks: textBlocks(after), ChunkMS: lastPace(script)}, ""
	}
	sum := sha256.Sum256([]byte(body))
	return script.Replies[index], fmt.Sprintf("%x/%d", sum[:8], index)
}

func (m *Model) scriptNamed(name string) *Script {
	if s := m.opts.Scripts[name]; s != nil {
		return s
	}
	if name == "demo" {
		return Demo()
	}
	return nil
}

func lastPace(s *Script) int {
	if len(s.Replies) == 0 {
		return 0
	}
	return s.Replies[len(s.Replies)-1].ChunkMS
}

// maxFailureKeys bounds the counters for Times. Beyond it, all counters start again.
const maxFailureKeys = 4096

func (m *Model) failAgain(key string, times int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failures[key] >= times {
		return false
	}
	if len(m.failures) >= maxFailureKeys {
		clear(m.failures)
	}
	m.failures[key]++
	return true
}

func outcome(r Reply, was string) string {
	switch {
	case was != "" && was != "none":
		return was
	case r.Status != 0:
		return "status"
	case r.Stall:
		return "stall"
	case r.Cut:
		return "cut"
	case r.StreamError != "":
		return "stream_error"
	default:
		return "reply"
	}
}

const greeting = "This is the sayso demo model. It follows a script. You said:\n\n> {{last_user_text}}"

// cannedReply answers the requests without tools that the CLI makes by itself: titles, summaries, page
// digests.
func cannedReply(req *messagesRequest) string {
	if strings.Contains(req.allText(), `"title"`) {
		return `{"title": "A scripted session"}`
	}
	return "A scripted session."
}

func textBlocks(s string) []Block { return []Block{{Text: s}} }

// sendReply sends the reply. It returns false if the response must not end properly, because the
// client or the server is gone, or because the script demands it.
func sendReply(w http.ResponseWriter, r *http.Request, req *messagesRequest, reply Reply, size int) bool {
	ctx := r.Context()
	if !wait(ctx, time.Duration(reply.DelayMS)*time.Millisecond) {
		return false
	}
	w.Header().Set("request-id", newID("req_"))
	if reply.Status != 0 {
		if reply.RetryAfter > 0 {
			w.Header().Set("retry-after", strconv.Itoa(reply.RetryAfter))
		}
		writeError(w, reply.Status, "", reply.Message)
		return true
	}
	if (reply.Stall || reply.Cut) && (len(reply.Blocks) == 0 || !req.Stream) {
		if reply.Stall {
			<-ctx.Done()
		}
		return false
	}
	out := render(req, reply, size)
	if !req.Stream {
		if reply.StreamError != "" {
			// The CLI retries a failed stream without streaming.
			writeError(w, http.StatusInternalServerError, reply.StreamError, "Scripted error")
			return true
		}
		writeJSON(w, http.StatusOK, out.object())
		return true
	}
	frames := out.frames()
	if reply.Stall || reply.Cut || reply.StreamError != "" {
		frames = frames[:half(frames)]
	}
	if reply.StreamError != "" {
		frames = append(frames, frame{name: "error", body: errorBody(reply.StreamError, "Scripted error")})
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	if !stream(ctx, w, frames, time.Duration(reply.ChunkMS)*time.Millisecond) {
		return false
	}
	if reply.Stall {
		<-ctx.Done()
	}
	return !reply.Stall && !reply.Cut
}

func render(req *messagesRequest, reply Reply, size int) *rendered {
	e := expander{req}
	out := &rendered{id: newID("msg_"), model: req.Model, stopReason: "end_turn"}
	written := 0
	for _, b := range reply.Blocks {
		if !req.holds(b.If) {
			continue
		}
		switch {
		case b.Tool != "":
			input := e.json(b.Input)
			if len(input) == 0 {
				input = json.RawMessage("{}")
			}
			if b.Script != nil {
				input = withScript(input, b.Script)
			}
			out.stopReason = "tool_use"
			out.blocks = append(out.blocks, renderedBlock{kind: "tool_use", id: newID("toolu_"), name: b.Tool, input: input})
			written += len(input)
		case b.Thinking != "":
			text := e.text(b.Thinking)
			out.blocks = append(out.blocks, renderedBlock{kind: "thinking", text: text})
			written += len(text)
		default:
			text := e.text(b.Text)
			if text == "" {
				text = " " // the API never sends an empty block, and the CLI would send it back
			}
			out.blocks = append(out.blocks, renderedBlock{kind: "text", text: text})
			written += len(text)
		}
	}
	if len(out.blocks) == 0 {
		out.blocks = []renderedBlock{{kind: "text", text: "…"}}
	}
	if reply.StopReason != "" {
		out.stopReason = reply.StopReason
	}
	out.usage = Usage{InputTokens: tokens(size), OutputTokens: tokens(written)}
	if reply.Usage != nil {
		out.usage = *reply.Usage
	}
	return out
}

// withScript appends the script to the prompt in input, which starts a subagent.
func withScript(input json.RawMessage, s *Script) json.RawMessage {
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(input, &fields) != nil {
		return input
	}
	var prompt string
	if raw, ok := fields["prompt"]; ok && json.Unmarshal(raw, &prompt) != nil {
		return input
	}
	if prompt != "" {
		prompt += "\n\n"
	}
	raw, err := json.Marshal(prompt + s.Fence())
	if err != nil {
		return input
	}
	fields["prompt"] = raw
	out, err := json.Marshal(fields)
	if err != nil {
		return input
	}
	return out
}

// tokens estimates the number of tokens as one per four bytes. The result is bounded, because the CLI
// compacts a conversation that is near its limit.
func tokens(bytes int) int { return min(bytes/4+1, 40_000) }

func newID(prefix string) string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails
	return prefix + "01" + hex.EncodeToString(b[:])
}

func (m *Model) countTokens(w http.ResponseWriter, r *http.Request) {
	rec := newRequest(r)
	n, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxRequest))
	rec.BodyBytes = int(n)
	m.seen.add(rec)
	if err != nil {
		return
	}
	writeJSON(w, http.StatusOK, map[string]int{"input_tokens": tokens(int(n))})
}

func (m *Model) requests(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"requests": m.Requests()})
}

// serveOther answers every request outside the Messages API. The CLI probes with HEAD / before its
// first turn.
func (m *Model) serveOther(w http.ResponseWriter, r *http.Request) {
	rec := newRequest(r)
	m.seen.add(rec)
	if r.URL.Path == "/" && (r.Method == http.MethodHead || r.Method == http.MethodGet) {
		w.WriteHeader(http.StatusOK)
		return
	}
	writeError(w, http.StatusNotFound, "", "Not found: "+r.Method+" "+r.URL.Path)
}

// keptHeaders are the headers to record. They contain no key and no token.
var keptHeaders = []string{"User-Agent", "Anthropic-Beta", "Anthropic-Version", "X-App", "X-Stainless-Retry-Count", "X-Claude-Code-Session-Id"}

func newRequest(r *http.Request) Request {
	q := Request{At: time.Now(), Method: r.Method, Path: r.URL.RequestURI(), Header: map[string]string{}, Index: -1, Outcome: "none"}
	for _, name := range keptHeaders {
		if v := r.Header.Get(name); v != "" {
			q.Header[name] = v
		}
	}
	q.SessionID = r.Header.Get("X-Claude-Code-Session-Id")
	return q
}

// errorTypes maps a status to the error type of the real API.
var errorTypes = map[int]string{
	400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
	404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 500: "api_error",
	504: "timeout_error", 529: "overloaded_error",
}

var errorMessages = map[int]string{
	401: "invalid x-api-key",
	429: "This request would exceed your account's rate limit. Please try again later.",
	500: "Internal server error",
	529: "Overloaded",
}

func errorBody(kind, message string) map[string]any {
	return map[string]any{"type": "error", "error": map[string]string{"type": kind, "message": message}}
}

func writeError(w http.ResponseWriter, status int, kind, message string) {
	if kind == "" {
		if kind = errorTypes[status]; kind == "" {
			kind = "api_error"
			if status < 500 {
				kind = "invalid_request_error"
			}
		}
	}
	if message == "" {
		if message = errorMessages[status]; message == "" {
			message = http.StatusText(status)
		}
	}
	body := errorBody(kind, message)
	if id := w.Header().Get("request-id"); id != "" {
		body["request_id"] = id
	}
	writeJSON(w, status, body)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // the client may be gone
}
