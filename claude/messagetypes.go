package claude

import "encoding/json"

// systemTypes are the known subtypes of system messages except init and status.
var systemTypes = map[string]func(System) Message{
	"api_retry":                 func(s System) Message { return &APIRetry{System: s} },
	"background_tasks_changed":  func(s System) Message { return &BackgroundTasksChanged{System: s} },
	"commands_changed":          func(s System) Message { return &CommandsChanged{System: s} },
	"compact_boundary":          func(s System) Message { return &CompactBoundary{System: s} },
	"control_request_progress":  func(s System) Message { return &ControlRequestProgress{System: s} },
	"elicitation_complete":      func(s System) Message { return &ElicitationComplete{System: s} },
	"files_persisted":           func(s System) Message { return &FilesPersisted{System: s} },
	"hook_started":              func(s System) Message { return &HookStarted{System: s} },
	"hook_progress":             func(s System) Message { return &HookProgress{System: s} },
	"hook_response":             func(s System) Message { return &HookResponse{System: s} },
	"informational":             func(s System) Message { return &Informational{System: s} },
	"local_command_output":      func(s System) Message { return &LocalCommandOutput{System: s} },
	"memory_recall":             func(s System) Message { return &MemoryRecall{System: s} },
	"model_refusal_fallback":    func(s System) Message { return &ModelRefusalFallback{System: s} },
	"model_refusal_no_fallback": func(s System) Message { return &ModelRefusalNoFallback{System: s} },
	"notification":              func(s System) Message { return &Notification{System: s} },
	"permission_denied":         func(s System) Message { return &PermissionDenied{System: s} },
	"plugin_install":            func(s System) Message { return &PluginInstall{System: s} },
	"session_state_changed":     func(s System) Message { return &SessionStateChanged{System: s} },
	"session_writes_lost":       func(s System) Message { return &SessionWritesLost{System: s} },
	"task_started":              func(s System) Message { return &TaskStarted{System: s} },
	"task_progress":             func(s System) Message { return &TaskProgress{System: s} },
	"task_updated":              func(s System) Message { return &TaskUpdated{System: s} },
	"task_notification":         func(s System) Message { return &TaskNotification{System: s} },
	"thinking_tokens":           func(s System) Message { return &ThinkingTokens{System: s} },
	"worker_shutting_down":      func(s System) Message { return &WorkerShuttingDown{System: s} },
	"mirror_error":              func(s System) Message { return &MirrorError{System: s} },
}

// otherTypes are the known types that have no subtypes.
var otherTypes = map[string]func(Header) Message{
	"rate_limit_event":   func(h Header) Message { return &RateLimitEvent{Header: h} },
	"tool_progress":      func(h Header) Message { return &ToolProgress{Header: h} },
	"tool_use_summary":   func(h Header) Message { return &ToolUseSummary{Header: h} },
	"auth_status":        func(h Header) Message { return &AuthStatus{Header: h} },
	"prompt_suggestion":  func(h Header) Message { return &PromptSuggestion{Header: h} },
	"conversation_reset": func(h Header) Message { return &ConversationReset{Header: h} },
	"active_goal":        func(h Header) Message { return &ActiveGoal{Header: h} },
	"transcript_mirror":  func(h Header) Message { return &TranscriptMirror{Header: h} },
	"keep_alive":         func(h Header) Message { return &KeepAlive{Header: h} },
}

// APIRetry announces another attempt after an error of the API.
type APIRetry struct {
	System       `json:"-"`
	Attempt      int     `json:"attempt"`
	MaxRetries   int     `json:"max_retries"`
	RetryDelayMS float64 `json:"retry_delay_ms"`
	ErrorStatus  int     `json:"error_status"` // HTTP status; 0 for a connection that failed
	Error        string  `json:"error"`        // rate_limit, overloaded, server_error, …
}

// BackgroundTasksChanged lists all background tasks. See [Tasks].
type BackgroundTasksChanged struct {
	System `json:"-"`
	Tasks  []BackgroundTask `json:"tasks"`
}

// CommandsChanged replaces the commands that the CLI offers.
type CommandsChanged struct {
	System   `json:"-"`
	Commands []CommandInfo `json:"commands"`
}

// CompactBoundary follows the summary that replaced the earlier conversation.
type CompactBoundary struct {
	System   `json:"-"`
	Metadata CompactMetadata `json:"compact_metadata"`
}

// ControlRequestProgress reports that the CLI is working on a request of the [Client].
type ControlRequestProgress struct {
	System           `json:"-"`
	ControlRequestID string  `json:"request_id"`
	Status           string  `json:"status"` // started or api_retry
	Attempt          int     `json:"attempt"`
	MaxRetries       int     `json:"max_retries"`
	RetryDelayMS     float64 `json:"retry_delay_ms"`
	ErrorStatus      int     `json:"error_status"`
}

// ElicitationComplete reports that a person has finished an elicitation elsewhere.
type ElicitationComplete struct {
	System        `json:"-"`
	MCPServerName string `json:"mcp_server_name"`
	ElicitationID string `json:"elicitation_id"`
}

// FilesPersisted reports files that were uploaded.
type FilesPersisted struct {
	System      `json:"-"`
	Files       []PersistedFile `json:"files"`
	Failed      []PersistedFile `json:"failed"`
	ProcessedAt string          `json:"processed_at"`
}

// HookStarted reports that a hook of the CLI is running, see [Options.IncludeHookEvents].
type HookStarted struct {
	System    `json:"-"`
	HookID    string    `json:"hook_id"`
	HookName  string    `json:"hook_name"`
	HookEvent HookEvent `json:"hook_event"`
}

// HookProgress contains the output of a hook so far.
type HookProgress struct {
	System    `json:"-"`
	HookID    string    `json:"hook_id"`
	HookName  string    `json:"hook_name"`
	HookEvent HookEvent `json:"hook_event"`
	Stdout    string    `json:"stdout"`
	Stderr    string    `json:"stderr"`
	Output    string    `json:"output"`
}

// HookResponse contains the result of a hook.
type HookResponse struct {
	System    `json:"-"`
	HookID    string    `json:"hook_id"`
	HookName  string    `json:"hook_name"`
	HookEvent HookEvent `json:"hook_event"`
	Stdout    string    `json:"stdout"`
	Stderr    string    `json:"stderr"`
	Output    string    `json:"output"`
	ExitCode  int       `json:"exit_code"`
	Outcome   string    `json:"outcome"` // success, error or cancelled
}

// Informational is a text for the person.
type Informational struct {
	System              `json:"-"`
	Content             string `json:"content"`
	Level               string `json:"level"` // info, notice, suggestion or warning
	ToolUseID           string `json:"tool_use_id"`
	PreventContinuation bool   `json:"prevent_continuation"`
	Tag                 string `json:"tag"`
}

// LocalCommandOutput is the output of a slash command that ran without the model.
type LocalCommandOutput struct {
	System  `json:"-"`
	Content string `json:"content"`
}

// MemoryRecall reports memories that were given to the model.
type MemoryRecall struct {
	System   `json:"-"`
	Mode     string   `json:"mode"` // select or synthesize
	Memories []Memory `json:"memories"`
}

// ModelRefusalFallback reports that another model answers, because the first one refused.
type ModelRefusalFallback struct {
	System            `json:"-"`
	Trigger           string   `json:"trigger"`
	Direction         string   `json:"direction"` // retry, revert or sticky
	Scope             string   `json:"scope"`     // session or local
	OriginalModel     string   `json:"original_model"`
	FallbackModel     string   `json:"fallback_model"`
	APIRequestID      string   `json:"request_id"`
	Category          string   `json:"api_refusal_category"`
	Explanation       string   `json:"api_refusal_explanation"`
	RetractedUUIDs    []string `json:"retracted_message_uuids"`
	RefusedPromptUUID string   `json:"refused_user_message_uuid"`
	Content           string   `json:"content"`
}

// ModelRefusalNoFallback reports that the model refused and no other model answers.
type ModelRefusalNoFallback struct {
	System            `json:"-"`
	OriginalModel     string `json:"original_model"`
	APIRequestID      string `json:"request_id"`
	Category          string `json:"api_refusal_category"`
	Explanation       string `json:"api_refusal_explanation"`
	RefusedPromptUUID string `json:"refused_user_message_uuid"`
	Content           string `json:"content"`
}

// Notification is a short text for the person.
type Notification struct {
	System    `json:"-"`
	Key       string `json:"key"`
	Text      string `json:"text"`
	Priority  string `json:"priority"` // low, medium, high or immediate
	Color     string `json:"color"`
	TimeoutMS int    `json:"timeout_ms"`
}

// PermissionDenied reports a tool call that the CLI denied. [Result.PermissionDenials] lists all of a
// turn.
type PermissionDenied struct {
	System     `json:"-"`
	ToolName   string `json:"tool_name"`
	ToolUseID  string `json:"tool_use_id"`
	AgentID    string `json:"agent_id"`
	ReasonType string `json:"decision_reason_type"`
	Reason     string `json:"decision_reason"`
	Message    string `json:"message"` // for the model
}

// PluginInstall reports the installation of plugins.
type PluginInstall struct {
	System `json:"-"`
	Status string `json:"status"` // started, installed, failed or completed
	Name   string `json:"name"`
	Error  string `json:"error"`
}

// SessionStateChanged reports whether the CLI is working. After idle, nothing happens without another
// prompt.
type SessionStateChanged struct {
	System `json:"-"`
	State  string `json:"state"` // idle, running or requires_action
}

// SessionWritesLost reports that the disk was full, so parts of the transcript are missing.
type SessionWritesLost struct {
	System               `json:"-"`
	ErrorCode            string   `json:"error_code"` // ENOSPC or EDQUOT
	Lost                 []string `json:"lost"`       // transcript, global_config
	TranscriptSessionIDs []string `json:"transcript_session_ids"`
}

// TaskStarted reports the start of a task. See [Tasks].
type TaskStarted struct {
	System         `json:"-"`
	TaskID         string `json:"task_id"`
	RunID          string `json:"run_id"`
	ToolUseID      string `json:"tool_use_id"`
	Description    string `json:"description"`
	TaskType       string `json:"task_type"`
	SubagentType   string `json:"subagent_type"`
	IsBackgrounded bool   `json:"is_backgrounded"`
	SpawnDepth     int    `json:"spawn_depth"`
	ParentTaskID   string `json:"parent_task_id"`
	WorkflowName   string `json:"workflow_name"`
	Prompt         string `json:"prompt"`
	SkipTranscript bool   `json:"skip_transcript"`
	Ambient        bool   `json:"ambient"`
}

// TaskProgress reports what a task is doing.
type TaskProgress struct {
	System       `json:"-"`
	TaskID       string    `json:"task_id"`
	RunID        string    `json:"run_id"`
	ToolUseID    string    `json:"tool_use_id"`
	Description  string    `json:"description"`
	SubagentType string    `json:"subagent_type"`
	Usage        TaskUsage `json:"usage"`
	LastToolName string    `json:"last_tool_name"`
	Summary      string    `json:"summary"` // see [Options.AgentProgressSummaries]
}

// TaskUpdated reports a change of a task.
type TaskUpdated struct {
	System `json:"-"`
	TaskID string    `json:"task_id"`
	RunID  string    `json:"run_id"`
	Patch  TaskPatch `json:"patch"`
}

// TaskNotification reports the end of a task.
type TaskNotification struct {
	System         `json:"-"`
	TaskID         string         `json:"task_id"`
	RunID          string         `json:"run_id"`
	ToolUseID      string         `json:"tool_use_id"`
	Status         string         `json:"status"` // completed, failed or stopped
	Reason         string         `json:"reason"`
	OutputFile     string         `json:"output_file"`
	Summary        string         `json:"summary"`
	Usage          TaskUsage      `json:"usage"`
	ResourceLinks  []ResourceLink `json:"resource_links"`
	SkipTranscript bool           `json:"skip_transcript"`
	Ambient        bool           `json:"ambient"`
}

// ThinkingTokens estimates how many tokens the model has spent on thinking.
type ThinkingTokens struct {
	System `json:"-"`
	Tokens int `json:"estimated_tokens"`
	Delta  int `json:"estimated_tokens_delta"`
}

// WorkerShuttingDown announces that the CLI is about to exit.
type WorkerShuttingDown struct {
	System `json:"-"`
	Reason string `json:"reason"`
}

// MirrorError reports that an SDK could not store part of the transcript.
type MirrorError struct {
	System `json:"-"`
	Error  string `json:"error"`
}

// RateLimitEvent reports the state of a rate limit of the account.
type RateLimitEvent struct {
	Header `json:"-"`
	Info   RateLimitInfo `json:"rate_limit_info"`
}

// ToolProgress reports that a tool is still running.
type ToolProgress struct {
	Header          `json:"-"`
	ToolUseID       string         `json:"tool_use_id"`
	ToolName        string         `json:"tool_name"`
	ParentToolUseID string         `json:"parent_tool_use_id"`
	ElapsedSeconds  float64        `json:"elapsed_time_seconds"`
	TaskID          string         `json:"task_id"`
	Heartbeat       bool           `json:"heartbeat"`
	SubagentType    string         `json:"subagent_type"`
	SubagentRetry   *SubagentRetry `json:"subagent_retry"`
}

// ToolUseSummary summarizes tool calls.
type ToolUseSummary struct {
	Header     `json:"-"`
	Summary    string   `json:"summary"`
	ToolUseIDs []string `json:"preceding_tool_use_ids"`
}

// AuthStatus reports the progress of a sign-in.
type AuthStatus struct {
	Header           `json:"-"`
	IsAuthenticating bool     `json:"isAuthenticating"`
	Output           []string `json:"output"`
	Error            string   `json:"error"`
}

// PromptSuggestion suggests the next prompt. It follows the result, see [Options.PromptSuggestions].
type PromptSuggestion struct {
	Header     `json:"-"`
	Suggestion string `json:"suggestion"`
}

// ConversationReset reports that the conversation continues under another id, as after /clear.
type ConversationReset struct {
	Header            `json:"-"`
	NewConversationID string `json:"new_conversation_id"`
	Trigger           string `json:"trigger"` // clear, plan_mode_exit, fresh_session or onboarding
	PromptUUID        string `json:"user_message_uuid"`
	Timestamp         string `json:"timestamp"`
}

// ActiveGoal reports the goal that the CLI works towards.
type ActiveGoal struct {
	Header `json:"-"`
	Goal   *Goal `json:"value"` // nil for none
}

// TranscriptMirror contains entries that the CLI added to a transcript, see [Options.SessionMirror].
type TranscriptMirror struct {
	Header   `json:"-"`
	FilePath string            `json:"filePath"`
	Entries  []json.RawMessage `json:"entries"` // copies of the lines
}

// KeepAlive carries no information.
type KeepAlive struct {
	Header `json:"-"`
}

// BackgroundTask is a task of [BackgroundTasksChanged].
type BackgroundTask struct {
	TaskID       string `json:"task_id"`
	RunID        string `json:"run_id"`
	TaskType     string `json:"task_type"`
	SubagentType string `json:"subagent_type"`
	Description  string `json:"description"`
	ParentTaskID string `json:"parent_task_id"`
	Ambient      bool   `json:"ambient"`
}

// CompactMetadata describes a summary of the conversation.
type CompactMetadata struct {
	Trigger    string  `json:"trigger"` // manual or auto
	PreTokens  int     `json:"pre_tokens"`
	PostTokens int     `json:"post_tokens"`
	DurationMS float64 `json:"duration_ms"`
	// PreservedMessages are the messages after the summary that were kept unchanged; nil for
	// none.
	PreservedMessages *struct {
		AnchorUUID string   `json:"anchor_uuid"`
		UUIDs      []string `json:"uuids"`
	} `json:"preserved_messages"`
}

// PersistedFile is a file of [FilesPersisted].
type PersistedFile struct {
	Filename string `json:"filename"`
	FileID   string `json:"file_id"`
	Error    string `json:"error"` // of a failed file
}

// Memory is a memory of [MemoryRecall].
type Memory struct {
	Path    string `json:"path"`
	Scope   string `json:"scope"` // personal, team or organization
	Content string `json:"content"`
}

// TaskUsage is the resource usage of a task.
type TaskUsage struct {
	TotalTokens int     `json:"total_tokens"`
	ToolUses    int     `json:"tool_uses"`
	DurationMS  float64 `json:"duration_ms"`
}

// TaskPatch contains the changes of a [TaskUpdated].
type TaskPatch struct {
	Status         string  `json:"status"` // pending, running, paused, completed, failed or killed; "" for no change
	Description    string  `json:"description"`
	EndTime        float64 `json:"end_time"` // Unix milliseconds
	TotalPausedMS  float64 `json:"total_paused_ms"`
	Error          string  `json:"error"`
	IsBackgrounded *bool   `json:"is_backgrounded"`
}

// ResourceLink is a resource of an MCP server.
type ResourceLink struct {
	URI         string  `json:"uri"`
	Name        string  `json:"name"`
	Title       string  `json:"title"`
	Description string  `json:"description"`
	MIMEType    string  `json:"mimeType"`
	Size        float64 `json:"size"`
}

// RateLimitInfo is the state of a rate limit of the account.
type RateLimitInfo struct {
	Status        string  `json:"status"`        // allowed, allowed_warning or rejected
	ResetsAt      float64 `json:"resetsAt"`      // Unix seconds; 0 when unknown
	RateLimitType string  `json:"rateLimitType"` // five_hour, seven_day, …
	Utilization   float64 `json:"utilization"`   // as a fraction; 0 when unknown

	OverageStatus         string  `json:"overageStatus"`
	OverageResetsAt       float64 `json:"overageResetsAt"`
	OverageDisabledReason string  `json:"overageDisabledReason"`
	IsUsingOverage        bool    `json:"isUsingOverage"`
	SurpassedThreshold    float64 `json:"surpassedThreshold"`
	LimitScope            string  `json:"limitScope"` // service, channel or group_pool
	ErrorCode             string  `json:"errorCode"`
}

// SubagentRetry is a retry of [ToolProgress].
type SubagentRetry struct {
	AgentID       string  `json:"agent_id"`
	Attempt       int     `json:"attempt"`
	MaxRetries    int     `json:"max_retries"`
	RetryDelayMS  float64 `json:"retry_delay_ms"`
	ErrorStatus   int     `json:"error_status"`
	ErrorCategory string  `json:"error_category"`
}

// Goal is the goal of [ActiveGoal].
type Goal struct {
	Condition     string  `json:"condition"`
	Iterations    int     `json:"iterations"`
	SetAt         float64 `json:"set_at"` // Unix milliseconds
	TokensAtStart int     `json:"tokens_at_start"`
	LastReason    string  `json:"last_reason"`
}
