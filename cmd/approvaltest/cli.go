package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/google/uuid"
)

// object is a JSON object.
type object = map[string]any

// cli plays one CLI that the host has started.
type cli struct {
	run     *run
	conn    net.Conn
	hello   hello
	session string
	writing sync.Mutex
	prompts int // messages of the person for which no turn has begun; protected by run.mu
}

// serve plays the CLI until the host closes its input. It answers the requests of the host, and
// records the host's answers to the requests of the scenario.
func (c *cli) serve(in *bufio.Reader) {
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			c.take(line)
		}
		if err != nil {
			c.run.inputEnded(c, err == io.EOF)
			c.conn.Close()
			return
		}
	}
}

func (c *cli) take(line []byte) {
	line = line[:len(line)-1]
	c.run.trace.line("host", line)
	var m struct {
		Type      string          `json:"type"`
		RequestID string          `json:"request_id"`
		Request   json.RawMessage `json:"request"`
		Response  json.RawMessage `json:"response"`
		Message   struct {
			Role string `json:"role"`
		} `json:"message"`
	}
	if len(strings.TrimSpace(string(line))) == 0 {
		return
	}
	if err := json.Unmarshal(line, &m); err != nil {
		c.run.find(invalid, "a line that is not JSON, which ends the real CLI: %v", err)
		return
	}
	switch m.Type {
	case "control_request":
		c.request(m.RequestID, m.Request)
	case "control_response":
		c.run.answered(c, m.Response)
	case "user":
		if m.Message.Role != "user" {
			c.run.find(invalid, "a message with the role %q, which ends the real CLI", m.Message.Role)
		}
		c.run.prompted(c)
	}
}

// request answers a request of the host as the real CLI does.
func (c *cli) request(id string, body json.RawMessage) {
	var r struct {
		Subtype string `json:"subtype"`
		Mode    string `json:"mode"`
	}
	_ = json.Unmarshal(body, &r) // an object of another form is refused below
	inner := object{"subtype": "success", "request_id": id}
	switch r.Subtype {
	case "initialize":
		inner["response"] = object{
			"commands": []any{}, "agents": []any{}, "output_style": "default", "available_output_styles": []any{"default"},
			"models":  []any{object{"value": "default", "displayName": "Default", "description": "made up"}},
			"account": object{"apiKeySource": "ANTHROPIC_API_KEY"}, "claude_code_version": cliVersion,
		}
		inner["pending_permission_requests"] = c.run.openOn(c)
	case "interrupt":
		c.run.interrupted(c)
		inner["response"] = object{"still_queued": []any{}}
	case "set_permission_mode":
		inner["response"] = object{"mode": r.Mode}
	case "mcp_status":
		inner["response"] = object{"mcpServers": []any{}}
	case "get_session_cost":
		inner["response"] = object{"text": "Total cost:            $0.0000"}
	case "set_model", "set_max_thinking_tokens", "apply_flag_settings", "get_settings", "get_context_usage", "list_models",
		"set_has_subscribers", "get_usage", "reload_skills", "rename_session":
		inner["response"] = object{}
	default:
		inner = object{"subtype": "error", "request_id": id, "error": "Unsupported control request subtype: " + r.Subtype}
	}
	c.send(object{"type": "control_response", "response": inner})
}

// send writes a message.
func (c *cli) send(m object) {
	if m["type"] != "control_request" && m["type"] != "control_response" && m["type"] != "control_cancel_request" {
		m["session_id"], m["uuid"] = c.session, uuid.NewString()
	}
	line, err := json.Marshal(m)
	if err != nil {
		panic(err) // scenarios use only values that JSON can represent
	}
	c.write(append(line, '\n'))
}

// write writes bytes, usually whole lines.
func (c *cli) write(b []byte) {
	c.run.trace.line("cli", []byte(strings.TrimSuffix(string(b), "\n")))
	c.writing.Lock()
	defer c.writing.Unlock()
	_, _ = c.conn.Write(b) // a closed connection is noticed by the next wait
}

// begin begins a turn.
func (c *cli) begin() {
	c.send(object{
		"type": "system", "subtype": "init", "cwd": c.hello.Dir, "model": "claude-test-1", "permissionMode": "default",
		"claude_code_version": cliVersion, "apiKeySource": "ANTHROPIC_API_KEY", "output_style": "default",
		"tools": []any{"Bash", "Write", "WebFetch"}, "mcp_servers": []any{}, "slash_commands": []any{}, "skills": []any{}, "agents": []any{}, "plugins": []any{},
	})
}

// assistant sends a block of the model.
func (c *cli) assistant(block object) {
	c.send(object{"type": "assistant", "parent_tool_use_id": nil, "message": object{
		"id": "msg_" + uuid.NewString(), "type": "message", "role": "assistant", "model": "claude-test-1",
		"content": []any{block}, "stop_reason": nil, "stop_sequence": nil, "usage": object{"input_tokens": 1, "output_tokens": 1},
	}})
}

func (c *cli) toolResult(id, text string, failed bool) {
	c.send(object{"type": "user", "parent_tool_use_id": nil, "message": object{
		"role": "user", "content": []any{object{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": failed}},
	}})
}

// result ends a turn.
func (c *cli) result(subtype string) {
	m := object{
		"type": "result", "subtype": subtype, "is_error": subtype != "success", "duration_ms": 1, "duration_api_ms": 1, "num_turns": 1,
		"stop_reason": "end_turn", "total_cost_usd": 0, "usage": object{"input_tokens": 1, "output_tokens": 1}, "modelUsage": object{}, "permission_denials": []any{},
	}
	if subtype == "success" {
		m["result"] = "done"
	} else {
		m["errors"] = []any{}
	}
	c.send(m)
}

// die kills the CLI with SIGKILL, as in a crash.
func (c *cli) die() error {
	p, err := os.FindProcess(c.hello.PID)
	if err == nil {
		c.run.trace.note("the CLI is killed")
		err = p.Signal(syscall.SIGKILL)
	}
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill the CLI: %w", err)
	}
	return nil
}

// resumed reports whether the host has started the CLI to continue a session.
func (c *cli) resumed() bool {
	for _, a := range c.hello.Args {
		if a == "--resume" || strings.HasPrefix(a, "--resume=") || a == "--continue" || a == "-r" {
			return true
		}
	}
	return false
}

// sessionOf returns the session id in the arguments, or a new one.
func sessionOf(args []string) string {
	for i, a := range args {
		for _, flag := range []string{"--session-id", "--resume"} {
			if value, ok := strings.CutPrefix(a, flag+"="); ok {
				return value
			}
			if a == flag && i+1 < len(args) {
				return args[i+1]
			}
		}
	}
	return uuid.NewString()
}
