package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// conversation is a named part of the exchange between a host and a CLI.
type conversation struct {
	name string
	play func(*host)
}

// Names of the hook callbacks that the recorder registers.
const (
	hookOfCalls     = "before-a-call"
	hookOfApprovals = "before-an-approval"
)

// process is a CLI that is started for several conversations.
type process struct {
	resume        bool
	conversations []conversation
}

// processes are started one after the other, for the same session.
var processes = []process{
	{false, []conversation{
		{"start", start},
		{"approval", approval},
		{"denial", denial},
		{"several", several},
		{"question", question},
		{"cancel", cancel},
		{"interrupt", interrupt},
		{"hook", hook},
		{"mcp", mcp},
		{"elicitation", elicitation},
		{"subagent", subagent},
		{"rewind", rewind},
		{"settings", settings},
		{"reports", reports},
		{"failure", failure},
		{"compact", compact},
		{"unknown", unknown},
		{"end", end},
	}},
	{true, []conversation{{"killed", killed}}},
	{true, []conversation{{"resume", resume}, {"malformed", malformed}}},
}

func start(h *host) {
	h.call("initialize", map[string]any{
		"hooks": map[string]any{
			"PreToolUse":        []any{map[string]any{"matcher": "Write", "hookCallbackIds": []string{hookOfCalls}, "timeout": 600}},
			"PermissionRequest": []any{map[string]any{"matcher": "NotebookEdit", "hookCallbackIds": []string{hookOfApprovals}, "timeout": 600}},
		},
		"sdkMcpServers": []string{inHost},
	})
}

// bash returns a script whose only call runs a command, and whose text repeats the result.
func bash(command string) string {
	return fmt.Sprintf(`[[{"tool":"Bash","input":{"command":%q}}],[{"text":"{{last_tool_result}}"}]]`, command)
}

func (h *host) exists(name string) bool {
	_, err := os.Stat(filepath.Join(h.dir, name))
	return err == nil
}

func approval(h *host) {
	h.user(`[[{"thinking":"A file."},{"text":"I create it."},{"tool":"Bash","input":{"command":"touch approved"}}],[{"text":"{{last_tool_result}}"}]]`)
	r := h.asked("can_use_tool")
	h.allow(r)
	h.result()

	h.user(bash("touch edited-away"))
	r = h.asked("can_use_tool")
	h.answer(r, map[string]any{"behavior": "allow", "updatedInput": map[string]any{"command": "touch edited"}, "toolUseID": r.text("request", "tool_use_id")})
	h.allow(r) // a second answer
	h.result()
	h.observe("the input in an allow", choose(h.exists("edited") && !h.exists("edited-away"), "runs instead of the proposed one", "is not what runs"))
	h.observe("a second answer to a request", choose(!h.exists("edited-away"), "is ignored", "runs, too"))

	h.user(bash("touch without-input"))
	r = h.asked("can_use_tool")
	h.answer(r, map[string]any{"behavior": "allow", "toolUseID": r.text("request", "tool_use_id")})
	h.result()
	h.observe("an allow without updatedInput", choose(h.exists("without-input"), "runs the proposed input", "fails the call"))

	h.user(bash("touch granted"))
	r = h.asked("can_use_tool")
	h.answer(r, map[string]any{
		"behavior": "allow", "updatedInput": r.at("request", "input"), "toolUseID": r.text("request", "tool_use_id"),
		"updatedPermissions": []any{map[string]any{
			"type": "addRules", "behavior": "allow", "destination": "session",
			"rules": []any{map[string]any{"toolName": "Bash", "ruleContent": "touch again"}},
		}},
		"decisionClassification": "user_permanent",
	})
	h.result()
	h.user(bash("touch again"))
	m := h.await("a request or the result", func(m message) bool {
		return m["type"] == "result" || m.text("request", "subtype") == "can_use_tool"
	})
	h.observe("a rule granted with an allow", choose(m["type"] == "result", "holds for the next call", "does not hold"))
	if m["type"] != "result" {
		h.allow(m)
		h.result()
	}
}

func choose[T any](holds bool, yes, no T) T {
	if holds {
		return yes
	}
	return no
}

func denial(h *host) {
	h.user(bash("touch denied"))
	r := h.asked("can_use_tool")
	h.answer(r, map[string]any{"behavior": "deny", "message": "not on a Friday", "toolUseID": r.text("request", "tool_use_id")})
	m := h.result()
	h.observe("the message of a deny", choose(strings.Contains(m.text("result"), "not on a Friday"), "reaches the model", "is lost"))

	h.user(bash("touch failed"))
	r = h.asked("can_use_tool")
	h.send(map[string]any{"type": "control_response", "response": map[string]any{
		"subtype": "error", "request_id": r.text("request_id"), "error": "nobody is there",
	}})
	m = h.result()
	h.observe("an error as the answer to can_use_tool", choose(!h.exists("failed"), "denies: "+m.text("result"), "runs the call"))

	h.user(bash("touch never"))
	r = h.asked("can_use_tool")
	h.answer(r, map[string]any{"behavior": "deny", "message": "stop", "interrupt": true, "toolUseID": r.text("request", "tool_use_id")})
	m = h.result()
	h.observe("a deny with interrupt", "ends the turn: "+outcome(m))
}

// outcome describes a result.
func outcome(m message) string {
	s := m.text("subtype")
	if reason := m.text("terminal_reason"); reason != "" {
		s += ", " + reason
	}
	return s
}

// fetches returns a script with a message of n calls that may run in parallel.
func fetches(n int, text string) string {
	var calls []string
	for i := range n {
		calls = append(calls, fmt.Sprintf(`{"tool":"WebFetch","input":{"url":"https://%c.example/","prompt":"p"}}`, 'a'+i))
	}
	return `[[` + strings.Join(calls, ",") + `],[{"text":"` + text + `"}]]`
}

func several(h *host) {
	h.user(fetches(3, "{{tool_results}}"))
	var open []message
	for range 3 {
		open = append(open, h.asked("can_use_tool"))
	}
	h.observe("three calls in one message", "are asked at once")
	again := h.call("initialize", nil)
	pending, _ := again["pending_permission_requests"].([]any)
	h.observe("a second initialize", fmt.Sprintf("succeeds and lists %d of 3 open requests", len(pending)))
	slices.Reverse(open)
	for _, r := range open {
		h.answer(r, map[string]any{"behavior": "deny", "message": "no " + r.text("request", "input", "url"), "toolUseID": r.text("request", "tool_use_id")})
	}
	m := h.result()
	h.observe("answers in another order", choose(strings.Count(m.text("result"), "no https://") == 3, "reach the right calls", "get lost"))
}

func question(h *host) {
	h.user(`[[{"tool":"AskUserQuestion","input":{"questions":[
		{"question":"Which colour?","header":"Colour","multiSelect":false,"options":[{"label":"Red","description":"warm"},{"label":"Blue","description":"cold"}]},
		{"question":"Which sizes?","header":"Sizes","multiSelect":true,"options":[{"label":"S","description":"small"},{"label":"M","description":"medium"}]}]}}],
		[{"text":"{{last_tool_result}}"}]]`)
	r := h.asked("can_use_tool")
	input, _ := r.at("request", "input").(map[string]any)
	answered := map[string]any{"questions": input["questions"], "answers": map[string]any{"Which colour?": "Blue", "Which sizes?": "S, a tiny one"}}
	h.answer(r, map[string]any{"behavior": "allow", "updatedInput": answered, "toolUseID": r.text("request", "tool_use_id")})
	m := h.result()
	h.observe("answers to questions", choose(strings.Contains(m.text("result"), "S, a tiny one"), "reach the model", "get lost"))
}

// cancel lets a hook decide about a call while the host is asked about it too.
func cancel(h *host) {
	notebook := filepath.Join(h.dir, "n.ipynb")
	if err := os.WriteFile(notebook, []byte(`{"cells":[{"cell_type":"code","id":"a","source":"1","metadata":{},"outputs":[],"execution_count":null}],"metadata":{},"nbformat":4,"nbformat_minor":5}`), 0o600); err != nil {
		h.fail(err)
	}
	h.user(fmt.Sprintf(`[[{"tool":"Read","input":{"file_path":%q}}],[{"tool":"NotebookEdit","input":{"notebook_path":%q,"cell_id":"a","new_source":"2"}}],[{"text":"over"}]]`, notebook, notebook))
	var hookRequest, toolRequest message
	h.await("both requests", func(m message) bool {
		switch m.text("request", "subtype") {
		case "hook_callback":
			hookRequest = m
		case "can_use_tool":
			toolRequest = m
		}
		return hookRequest != nil && toolRequest != nil || m["type"] == "result"
	})
	if hookRequest == nil || toolRequest == nil {
		h.observe("a PermissionRequest hook", fmt.Sprintf("runs: %v, beside a request: %v", hookRequest != nil, toolRequest != nil))
		return
	}
	h.answer(hookRequest, map[string]any{"hookSpecificOutput": map[string]any{"hookEventName": "PermissionRequest", "decision": map[string]any{"behavior": "deny", "message": "a hook says no"}}})
	m := h.await("the withdrawal", func(m message) bool { return m["type"] == "control_cancel_request" || m["type"] == "result" })
	h.observe("a PermissionRequest hook that decides first", choose(m["type"] == "control_cancel_request", "withdraws the request", "does not withdraw the request"))
	h.allow(toolRequest)
	if m["type"] != "result" {
		h.result()
	}
	edited, err := os.ReadFile(notebook)
	if err != nil {
		h.fail(err)
	}
	h.observe("an answer to a withdrawn request", choose(!strings.Contains(string(edited), `"2"`), "is ignored", "counts"))
}

func interrupt(h *host) {
	h.user(fetches(2, "never"))
	h.asked("can_use_tool")
	late := h.asked("can_use_tool")
	id := h.request("interrupt", nil)
	cancels := 0
	m := h.await("the response to interrupt", func(m message) bool {
		if m["type"] == "control_cancel_request" {
			cancels++
		}
		return isResponse(id)(m)
	})
	h.observe("an interrupt", fmt.Sprintf("withdraws %d of 2 open requests before its response", cancels))
	var keys []string
	inner, _ := m.at("response", "response").(map[string]any)
	for k := range inner {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	h.observe("the response to an interrupt", "{"+strings.Join(keys, ", ")+"}")
	h.allow(late)
	h.observe("the turn after an interrupt", outcome(h.result()))
}

func hook(h *host) {
	script := fmt.Sprintf(`[[{"tool":"Write","input":{"file_path":%q,"content":"x"}}],[{"text":"{{last_tool_result}}"}]]`, filepath.Join(h.dir, "hooked"))
	h.user(script)
	h.answer(h.asked("hook_callback"), map[string]any{"hookSpecificOutput": map[string]any{"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "a hook says no"}})
	m := h.result()
	h.observe("the reason of a hook", choose(strings.Contains(m.text("result"), "a hook says no"), "reaches the model", "is lost"))

	h.user(script)
	r := h.asked("hook_callback")
	h.send(map[string]any{"type": "control_response", "response": map[string]any{"subtype": "error", "request_id": r.text("request_id"), "error": "broken"}})
	m = h.await("a request or the result", func(m message) bool {
		return m["type"] == "result" || m.text("request", "subtype") == "can_use_tool"
	})
	h.observe("a hook callback that fails", choose(m["type"] != "result", "counts as a hook that says nothing", "stops the call"))
	if m["type"] != "result" {
		h.allow(m)
		h.result()
	}
}

func mcp(h *host) {
	h.user(`[[{"tool":"mcp__` + inHost + `__` + toolName + `","input":{"what":"the answer"}}],[{"text":"{{last_tool_result}}"}]]`)
	h.allow(h.asked("can_use_tool"))
	m := h.result()
	h.observe("a tool of an MCP server in the host", choose(strings.Contains(m.text("result"), "the desk says 42"), "is called", "is not called"))
}

// elicit returns a script whose call makes the MCP server send an elicitation.
func elicit(text string) string {
	return `[[{"tool":"mcp__` + onStdio + `__` + toolName + `","input":{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}}],[{"text":"` + text + `"}]]`
}

func elicitation(h *host) {
	h.user(elicit("{{last_tool_result}}"))
	h.allow(h.asked("can_use_tool"))
	h.answer(h.asked("elicitation"), map[string]any{"action": "accept", "content": map[string]any{"name": "Ada"}})
	m := h.result()
	h.observe("the answer to an elicitation", choose(strings.Contains(m.text("result"), `"name":"Ada"`), "reaches the MCP server", "is lost"))

	h.user(elicit("never"))
	h.allow(h.asked("can_use_tool"))
	r := h.asked("elicitation")
	again := h.call("initialize", nil)
	pending, _ := again["pending_elicitation_requests"].([]any)
	h.observe("an open elicitation", choose(len(pending) > 0, "is listed by a second initialize", "is not listed by a second initialize"))
	h.request("interrupt", nil)
	cancelled := false
	h.await("the result", func(m message) bool {
		cancelled = cancelled || m["type"] == "control_cancel_request" && m["request_id"] == r["request_id"]
		return m["type"] == "result"
	})
	h.observe("an interrupt during an elicitation", choose(cancelled, "withdraws it", "sends no withdrawal"))
}

func subagent(h *host) {
	h.user(`[[{"tool":"Task","input":{"description":"look","prompt":"go","subagent_type":"general-purpose","run_in_background":false},
		"script":[[{"tool":"Bash","input":{"command":"touch by-a-subagent"}}],[{"text":"looked"}]]}],[{"text":"over"}]]`)
	r := h.asked("can_use_tool")
	h.observe("a request of a subagent", choose(r.text("request", "agent_id") != "", "has an agent_id", "has no agent_id"))
	h.allow(r)
	h.result()
}

func rewind(h *host) {
	file := filepath.Join(h.dir, "rewound.txt")
	id := uuid.NewString()
	h.send(map[string]any{
		"type": "user", "uuid": id, "session_id": "", "parent_tool_use_id": nil,
		"message": map[string]any{"role": "user", "content": "```script\n" + fmt.Sprintf(`[[{"tool":"Write","input":{"file_path":%q,"content":"new\n"}}],[{"text":"written"}]]`, file) + "\n```"},
	})
	h.await("the result", func(m message) bool {
		switch m.text("request", "subtype") {
		case "can_use_tool":
			h.allow(m)
		case "hook_callback":
			h.answer(m, map[string]any{})
		}
		return m["type"] == "result"
	})
	dry := h.call("rewind_files", map[string]any{"user_message_id": id, "dry_run": true})
	can, _ := dry.at("response", "canRewind").(bool)
	h.observe("rewind_files with dry_run", choose(can && h.exists("rewound.txt"), "says what would change", "cannot"))
	h.call("rewind_files", map[string]any{"user_message_id": id})
	h.observe("rewind_files", choose(!h.exists("rewound.txt"), "restores the files", "restores nothing"))
}

func settings(h *host) {
	h.call("set_permission_mode", map[string]any{"mode": "acceptEdits"})
	h.call("set_permission_mode", map[string]any{"mode": "default"})
	m := h.call("set_permission_mode", map[string]any{"mode": "bypassPermissions"})
	h.observe("set_permission_mode to bypassPermissions", choose(m.text("subtype") == "error", "is refused: "+m.text("error"), "is accepted"))
	h.call("set_model", map[string]any{"model": "opus"})
	h.call("set_model", map[string]any{"model": nil})
	h.call("set_max_thinking_tokens", map[string]any{"max_thinking_tokens": 1024})
	h.call("apply_flag_settings", map[string]any{"settings": map[string]any{"permissions": map[string]any{"ask": []string{"Bash(ls)"}}}})
	h.user(bash("ls"))
	r := h.await("a request or the result", func(m message) bool {
		return m["type"] == "result" || m.text("request", "subtype") == "can_use_tool"
	})
	h.observe("a rule of apply_flag_settings", choose(r["type"] != "result", "asks at once", "does not ask"))
	if r["type"] != "result" {
		h.allow(r)
		h.result()
	}
	h.call("apply_flag_settings", map[string]any{"settings": map[string]any{"permissions": nil}})
}

// requestsOfHosts are control requests, with their fields, that change nothing, or nothing that matters
// here.
var requestsOfHosts = []struct {
	subtype string
	fields  map[string]any
}{
	{"mcp_status", nil},
	{"mcp_reconnect", map[string]any{"serverName": "nobody"}},
	{"mcp_toggle", map[string]any{"serverName": "nobody", "enabled": false}},
	{"mcp_set_servers", map[string]any{"servers": map[string]any{}}},
	{"mcp_call", map[string]any{"tool": "mcp__nobody__none", "arguments": map[string]any{}}},
	{"mcp_read_resource", map[string]any{"serverName": "nobody", "uri": "ui://x"}},
	{"get_context_usage", map[string]any{"detail": "summary"}},
	{"get_session_cost", nil},
	{"get_settings", nil},
	{"get_usage", map[string]any{"skip_behaviors": true}},
	{"get_binary_version", nil},
	{"get_hooks_listing", nil},
	{"get_task_output", map[string]any{"task_id": "none"}},
	{"list_models", nil},
	{"list_permission_rules", nil},
	{"file_suggestions", map[string]any{"query": "a"}},
	{"read_file", map[string]any{"path": "edited"}},
	{"seed_read_state", map[string]any{"path": "edited", "mtime": 0}},
	{"reload_plugins", nil},
	{"reload_skills", nil},
	{"reload_output_styles", nil},
	{"rename_session", map[string]any{"title": "A title"}},
	{"set_color", map[string]any{"color": "blue"}},
	{"set_has_subscribers", map[string]any{"has_subscribers": true}},
	{"stop_task", map[string]any{"task_id": "none"}},
	{"background_tasks", nil},
	{"cancel_async_message", map[string]any{"message_uuid": uuid.Nil.String()}},
	{"update_settings", map[string]any{"source": "userSettings", "settings": map[string]any{}}},
	{"rewind_conversation", map[string]any{"target_message_uuid": uuid.Nil.String()}},
	{"set_mcp_permission_mode_override", map[string]any{"serverName": "nobody", "mode": "default"}},
	{"mcp_authenticate", map[string]any{"serverName": "nobody"}},
	{"mcp_oauth_callback_url", map[string]any{"serverName": "nobody", "callbackUrl": "http://localhost/?code=x"}},
	{"mcp_clear_auth", map[string]any{"serverName": "nobody"}},
	{"register_repo_root", map[string]any{"directory": "nowhere"}},
	{"side_question", map[string]any{"question": "What is left?"}},
	{"claim_session", map[string]any{"cwd": "/"}},
	{"no_such_request", nil},
}

func reports(h *host) {
	for _, r := range requestsOfHosts {
		m := h.call(r.subtype, r.fields)
		outcome := "answers"
		if m.text("subtype") == "error" {
			outcome = "refuses: " + m.text("error")
			if strings.Contains(m.text("error"), "Unsupported control request") {
				outcome = "does not know"
			}
		}
		h.observe("request "+r.subtype, outcome)
	}
}

func unknown(h *host) {
	h.send(map[string]any{"type": "control_response", "response": map[string]any{"subtype": "success", "request_id": "never-sent", "response": map[string]any{}}})
	h.send(map[string]any{"type": "keep_alive"})
	h.send(map[string]any{"type": "no_such_type"})
	h.send(map[string]any{"type": "control_cancel_request", "request_id": "never-sent"})
	h.user(`[[{"text":"still here"}]]`)
	m := h.result()
	h.observe("an answer to a request that was never sent, a line of an unknown type, keep_alive", choose(m.text("result") == "still here", "are ignored", "break it"))
}

func compact(h *host) {
	h.send(map[string]any{
		"type": "user", "session_id": "", "parent_tool_use_id": nil,
		"message": map[string]any{"role": "user", "content": "/compact"},
	})
	h.result()
}

func failure(h *host) {
	h.user(`[{"status":529,"message":"made up","times":1,"blocks":[{"text":"at last"}]}]`)
	h.result()
	h.user(`[{"status":400,"message":"made up"}]`)
	m := h.result()
	h.observe("an error of the API", fmt.Sprintf("ends the turn: %s, is_error %v", outcome(m), m["is_error"]))
}

func end(h *host) {
	if h.err == nil {
		if err := h.process.CloseInput(); err != nil {
			h.fail(err)
		}
	}
	h.observe("the end of its input between turns", fmt.Sprintf("exits with status %d", h.end()))
}

// killed kills the CLI while a request is open, once the transcript contains the tool call.
func killed(h *host) {
	h.call("initialize", nil)
	h.user(bash("touch after-a-kill"))
	r := h.asked("can_use_tool")
	h.open = r
	deadline := time.Now().Add(awaitTimeout)
	for h.err == nil && !h.saved(r.text("request", "tool_use_id")) {
		if time.Now().After(deadline) {
			h.fail(errors.New("the CLI has not saved its call"))
		}
		time.Sleep(10 * time.Millisecond)
	}
	h.call("get_session_cost", nil) // gives the CLI time to write the entries after the call
	if err := h.process.Kill(); err != nil {
		h.fail(err)
	}
	h.end()
}

// saved reports whether a saved conversation contains a text.
func (h *host) saved(text string) bool {
	files, err := filepath.Glob(filepath.Join(h.home, ".claude", "projects", "*", "*.jsonl"))
	for _, f := range files {
		content, readErr := os.ReadFile(f)
		if err = errors.Join(err, readErr); bytes.Contains(content, []byte(text)) {
			return true
		}
	}
	if err != nil {
		h.fail(err)
	}
	return false
}

func resume(h *host) {
	var answer, r message // they arrive in any order
	id := h.request("initialize", nil)
	h.await("the response to initialize and a request", func(m message) bool {
		switch {
		case isResponse(id)(m):
			answer = m
		case m.text("request", "subtype") == "can_use_tool":
			r = m
		}
		return answer != nil && r != nil
	})
	before := h.open
	h.observe("a call whose process was killed, with CLAUDE_CODE_RESUME_INTERRUPTED_TURN", fmt.Sprintf("is asked again: same request_id %v, same tool_use_id %v",
		r["request_id"] == before["request_id"], r.at("request", "tool_use_id") == before.at("request", "tool_use_id")))
	h.allow(r)
	h.result()
}

func malformed(h *host) {
	if h.err != nil {
		return
	}
	if err := h.process.Send([]byte(`{"type":`)); err != nil {
		h.fail(err)
	}
	h.observe("a line that is not JSON", fmt.Sprintf("exits with status %d", h.end()))
}
