package claude_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sayso-dev/sayso/claude"
)

// The messages of the TypeScript SDK 0.3.332, with the type that each is decoded to and some of its
// fields.
func TestEveryMessageHasAType(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`"system","subtype":"init","model":"m"`:                                                                   "SystemInit Model:m",
		`"system","subtype":"status","status":"compacting"`:                                                       "SystemStatus Status:compacting",
		`"system","subtype":"api_retry","attempt":2,"error_status":null,"error":"rate_limit"`:                     "APIRetry Attempt:2 ErrorStatus:0 Error:rate_limit",
		`"system","subtype":"background_tasks_changed","tasks":[{"task_id":"a"}]`:                                 "BackgroundTasksChanged TaskID:a",
		`"system","subtype":"commands_changed","commands":[{"name":"x"}]`:                                         "CommandsChanged Name:x",
		`"system","subtype":"compact_boundary","compact_metadata":{"trigger":"auto","pre_tokens":9}`:              "CompactBoundary Trigger:auto PreTokens:9",
		`"system","subtype":"control_request_progress","request_id":"r","status":"started"`:                       "ControlRequestProgress ControlRequestID:r",
		`"system","subtype":"elicitation_complete","elicitation_id":"e"`:                                          "ElicitationComplete ElicitationID:e",
		`"system","subtype":"files_persisted","files":[{"filename":"f","file_id":"1"}],"failed":[{"error":"no"}]`: "FilesPersisted Filename:f Error:no",
		`"system","subtype":"hook_started","hook_event":"Stop"`:                                                   "HookStarted HookEvent:Stop",
		`"system","subtype":"hook_progress","stdout":"o"`:                                                         "HookProgress Stdout:o",
		`"system","subtype":"hook_response","exit_code":2,"outcome":"error"`:                                      "HookResponse ExitCode:2 Outcome:error",
		`"system","subtype":"informational","content":"c","level":"warning"`:                                      "Informational Content:c Level:warning",
		`"system","subtype":"local_command_output","content":"c"`:                                                 "LocalCommandOutput Content:c",
		`"system","subtype":"memory_recall","memories":[{"path":"p"}]`:                                            "MemoryRecall Path:p",
		`"system","subtype":"mirror_error","error":"e"`:                                                           "MirrorError Error:e",
		`"system","subtype":"model_refusal_fallback","fallback_model":"m","request_id":null`:                      "ModelRefusalFallback FallbackModel:m",
		`"system","subtype":"model_refusal_no_fallback","original_model":"m"`:                                     "ModelRefusalNoFallback OriginalModel:m",
		`"system","subtype":"notification","priority":"high"`:                                                     "Notification Priority:high",
		`"system","subtype":"permission_denied","decision_reason_type":"rule"`:                                    "PermissionDenied ReasonType:rule",
		`"system","subtype":"plugin_install","status":"failed"`:                                                   "PluginInstall Status:failed",
		`"system","subtype":"session_state_changed","state":"idle"`:                                               "SessionStateChanged State:idle",
		`"system","subtype":"session_writes_lost","error_code":"ENOSPC","lost":["transcript"]`:                    "SessionWritesLost ErrorCode:ENOSPC Lost:[transcript]",
		`"system","subtype":"task_started","task_id":"a","is_backgrounded":true`:                                  "TaskStarted TaskID:a IsBackgrounded:true",
		`"system","subtype":"task_progress","usage":{"tool_uses":3}`:                                              "TaskProgress ToolUses:3",
		`"system","subtype":"task_updated","patch":{"status":"killed"}`:                                           "TaskUpdated Status:killed",
		`"system","subtype":"task_notification","status":"stopped","resource_links":[{"uri":"u"}]`:                "TaskNotification Status:stopped URI:u",
		`"system","subtype":"thinking_tokens","estimated_tokens":7`:                                               "ThinkingTokens Tokens:7",
		`"system","subtype":"worker_shutting_down","reason":"r"`:                                                  "WorkerShuttingDown Reason:r",
		`"system","subtype":"new_in_2.2","x":1`:                                                                   "System Subtype:new_in_2.2",
		`"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1.5}`:                               "RateLimitEvent Status:rejected ResetsAt:1.5",
		`"tool_progress","elapsed_time_seconds":2.5,"subagent_retry":{"attempt":1}`:                               "ToolProgress ElapsedSeconds:2.5",
		`"tool_use_summary","preceding_tool_use_ids":["t"]`:                                                       "ToolUseSummary ToolUseIDs:[t]",
		`"auth_status","isAuthenticating":true`:                                                                   "AuthStatus IsAuthenticating:true",
		`"prompt_suggestion","suggestion":"s"`:                                                                    "PromptSuggestion Suggestion:s",
		`"conversation_reset","new_conversation_id":"n","trigger":"clear"`:                                        "ConversationReset NewConversationID:n Trigger:clear",
		`"active_goal","value":null`:                                                                              "ActiveGoal Goal:<nil>",
		`"transcript_mirror","filePath":"p","entries":[{}]`:                                                       "TranscriptMirror FilePath:p",
		`"keep_alive"`:                                   "KeepAlive ",
		`"assistant","message":{"model":"m"}`:            "Assistant Model:m",
		`"user","isReplay":true`:                         "User IsReplay:true",
		`"stream_event","event":{"type":"message_stop"}`: "StreamEvent EventType:message_stop",
		`"result","subtype":"error_max_turns","user_message_uuids":["u"],"origin":{"kind":"task-notification"}`: "Result Subtype:error_max_turns PromptUUIDs:[u] Kind:task-notification",
		`"new_in_2.2"`: "Other Type:new_in_2.2",
	} {
		line = `{"type":` + line + `,"uuid":"the uuid","session_id":"s"}`
		m, err := claude.Decode([]byte(line))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		kind, fields, _ := strings.Cut(want, " ")
		if got := fmt.Sprintf("%T", m); got != "*claude."+kind {
			t.Errorf("%s: got %s, want %s", line, got, kind)
		}
		text := fmt.Sprintf("%+v", m)
		for field := range strings.FieldsSeq(fields) {
			if !strings.Contains(text, field) {
				t.Errorf("%s: got %s, want %s", line, text, field)
			}
		}
		if b := m.Base(); b.UUID != "the uuid" || b.SessionID != "s" || string(b.Raw) != line {
			t.Errorf("%s: the common fields are %+v", line, b)
		}
		system, ok := claude.AsSystem(m)
		if wantOK := strings.HasPrefix(line, `{"type":"system"`) && !strings.HasPrefix(kind, "SystemInit") && !strings.HasPrefix(kind, "SystemStatus"); ok != wantOK {
			t.Errorf("%s: AsSystem is %v", line, ok)
		} else if ok && system.Subtype == "" {
			t.Errorf("%s: no subtype", line)
		}
	}
}

// A field of another type must not make a message unreadable.
func TestAFieldOfAnotherTypeStaysZero(t *testing.T) {
	t.Parallel()
	m := decode[*claude.TaskProgress](t, `{"type":"system","subtype":"task_progress","task_id":7,"usage":"many","summary":"s"}`)
	equal(t, "fields", []any{m.TaskID, m.Usage, m.Summary}, []any{"", claude.TaskUsage{}, "s"})
}

func TestKeepOutlivesTheLine(t *testing.T) {
	t.Parallel()
	line := []byte(`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]}}`)
	m, err := claude.Decode(line)
	if err != nil {
		t.Fatal(err)
	}
	kept := claude.Keep(m).(*claude.Assistant)
	clear(line)
	equal(t, "input", string(kept.Content[0].Input), `{"command":"ls"}`)
}

func TestTasksAreToldApartFromTheTurn(t *testing.T) {
	t.Parallel()
	var tasks claude.Tasks
	apply := func(lines ...string) {
		for _, line := range lines {
			if !strings.HasPrefix(line, "{") {
				line = `{"type":"system","subtype":` + line + `}`
			}
			m, err := claude.Decode([]byte(line))
			if err != nil {
				t.Fatal(err)
			}
			tasks.Apply(m)
		}
	}
	running := func(want string) {
		t.Helper()
		var ids []string
		for _, task := range tasks.Running() {
			ids = append(ids, fmt.Sprintf("%s:%s:%v", task.ID, task.Status, task.Background))
		}
		equal(t, "running", strings.Join(ids, " "), want)
	}
	apply(`"task_started","task_id":"a","task_type":"local_agent"`, `"task_started","task_id":"b","task_type":"local_bash","is_backgrounded":true`)
	running("a:running:false b:running:true")
	apply(`"task_updated","task_id":"a","patch":{"status":"paused","is_backgrounded":true}`, `"task_updated","task_id":"b","patch":{"status":"killed"}`)
	running("a:paused:true")
	apply(`"task_started","task_id":"f","task_type":"local_agent"`, `"task_updated","task_id":"f","patch":{"status":"failed"}`)
	apply(`"task_started","task_id":"f","task_type":"local_agent"`, `"task_updated","task_id":"f","patch":{"status":"stopped"}`)
	apply(`"task_started","task_id":"f","task_type":"local_agent"`, `"task_notification","task_id":"f","status":"stopped"`)
	running("a:paused:true")
	apply(`"background_tasks_changed","tasks":[{"task_id":"a"},{"task_id":"c","task_type":"local_agent"}]`)
	running("a:paused:true c:running:true")
	apply(`"task_notification","task_id":"a","status":"completed"`, `"background_tasks_changed","tasks":[]`)
	running("")
	// 2.1.197 says only in the result of the call that the agent goes on.
	started := `"task_started","task_type":"local_agent","tool_use_id":`
	result := `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"%s"}]},"tool_use_result":{"isAsync":%v}}`
	apply(started+`"t1","task_id":"d"`, started+`"t2","task_id":"e"`, fmt.Sprintf(result, "t1", true), fmt.Sprintf(result, "t2", false))
	running("d:running:true")
}
