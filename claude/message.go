package claude

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Message is a line of the CLI outside the control protocol. The most important messages are
// *[SystemInit], *[Assistant], *[User], *[Result] and *[StreamEvent]. Each known type and subtype of
// the CLI has its own Go type. A message of an unknown one is a *[System] or an *[Other], so that a
// newer CLI breaks nothing.
type Message interface {
	// Base returns the common fields.
	Base() *Header
	sealed()
}

// Header holds the common fields of all messages.
type Header struct {
	Type      string
	SessionID string
	UUID      string
	// Raw is the whole line, including fields that this package does not know. It and every
	// other json.RawMessage of a message are borrowed: valid only during the call that
	// delivers the message. Strings may be kept.
	Raw json.RawMessage
}

// Base implements [Message].
func (h *Header) Base() *Header { return h }

func (h *Header) sealed() {}

// Keep returns a copy of a message whose raw parts may be kept. It returns m for a message that
// cannot be decoded again.
func Keep(m Message) Message {
	kept, err := Decode(clone(m.Base().Raw))
	if err != nil {
		return m
	}
	return kept
}

// SystemInit describes the configuration of the CLI. The CLI sends it at the start of every turn.
type SystemInit struct {
	Header            `json:"-"`
	CWD               string      `json:"cwd"`
	Model             string      `json:"model"`
	PermissionMode    string      `json:"permissionMode"`
	ClaudeCodeVersion string      `json:"claude_code_version"`
	APIKeySource      string      `json:"apiKeySource"`
	OutputStyle       string      `json:"output_style"`
	Tools             []string    `json:"tools"`
	SlashCommands     []string    `json:"slash_commands"`
	Agents            []string    `json:"agents"`
	Skills            []string    `json:"skills"`
	Capabilities      []string    `json:"capabilities"`
	MCPServers        []MCPServer `json:"mcp_servers"`

	Betas                 []string     `json:"betas"`
	TerminalSlashCommands []string     `json:"terminal_slash_commands"`
	Plugins               []PluginInfo `json:"plugins"`
	PluginErrors          []struct {
		Plugin  string `json:"plugin"`
		Type    string `json:"type"`
		Message string `json:"message"`
		Path    string `json:"path"`
	} `json:"plugin_errors"`
	Effort        string `json:"effort"`
	FastModeState string `json:"fast_mode_state"`
	ViewMode      string `json:"view_mode"`
}

// PluginInfo is a plugin that the CLI has loaded.
type PluginInfo struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	Version string `json:"version"`
	Source  string `json:"source"`
}

// MCPServer is an MCP server as the CLI sees it.
type MCPServer struct {
	Name   string `json:"name"`
	Status string `json:"status"` // connected, failed, needs-auth, pending, disabled
	Source string `json:"source"` // where it is configured; "" from an older CLI
}

// SystemStatus reports what the CLI is doing, or a change of permission mode.
type SystemStatus struct {
	Header         `json:"-"`
	Status         string `json:"status"` // compacting, requesting, or ""
	PermissionMode string `json:"permissionMode"`
	CompactResult  string `json:"compact_result"`
	CompactError   string `json:"compact_error"`
}

// System is a message of type system. Known subtypes have their own Go types, which embed System; see
// [AsSystem].
type System struct {
	Header
	Subtype string
}

func (m *System) system() *System { return m }

// AsSystem returns the System of a message of type system, whatever its subtype; false for
// *[SystemInit], *[SystemStatus] and all other messages.
func AsSystem(m Message) (*System, bool) {
	s, ok := m.(interface{ system() *System })
	if !ok {
		return nil, false
	}
	return s.system(), true
}

// Assistant is one completed content block (seldom more) of a message of the model. Several
// Assistants can share a MessageID.
type Assistant struct {
	Header
	MessageID       string
	Model           string
	StopReason      string // "" on all but the last
	Content         []ContentBlock
	Usage           json.RawMessage // not final before StopReason is set
	ParentToolUseID string          // Task call that started the subagent, "" for the main thread
	AgentID         string
	SubagentType    string
	TaskDescription string
	Error           string // authentication_failed, billing_error, rate_limit, overloaded, …; "" for none
	Aborted         bool   // cut short by an interrupt
}

// Text returns the texts of Content, without thinking.
func (m *Assistant) Text() string {
	var out strings.Builder
	for _, b := range m.Content {
		if b.Type == "text" {
			out.WriteString(b.Text)
		}
	}
	return out.String()
}

// Details decodes further fields of the message from Raw, which must still be valid.
func (m *Assistant) Details() AssistantDetails {
	var d AssistantDetails
	_ = lenient(m.Raw, &d) // a field of another shape stays zero
	return d
}

// AssistantDetails are fields of an [Assistant] that few programs need.
type AssistantDetails struct {
	RequestID                     string          `json:"request_id"`         // of the API
	PromptUUIDs                   []string        `json:"user_message_uuids"` // of the prompts that the message answers
	Supersedes                    []string        `json:"supersedes"`         // UUIDs of the messages that it replaces
	ResumeReason                  string          `json:"resume_reason"`
	ResumedFromIncompleteThinking bool            `json:"resumed_from_incomplete_thinking"`
	Timestamp                     string          `json:"timestamp"`
	ContextUsage                  json.RawMessage `json:"context_usage"`
	UsageReport                   json.RawMessage `json:"usage_report"`
}

// User is a message to the model: a prompt, or the results of tools.
type User struct {
	Header
	Content         []ContentBlock // a plain string is one text block
	ParentToolUseID string
	AgentID         string
	IsReplay        bool // an echo of a message sent on stdin
	IsSynthetic     bool
	ToolUseResult   json.RawMessage // structured output of the tool, or nil
	// OmittedBytes is how many bytes an [Abridger] left out of the results in Content.
	OmittedBytes int
}

// ToolPermission is why the CLI allowed or refused a tool call. It comes with the result.
type ToolPermission struct {
	Decision string `json:"decision"`    // accept or reject
	Source   string `json:"source"`      // config (by the settings, without asking), hook, and others
	Reason   string `json:"reason_type"` // rule, subcommandResults, mode, and others
}

// Permission returns the permission of the call whose result this message contains. 2.1.197
// does not send it.
func (m *User) Permission(toolUseID string) (ToolPermission, bool) {
	var results struct {
		Meta []struct {
			ID         string          `json:"id"`
			Permission *ToolPermission `json:"permission_decision"`
		} `json:"tool_result_meta"`
	}
	if json.Unmarshal(m.Raw, &results) != nil {
		return ToolPermission{}, false // another shape; the field is only informative
	}
	for _, t := range results.Meta {
		if t.ID == toolUseID && t.Permission != nil {
			return *t.Permission, true
		}
	}
	return ToolPermission{}, false
}

// Result ends a turn. Costs are cumulative for the process.
type Result struct {
	Header               `json:"-"`
	Subtype              string             `json:"subtype"` // success, error_during_execution, error_max_turns, …
	IsError              bool               `json:"is_error"`
	Text                 string             `json:"result"`
	Errors               []string           `json:"errors"`
	StopReason           string             `json:"stop_reason"`
	TerminalReason       string             `json:"terminal_reason"`
	NumTurns             int                `json:"num_turns"`
	DurationMS           float64            `json:"duration_ms"`
	DurationAPIMS        float64            `json:"duration_api_ms"`
	TotalCostUSD         float64            `json:"total_cost_usd"`
	Usage                Usage              `json:"usage"`
	ModelUsage           json.RawMessage    `json:"modelUsage"`
	PermissionDenials    []PermissionDenial `json:"permission_denials"`
	QueuedTurnCount      int                `json:"queued_turn_count"`
	StructuredOutput     json.RawMessage    `json:"structured_output"`
	DeferredToolUse      json.RawMessage    `json:"deferred_tool_use"`
	APIErrorStatus       int                `json:"api_error_status"` // HTTP status, 0 for none
	StartupFailureReason string             `json:"startup_failure_reason"`

	TTFTMS         float64  `json:"ttft_ms"`            // time to the first token
	PromptUUIDs    []string `json:"user_message_uuids"` // of the prompts that the turn answered; nil from an older CLI
	ResultIndex    int      `json:"result_index"`
	LocalCommand   string   `json:"local_command"` // the slash command that answered without the model
	ResumeReason   string   `json:"resume_reason"`
	FastModeState  string   `json:"fast_mode_state"`
	Origin         Origin   `json:"origin"` // of the prompt
	CredentialsEnd string   `json:"credential_expires_at"`
}

// Origin is where a prompt came from.
type Origin struct {
	Kind    string `json:"kind"` // human, task-notification, peer, channel, auto-continuation, …; "" from an older CLI
	Subkind string `json:"subkind"`
	Server  string `json:"server"` // of a channel
	From    string `json:"from"`   // of a peer or an observer
	Name    string `json:"name"`
}

// DeferredTool is the tool call that a hook deferred, see [HookDefer].
type DeferredTool struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// Deferred returns the tool call that a hook deferred.
func (m *Result) Deferred() (DeferredTool, bool) {
	var d DeferredTool
	return d, len(m.DeferredToolUse) > 0 && json.Unmarshal(m.DeferredToolUse, &d) == nil && d.ID != ""
}

// Models returns the usage of each model.
func (m *Result) Models() map[string]ModelUsage {
	var models map[string]ModelUsage
	_ = lenient(m.ModelUsage, &models) // a field of another shape stays zero
	return models
}

// ModelUsage is the usage of a model.
type ModelUsage struct {
	InputTokens              int     `json:"inputTokens"`
	OutputTokens             int     `json:"outputTokens"`
	ThinkingTokens           int     `json:"thinkingTokens"`
	CacheReadInputTokens     int     `json:"cacheReadInputTokens"`
	CacheCreationInputTokens int     `json:"cacheCreationInputTokens"`
	WebSearchRequests        int     `json:"webSearchRequests"`
	CostUSD                  float64 `json:"costUSD"`
	ContextWindow            int     `json:"contextWindow"`
	MaxOutputTokens          int     `json:"maxOutputTokens"`
	CanonicalModel           string  `json:"canonicalModel"`
	Provider                 string  `json:"provider"`
	CostBasis                string  `json:"costBasis"` // list, managed or unknown
}

// Usage counts tokens.
type Usage struct {
	InputTokens              int `json:"input_tokens"`
	OutputTokens             int `json:"output_tokens"`
	CacheCreationInputTokens int `json:"cache_creation_input_tokens"`
	CacheReadInputTokens     int `json:"cache_read_input_tokens"`
}

// PermissionDenial is a tool call that was denied.
type PermissionDenial struct {
	ToolName  string          `json:"tool_name"`
	ToolUseID string          `json:"tool_use_id"`
	ToolInput json.RawMessage `json:"tool_input"`
}

// StreamEvent is a part of an incomplete message. [Options.IncludePartialMessages] enables it.
type StreamEvent struct {
	Header
	EventType       string // message_start, content_block_start, content_block_delta, …
	Index           int    // of the content block
	DeltaType       string // text_delta, thinking_delta, input_json_delta, …
	Text            string // what a delta adds: text, thinking or partial JSON
	MessageID       string // of a message_start
	BlockType       string // of a content_block_start
	Event           json.RawMessage
	ParentToolUseID string
}

// Other is a message of an unknown type.
type Other struct{ Header }

// Decode parses one line as a message. Lines of the control protocol become *[Other]. Raw
// parts of the message are spans of line.
func Decode(line []byte) (Message, error) {
	e, err := ReadEnvelope(line)
	if err != nil {
		return nil, err
	}
	return e.decode()
}

func (e *Envelope) decode() (Message, error) {
	h := Header{Type: e.Type, SessionID: e.SessionID, UUID: e.UUID, Raw: e.Raw}
	switch e.Type {
	case "assistant":
		return e.assistant(h)
	case "user":
		return e.user(h)
	case "stream_event":
		return e.streamEvent(h)
	case "result":
		return lenientMessage(e.Raw, &Result{Header: h})
	case "system":
		switch e.Subtype {
		case "init":
			return lenientMessage(e.Raw, &SystemInit{Header: h})
		case "status":
			return lenientMessage(e.Raw, &SystemStatus{Header: h})
		}
		system := System{Header: h, Subtype: e.Subtype}
		if make := systemTypes[e.Subtype]; make != nil {
			return lenientMessage(e.Raw, make(system))
		}
		return &system, nil
	}
	if make := otherTypes[e.Type]; make != nil {
		return lenientMessage(e.Raw, make(h))
	}
	return &Other{Header: h}, nil
}

func (e *Envelope) assistant(h Header) (Message, error) {
	m := &Assistant{
		Header:          h,
		ParentToolUseID: e.ParentToolUseID,
		AgentID:         text(e.field("agent_id")),
		SubagentType:    text(e.field("subagent_type")),
		TaskDescription: text(e.field("task_description")),
		Error:           text(e.field("error")),
		Aborted:         isTrue(e.field("aborted")),
	}
	if !isObject(e.Message) {
		return m, nil
	}
	if e.body.err != nil {
		return nil, fmt.Errorf("claude: decode assistant: %w", e.body.err)
	}
	m.MessageID = text(e.body.id)
	m.Model = text(e.body.model)
	m.StopReason = text(e.body.stopReason)
	m.Usage = e.body.usage
	m.Content = e.body.decode(!e.InvalidUTF8)
	return m, nil
}

func (e *Envelope) user(h Header) (Message, error) {
	m := &User{
		Header:          h,
		ParentToolUseID: e.ParentToolUseID,
		AgentID:         text(e.field("agent_id")),
		IsReplay:        isTrue(e.field("isReplay")),
		IsSynthetic:     isTrue(e.field("isSynthetic")),
		ToolUseResult:   e.field("tool_use_result"),
		OmittedBytes:    number(e.field(omittedKey)),
	}
	if !isObject(e.Message) {
		return m, nil
	}
	if e.body.err != nil {
		return nil, fmt.Errorf("claude: decode user: %w", e.body.err)
	}
	m.Content = e.body.decode(!e.InvalidUTF8)
	return m, nil
}

func (e *Envelope) streamEvent(h Header) (Message, error) {
	m := &StreamEvent{Header: h, Event: e.Event, ParentToolUseID: e.ParentToolUseID}
	if !isObject(e.Event) {
		return m, nil
	}
	var memory [8]field
	event, err := appendFields(memory[:0], e.Event)
	if err != nil {
		return nil, fmt.Errorf("claude: decode stream_event: %w", err)
	}
	m.EventType = internedText(lookup(event, "type"))
	m.Index = number(lookup(event, "index"))
	if v := lookup(event, "delta"); isObject(v) {
		var memory [4]field
		delta, err := appendFields(memory[:0], v)
		if err != nil {
			return nil, fmt.Errorf("claude: decode stream_event: %w", err)
		}
		m.DeltaType = internedText(lookup(delta, "type"))
		for _, key := range []string{"text", "thinking", "partial_json"} {
			if v := lookup(delta, key); v != nil {
				m.Text = text(v)
			}
		}
	}
	if v := lookup(event, "content_block"); isObject(v) {
		block, err := appendFields(nil, v)
		if err != nil {
			return nil, fmt.Errorf("claude: decode stream_event: %w", err)
		}
		m.BlockType = internedText(lookup(block, "type"))
	}
	if v := lookup(event, "message"); isObject(v) {
		message, err := appendFields(nil, v)
		if err != nil {
			return nil, fmt.Errorf("claude: decode stream_event: %w", err)
		}
		m.MessageID = text(lookup(message, "id"))
	}
	return m, nil
}

func lenientMessage(raw []byte, m Message) (Message, error) {
	if err := lenient(raw, m); err != nil {
		return nil, err
	}
	return m, nil
}

// lenient decodes into a struct and leaves fields of an unexpected type zero. They are still
// in Raw, and one of them must not make the message unreadable.
func lenient(raw []byte, into any) error {
	err := json.Unmarshal(raw, into)
	var wrongType *json.UnmarshalTypeError
	if err != nil && !errors.As(err, &wrongType) {
		return fmt.Errorf("claude: decode: %w: %w", ErrMalformed, err)
	}
	return nil
}
