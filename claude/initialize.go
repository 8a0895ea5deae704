package claude

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
)

// InitializeRequest is the first request to the CLI. All fields are optional.
type InitializeRequest struct {
	Hooks                map[string][]HookMatcher   `json:"hooks,omitempty"` // by hook event, such as PreToolUse
	SDKMCPServers        []string                   `json:"sdkMcpServers,omitempty"`
	JSONSchema           json.RawMessage            `json:"jsonSchema,omitempty"`
	SystemPrompt         []string                   `json:"systemPrompt,omitempty"`
	AppendSystemPrompt   string                     `json:"appendSystemPrompt,omitempty"`
	Agents               map[string]json.RawMessage `json:"agents,omitempty"`
	Title                string                     `json:"title,omitempty"`
	SupportedDialogKinds []string                   `json:"supportedDialogKinds,omitempty"`
	// PerTaskStopAffordance makes an interrupt keep background agents running.
	PerTaskStopAffordance bool `json:"perTaskStopAffordance,omitempty"`
	ForwardSubagentText   bool `json:"forwardSubagentText,omitempty"`

	SDKMCPServerConfigs map[string]SDKMCPServerConfig `json:"sdkMcpServerConfigs,omitempty"`
	// SDKMCPServerManifests are the first answers of the servers in this process, so that the CLI
	// need not ask for them.
	SDKMCPServerManifests map[string]SDKMCPServerManifest `json:"sdkMcpServerManifests,omitempty"`
	// MCPServers and Plugins are read only by a CLI with the argument --await-initialize.
	MCPServers map[string]json.RawMessage `json:"mcpServers,omitempty"`
	Plugins    []PluginConfig             `json:"plugins,omitempty"`

	PlanModeInstructions   string            `json:"planModeInstructions,omitempty"`
	ToolAliases            map[string]string `json:"toolAliases,omitempty"`
	ExcludeDynamicSections bool              `json:"excludeDynamicSections,omitempty"`
	SystemPromptSnapshot   *bool             `json:"systemPromptSnapshot,omitempty"` // false: see [Options.FreshSystemPrompt]
	Skills                 []string          `json:"skills,omitempty"`
	PromptSuggestions      bool              `json:"promptSuggestions,omitempty"`
	AgentProgressSummaries bool              `json:"agentProgressSummaries,omitempty"`
}

// SDKMCPServerConfig configures an MCP server in this process.
type SDKMCPServerConfig struct {
	TimeoutMS int64           `json:"timeout,omitempty"`
	Tools     []MCPToolPolicy `json:"tools,omitempty"`
}

// SDKMCPServerManifest contains the exact answers of an MCP server in this process at the start of a
// connection.
type SDKMCPServerManifest struct {
	InitializeResult json.RawMessage `json:"initializeResult"`
	ToolsListResult  json.RawMessage `json:"toolsListResult,omitempty"`
}

// PluginConfig is a [Plugin] as the CLI encodes it.
type PluginConfig struct {
	Type             string `json:"type"` // local
	Path             string `json:"path"`
	SkipMCPDiscovery bool   `json:"skipMcpDiscovery,omitempty"`
}

func (p Plugin) config() PluginConfig { return PluginConfig{"local", p.Path, p.SkipMCPDiscovery} }

// InitializeRequest returns the options that are not part of the command line.
func (o Options) InitializeRequest() InitializeRequest {
	r := InitializeRequest{
		JSONSchema: o.OutputSchema, Title: o.Title, SupportedDialogKinds: o.SupportedDialogKinds,
		PerTaskStopAffordance: o.PerTaskStop, ForwardSubagentText: o.ForwardSubagentText,
		PlanModeInstructions: o.PlanModeInstructions, ToolAliases: o.ToolAliases,
		ExcludeDynamicSections: o.ExcludeDynamicSections, Skills: o.Skills,
		PromptSuggestions: o.PromptSuggestions, AgentProgressSummaries: o.AgentProgressSummaries,
	}
	if len(r.Skills) == 1 && r.Skills[0] == allSkills {
		r.Skills = nil
	}
	if o.FreshSystemPrompt {
		r.SystemPromptSnapshot = new(bool)
	}
	r.Hooks, _ = registerHooks(o.Hooks)
	if o.SystemPrompt != "" {
		r.SystemPrompt = []string{o.SystemPrompt}
	}
	for name, agent := range o.Agents {
		if r.Agents == nil {
			r.Agents = map[string]json.RawMessage{}
		}
		r.Agents[name], _ = marshal(agent) // fails only for a RawMessage that is not JSON; marshaling the request reports that
	}
	for _, name := range slices.Sorted(maps.Keys(o.MCPServers)) {
		local, ok := o.MCPServers[name].(LocalServer)
		if !ok {
			continue
		}
		r.SDKMCPServers = append(r.SDKMCPServers, name)
		if local.Timeout > 0 || len(local.Tools) > 0 {
			if r.SDKMCPServerConfigs == nil {
				r.SDKMCPServerConfigs = map[string]SDKMCPServerConfig{}
			}
			r.SDKMCPServerConfigs[name] = SDKMCPServerConfig{TimeoutMS: local.Timeout.Milliseconds(), Tools: local.Tools}
		}
	}
	return r
}

// HookMatcher registers hook callbacks.
type HookMatcher struct {
	Matcher         string   `json:"matcher,omitempty"`
	HookCallbackIDs []string `json:"hookCallbackIds"`
	Timeout         int      `json:"timeout,omitempty"`   // seconds
	OnFailure       string   `json:"onFailure,omitempty"` // block: a failing hook blocks the tool
}

// InitializeResponse is the CLI's answer.
type InitializeResponse struct {
	Raw         json.RawMessage `json:"-"` // the response object
	Models      []ModelInfo     `json:"models"`
	Account     AccountInfo     `json:"account"`
	Commands    []CommandInfo   `json:"commands"`
	Agents      []AgentInfo     `json:"agents"`
	OutputStyle string          `json:"output_style"`
	// AvailableOutputStyles is set by newer CLIs.
	AvailableOutputStyles []string `json:"available_output_styles"`
	ClaudeCodeVersion     string   `json:"claude_code_version"` // "" from an older CLI
	// HooksApplied, PluginsApplied and MCPServersApplied report whether the CLI uses those of
	// the request; nil from an older CLI.
	HooksApplied           *bool  `json:"hooks_applied"`
	HookOnFailureSupported bool   `json:"hook_on_failure_supported"`
	PluginsApplied         *bool  `json:"plugins_applied"`
	MCPServersApplied      *bool  `json:"mcp_servers_applied"`
	FastModeState          string `json:"fast_mode_state"` // off, cooldown or on
	FastModeDisabledReason string `json:"fast_mode_disabled_reason"`
	// PendingPermissionRequests are the open requests of the CLI. Those that this client was not
	// yet answering have been passed to [Options.CanUseTool].
	PendingPermissionRequests []ToolRequest `json:"-"`
	// PendingElicitationRequests are the same for [Options.Elicitation].
	PendingElicitationRequests []ElicitationRequest `json:"-"`
}

// ModelInfo is an available model.
type ModelInfo struct {
	Value         string `json:"value"` // for --model and set_model
	ResolvedModel string `json:"resolvedModel"`
	DisplayName   string `json:"displayName"`
	Description   string `json:"description"`

	SupportsEffort           bool     `json:"supportsEffort"`
	SupportedEffortLevels    []string `json:"supportedEffortLevels"`
	SupportsAdaptiveThinking bool     `json:"supportsAdaptiveThinking"`
	SupportsFastMode         bool     `json:"supportsFastMode"`
	SupportsAutoMode         bool     `json:"supportsAutoMode"`
}

// AccountInfo is the account that the CLI is signed in to; all fields are empty when it is
// signed out.
type AccountInfo struct {
	Email            string `json:"email"`
	Organization     string `json:"organization"`
	SubscriptionType string `json:"subscriptionType"`
	TokenSource      string `json:"tokenSource"`
	APIKeySource     string `json:"apiKeySource"`
	APIProvider      string `json:"apiProvider"`
}

// CommandInfo is a slash command or a skill.
type CommandInfo struct {
	Name         string   `json:"name"` // without the slash
	Description  string   `json:"description"`
	ArgumentHint string   `json:"argumentHint"`
	Aliases      []string `json:"aliases"`
	Builtin      bool     `json:"builtin"` // part of the CLI; never set by older CLIs
}

// AgentInfo is a kind of subagent.
type AgentInfo struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Model       string `json:"model"`
}

// Initialize opens the conversation. On a CLI that is already initialized, it serves a client that
// attaches later: it returns the open requests, and dispatches each one that this client is not yet
// answering as if it had just arrived.
func (c *Client) Initialize(ctx context.Context, r InitializeRequest) (*InitializeResponse, error) {
	return c.initialize(ctx, r, false, nil)
}

// ListOpen is Initialize without the dispatching: it only returns the open requests.
func (c *Client) ListOpen(ctx context.Context, r InitializeRequest) (*InitializeResponse, error) {
	return c.initialize(ctx, r, true, nil)
}

// initialize calls sent, if not nil, when the request has been sent.
func (c *Client) initialize(ctx context.Context, r InitializeRequest, listOnly bool, sent func()) (*InitializeResponse, error) {
	w := waitingReply{listOnly: listOnly, sent: sent}
	if f := c.options.OnInitialized; f != nil && !listOnly {
		w.read = func(r reply) {
			if out, err := readInitialize(r, r.err); err == nil {
				f(out)
			}
		}
	}
	return readInitialize(c.requestFor(ctx, "initialize", r, w))
}

// readInitialize reads the answer to initialize, or err.
func readInitialize(got reply, err error) (*InitializeResponse, error) {
	var refused *RequestError
	if err != nil && !(errors.As(err, &refused) && got.outer != nil) {
		return nil, err
	}
	out := &InitializeResponse{
		Raw:                        got.response,
		PendingPermissionRequests:  pendingRequests(got.outer, "pending_permission_requests", readToolRequest),
		PendingElicitationRequests: pendingRequests(got.outer, "pending_elicitation_requests", readElicitation),
	}
	if err != nil {
		// A CLI before 2.1.161 refuses a second initialize, but lists the requests anyway.
		if len(out.PendingPermissionRequests) > 0 || len(out.PendingElicitationRequests) > 0 {
			return out, nil
		}
		return nil, err
	}
	if len(got.response) > 0 {
		if err := lenient(got.response, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// pendingRequests parses a list of open requests next to a response.
func pendingRequests[R any](outer json.RawMessage, key string, read func(id string, body json.RawMessage, fields []field) R) []R {
	fields, err := appendFields(nil, outer)
	if err != nil {
		return nil
	}
	list, err := appendElements(nil, lookup(fields, key))
	if err != nil {
		return nil
	}
	requests := make([]R, 0, len(list))
	for _, v := range list {
		envelope, err := appendFields(nil, v)
		if err != nil {
			continue
		}
		body := lookup(envelope, "request")
		if fields, err := appendFields(nil, body); err == nil {
			requests = append(requests, read(text(lookup(envelope, "request_id")), body, fields))
		}
	}
	return requests
}
