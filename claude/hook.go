package claude

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// HookEvent is a point at which the CLI calls hooks.
type HookEvent string

// The events of CLI 2.1.332. An older CLI ignores events that it does not know.
const (
	EventPreToolUse           HookEvent = "PreToolUse"           // before a tool runs; may deny it or change its input
	EventPostToolUse          HookEvent = "PostToolUse"          // after a tool has run
	EventPostToolUseFailure   HookEvent = "PostToolUseFailure"   // after a tool has failed
	EventPostToolBatch        HookEvent = "PostToolBatch"        // after all tool calls of one answer
	EventPermissionRequest    HookEvent = "PermissionRequest"    // while CanUseTool runs too; the first answer counts
	EventPermissionDenied     HookEvent = "PermissionDenied"     // after a tool call was denied
	EventPreSkillShellCommand HookEvent = "PreSkillShellCommand" // before a skill runs a command
	EventPreModelSwitch       HookEvent = "PreModelSwitch"
	EventPostModelSwitch      HookEvent = "PostModelSwitch"
	EventUserPromptSubmit     HookEvent = "UserPromptSubmit"    // before a prompt reaches the model; may block it
	EventUserPromptExpansion  HookEvent = "UserPromptExpansion" // before a slash command is expanded
	EventMessageDisplay       HookEvent = "MessageDisplay"
	EventNotification         HookEvent = "Notification"
	EventSessionStart         HookEvent = "SessionStart"
	EventSessionEnd           HookEvent = "SessionEnd"
	EventSetup                HookEvent = "Setup"
	EventStop                 HookEvent = "Stop" // before a turn ends; Block makes it continue
	EventStopFailure          HookEvent = "StopFailure"
	EventSubagentStart        HookEvent = "SubagentStart"
	EventSubagentStop         HookEvent = "SubagentStop"
	EventPreCompact           HookEvent = "PreCompact"
	EventPostCompact          HookEvent = "PostCompact"
	EventTeammateIdle         HookEvent = "TeammateIdle"
	EventTaskCreated          HookEvent = "TaskCreated"
	EventTaskCompleted        HookEvent = "TaskCompleted"
	EventElicitation          HookEvent = "Elicitation" // before Options.Elicitation is called
	EventElicitationResult    HookEvent = "ElicitationResult"
	EventConfigChange         HookEvent = "ConfigChange"
	EventInstructionsLoaded   HookEvent = "InstructionsLoaded"
	EventCwdChanged           HookEvent = "CwdChanged"
	EventFileChanged          HookEvent = "FileChanged"
	EventDirectoryAdded       HookEvent = "DirectoryAdded"
	EventWorktreeCreate       HookEvent = "WorktreeCreate"
	EventWorktreeRemove       HookEvent = "WorktreeRemove"
)

// Hook is a function that the CLI calls at an event.
//
// A hook that guards something ([EventPreToolUse], [EventPreSkillShellCommand],
// [EventPreModelSwitch], [EventUserPromptSubmit] and [EventUserPromptExpansion]) fails closed: when
// Run returns an error, panics or exceeds Timeout, the tool call, command, switch or prompt is
// refused. By itself, the CLI would continue.
type Hook struct {
	Event HookEvent
	// Matcher selects which occurrences of the event call the hook. For tool events it is a
	// pattern of tool names, such as Edit|Write. "" matches all.
	Matcher string
	// Timeout bounds Run; 0 for no limit.
	Timeout time.Duration
	// FailOpen makes the CLI continue when the hook fails.
	FailOpen bool
	// Run returns the reaction. With the zero HookOutput, the CLI continues as without a hook.
	Run func(ctx context.Context, in HookInput) (HookOutput, error)
}

// ErrHookTimeout is the cause with which a hook's context is canceled when its Timeout has passed.
var ErrHookTimeout = errors.New("the hook has not answered in time")

// HookInput is the input of a hook. The event determines which fields are set.
type HookInput struct {
	Event          HookEvent `json:"hook_event_name"`
	SessionID      string    `json:"session_id"`
	TranscriptPath string    `json:"transcript_path"`
	CWD            string    `json:"cwd"`
	PromptID       string    `json:"prompt_id"`
	PermissionMode string    `json:"permission_mode"`
	AgentID        string    `json:"agent_id"` // of a subagent, "" for the main thread
	AgentType      string    `json:"agent_type"`
	Effort         struct {
		Level string `json:"level"`
	} `json:"effort"`

	// Of tool events.
	ToolName     string          `json:"tool_name"`
	ToolInput    json.RawMessage `json:"tool_input"`
	ToolUseID    string          `json:"tool_use_id"`
	ToolResponse json.RawMessage `json:"tool_response"` // of PostToolUse
	ToolCalls    []HookToolCall  `json:"tool_calls"`    // of PostToolBatch
	MCPServer    *MCPProvenance  `json:"mcp_server"`
	Error        string          `json:"error"`        // of PostToolUseFailure, StopFailure
	IsInterrupt  bool            `json:"is_interrupt"` // of PostToolUseFailure
	DurationMS   float64         `json:"duration_ms"`

	// PermissionSuggestions of PermissionRequest are a JSON array of [PermissionUpdate].
	PermissionSuggestions json.RawMessage `json:"permission_suggestions"`

	Prompt        string `json:"prompt"`         // of UserPromptSubmit, UserPromptExpansion
	Source        string `json:"source"`         // of SessionStart, UserPromptSubmit, ConfigChange, …
	ExpansionType string `json:"expansion_type"` // slash_command or mcp_prompt
	CommandName   string `json:"command_name"`
	CommandArgs   string `json:"command_args"`
	CommandSource string `json:"command_source"`
	InvokedBy     string `json:"invoked_by"` // of PreSkillShellCommand: user, claude or other
	SessionTitle  string `json:"session_title"`

	Message          string `json:"message"` // of Notification, Elicitation
	Title            string `json:"title"`
	NotificationType string `json:"notification_type"`

	Reason               string          `json:"reason"`  // of SessionEnd, PermissionDenied
	Trigger              string          `json:"trigger"` // of PreCompact, PostCompact, Setup
	CustomInstructions   string          `json:"custom_instructions"`
	CompactSummary       string          `json:"compact_summary"`
	StopHookActive       bool            `json:"stop_hook_active"` // a Stop hook has already made the turn continue
	LastAssistantMessage string          `json:"last_assistant_message"`
	ErrorDetails         string          `json:"error_details"`
	AgentTranscriptPath  string          `json:"agent_transcript_path"`
	BackgroundTasks      json.RawMessage `json:"background_tasks"`
	SessionCrons         json.RawMessage `json:"session_crons"`

	// Of model events.
	Model                  string  `json:"model"`
	FromModel              string  `json:"from_model"`
	ToModel                string  `json:"to_model"`
	RequestedModel         string  `json:"requested_model"`
	ContextTokens          int     `json:"context_tokens"`
	PromptCacheWarm        bool    `json:"prompt_cache_warm"`
	EstimatedCacheWriteUSD float64 `json:"estimated_cache_write_usd"`

	// Of Elicitation and ElicitationResult.
	MCPServerName   string          `json:"mcp_server_name"`
	Mode            string          `json:"mode"`
	URL             string          `json:"url"`
	ElicitationID   string          `json:"elicitation_id"`
	RequestedSchema json.RawMessage `json:"requested_schema"`
	Action          string          `json:"action"`
	Content         json.RawMessage `json:"content"`

	// Of tasks and teammates.
	TaskID          string `json:"task_id"`
	TaskSubject     string `json:"task_subject"`
	TaskDescription string `json:"task_description"`
	TeammateName    string `json:"teammate_name"`
	TeamName        string `json:"team_name"`

	// Of files and folders.
	FilePath        string   `json:"file_path"`
	FileEvent       string   `json:"event"` // of FileChanged: change, add or unlink
	MemoryType      string   `json:"memory_type"`
	LoadReason      string   `json:"load_reason"`
	Globs           []string `json:"globs"`
	TriggerFilePath string   `json:"trigger_file_path"`
	ParentFilePath  string   `json:"parent_file_path"`
	OldCWD          string   `json:"old_cwd"`
	NewCWD          string   `json:"new_cwd"`
	Directory       string   `json:"directory"`
	Name            string   `json:"name"` // of WorktreeCreate
	WorktreePath    string   `json:"worktree_path"`

	// Of MessageDisplay.
	TurnID    string `json:"turn_id"`
	MessageID string `json:"message_id"`
	Index     int    `json:"index"`
	Final     bool   `json:"final"`
	Delta     string `json:"delta"`

	// RequestID identifies the call.
	RequestID string `json:"-"`
	// Raw is the whole input, a copy.
	Raw json.RawMessage `json:"-"`
}

// HookToolCall is a tool call of a PostToolBatch.
type HookToolCall struct {
	ToolName     string          `json:"tool_name"`
	ToolInput    json.RawMessage `json:"tool_input"`
	ToolUseID    string          `json:"tool_use_id"`
	ToolResponse json.RawMessage `json:"tool_response"`
}

// The values of [HookOutput.Permission].
const (
	HookAllow = "allow" // rules that deny or ask still count
	HookDeny  = "deny"
	HookAsk   = "ask"
	// HookDefer ends the turn without running the tool; [Result.DeferredToolUse] is set. When
	// the session is resumed without a prompt, the hook is called again for the same call.
	HookDefer = "defer"
)

// HookOutput is the reaction of a hook. A field that the event does not support is an error.
type HookOutput struct {
	// Stop ends the turn; StopReason is shown to the person.
	Stop       bool
	StopReason string
	// Block blocks the operation that the event announces; Reason is for the model.
	Block  bool
	Reason string
	// SystemMessage is shown to the person, SuppressOutput hides the hook's output.
	SystemMessage  string
	SuppressOutput bool

	// Permission of PreToolUse and PreSkillShellCommand is HookAllow, HookDeny, HookAsk or
	// HookDefer, of PreModelSwitch one of the first three, of PermissionRequest one of the
	// first two; "" for no decision.
	Permission       string
	PermissionReason string
	// UpdatedInput, with HookAllow or HookAsk, is the input to run instead, a JSON object.
	UpdatedInput json.RawMessage
	// UpdatedPermissions of PermissionRequest are granted with HookAllow.
	UpdatedPermissions []PermissionUpdate
	// Interrupt of PermissionRequest ends the turn with HookDeny.
	Interrupt bool

	// AdditionalContext is added to what the model sees.
	AdditionalContext string
	// UpdatedToolOutput of PostToolUse replaces what the model sees of the result.
	UpdatedToolOutput json.RawMessage
	// ClassifierContext of PostToolUse is for the classifier of auto mode.
	ClassifierContext string

	InitialUserMessage     string   // of SessionStart
	SessionTitle           string   // of SessionStart, UserPromptSubmit
	ReloadSkills           bool     // of SessionStart
	WatchPaths             []string // of SessionStart, CwdChanged, FileChanged
	SuppressOriginalPrompt bool     // of UserPromptSubmit, UserPromptExpansion
	Retry                  bool     // of PermissionDenied: let the model try again
	// Action and Content of Elicitation and ElicitationResult answer in place of a person.
	Action         string
	Content        json.RawMessage
	WorktreePath   string // of WorktreeCreate
	DisplayContent string // of MessageDisplay

	// Raw, if not nil, is the whole output, a JSON object; the other fields are ignored.
	Raw json.RawMessage
}

// hookFields lists the fields of hookSpecificOutput that each event supports.
var hookFields = map[HookEvent][]string{
	EventPreToolUse:           {"permissionDecision", "permissionDecisionReason", "updatedInput", "additionalContext"},
	EventPreSkillShellCommand: {"permissionDecision", "permissionDecisionReason", "updatedInput"},
	EventPreModelSwitch:       {"permissionDecision", "permissionDecisionReason"},
	EventPermissionRequest:    {"decision"},
	EventPostModelSwitch:      {"additionalContext"},
	EventUserPromptSubmit:     {"additionalContext", "sessionTitle", "suppressOriginalPrompt"},
	EventUserPromptExpansion:  {"additionalContext", "suppressOriginalPrompt"},
	EventSessionStart:         {"additionalContext", "initialUserMessage", "sessionTitle", "watchPaths", "reloadSkills"},
	EventSetup:                {"additionalContext"},
	EventSubagentStart:        {"additionalContext"},
	EventPostToolUse:          {"additionalContext", "classifierContext", "updatedToolOutput"},
	EventPostToolUseFailure:   {"additionalContext"},
	EventPostToolBatch:        {"additionalContext"},
	EventStop:                 {"additionalContext"},
	EventSubagentStop:         {"additionalContext"},
	EventPermissionDenied:     {"retry"},
	EventNotification:         {"additionalContext"},
	EventElicitation:          {"action", "content"},
	EventElicitationResult:    {"action", "content"},
	EventCwdChanged:           {"watchPaths"},
	EventFileChanged:          {"watchPaths"},
	EventWorktreeCreate:       {"worktreePath"},
	EventMessageDisplay:       {"displayContent"},
}

// hookGates are the events whose hooks fail closed, with the output that refuses.
var hookGates = map[HookEvent]HookOutput{
	EventPreToolUse:           {Permission: HookDeny, PermissionReason: hookFailed},
	EventPreSkillShellCommand: {Permission: HookDeny, PermissionReason: hookFailed},
	EventPreModelSwitch:       {Permission: HookDeny, PermissionReason: hookFailed},
	EventUserPromptSubmit:     {Block: true, Reason: hookFailed},
	EventUserPromptExpansion:  {Block: true, Reason: hookFailed},
}

const hookFailed = "A hook failed for a technical reason, so this was not done. Nobody refused it."

// encode returns the output as JSON.
func (out HookOutput) encode(event HookEvent) (json.RawMessage, error) {
	if out.Raw != nil {
		return out.Raw, nil
	}
	specific := map[string]any{}
	set := func(key string, given bool, value any) {
		if given {
			specific[key] = value
		}
	}
	permissions := map[HookEvent][]string{
		EventPreToolUse: {HookAllow, HookDeny, HookAsk, HookDefer}, EventPreSkillShellCommand: {HookAllow, HookDeny, HookAsk, HookDefer},
		EventPreModelSwitch: {HookAllow, HookDeny, HookAsk}, EventPermissionRequest: {HookAllow, HookDeny},
	}[event]
	switch {
	case out.Permission == "" && (out.PermissionReason != "" || out.UpdatedInput != nil || out.UpdatedPermissions != nil || out.Interrupt):
		return nil, fmt.Errorf("claude: hook %s: no permission is given with its details", event)
	case out.Permission != "" && !slices.Contains(permissions, out.Permission):
		return nil, fmt.Errorf("claude: hook %s: permission %q is not known", event, out.Permission)
	case out.UpdatedInput != nil && !isObject(out.UpdatedInput):
		return nil, fmt.Errorf("claude: hook %s: updated input is no JSON object", event)
	case event == EventPermissionRequest && out.Permission == HookAllow:
		decision := map[string]any{"behavior": HookAllow}
		if out.UpdatedInput != nil {
			decision["updatedInput"] = out.UpdatedInput
		}
		if out.UpdatedPermissions != nil {
			decision["updatedPermissions"] = out.UpdatedPermissions
		}
		specific["decision"] = decision
	case event == EventPermissionRequest && out.Permission == HookDeny:
		specific["decision"] = map[string]any{"behavior": HookDeny, "message": out.PermissionReason, "interrupt": out.Interrupt}
	default:
		if out.UpdatedPermissions != nil || out.Interrupt {
			return nil, fmt.Errorf("claude: hook %s: only PermissionRequest grants permissions or interrupts", event)
		}
		set("permissionDecision", out.Permission != "", out.Permission)
		set("permissionDecisionReason", out.PermissionReason != "", out.PermissionReason)
		set("updatedInput", out.UpdatedInput != nil, out.UpdatedInput)
	}
	set("additionalContext", out.AdditionalContext != "", out.AdditionalContext)
	set("updatedToolOutput", out.UpdatedToolOutput != nil, out.UpdatedToolOutput)
	set("classifierContext", out.ClassifierContext != "", out.ClassifierContext)
	set("initialUserMessage", out.InitialUserMessage != "", out.InitialUserMessage)
	set("sessionTitle", out.SessionTitle != "", out.SessionTitle)
	set("reloadSkills", out.ReloadSkills, true)
	set("watchPaths", out.WatchPaths != nil, out.WatchPaths)
	set("suppressOriginalPrompt", out.SuppressOriginalPrompt, true)
	set("retry", out.Retry, true)
	set("action", out.Action != "", out.Action)
	set("content", out.Content != nil, out.Content)
	set("worktreePath", out.WorktreePath != "", out.WorktreePath)
	set("displayContent", out.DisplayContent != "", out.DisplayContent)
	for key := range specific {
		if !slices.Contains(hookFields[event], key) {
			return nil, fmt.Errorf("claude: hook %s has no %s", event, key)
		}
	}

	whole := map[string]any{}
	if out.Stop {
		whole["continue"] = false
	}
	if out.StopReason != "" {
		whole["stopReason"] = out.StopReason
	}
	if out.Block {
		whole["decision"], whole["reason"] = "block", out.Reason
	}
	if out.SystemMessage != "" {
		whole["systemMessage"] = out.SystemMessage
	}
	if out.SuppressOutput {
		whole["suppressOutput"] = true
	}
	if len(specific) > 0 {
		specific["hookEventName"] = event
		whole["hookSpecificOutput"] = specific
	}
	return marshal(whole)
}

// unlimitedHook is the time limit that the CLI gets for a hook without one: long, but short enough
// for its timers.
const unlimitedHook = 7 * 24 * time.Hour

// hookMargin is how much longer the CLI waits than we do, because it continues without the hook when
// it stops waiting.
const hookMargin = 5 * time.Second

// registerHooks returns the hooks by event, as initialize sends them, and by callback id.
func registerHooks(hooks []Hook) (byEvent map[string][]HookMatcher, byID map[string]*Hook) {
	if len(hooks) == 0 {
		return nil, nil
	}
	byEvent, byID = map[string][]HookMatcher{}, map[string]*Hook{}
	for i := range hooks {
		h := &hooks[i]
		id := "hook-" + strconv.Itoa(i)
		byID[id] = h
		limit := unlimitedHook
		if h.Timeout > 0 {
			limit = h.Timeout + hookMargin
		}
		m := HookMatcher{Matcher: h.Matcher, HookCallbackIDs: []string{id}, Timeout: int((limit + time.Second - 1) / time.Second)}
		if _, gate := hookGates[h.Event]; gate && !h.FailOpen {
			m.OnFailure = "block"
		}
		byEvent[string(h.Event)] = append(byEvent[string(h.Event)], m)
	}
	return byEvent, byID
}

// answerer returns the answer to a call of the hook.
func (h *Hook) answerer(r HookRequest) answerer {
	refusal, gate := hookGates[h.Event]
	return answerer{
		timeout: h.Timeout,
		run: func(ctx context.Context) (response, error) {
			in := HookInput{RequestID: r.RequestID, Raw: r.Input}
			if err := lenient(r.Input, &in); err != nil {
				return response{}, err
			}
			in.Event, in.ToolUseID = h.Event, cmp.Or(in.ToolUseID, r.ToolUseID)
			if h.Run == nil {
				return response{}, errors.New("claude: a hook without Run")
			}
			out, err := h.Run(ctx, in)
			if err != nil {
				return response{}, err
			}
			return payloadOf(out.encode(h.Event))
		},
		failed: func(err error) response {
			if !gate || h.FailOpen {
				return failure(err)
			}
			payload, err := refusal.encode(h.Event)
			if err != nil {
				return failure(err)
			}
			return response{payload: payload}
		},
	}
}
