package claudetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/claude"
)

// Version is what the CLI claims to be.
const Version = "2.1.329"

// Record is one thing the CLI received or did.
type Record struct {
	// Kind is start, initialize, interrupt, control_request, asked,
	// control_response, user, eof or exit.
	Kind      string          `json:"kind"`
	AtNS      int64           `json:"at_ns"` // Unix nanoseconds
	RequestID string          `json:"request_id,omitempty"`
	Known     bool            `json:"known,omitempty"` // of control_response: the request was open
	Line      json.RawMessage `json:"line,omitempty"`  // as received
	Args      []string        `json:"args,omitempty"`  // of start
	Env       []string        `json:"env,omitempty"`   // of start
	Status    int             `json:"status,omitempty"`
}

// CLI plays a CLI on its side of a transport. The zero value of every field but
// Transport will do.
type CLI struct {
	Transport      claude.Transport // Recv is its stdin, Send its stdout
	Script         Script
	OnRecord       func(Record) // called for one record at a time
	SessionID      string
	CWD            string
	Model          string
	PermissionMode string
	Partial        bool // also sends the pieces of a text

	host host
	mu   sync.Mutex // protects following
	open map[string]*ask
	// abort is closed by an interrupt of the turn; nil between turns.
	abort    chan struct{}
	aborted  chan []*ask // what an interrupt left without an answer; capacity 1
	cost     *float64    // so far, in US dollars; nil before it was counted
	stubborn bool
	eof      bool

	over   chan struct{} // closed by exit
	status int           // set before over is closed
	once   sync.Once
	turns  chan string // prompts; closed at the end of input
	deaf   chan struct{}
}

// host is what only a program can do; all nil in memory.
type host struct {
	stdout io.Writer // for bytes that are no line
	stderr io.Writer
	spawn  func(kind string) error
	ignore func() // SIGTERM
	exit   func(status int)
}

// ask is an open can_use_tool request.
type ask struct {
	requestID string
	toolUseID string
	request   map[string]any
	answers   chan<- answer // capacity for every ask that shares it
}

// answer is what became of an ask.
type answer struct {
	ask     *ask
	line    []byte // the control_response; nil when there is none
	problem string // why there is none
}

var errInterrupted = errors.New("interrupted")

// Run plays until the input ends, the script exits or ctx ends, and returns the
// exit status.
func (c *CLI) Run(ctx context.Context) int {
	c.open = make(map[string]*ask)
	c.over = make(chan struct{})
	c.deaf = make(chan struct{})
	c.turns = make(chan string, 1024)
	c.SessionID = orElse(c.SessionID, uuid.NewString())
	c.Model = orElse(c.Model, "claude-test-1")
	c.PermissionMode = orElse(c.PermissionMode, "default")
	c.CWD = orElse(c.CWD, "/")
	defer context.AfterFunc(ctx, func() { c.exit(143) })()

	var tasks sync.WaitGroup
	tasks.Go(func() {
		if err := c.play(c.Script.Start); err != nil {
			return
		}
		tasks.Go(c.read)
		for prompt := range c.turns {
			c.turn(prompt)
		}
		c.exit(0)
	})
	tasks.Wait()
	<-c.over
	return c.status
}

func (c *CLI) exit(status int) {
	c.once.Do(func() {
		c.record(Record{Kind: "exit", Status: status})
		if c.host.exit != nil {
			c.host.exit(status)
		}
		c.status = status
		close(c.over)
		c.Transport.Close()
	})
}

// fail exits as the real CLI does when its input makes no sense.
func (c *CLI) fail(why string) {
	if c.host.stderr != nil {
		fmt.Fprintln(c.host.stderr, "Error parsing streaming input line: "+why)
	}
	c.exit(1)
}

func (c *CLI) record(r Record) {
	if c.OnRecord == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r.AtNS = time.Now().UnixNano()
	c.OnRecord(r)
}

// emit sends one message.
func (c *CLI) emit(m map[string]any) {
	if _, ok := m["session_id"]; !ok && m["type"] != "control_response" && m["type"] != "control_request" {
		m["session_id"], m["uuid"] = c.SessionID, uuid.NewString()
	}
	line, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	_ = c.Transport.Send(line) // who does not read does not hear
}

// read takes the input until its end.
func (c *CLI) read() {
	defer close(c.turns)
	for {
		line, err := c.Transport.Recv()
		if err != nil {
			c.endOfInput()
			return
		}
		select {
		case <-c.over:
			return
		case <-c.deaf:
			<-c.over
			return
		default:
		}
		if len(strings.TrimSpace(string(line))) == 0 {
			continue
		}
		c.take(append([]byte(nil), line...))
	}
}

func (c *CLI) endOfInput() {
	c.record(Record{Kind: "eof"})
	c.mu.Lock()
	c.eof = true
	open := c.open
	c.open = make(map[string]*ask)
	stubborn := c.stubborn
	c.mu.Unlock()
	for _, a := range open {
		a.answers <- answer{ask: a, problem: "Tool permission request failed: Error: Tool permission stream closed before response received"}
	}
	if stubborn {
		<-c.over
	}
}

func (c *CLI) take(line []byte) {
	var m struct {
		Type      string          `json:"type"`
		RequestID string          `json:"request_id"`
		Request   json.RawMessage `json:"request"`
		Response  struct {
			RequestID string `json:"request_id"`
		} `json:"response"`
		Message struct {
			Role    string `json:"role"`
			Content any    `json:"content"`
		} `json:"message"`
	}
	if err := json.Unmarshal(line, &m); err != nil {
		c.fail(err.Error())
		return
	}
	switch m.Type {
	case "control_request":
		if m.Request == nil {
			c.fail("control_request without request")
			return
		}
		c.request(m.RequestID, m.Request, line)
	case "control_response":
		c.mu.Lock()
		a := c.open[m.Response.RequestID]
		delete(c.open, m.Response.RequestID)
		c.mu.Unlock()
		c.record(Record{Kind: "control_response", RequestID: m.Response.RequestID, Known: a != nil, Line: line})
		if a != nil {
			a.answers <- answer{ask: a, line: line}
		}
	case "user":
		if m.Message.Role != "user" {
			c.fail("expected message role 'user'")
			return
		}
		c.record(Record{Kind: "user", Line: line})
		c.turns <- textOf(m.Message.Content)
	}
}

func textOf(content any) string {
	if s, ok := content.(string); ok {
		return s
	}
	var all []string
	blocks, _ := content.([]any)
	for _, b := range blocks {
		if b, _ := b.(map[string]any); b["type"] == "text" {
			s, _ := b["text"].(string)
			all = append(all, s)
		}
	}
	return strings.Join(all, "\n")
}

// request answers a control request of the host.
func (c *CLI) request(id string, body json.RawMessage, line []byte) {
	var r struct {
		Subtype string `json:"subtype"`
		Mode    string `json:"mode"`
		Model   string `json:"model"`
	}
	_ = json.Unmarshal(body, &r)
	kind := "control_request"
	if r.Subtype == "initialize" || r.Subtype == "interrupt" {
		kind = r.Subtype
	}
	c.record(Record{Kind: kind, RequestID: id, Line: line})
	inner := map[string]any{"subtype": "success", "request_id": id, "response": map[string]any{}}
	switch r.Subtype {
	case "initialize":
		inner["response"] = map[string]any{
			"commands": []any{}, "output_style": "default", "claude_code_version": Version,
			"models":  []any{map[string]any{"value": "default", "displayName": "Default", "description": "scripted"}},
			"account": map[string]any{"apiKeySource": "ANTHROPIC_API_KEY"},
		}
		inner["pending_permission_requests"] = c.pendingRequests()
	case "interrupt":
		c.mu.Lock()
		open := c.open
		c.open = make(map[string]*ask)
		abort, aborted := c.abort, c.aborted
		c.abort = nil
		c.mu.Unlock()
		for id := range open {
			c.emit(map[string]any{"type": "control_cancel_request", "request_id": id})
		}
		c.emit(map[string]any{"type": "control_response", "response": inner})
		if abort != nil {
			aborted <- slices.Collect(maps.Values(open))
			close(abort)
		}
		return
	case "set_model":
		c.mu.Lock()
		c.Model = orElse(r.Model, "claude-test-1")
		c.mu.Unlock()
	case "set_permission_mode":
		c.mu.Lock()
		c.PermissionMode = r.Mode
		c.mu.Unlock()
		inner["response"] = map[string]any{"mode": r.Mode}
	case "get_session_cost":
		inner["response"] = map[string]any{"text": fmt.Sprintf("Total cost:            $%.4f\nTotal duration (API):  0s", c.costs(0))}
	case "get_settings", "mcp_status", "set_max_thinking_tokens":
	default:
		inner = map[string]any{"subtype": "error", "request_id": id, "error": "Unsupported control request subtype: " + r.Subtype}
	}
	c.emit(map[string]any{"type": "control_response", "response": inner})
}

func (c *CLI) pendingRequests() []any {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := []any{}
	for _, a := range c.open {
		list = append(list, a.envelope())
	}
	return list
}

func (a *ask) envelope() map[string]any {
	return map[string]any{"type": "control_request", "request_id": a.requestID, "request": a.request}
}

// turn runs the steps of one user message.
func (c *CLI) turn(prompt string) {
	steps, err := stepsOf(prompt)
	if errors.Is(err, errNoFence) {
		steps = c.Script.Turn
		if steps == nil {
			steps = []Step{{Text: "You said: " + prompt}}
		}
	} else if err != nil {
		steps = []Step{{Text: err.Error()}}
	}
	c.mu.Lock()
	c.abort, c.aborted = make(chan struct{}), make(chan []*ask, 1)
	model, mode := c.Model, c.PermissionMode
	c.mu.Unlock()
	c.emit(map[string]any{
		"type": "system", "subtype": "init", "cwd": c.CWD, "model": model, "permissionMode": mode,
		"claude_code_version": Version, "tools": []any{"Bash", "Write", "Edit", "WebFetch", "AskUserQuestion"},
		"mcp_servers": []any{}, "slash_commands": []any{}, "apiKeySource": "ANTHROPIC_API_KEY",
	})
	began := time.Now()
	err = c.play(steps)
	c.mu.Lock()
	c.abort = nil
	c.mu.Unlock()
	result := map[string]any{
		"type": "result", "subtype": "success", "is_error": false, "num_turns": 1, "result": "done",
		"duration_ms": time.Since(began).Milliseconds(), "duration_api_ms": 1, "total_cost_usd": c.costs(0),
		"usage": map[string]any{"input_tokens": 10, "output_tokens": 20}, "permission_denials": []any{},
	}
	switch {
	case errors.Is(err, errInterrupted):
		c.emit(map[string]any{"type": "user", "parent_tool_use_id": nil, "message": map[string]any{
			"role": "user", "content": []any{map[string]any{"type": "text", "text": "[Request interrupted by user for tool use]"}},
		}})
		result["subtype"], result["is_error"] = "error_during_execution", true
		delete(result, "result")
	case err != nil:
		return
	}
	c.emit(result)
}

// costs adds to what it has cost, and returns the total.
func (c *CLI) costs(more float64) float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cost == nil {
		c.cost = new(c.Script.Restored)
	}
	*c.cost = max(0, *c.cost+more)
	return *c.cost
}

var errOver = errors.New("the CLI has exited")

// play runs steps until one ends the turn or the CLI.
func (c *CLI) play(steps []Step) error {
	for _, s := range steps {
		if err := c.step(s); err != nil {
			return err
		}
		select {
		case <-c.over:
			return errOver
		default:
		}
	}
	return nil
}

func (c *CLI) step(s Step) error {
	switch {
	case s.Ask != nil:
		return c.asks(s)
	case s.Text != "":
		c.say(s.Text)
	case s.Raw != "":
		_ = c.Transport.Send([]byte(s.Raw))
	case s.Bytes > 0:
		id := "toolu_" + uuid.NewString()
		c.toolUse(uuid.NewString(), id, "Read", map[string]any{"file_path": "/big"}, nil)
		c.toolResult(id, strings.Repeat("0123456789abcdef", s.Bytes/16+1)[:s.Bytes], false, nil)
	case s.Flood != nil:
		c.flood(*s.Flood)
	case s.SleepMS > 0:
		return c.pause(time.Duration(s.SleepMS) * time.Millisecond)
	case s.Cost != 0:
		c.costs(s.Cost)
	case s.Silent:
		return c.pause(-1)
	case s.Exit != nil:
		c.exit(*s.Exit)
		return errOver
	case s.Rubbish:
		for i := range 50 {
			_ = c.Transport.Send(fmt.Appendf(nil, "[SandboxDebug] line %d of 50 that is no JSON", i+1))
		}
	case s.DieMidLine:
		const half = `{"type":"assistant","message":{"role":"assis`
		if c.host.stdout != nil {
			_, _ = io.WriteString(c.host.stdout, half)
		} else {
			_ = c.Transport.Send([]byte(half))
		}
		c.exit(1)
		return errOver
	case s.Stderr != "" && c.host.stderr != nil:
		fmt.Fprintln(c.host.stderr, s.Stderr)
	case s.StderrFlood > 0 && c.host.stderr != nil:
		line := strings.Repeat("stderr ", 15) + "\n"
		for n := 0; n < s.StderrFlood; n += len(line) {
			_, _ = io.WriteString(c.host.stderr, line)
		}
	case s.SpawnChild != "" && c.host.spawn != nil:
		if err := c.host.spawn(s.SpawnChild); err != nil {
			c.fail(err.Error())
			return errOver
		}
	case s.Stubborn:
		c.mu.Lock()
		c.stubborn = true
		c.mu.Unlock()
		if c.host.ignore != nil {
			c.host.ignore()
		}
	case s.Deaf:
		close(c.deaf)
	}
	return nil
}

// pause waits; a negative duration waits for an interrupt.
func (c *CLI) pause(d time.Duration) error {
	c.mu.Lock()
	abort := c.abort
	c.mu.Unlock()
	var after <-chan time.Time
	if d >= 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		after = timer.C
	}
	select {
	case <-after:
		return nil
	case <-abort:
		return errInterrupted
	case <-c.over:
		return errOver
	}
}

func (c *CLI) assistant(messageID string, block map[string]any, parent any) {
	c.mu.Lock()
	model := c.Model
	c.mu.Unlock()
	c.emit(map[string]any{"type": "assistant", "parent_tool_use_id": parent, "message": map[string]any{
		"id": messageID, "type": "message", "role": "assistant", "model": model, "content": []any{block},
		"stop_reason": nil, "usage": map[string]any{"input_tokens": 10, "output_tokens": 1},
	}})
}

func (c *CLI) say(text string) {
	id := "msg_" + uuid.NewString()
	if c.Partial {
		event := func(e map[string]any) {
			c.emit(map[string]any{"type": "stream_event", "parent_tool_use_id": nil, "event": e})
		}
		event(map[string]any{"type": "message_start", "message": map[string]any{"id": id, "role": "assistant", "content": []any{}}})
		event(map[string]any{"type": "content_block_start", "index": 0, "content_block": map[string]any{"type": "text", "text": ""}})
		for rest := []rune(text); len(rest) > 0; {
			n := min(16, len(rest))
			event(map[string]any{"type": "content_block_delta", "index": 0, "delta": map[string]any{"type": "text_delta", "text": string(rest[:n])}})
			rest = rest[n:]
		}
		event(map[string]any{"type": "content_block_stop", "index": 0})
		defer event(map[string]any{"type": "message_stop"})
	}
	c.assistant(id, map[string]any{"type": "text", "text": text}, nil)
}

func (c *CLI) toolUse(messageID, id, name string, input, parent any) {
	c.assistant(messageID, map[string]any{"type": "tool_use", "id": id, "name": name, "input": input}, parent)
}

func (c *CLI) toolResult(id, text string, isError bool, parent any) {
	c.emit(map[string]any{"type": "user", "parent_tool_use_id": parent, "message": map[string]any{
		"role":    "user",
		"content": []any{map[string]any{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": isError}},
	}})
}

// flood writes messages in pieces of 64 KiB, which is what a busy CLI does.
func (c *CLI) flood(f Flood) {
	line, err := json.Marshal(map[string]any{
		"type": "assistant", "session_id": c.SessionID, "uuid": uuid.NewString(), "parent_tool_use_id": nil,
		"message": map[string]any{"id": "msg_flood", "role": "assistant", "content": []any{
			map[string]any{"type": "text", "text": strings.Repeat("flood\n", max(1, (f.Bytes-250)/7))},
		}},
	})
	if err != nil {
		panic(err)
	}
	if c.host.stdout == nil {
		for range f.Lines {
			_ = c.Transport.Send(line)
		}
		return
	}
	line = append(line, '\n')
	var piece []byte
	for range f.Lines {
		if piece = append(piece, line...); len(piece) >= 64<<10 {
			_, _ = c.host.stdout.Write(piece)
			piece = piece[:0]
		}
	}
	_, _ = c.host.stdout.Write(piece)
}

// asks sends the requests of a step and does with the answers what the real CLI
// does: a tool that was allowed has the result "ran <tool> with <input>".
func (c *CLI) asks(s Step) error {
	count := max(1, s.Count)
	answers := make(chan answer, count)
	messageID := "msg_" + uuid.NewString()
	if s.Parallel {
		for range count {
			c.ask(s.Ask, messageID, answers)
			if s.EveryMS > 0 {
				if err := c.pause(time.Duration(s.EveryMS) * time.Millisecond); err != nil {
					return err
				}
			}
		}
		return c.await(answers, count, s.CancelMS)
	}
	for range count {
		c.ask(s.Ask, messageID, answers)
		if err := c.await(answers, 1, s.CancelMS); err != nil {
			return err
		}
		if s.EveryMS > 0 {
			if err := c.pause(time.Duration(s.EveryMS) * time.Millisecond); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *CLI) ask(members map[string]any, messageID string, answers chan<- answer) {
	a := &ask{requestID: uuid.NewString(), request: maps.Clone(members), answers: answers}
	a.toolUseID, _ = a.request["tool_use_id"].(string)
	a.toolUseID = orElse(a.toolUseID, "toolu_"+uuid.NewString())
	a.request["subtype"], a.request["tool_use_id"] = "can_use_tool", a.toolUseID
	if a.request["input"] == nil {
		a.request["input"] = map[string]any{}
	}
	c.toolUse(messageID, a.toolUseID, a.toolName(), a.request["input"], a.parent())
	c.mu.Lock()
	eof := c.eof
	if !eof {
		c.open[a.requestID] = a
	}
	c.mu.Unlock()
	if eof {
		answers <- answer{ask: a, problem: "Tool permission request failed: Error: Stream closed"}
		return
	}
	c.record(Record{Kind: "asked", RequestID: a.requestID})
	c.emit(a.envelope())
}

func (a *ask) toolName() string {
	s, _ := a.request["tool_name"].(string)
	return s
}

// parent is the Task call of the subagent that asks.
func (a *ask) parent() any {
	if s, ok := a.request["agent_id"].(string); ok {
		return "toolu_task_" + s
	}
	return nil
}

func (c *CLI) await(answers <-chan answer, count, cancelMS int) error {
	c.mu.Lock()
	abort := c.abort
	c.mu.Unlock()
	var withdraw <-chan time.Time
	if cancelMS > 0 {
		timer := time.NewTimer(time.Duration(cancelMS) * time.Millisecond)
		defer timer.Stop()
		withdraw = timer.C
	}
	for range count {
		select {
		case a := <-answers:
			if c.settle(a) {
				return errInterrupted
			}
		case <-withdraw:
			c.withdrawAll()
			return nil
		case <-abort:
			for _, a := range <-c.aborted {
				c.toolResult(a.toolUseID, "The user doesn't want to proceed with this tool use.", true, a.parent())
			}
			return errInterrupted
		case <-c.over:
			return errOver
		}
	}
	return nil
}

// withdrawAll cancels every open request, as when a hook has decided.
func (c *CLI) withdrawAll() {
	c.mu.Lock()
	open := c.open
	c.open = make(map[string]*ask)
	c.mu.Unlock()
	for id, a := range open {
		c.emit(map[string]any{"type": "control_cancel_request", "request_id": id})
		c.toolResult(a.toolUseID, "decided elsewhere", true, a.parent())
	}
}

// settle emits the tool result that an answer leads to and reports whether it
// ends the turn.
func (c *CLI) settle(a answer) (interrupt bool) {
	parent := a.ask.parent()
	if a.problem != "" {
		c.toolResult(a.ask.toolUseID, a.problem, true, parent)
		return false
	}
	var m struct {
		Response struct {
			Subtype  string `json:"subtype"`
			Error    string `json:"error"`
			Response struct {
				Behavior     string          `json:"behavior"`
				UpdatedInput json.RawMessage `json:"updatedInput"`
				Message      *string         `json:"message"`
				Interrupt    bool            `json:"interrupt"`
			} `json:"response"`
		} `json:"response"`
	}
	if err := json.Unmarshal(a.line, &m); err != nil {
		c.fail(err.Error())
		return false
	}
	r := m.Response.Response
	switch {
	case m.Response.Subtype == "error":
		c.toolResult(a.ask.toolUseID, "Tool permission request failed: "+m.Response.Error, true, parent)
	case r.Behavior == "allow" && r.UpdatedInput != nil:
		c.toolResult(a.ask.toolUseID, "ran "+a.ask.toolName()+" with "+string(r.UpdatedInput), false, parent)
	case r.Behavior == "deny" && r.Message != nil:
		c.toolResult(a.ask.toolUseID, *r.Message, true, parent)
		return r.Interrupt
	default:
		// What 2.1.197 says to an allow without updatedInput.
		c.toolResult(a.ask.toolUseID, "Tool permission request failed: ZodError: invalid_union", true, parent)
	}
	return false
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
