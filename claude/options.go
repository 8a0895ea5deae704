package claude

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"
)

// Options configures a session. The zero Options starts the CLI that [FindCLI] finds, in the current
// folder, with a new conversation. It denies every tool that needs permission, because no callback
// and no rule allows one.
//
// [Query] and [Start] use all fields. [NewClient], for a CLI that is already running, uses the
// callbacks, Logger, Open, and the MCPServers that run in this process. [Options.Args] and
// [Options.Command] use the fields that become the command line.
type Options struct {
	// Path is the CLI to start; "" for the one that [FindCLI] finds.
	Path string
	// Dir is the absolute path of the folder to work in; "" for the current one.
	Dir string
	// Env adds variables to the environment that the CLI inherits from this process.
	Env map[string]string
	// Environ, if not nil, replaces the inherited environment, as KEY=value. Env is added to
	// it.
	Environ []string
	// MinVersion is the oldest version of the CLI that [Start] accepts; "" means [OldestTested].
	MinVersion string
	// ExtraArgs are additional arguments, each --flag or --flag=value.
	ExtraArgs []string
	// Logger receives failed callbacks at level Error, unreadable lines and other problems at
	// Warn, and the rest at Debug. Nil disables logging.
	Logger *slog.Logger

	// SessionID is the UUID of a new session. With Resume or Continue it requires Fork, and is
	// the id of the copy.
	SessionID string
	// Resume is the UUID of the session to continue; "" starts a new one. The CLI does not
	// restore the permission mode and other options: set them again.
	Resume string
	// Continue continues the newest session of the folder.
	Continue bool
	// Fork, with Resume or Continue, continues a copy under a new id.
	Fork bool
	// ResumeAt, with Resume, is the UUID of the last entry to continue from; "" for the end.
	ResumeAt string
	// ResumeDropsTurn, with ResumeAt, is the UUID of the prompt whose turn ResumeAt removes. The
	// CLI refuses to start if that would remove more.
	ResumeDropsTurn string
	// NoPersistence saves no transcript, so the session cannot be resumed.
	NoPersistence bool
	// Title names the session.
	Title string

	// PermissionMode is one of [PermissionModes]; "" means default, which asks. It is always
	// passed to the CLI, which might otherwise start in a mode that does not ask.
	PermissionMode string
	// AllowBypass permits the mode bypassPermissions, which never asks.
	AllowBypass bool
	// NoPrompts makes the CLI deny every tool call that it would ask about.
	NoPrompts bool
	// AllowedTools and DisallowedTools are permission rules, such as Bash(git *). A tool call
	// that AllowedTools covers runs without asking.
	AllowedTools, DisallowedTools []string
	// Tools are the available built-in tools; nil for all, empty for none.
	Tools []string
	// ToolAliases maps built-in tools to the tools that replace them, by name.
	ToolAliases map[string]string

	// Model is a name or an alias, such as opus; "" for the CLI's default.
	Model string
	// FallbackModel is used while Model is overloaded.
	FallbackModel string
	// Thinking configures extended thinking; the zero value leaves it to the CLI.
	Thinking Thinking
	// Effort is low, medium, high, xhigh or max; "" for the CLI's default.
	Effort string
	// Betas are beta features of the API.
	Betas []string

	// SystemPrompt replaces the CLI's system prompt.
	SystemPrompt string
	// AppendSystemPrompt is added to the system prompt. CLIs before 2.1.329 receive it on their
	// command line.
	AppendSystemPrompt string
	// FreshSystemPrompt renders the system prompt for each request. Otherwise a newer CLI may
	// record it once and reuse it, even after a resume with another SystemPrompt.
	FreshSystemPrompt bool
	// ExcludeDynamicSections omits the sections of the CLI's system prompt that differ between
	// users, so that they share its cache.
	ExcludeDynamicSections bool
	// PlanModeInstructions replace the instructions of plan mode.
	PlanModeInstructions string

	// MaxTurns ends a query with [ErrLimit] after this many responses of the model; 0 for no
	// limit.
	MaxTurns int
	// MaxBudgetUSD ends a query with [ErrLimit] when it has cost this much, in US dollars; 0 for
	// no limit.
	MaxBudgetUSD float64
	// TaskBudget is a token budget that the CLI announces to the model; 0 for none.
	TaskBudget int
	// BackgroundWait ends a [Query] whose background agents are still running this long after
	// its last result, with no new turn; 0 for no limit. If a callback is deciding at that
	// moment, the wait starts over. The error is a *[BackgroundError], which is [ErrLimit].
	BackgroundWait time.Duration

	// OutputSchema is the JSON Schema of [Result.StructuredOutput].
	OutputSchema json.RawMessage

	// AddDirs are absolute paths of additional folders that the CLI may work in.
	AddDirs []string
	// SettingSources selects the settings files to load: user, project and local. Nil loads all,
	// an empty slice none.
	SettingSources []string
	// Settings is a JSON object of settings that override those of the files.
	Settings json.RawMessage
	// ManagedSettings is a JSON object of settings that can only restrict.
	ManagedSettings json.RawMessage
	// ProjectConfigRoot is the absolute path of the folder whose .claude is used instead of
	// Dir's.
	ProjectConfigRoot string
	// Plugins are loaded from their folders.
	Plugins []Plugin
	// Skills are the names of the available skills, ["all"] for all of them; nil for the CLI's
	// default. As in the official SDKs, the model may use the named skills without asking.
	Skills []string
	// Agents are subagents by name, in addition to the CLI's own.
	Agents map[string]Agent
	// Agent is the name of the agent that the main conversation runs as.
	Agent string

	// MCPServers are MCP servers by name: [StdioServer], [HTTPServer], [SSEServer], or a
	// [LocalServer] in this process, which package claude/tool creates.
	MCPServers map[string]MCPServerConfig
	// MCPConfig is a configuration {"mcpServers":{…}}, in addition to MCPServers.
	MCPConfig json.RawMessage
	// MCPConfigFile is the absolute path of a file with such a configuration, instead of
	// MCPConfig; it keeps secrets out of the command line.
	MCPConfigFile string
	// StrictMCPConfig uses only these servers and ignores those that the folder configures.
	StrictMCPConfig bool

	// IncludePartialMessages delivers [StreamEvent]s.
	IncludePartialMessages bool
	// IncludeHookEvents delivers [HookStarted], [HookProgress] and [HookResponse] of all hooks.
	IncludeHookEvents bool
	// ReplayUserMessages echoes every message that was sent, marked with [User.IsReplay].
	ReplayUserMessages bool
	// ForwardSubagentText delivers the texts of subagents in addition to their tool calls.
	ForwardSubagentText bool
	// AgentProgressSummaries adds summaries to [TaskProgress].
	AgentProgressSummaries bool
	// PromptSuggestions delivers a [PromptSuggestion] after each turn.
	PromptSuggestions bool
	// SessionMirror delivers the entries that the CLI writes to its transcript, as
	// [TranscriptMirror].
	SessionMirror bool
	// SessionStore receives the entries that the CLI writes to its transcript. [Client.Run]
	// returns only after they are stored. A failed Append is retried, and each failure is passed
	// to OnCallbackError with the subtype transcript_mirror. If entries still cannot be stored
	// after the CLI has ended, Run and [Query] return a *[SessionStoreError]. The entries are
	// also delivered as with SessionMirror.
	SessionStore SessionStore
	// FileCheckpoints keeps the contents that files had before Claude's tools changed them, for
	// [Client.RewindFiles].
	FileCheckpoints bool
	// PerTaskStop keeps background agents running when a turn is interrupted.
	PerTaskStop bool
	// QuestionPreview is markdown or html: the format of the previews in AskUserQuestion.
	QuestionPreview string
	// SupportedDialogKinds are the kinds of dialogs that UserDialog can show.
	SupportedDialogKinds []string
	// Debug makes the CLI write debug output to stderr, or to DebugFile, an absolute path.
	Debug     bool
	DebugFile string
	// Stderr receives the CLI's stderr in chunks, from one goroutine. It must not keep text.
	Stderr func(text []byte)

	// The callbacks. All may be nil. Those that return an answer run concurrently, each in its
	// own goroutine and without a time limit. Their context is canceled with the cause
	// [ErrWithdrawn] when the CLI cancels the request, and [ErrClosed] when the conversation
	// ends; a later answer is dropped. A callback that fails or panics never allows anything.

	// CanUseTool decides whether a tool may run. If nil, tools are denied. An error or a panic
	// denies the tool and tells the model that there was a technical failure.
	CanUseTool func(ctx context.Context, r ToolRequest) (ToolDecision, error)
	// Elicitation answers a question of an MCP server. If nil, questions are declined.
	Elicitation func(ctx context.Context, r ElicitationRequest) (ElicitationAnswer, error)
	// Hooks are functions that the CLI calls at the events that they name.
	Hooks []Hook
	// HookCallback runs the hooks that [InitializeRequest.Hooks] registers by id and returns
	// their output, a JSON object. If nil, the calls are refused. Most programs use Hooks
	// instead.
	HookCallback func(ctx context.Context, r HookRequest) (json.RawMessage, error)
	// MCPMessage handles a JSON-RPC message for an MCP server in this process that is not in
	// MCPServers. It returns the JSON-RPC response, or nil for a notification. If nil, messages
	// are refused.
	MCPMessage func(ctx context.Context, r MCPMessageRequest) (json.RawMessage, error)
	// UserDialog shows a dialog of one of SupportedDialogKinds and returns its result. If nil,
	// dialogs are canceled.
	UserDialog func(ctx context.Context, r UserDialogRequest) (json.RawMessage, error)

	// OtherRequest answers requests of the subtypes in OtherSubtypes that have no callback
	// above, such as oauth_token_refresh. It returns a JSON object. All other subtypes are
	// refused.
	OtherRequest  func(ctx context.Context, r ControlRequest) (json.RawMessage, error)
	OtherSubtypes []string

	// OnMessage receives every message in order, on the read loop: nothing else is read until
	// it returns. Raw parts of m are borrowed, see [Header] and [Keep].
	OnMessage func(m Message)
	// OnRequest receives every new request of the CLI, on the read loop, before its callback
	// starts; body is borrowed.
	OnRequest func(requestID, subtype string, body json.RawMessage)
	// OnWithdrawn receives the id of every request that the CLI cancels, on the read loop,
	// including requests to an earlier client of the same CLI.
	OnWithdrawn func(requestID string)
	// OnInitialized receives the CLI's answer to every [Client.Initialize], on the read loop:
	// before OnMessage receives the messages that follow it, and before Initialize returns.
	OnInitialized func(r *InitializeResponse)
	// OnUnreadable receives a line that is not a valid message, with the reason: [ErrMalformed];
	// [ErrReused]; [ErrTooLarge], without the line; [ErrInvalidUTF8], for a line that is used
	// anyway; or a *[PanicError], of decoding the line or of a callback on the read loop. It
	// runs on the read loop, and line is borrowed.
	OnUnreadable func(line []byte, err error)
	// OnCallbackError receives the error or panic (a *[PanicError]) of a callback, and every
	// failure to send an answer. It runs in the callback's goroutine.
	OnCallbackError func(subtype, requestID string, err error)

	// Open holds the requests that an earlier client of the same CLI left unanswered, by id: the
	// object inside the control_request. Their callbacks start before anything is read, so
	// that a cancellation finds them. Use it for requests that the CLI does not list in its
	// answer to initialize, such as elicitations.
	Open map[string]json.RawMessage
}

// Thinking configures extended thinking.
type Thinking struct {
	// Type is adaptive, enabled or disabled; "" leaves it to the CLI.
	Type string
	// BudgetTokens bounds enabled thinking; 0 for the CLI's default.
	BudgetTokens int
	// Display is summarized, omitted or highlights; "" for the CLI's default.
	Display string
}

// Plugin is a plugin in a folder.
type Plugin struct {
	Path string // absolute
	// SkipMCPDiscovery keeps the MCP servers of the plugin from being started.
	SkipMCPDiscovery bool
}

// Agent defines a subagent.
type Agent struct {
	Description     string            `json:"description"` // when to use it, for the model
	Prompt          string            `json:"prompt"`      // its system prompt
	Tools           []string          `json:"tools,omitempty"`
	DisallowedTools []string          `json:"disallowedTools,omitempty"`
	Model           string            `json:"model,omitempty"`
	MCPServers      []json.RawMessage `json:"mcpServers,omitempty"` // each a name, or an object with one configuration
	Skills          []string          `json:"skills,omitempty"`
	InitialPrompt   string            `json:"initialPrompt,omitempty"`
	MaxTurns        int               `json:"maxTurns,omitempty"`
	// AutoCompactWindow is the number of tokens at which its context is compacted.
	AutoCompactWindow int    `json:"autoCompactWindow,omitempty"`
	Background        bool   `json:"background,omitempty"` // runs in the background
	OmitClaudeMD      bool   `json:"omitClaudeMd,omitempty"`
	Memory            string `json:"memory,omitempty"` // user, project or local
	Effort            string `json:"effort,omitempty"`
	PermissionMode    string `json:"permissionMode,omitempty"`
	Observer          string `json:"observer,omitempty"`        // name of the agent that observes it
	ObserverMessage   string `json:"observerMessage,omitempty"` // first message to the observer
}

// callbacks is the part of Options that a client keeps. A host has a client for each session, and
// needs the rest only to start it.
type callbacks struct {
	CanUseTool      func(ctx context.Context, r ToolRequest) (ToolDecision, error)
	Elicitation     func(ctx context.Context, r ElicitationRequest) (ElicitationAnswer, error)
	HookCallback    func(ctx context.Context, r HookRequest) (json.RawMessage, error)
	MCPMessage      func(ctx context.Context, r MCPMessageRequest) (json.RawMessage, error)
	UserDialog      func(ctx context.Context, r UserDialogRequest) (json.RawMessage, error)
	OtherRequest    func(ctx context.Context, r ControlRequest) (json.RawMessage, error)
	otherSubtypes   []string
	OnMessage       func(m Message)
	OnRequest       func(requestID, subtype string, body json.RawMessage)
	OnWithdrawn     func(requestID string)
	OnInitialized   func(r *InitializeResponse)
	OnUnreadable    func(line []byte, err error)
	OnCallbackError func(subtype, requestID string, err error)
	Open            map[string]json.RawMessage
	Logger          *slog.Logger
	hooks           map[string]*Hook        // by callback id
	local           map[string]*localServer // by name
}

func (o *Options) callbacks() callbacks {
	return callbacks{
		CanUseTool: o.CanUseTool, Elicitation: o.Elicitation, HookCallback: o.HookCallback, MCPMessage: o.MCPMessage,
		UserDialog: o.UserDialog, OtherRequest: o.OtherRequest, otherSubtypes: o.OtherSubtypes, OnMessage: o.OnMessage, OnRequest: o.OnRequest, OnWithdrawn: o.OnWithdrawn,
		OnInitialized: o.OnInitialized, OnUnreadable: o.OnUnreadable, OnCallbackError: o.OnCallbackError,
		Open: o.Open, Logger: o.Logger,
	}
}

// initializeTimeout bounds the wait for the answer to initialize. A CLI that waits for MCP servers
// and plugins has taken 65 s.
const initializeTimeout = 2 * time.Minute
