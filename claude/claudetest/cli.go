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

// Version is the version that the CLI reports.
const Version = "2.1.329"

// Record is one input or action of the CLI.
type Record struct {
	// Kind is start, initialize, interrupt, control_request, asked,
	// control_response, user, eof or exit.
	Kind      string          `json:"kind"`
	AtNS      int64           `json:"at_ns"` // Unix nanoseconds
	RequestID string          `json:"request_id,omitempty"`
	Known     bool            `json:"known,omitempty"` // of control_response: its request was open
	Line      json.RawMessage `json:"line,omitempty"`  // as received
	Args      []string        `json:"args,omitempty"`  // of start
	Env       []string        `json:"env,omitempty"`   // of start
	Status    int             `json:"status,omitempty"`
}

// CLI plays the CLI on its end of a transport. Only Transport is required.
type CLI struct {
	Transport      claude.Transport // Recv is its stdin, Send its stdout
	Script         Script
	OnRecord       func(Record) // calls do not overlap
	SessionID      string
	CWD            string
	Model          string
	PermissionMode string
	Partial        bool // also sends stream events of partial texts

	host host
	mu   sync.Mutex // protects following
	open map[string]*ask
	// abort is closed by an interrupt of the turn; nil between turns and after an interrupt.
	abort chan struct{}
	// interrupted is the same channel, but is kept until the end of the turn, for the steps after
	// an interrupt.
	interrupted chan struct{}
	aborted     chan []*ask      // the requests that an interrupt left unanswered; capacity 1
	cost        *float64         // total so far, in US dollars; nil before the first use
	replies     map[string]Reply // by subtype
	// lastResult is the text of the last tool result.
	lastResult string
	// lastText is the last text of the turn.
	lastText string
	stubborn bool
	eof      bool

	exited chan struct{} // closed by exit
	status int           // set before exited is closed
	once   sync.Once
	turns  chan string // prompts; closed at the end of input
	deaf   chan struct{}
}

// host contains what only a program can do; all fields are nil in memory.
type host struct {
	stdout io.Writer // for bytes that are not whole lines
	stderr io.Writer
	run    func(dir, tool string, input json.RawMessage) (result string, err error)
	spawn  func(kind string) error
	ignore func() // ignores SIGTERM
	exit   func(status int)
}

// Run plays the script until the input ends, the script exits or ctx ends, and returns the exit
// status. It closes Transport.
func (c *CLI) Run(ctx context.Context) int {
	c.open = make(map[string]*ask)
	c.replies = make(map[string]Reply)
	c.exited = make(chan struct{})
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
	<-c.exited
	return c.status
}

func (c *CLI) exit(status int) {
	c.once.Do(func() {
		c.record(Record{Kind: "exit", Status: status})
		if c.host.exit != nil {
			c.host.exit(status)
		}
		c.status = status
		close(c.exited)
		c.Transport.Close()
	})
}

// fail exits as the real CLI does for invalid input.
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
	_ = c.Transport.Send(line) // a host that does not read misses the message
}

// read handles the input until its end.
func (c *CLI) read() {
	defer close(c.turns)
	for {
		line, err := c.Transport.Recv()
		if err != nil {
			c.endOfInput()
			return
		}
		select {
		case <-c.exited:
			return
		case <-c.deaf:
			<-c.exited
			return
		default:
		}
		if len(strings.TrimSpace(string(line))) == 0 {
			continue
		}
		c.handleLine(append([]byte(nil), line...))
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
		<-c.exited
	}
}

func (c *CLI) handleLine(line []byte) {
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
		Server  string `json:"serverName"`
		Enabled bool   `json:"enabled"`

		CWD string `json:"cwd"`

		MCPServers map[string]any `json:"mcpServers"`
		Plugins    []any          `json:"plugins"`
	}
	_ = json.Unmarshal(body, &r)
	kind := "control_request"
	if r.Subtype == "initialize" || r.Subtype == "interrupt" {
		kind = r.Subtype
	}
	c.record(Record{Kind: kind, RequestID: id, Line: line})
	inner := map[string]any{"subtype": "success", "request_id": id, "response": map[string]any{}}
	c.mu.Lock()
	reply, scripted := c.replies[r.Subtype]
	if reply.Next != nil {
		c.replies[r.Subtype] = *reply.Next
	}
	if r.Subtype == "mcp_toggle" {
		c.toggle(r.Server, r.Enabled)
	}
	c.mu.Unlock()
	switch {
	case reply.Never:
		return
	case reply.Error != "":
		c.emit(map[string]any{"type": "control_response", "response": map[string]any{"subtype": "error", "request_id": id, "error": reply.Error}})
		return
	case scripted:
		c.mu.Lock()
		line, err := json.Marshal(reply.Response) // toggle changes the response
		c.mu.Unlock()
		if err != nil {
			panic(err) // the reply was parsed from JSON
		}
		inner["response"] = json.RawMessage(line)
		c.emit(map[string]any{"type": "control_response", "response": inner})
		return
	}
	switch r.Subtype {
	case "initialize":
		hello := map[string]any{
			"output_style": "default", "claude_code_version": Version,
			"commands": []any{
				map[string]any{"name": "compact", "description": "Free up context", "argumentHint": "[instructions]", "builtin": true},
				map[string]any{"name": "ship", "description": "Ship it (user)", "argumentHint": "[version]"},
			},
			"agents": []any{map[string]any{"name": "reviewer", "description": "Reviews code"}},
			"models": []any{
				map[string]any{"value": "default", "displayName": "Default", "description": "scripted"},
				map[string]any{"value": "opus", "resolvedModel": "claude-opus-5-5", "displayName": "Opus", "description": "Opus 5.5 · scripted"},
			},
			"account": map[string]any{"apiKeySource": "ANTHROPIC_API_KEY"},
		}
		if len(r.MCPServers) > 0 {
			hello["mcp_servers_applied"] = true
		}
		if len(r.Plugins) > 0 {
			hello["plugins_applied"] = true
		}
		inner["response"] = hello
		inner["pending_permission_requests"] = c.pendingRequests()
	case "claim_session": // of a CLI with --await-claim
		inner["response"] = map[string]any{"cwd": r.CWD, "session_id": c.SessionID, "sdk_mcp_settled": true}
	case "interrupt":
		switch c.Script.Interrupt {
		case "ignored":
			c.emit(map[string]any{"type": "control_response", "response": inner})
			return
		case "refused":
			c.emit(map[string]any{"type": "control_response", "response": map[string]any{"subtype": "error", "request_id": id, "error": "Not now"}})
			return
		case "unanswered":
			return
		}
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
		inner["response"] = map[string]any{"text": fmt.Sprintf("Total cost:            $%.4f\nTotal duration (API):  0s", c.addCost(0))}
	case "apply_flag_settings", "get_settings", "mcp_status", "mcp_toggle", "mcp_reconnect", "set_max_thinking_tokens":
	default:
		inner = map[string]any{"subtype": "error", "request_id": id, "error": "Unsupported control request subtype: " + r.Subtype}
	}
	c.emit(map[string]any{"type": "control_response", "response": inner})
	if r.Subtype == "initialize" {
		for _, line := range c.Script.Initialized {
			_ = c.Transport.Send([]byte(line)) // errors are ignored, as in emit
		}
	}
}

// toggle enables or disables an MCP server in the scripted response to mcp_status. The caller
// holds the lock.
func (c *CLI) toggle(server string, enabled bool) {
	list, _ := c.replies["mcp_status"].Response["mcpServers"].([]any)
	for _, s := range list {
		if s, _ := s.(map[string]any); s["name"] == server {
			s["status"] = "disabled"
			if enabled {
				s["status"] = "connected"
			}
		}
	}
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
	c.interrupted, c.lastText = c.abort, ""
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
	c.abort, c.interrupted = nil, nil
	text := orElse(c.lastText, "done")
	c.mu.Unlock()
	result := map[string]any{
		"type": "result", "subtype": "success", "is_error": false, "num_turns": 1, "result": text,
		"duration_ms": time.Since(began).Milliseconds(), "duration_api_ms": 1, "total_cost_usd": c.addCost(0),
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

// addCost adds more to the total cost, and returns the total, in US dollars.
func (c *CLI) addCost(more float64) float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cost == nil {
		c.cost = new(c.Script.Restored)
	}
	*c.cost = max(0, *c.cost+more)
	return *c.cost
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
