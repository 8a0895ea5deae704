package claude_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude"
)

const (
	initLine      = `{"type":"system","subtype":"init","cwd":"/w","session_id":"s1","uuid":"u1","tools":["Bash"],"mcp_servers":[{"name":"m","status":"connected","source":"x"}],"model":"opus","permissionMode":"plan","slash_commands":["compact"],"apiKeySource":"none","claude_code_version":"2.1.329","output_style":"default","agents":["Explore"],"skills":[],"capabilities":["interrupt_receipt_v1"],"novel":{"a":1}}`
	assistantLine = `{"type":"assistant","message":{"model":"opus","id":"msg_1","type":"message","role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"x"},{"type":"text","text":"line\n\"two\" \ud83d\ude00"},{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls","n":1.0},"caller":{}},17],"stop_reason":"tool_use","usage":{"input_tokens":1}},"parent_tool_use_id":"toolu_0","session_id":"s1","uuid":"u2","agent_id":"a1","subagent_type":"Explore","task_description":"look","error":"overloaded","aborted":true}`
	userLine      = `{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_1","type":"tool_result","content":"out\nput","is_error":true},{"type":"tool_result","tool_use_id":"toolu_2","content":[{"type":"text","text":"one"},{"type":"image","source":{}},{"type":"text","text":"zwö"}]}]},"parent_tool_use_id":null,"session_id":"s1","uuid":"u3","isReplay":true,"tool_use_result":{"stdout":"x"}}`
	resultLine    = `{"duration_api_ms":50,"type":"result","subtype":"error_during_execution","is_error":true,"duration_ms":100.5,"num_turns":3,"result":"r","stop_reason":null,"total_cost_usd":0.25,"usage":{"input_tokens":1,"output_tokens":2,"cache_read_input_tokens":3,"cache_creation_input_tokens":4},"permission_denials":[{"tool_name":"Bash","tool_use_id":"t","tool_input":{"a":1}}],"errors":["e1"],"terminal_reason":"aborted_tools","session_id":"s1","uuid":"u4"}`
	deltaLine     = `{"type":"stream_event","event":{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"par\tt"}},"session_id":"s1","parent_tool_use_id":"toolu_0","uuid":"u5"}`
)

var messageSeeds = []string{
	initLine, assistantLine, userLine, resultLine, deltaLine,
	`{"type":"user","message":{"role":"user","content":"plain"}}`,
	`{"type":"system","subtype":"status","status":"compacting","permissionMode":"plan"}`,
	`{"type":"stream_event","event":{"type":"message_start","message":{"id":"msg_1"}}}`,
	`{"type":"stream_event","event":{"type":"content_block_start","content_block":{"type":"tool_use"},"index":1e0}}`,
	`{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{\"a"}}}`,
}

func decode[M claude.Message](t *testing.T, line string) M {
	t.Helper()
	m, err := claude.Decode([]byte(line))
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	got, ok := m.(M)
	if !ok {
		t.Fatalf("%s: got %T, want %T", line, m, got)
	}
	if string(got.Base().Raw) != line {
		t.Errorf("Raw: got %s, want the line", got.Base().Raw)
	}
	return got
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestSystemInit(t *testing.T) {
	t.Parallel()
	m := decode[*claude.SystemInit](t, initLine)
	equal(t, "header", m.Type+m.SessionID+m.UUID, "systems1u1")
	equal(t, "text fields", []string{m.CWD, m.Model, m.PermissionMode, m.ClaudeCodeVersion, m.APIKeySource, m.OutputStyle},
		[]string{"/w", "opus", "plan", "2.1.329", "none", "default"})
	equal(t, "lists", fmt.Sprint(m.Tools, m.SlashCommands, m.Agents, m.Skills, m.Capabilities, m.MCPServers),
		"[Bash] [compact] [Explore] [] [interrupt_receipt_v1] [{m connected x}]")
}

func TestSystem(t *testing.T) {
	t.Parallel()
	s := decode[*claude.SystemStatus](t, `{"type":"system","subtype":"status","status":null,"permissionMode":"plan","compact_result":"ok"}`)
	equal(t, "status", []string{s.Status, s.PermissionMode, s.CompactResult}, []string{"", "plan", "ok"})
	equal(t, "subtype", decode[*claude.System](t, `{"subtype":"brand_new","task_id":"t","type":"system"}`).Subtype, "brand_new")
}

func TestAssistant(t *testing.T) {
	t.Parallel()
	m := decode[*claude.Assistant](t, assistantLine)
	equal(t, "text fields", []string{m.MessageID, m.Model, m.StopReason, m.ParentToolUseID, m.AgentID, m.SubagentType, m.TaskDescription, m.Error, string(m.Usage)},
		[]string{"msg_1", "opus", "tool_use", "toolu_0", "a1", "Explore", "look", "overloaded", `{"input_tokens":1}`})
	equal(t, "aborted", m.Aborted, true)
	if len(m.Content) != 3 {
		t.Fatalf("got %d blocks, want 3: what is no object is left out", len(m.Content))
	}
	equal(t, "thinking", []string{m.Content[0].Type, m.Content[0].Text}, []string{"thinking", "hm"})
	equal(t, "text", []string{m.Content[1].Type, m.Content[1].Text}, []string{"text", "line\n\"two\" 😀"})
	use := m.Content[2]
	equal(t, "tool use", []string{use.Type, use.ID, use.Name, string(use.Input), string(use.Raw)},
		[]string{"tool_use", "toolu_1", "Bash", `{"command":"ls","n":1.0}`, `{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls","n":1.0},"caller":{}}`})
}

func TestUser(t *testing.T) {
	t.Parallel()
	m := decode[*claude.User](t, userLine)
	equal(t, "replay", m.IsReplay, true)
	equal(t, "tool_use_result", string(m.ToolUseResult), `{"stdout":"x"}`)
	equal(t, "blocks", len(m.Content), 2)
	first, second := m.Content[0], m.Content[1]
	equal(t, "ids", first.ToolUseID+second.ToolUseID, "toolu_1toolu_2")
	equal(t, "errors", []bool{first.IsError, second.IsError}, []bool{true, false})
	for limit, want := range map[int]string{100: "one\nzwö", 7: "one\nzw", 4: "one\n", 3: "one", 1: "o", 0: ""} {
		text, size := second.ResultText(limit)
		equal(t, fmt.Sprint("text up to ", limit), text, want)
		equal(t, "size", size, len("one\nzwö"))
	}
	for limit, want := range map[int]string{100: "out\nput", 4: "out\n", 3: "out"} {
		text, size := first.ResultText(limit)
		equal(t, fmt.Sprint("text up to ", limit), text, want)
		equal(t, "size", size, len("out\nput"))
	}
	plain := decode[*claude.User](t, `{"type":"user","message":{"role":"user","content":"plain"}}`)
	equal(t, "plain text", plain.Content[0].Text, "plain")
}

func TestResultTextCutsBetweenCharacters(t *testing.T) {
	t.Parallel()
	for _, content := range []string{`"aé😀é"`, `"a\u00e9\ud83d\ude00\u00e9"`} {
		m := decode[*claude.User](t, `{"type":"user","message":{"content":[{"type":"tool_result","content":`+content+`}]}}`)
		for limit, want := range []string{"", "a", "a", "aé", "aé", "aé", "aé", "aé😀", "aé😀", "aé😀é"} {
			text, size := m.Content[0].ResultText(limit)
			equal(t, fmt.Sprint(content, " up to ", limit), text, want)
			equal(t, "size", size, 9)
		}
	}
}

func TestResult(t *testing.T) {
	t.Parallel()
	m := decode[*claude.Result](t, resultLine)
	equal(t, "text fields", []string{m.Subtype, m.Text, m.StopReason, m.TerminalReason, strings.Join(m.Errors, ",")},
		[]string{"error_during_execution", "r", "", "aborted_tools", "e1"})
	equal(t, "numbers", []float64{m.DurationMS, m.DurationAPIMS, m.TotalCostUSD, float64(m.NumTurns)}, []float64{100.5, 50, 0.25, 3})
	equal(t, "usage", m.Usage, claude.Usage{InputTokens: 1, OutputTokens: 2, CacheReadInputTokens: 3, CacheCreationInputTokens: 4})
	equal(t, "denials", fmt.Sprintf("%s", m.PermissionDenials), `[{Bash t {"a":1}}]`)
	equal(t, "error", m.IsError, true)
}

func TestStreamEvent(t *testing.T) {
	t.Parallel()
	m := decode[*claude.StreamEvent](t, deltaLine)
	equal(t, "delta", []string{m.EventType, m.DeltaType, m.Text, m.ParentToolUseID}, []string{"content_block_delta", "text_delta", "par\tt", "toolu_0"})
	equal(t, "index", m.Index, 2)
	equal(t, "partial JSON", decode[*claude.StreamEvent](t, messageSeeds[9]).Text, `{"a`)
	equal(t, "message id", decode[*claude.StreamEvent](t, messageSeeds[7]).MessageID, "msg_1")
	start := decode[*claude.StreamEvent](t, messageSeeds[8])
	equal(t, "block", fmt.Sprint(start.BlockType, start.Index), "tool_use1")
}

// The set of messages and fields grows with every CLI: none may be lost, and
// none may cost the conversation.
func TestUnknownIsKept(t *testing.T) {
	t.Parallel()
	equal(t, "type", decode[*claude.Other](t, `{"type":"brand_new","x":1}`).Type, "brand_new")
	equal(t, "no type", decode[*claude.Other](t, `{"x":1}`).Type, "")
	m := decode[*claude.Result](t, `{"type":"result","num_turns":"three","total_cost_usd":1,"errors":{},"usage":[]}`)
	equal(t, "fields of other types", fmt.Sprint(m.NumTurns, m.TotalCostUSD, m.Errors), "0 1 []")
	equal(t, "assistant of other types", len(decode[*claude.Assistant](t, `{"type":"assistant","message":"text"}`).Content), 0)
	equal(t, "content of other types", len(decode[*claude.Assistant](t, `{"type":"assistant","message":{"content":{"a":1},"id":7}}`).Content), 0)
	equal(t, "event of other types", decode[*claude.StreamEvent](t, `{"type":"stream_event","event":[]}`).EventType, "")
}

func TestBodyThatIsNoJSONIsMalformed(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`{"type":"result","num_turns":01}`, `{"type":"assistant","message":{"content":[{"type" "text"}]}}`, `{"type":"user","message":{,}}`,
		`{"type":"user","message":{"content":[,]}}`, `{"type":"stream_event","event":{"delta":{1}}}`,
	} {
		if m, err := claude.Decode([]byte(line)); !errors.Is(err, claude.ErrMalformed) {
			t.Errorf("%s: got %v %v, want ErrMalformed", line, m, err)
		}
	}
}
