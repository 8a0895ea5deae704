package claude

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"
)

// Options configures a session. The zero Options starts the claude that it finds in PATH, in the
// current folder, with a new conversation. Everything that needs a permission is then denied:
// nothing is allowed that no callback and no rule allows.
//
// [Query] and [Start] use all fields. [NewClient], for a CLI that runs already, uses the callbacks
// and Logger. [Options.Args] and [Options.Command] use the fields that become the command line.
type Options struct {
	// Path is the CLI to start; "" for the one that [FindCLI] finds.
	Path string
	// Dir is the absolute path of the folder to work in; "" for the current one.
	Dir string
	// Env are variables for the CLI besides those that it inherits from this process.
	Env map[string]string
	// Environ, unless nil, is the environment instead of the inherited one, as KEY=value. Env
	// is added to it.
	Environ []string
	// MinVersion is the oldest CLI that [Start] accepts; "" stands for [OldestTested].
	MinVersion string
	// ExtraArgs are further arguments, each --flag or --flag=value.
	ExtraArgs []string
	// Logger receives what nobody else is told; nil for nothing. Levels: Error for callbacks
	// that failed, Warn for lines that are no messages, Debug for the rest.
	Logger *slog.Logger

	// SessionID names a new session, a UUID. With Resume it is allowed only together with Fork,
	// for the id of the copy.
	SessionID string
	// Resume is the id of the session to continue, a UUID; "" for a new one. The CLI does not
	// restore the permission mode and other options: set them again.
	Resume string
	// Continue continues the newest session of the folder.
	Continue bool
	// Fork, with Resume or Continue, continues a copy under a new id.
	Fork bool
	// ResumeAt, with Resume, is the UUID of the last entry to continue from; "" for the end.
	ResumeAt string
	// ResumeDropsTurn, with ResumeAt, is the UUID of the prompt whose turn this removes. The CLI
	// refuses to start if it would remove more.
	ResumeDropsTurn string
	// NoPersistence keeps the session out of the files; it cannot be resumed.
	NoPersistence bool
	// Title names the session.
	Title string

	// PermissionMode is one of [PermissionModes]; "" stands for default, which asks. It is always
	// passed on, because a CLI may otherwise start in a mode that does not ask.
	PermissionMode string
	// AllowBypass permits the mode bypassPermissions, which never asks.
	AllowBypass bool
	// NoPrompts makes the CLI deny what it would have asked for.
	NoPrompts bool
	// AllowedTools and DisallowedTools are permission rules, such as Bash(git *). What an
	// allowed rule covers runs without a question.
	AllowedTools, DisallowedTools []string
	// Tools are the built-in tools on offer; nil for all, empty for none.
	Tools []string
	// ToolAliases maps names of built-in tools to those of the tools that replace them.
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
	// AppendSystemPrompt is added to the system prompt. It is part of the command line of CLIs before 2.1.329.
	AppendSystemPrompt string
	// FreshSystemPrompt renders the system prompt for each request. Otherwise a newer CLI may record
	// it once, and use that also after a resume with another SystemPrompt.
	FreshSystemPrompt bool
	// ExcludeDynamicSections leaves out of the CLI's system prompt what differs from one user
	// to the next, so that its cache is shared.
	ExcludeDynamicSections bool
	// PlanModeInstructions replace the instructions of plan mode.
	PlanModeInstructions string

	// MaxTurns ends a query after so many answers of the model; 0 for no limit. The error of the
	// query is then [ErrLimit].
	MaxTurns int
	// MaxBudgetUSD ends a query that has cost so much, in US dollars; 0 for no limit. The error
	// is then [ErrLimit].
	MaxBudgetUSD float64
	// TaskBudget is the number of tokens of which the model is told; 0 for none.
	TaskBudget int
	// BackgroundWait ends a [Query] whose background agents still run so long after its last
	// result, without a new turn; 0 for no limit. While a callback decides, the time begins
	// again. The error is a *[BackgroundError], which is [ErrLimit].
	BackgroundWait time.Duration

	// OutputSchema is the JSON Schema of [Result.StructuredOutput].
	OutputSchema json.RawMessage

	// AddDirs are absolute paths of further folders that the CLI may work in.
	AddDirs []string
	// SettingSources are the settings to load, of user, project and local; nil for all, empty
	// for none.
	SettingSources []string
	// Settings are settings above those of the files, a JSON object.
	Settings json.RawMessage
	// ManagedSettings are settings that can only restrict, a JSON object.
	ManagedSettings json.RawMessage
	// ProjectConfigRoot is the absolute path of the folder whose .claude is used instead of
	// that of Dir.
	ProjectConfigRoot string
	// Plugins are loaded from their folders.
	Plugins []Plugin
	// Skills are the names of the skills on offer, ["all"] for all of them; nil for the CLI's
	// default. Like the official SDKs, it lets the model use them without a question.
	Skills []string
	// Agents are the subagents on offer besides the CLI's own, by name.
	Agents map[string]Agent
	// Agent is the name of the agent that the main conversation runs as.
	Agent string

	// MCPServers are MCP servers by name: [StdioServer], [HTTPServer], [SSEServer], or a server
	// of this process, which package claude/tool makes.
	MCPServers map[string]MCPServerConfig
	// MCPConfig is a configuration {"mcpServers":{…}} besides MCPServers.
	MCPConfig json.RawMessage
	// MCPConfigFile is the absolute path of such a file instead; it keeps secrets out of the
	// command line.
	MCPConfigFile string
	// StrictMCPConfig uses only these servers, not those that the folder configures.
	StrictMCPConfig bool

	// IncludePartialMessages delivers [StreamEvent]s.
	IncludePartialMessages bool
	// IncludeHookEvents delivers [HookStarted], [HookProgress] and [HookResponse] of all hooks.
	IncludeHookEvents bool
	// ReplayUserMessages echoes what was sent, as [User.IsReplay].
	ReplayUserMessages bool
	// ForwardSubagentText also delivers the texts of subagents, not only their tool calls.
	ForwardSubagentText bool
	// AgentProgressSummaries adds summaries to [TaskProgress].
	AgentProgressSummaries bool
	// PromptSuggestions delivers a [PromptSuggestion] after each turn.
	PromptSuggestions bool
	// SessionMirror delivers what the CLI writes to its transcript, as [TranscriptMirror].
	SessionMirror bool
	// SessionStore receives what the CLI writes to its transcript, and [Client.Run] returns when all
	// of it is stored. An Append that fails is repeated, and passed to OnCallbackError as
	// transcript_mirror. What is not stored after the end of the CLI is a *[SessionStoreError] of
	// Run and [Query]. The messages arrive as with SessionMirror.
	SessionStore SessionStore
	// FileCheckpoints keeps what files contained before Claude's tools changed them, for
	// [Client.RewindFiles].
	FileCheckpoints bool
	// PerTaskStop leaves background agents alive when a turn is interrupted.
	PerTaskStop bool
	// QuestionPreview is markdown or html: the format of the previews in AskUserQuestion.
	QuestionPreview string
	// SupportedDialogKinds are the kinds of dialogs that UserDialog can show.
	SupportedDialogKinds []string
	// Debug makes the CLI print debug output on stderr, or into DebugFile.
	Debug     bool
	DebugFile string
	// Stderr receives what the CLI prints on stderr, piece by piece, from one goroutine.
	Stderr func(text []byte)

	// The callbacks. All may be nil. Those that return an answer run concurrently, each in a
	// goroutine of its own and without a time limit. Their context ends with the cause
	// [ErrWithdrawn] when the CLI cancels the request and [ErrClosed] at the end; after that
	// their answer is dropped. A callback that fails or panics never allows anything.

	// CanUseTool decides whether a tool may run. If nil, tools are denied. An error or a
	// panic denies with a message to the model about a technical failure.
	CanUseTool func(ctx context.Context, r ToolRequest) (ToolDecision, error)
	// Elicitation answers a question of an MCP server. Nil declines.
	Elicitation func(ctx context.Context, r ElicitationRequest) (ElicitationAnswer, error)
	// Hooks are called by the CLI at the events that they name.
	Hooks []Hook
	// HookCallback runs the hooks that [InitializeRequest.Hooks] registers by id and returns
	// their output, a JSON object. Nil refuses. Hooks is the convenient form.
	HookCallback func(ctx context.Context, r HookRequest) (json.RawMessage, error)
	// MCPMessage handles a JSON-RPC message for an MCP server of this process that is not in
	// MCPServers. It returns the JSON-RPC response, or nil for a notification. If nil, messages
	// are refused.
	MCPMessage func(ctx context.Context, r MCPMessageRequest) (json.RawMessage, error)
	// UserDialog shows a dialog of one of SupportedDialogKinds and returns its result. Nil
	// cancels the dialog.
	UserDialog func(ctx context.Context, r UserDialogRequest) (json.RawMessage, error)

	// OtherRequest answers requests of the subtypes in OtherSubtypes, for which there is no
	// callback above, such as oauth_token_refresh. It returns a JSON object. Requests of other
	// subtypes are refused.
	OtherRequest  func(ctx context.Context, r ControlRequest) (json.RawMessage, error)
	OtherSubtypes []string

	// OnMessage receives every message in order, on the read loop: nothing else is read until
	// it returns. Raw parts of m are borrowed, see [Header] and [Keep].
	OnMessage func(m Message)
	// OnRequest receives every new request of the CLI, on the read loop, before its callback
	// starts; body is borrowed.
	OnRequest func(requestID, subtype string, body json.RawMessage)
	// OnWithdrawn receives the id of every request that the CLI cancelled, on the read loop,
	// including requests to an earlier client of the same CLI.
	OnWithdrawn func(requestID string)
	// OnInitialized receives the CLI's answer to every [Client.Initialize], on the read loop:
	// before OnMessage receives what the CLI printed after it, and before Initialize returns.
	OnInitialized func(r *InitializeResponse)
	// OnUnreadable receives a line that is no message, with the reason: [ErrMalformed],
	// [ErrTooLarge] without a line, or [ErrInvalidUTF8] for a line that was used
	// nevertheless. It runs on the read loop and line is borrowed.
	OnUnreadable func(line []byte, err error)
	// OnCallbackError receives the error or panic (a *[PanicError]) of a callback, and
	// failures to send an answer. It runs in the callback's goroutine.
	OnCallbackError func(subtype, requestID string, err error)

	// Open are requests that an earlier client of the same CLI left unanswered, by id: the
	// object inside the control_request. Their callbacks start before anything is read, so
	// that a cancel finds them. Use it for requests that the CLI does not list in its answer
	// to initialize, such as elicitations.
	Open map[string]json.RawMessage
}

// Thinking configures extended thinking.
type Thinking struct {
	// Type is adaptive, enabled or disabled; "" leaves it to the CLI.
	Type string
	// BudgetTokens bounds enabled thinking; 0 for the CLI's default.
	BudgetTokens int
	// Display is summarized or omitted; "" for the CLI's default.
	Display string
}

// Plugin is a plugin in a folder.
type Plugin struct {
	Path string // absolute
	// SkipMCPDiscovery does not start the MCP servers of the plugin.
	SkipMCPDiscovery bool
}

// Agent defines a subagent.
type Agent struct {
	Description     string            `json:"description"` // when to use it, for the model
	Prompt          string            `json:"prompt"`      // its system prompt
	Tools           []string          `json:"tools,omitempty"`
	DisallowedTools []string          `json:"disallowedTools,omitempty"`
	Model           string            `json:"model,omitempty"`
	MCPServers      []json.RawMessage `json:"mcpServers,omitempty"` // names, or objects of one configuration each
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
	ObserverMessage   string `json:"observerMessage,omitempty"` // what the observer is told first
}

// callbacks is what a client keeps of its Options. A host has a client for each session, and
// the rest is only needed at the start.
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
