package claude

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
)

// Requests that change something. A CLI that does not know one refuses it with a *[RequestError].

// Interrupted lists what became of the messages that were sent during an interrupted turn, by UUID.
type Interrupted struct {
	StillQueued []string `json:"still_queued"` // run next
	Cancelled   []string `json:"cancelled"`
}

// InterruptQueue is [Client.Interrupt], and also returns what becomes of the messages that were sent
// during the turn. With cancel they are dropped, which needs CLI 2.1.219.
func (c *Client) InterruptQueue(ctx context.Context, cancel bool) (Interrupted, error) {
	var fields map[string]any
	if cancel {
		fields = map[string]any{"cancel_queued": true}
	}
	var r Interrupted
	err := c.report(ctx, "interrupt", fields, &r)
	return r, err
}

// CancelMessage drops a message that was sent during a turn and has not been used yet. It reports
// whether the message was dropped.
func (c *Client) CancelMessage(ctx context.Context, messageUUID string) (bool, error) {
	var r struct {
		Cancelled bool `json:"cancelled"`
	}
	err := c.report(ctx, "cancel_async_message", map[string]any{"message_uuid": messageUUID}, &r)
	return r.Cancelled, err
}

// SetThinking bounds the tokens for thinking: 0 disables thinking, and a negative number restores the
// default. display is one of those of [Thinking], "" for no change.
func (c *Client) SetThinking(ctx context.Context, tokens int, display string) error {
	fields := map[string]any{"max_thinking_tokens": tokens}
	if tokens < 0 {
		fields["max_thinking_tokens"] = nil
	}
	if display != "" {
		fields["thinking_display"] = display
	}
	_, err := c.Request(ctx, "set_max_thinking_tokens", fields)
	return err
}

// SetMCPPermissionMode sets a stricter permission mode for the tools of one MCP server: default or
// auto, "" for the mode of the session. The warning, if any, is for the person.
func (c *Client) SetMCPPermissionMode(ctx context.Context, server, mode string) (warning string, err error) {
	fields := map[string]any{"serverName": server, "mode": nil}
	if mode != "" {
		fields["mode"] = mode
	}
	var r struct {
		Warning string `json:"warning"`
	}
	err = c.report(ctx, "set_mcp_permission_mode_override", fields, &r)
	return r.Warning, err
}

// UpdateSettings changes settings in a file: source is localSettings or userSettings. The CLI
// accepts only a few keys.
func (c *Client) UpdateSettings(ctx context.Context, source string, settings map[string]any) error {
	_, err := c.Request(ctx, "update_settings", map[string]any{"source": source, "settings": settings})
	return err
}

// RenameSession sets the title of the session.
func (c *Client) RenameSession(ctx context.Context, title string) error {
	_, err := c.Request(ctx, "rename_session", map[string]any{"title": title, "source": "host"})
	return err
}

// SetColor sets the color of the session in the interface of the CLI.
func (c *Client) SetColor(ctx context.Context, color string) error {
	_, err := c.Request(ctx, "set_color", map[string]any{"color": color})
	return err
}

// SetHasSubscribers tells the CLI whether anyone is watching; nil means unknown. Without watchers it
// may skip work that only they would see.
func (c *Client) SetHasSubscribers(ctx context.Context, has *bool) error {
	_, err := c.Request(ctx, "set_has_subscribers", map[string]any{"has_subscribers": has})
	return err
}

// StopTask stops a task, see [Tasks]. A [TaskNotification] with the status stopped follows.
func (c *Client) StopTask(ctx context.Context, taskID string) error {
	_, err := c.Request(ctx, "stop_task", map[string]any{"task_id": taskID})
	return err
}

// Background moves a tool call from the foreground to the background; "" moves all of them.
func (c *Client) Background(ctx context.Context, toolUseID string) error {
	var fields map[string]any
	if toolUseID != "" {
		fields = map[string]any{"tool_use_id": toolUseID}
	}
	_, err := c.Request(ctx, "background_tasks", fields)
	return err
}

// TaskOutput is the output of a task so far.
type TaskOutput struct {
	Output     string `json:"output"` // only the end, if Truncated
	TotalBytes int    `json:"total_bytes"`
	Truncated  bool   `json:"truncated"`
}

// TaskOutput returns the output of a task.
func (c *Client) TaskOutput(ctx context.Context, taskID string) (TaskOutput, error) {
	var r TaskOutput
	err := c.report(ctx, "get_task_output", map[string]any{"task_id": taskID}, &r)
	return r, err
}

// EndSession ends the session and the CLI.
func (c *Client) EndSession(ctx context.Context, reason string) error {
	_, err := c.Request(ctx, "end_session", map[string]any{"reason": reason})
	return err
}

// MCPChange lists what [Client.SetMCPServers] changed.
type MCPChange struct {
	Added   []string          `json:"added"`
	Removed []string          `json:"removed"`
	Errors  map[string]string `json:"errors"` // by server
}

// SetMCPServers replaces the MCP servers that an earlier call has set. A [LocalServer] must be
// one of [Options.MCPServers], and stays as it is.
func (c *Client) SetMCPServers(ctx context.Context, servers map[string]MCPServerConfig) (MCPChange, error) {
	configs := map[string]any{}
	for name, s := range servers {
		config, err := s.config()
		switch {
		case err != nil:
			return MCPChange{}, fmt.Errorf("claude: MCP server %q %w", name, err)
		case config == nil && c.options.local[name] == nil:
			return MCPChange{}, fmt.Errorf("claude: MCP server %q of this process is not in Options.MCPServers", name)
		case config == nil:
			config = map[string]any{"type": "sdk", "name": name}
		}
		configs[name] = config
	}
	var r MCPChange
	err := c.report(ctx, "mcp_set_servers", map[string]any{"servers": configs}, &r)
	return r, err
}

// CallMCP calls a tool of an MCP server of the CLI, by its full name such as mcp__server__tool, and
// returns the result of the server. The CLI checks its permission rules.
func (c *Client) CallMCP(ctx context.Context, tool string, arguments any) (json.RawMessage, error) {
	return c.Request(ctx, "mcp_call", map[string]any{"tool": tool, "arguments": arguments, "check_permissions": true})
}

// MCPResource is the content of a resource of an MCP server: Text, or Blob in base64.
type MCPResource struct {
	URI      string `json:"uri"`
	MIMEType string `json:"mimeType"`
	Text     string `json:"text"`
	Blob     string `json:"blob"`
}

// ReadMCPResource reads a resource of an MCP server. The CLI permits only a few kinds.
func (c *Client) ReadMCPResource(ctx context.Context, server, uri string) ([]MCPResource, error) {
	var r struct {
		Contents []MCPResource `json:"contents"`
	}
	err := c.report(ctx, "mcp_read_resource", map[string]any{"serverName": server, "uri": uri}, &r)
	return r.Contents, err
}

// ClearMCPSignIn deletes the credentials for an MCP server.
func (c *Client) ClearMCPSignIn(ctx context.Context, server string) error {
	_, err := c.Request(ctx, "mcp_clear_auth", map[string]any{"serverName": server})
	return err
}

// File is a file that the CLI read.
type File struct {
	Contents  string `json:"contents"`
	Path      string `json:"absPath"`
	Truncated bool   `json:"truncated"`
	Encoding  string `json:"encoding"` // base64, or "" for text
	Lossy     bool   `json:"lossy"`    // invalid UTF-8 was replaced
}

// ReadFile reads a file with the file permissions and the permission rules of the CLI. maxBytes
// bounds the content; 0 for the CLI's limit. encoding is utf-8 or base64; "" means utf-8.
func (c *Client) ReadFile(ctx context.Context, path string, maxBytes int, encoding string) (File, error) {
	fields := map[string]any{"path": path}
	if maxBytes > 0 {
		fields["max_bytes"] = maxBytes
	}
	if encoding != "" {
		fields["encoding"] = encoding
	}
	var r File
	err := c.report(ctx, "read_file", fields, &r)
	return r, err
}

// SeedReadState tells the CLI that the model knows the file as of mtime, in Unix milliseconds, so
// that the model may edit it without reading it first.
func (c *Client) SeedReadState(ctx context.Context, path string, mtime int64) error {
	_, err := c.Request(ctx, "seed_read_state", map[string]any{"path": path, "mtime": mtime})
	return err
}

// SuggestFiles returns the completions of an @ mention in a prompt, as the CLI encodes them.
func (c *Client) SuggestFiles(ctx context.Context, query string) (json.RawMessage, error) {
	return c.Request(ctx, "file_suggestions", map[string]any{"query": query})
}

// RegisterRepoRoot adds a repository to the folders of the session, and loads its CLAUDE.md,
// plugins and skills.
func (c *Client) RegisterRepoRoot(ctx context.Context, directory string) error {
	_, err := c.Request(ctx, "register_repo_root", map[string]any{
		"directory": directory, "reload_claude_md": true, "reload_plugins": true, "reload_skills": true,
	})
	return err
}

// Reloaded is the result of [Client.ReloadPlugins].
type Reloaded struct {
	Commands   []CommandInfo     `json:"commands"`
	Agents     []AgentInfo       `json:"agents"`
	Plugins    []PluginInfo      `json:"plugins"`
	MCPServers []MCPServerStatus `json:"mcpServers"`
	ErrorCount int               `json:"error_count"`
	// Held means that nothing was loaded, because that would have invalidated the prompt cache.
	Held bool `json:"held"`
}

// ReloadPlugins loads the plugins again, and those in add. With holdOnCacheImpact it changes nothing
// if that would invalidate the prompt cache.
func (c *Client) ReloadPlugins(ctx context.Context, add []Plugin, holdOnCacheImpact bool) (Reloaded, error) {
	fields := map[string]any{}
	if holdOnCacheImpact {
		fields["hold_on_cache_impact"] = true
	}
	var plugins []PluginConfig
	for _, p := range add {
		plugins = append(plugins, p.config())
	}
	if plugins != nil {
		fields["add_plugins"] = plugins
	}
	var r Reloaded
	err := c.report(ctx, "reload_plugins", fields, &r)
	return r, err
}

// ReloadSkills loads the skills again and returns them.
func (c *Client) ReloadSkills(ctx context.Context) ([]CommandInfo, error) {
	var r struct {
		Skills []CommandInfo `json:"skills"`
	}
	err := c.report(ctx, "reload_skills", nil, &r)
	return r.Skills, err
}

// ReloadOutputStyles loads the output styles again and returns their names.
func (c *Client) ReloadOutputStyles(ctx context.Context) ([]string, error) {
	var r struct {
		Styles []string `json:"available_output_styles"`
	}
	err := c.report(ctx, "reload_output_styles", nil, &r)
	return r.Styles, err
}

// ListModels returns the available models.
func (c *Client) ListModels(ctx context.Context) ([]ModelInfo, error) {
	var r struct {
		Models []ModelInfo `json:"models"`
	}
	err := c.report(ctx, "list_models", nil, &r)
	return r.Models, err
}

// BinaryVersion returns the version of the running CLI. An update on disk does not change it.
func (c *Client) BinaryVersion(ctx context.Context) (string, error) {
	var r struct {
		Version string `json:"version"`
	}
	err := c.report(ctx, "get_binary_version", nil, &r)
	return r.Version, err
}

// SideQuestion asks the model a question without adding it to the conversation. It returns the answer
// as the CLI encodes it.
func (c *Client) SideQuestion(ctx context.Context, question string) (json.RawMessage, error) {
	return c.Request(ctx, "side_question", map[string]any{"question": question})
}

// UpdateEnvironment changes environment variables of the running CLI, which accepts only tokens. It
// returns when the transport has accepted the line; the CLI does not answer.
func (c *Client) UpdateEnvironment(ctx context.Context, variables map[string]string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	line, err := marshal(struct {
		Type      string            `json:"type"`
		Variables map[string]string `json:"variables"`
	}{"update_environment_variables", variables})
	if err != nil {
		return err
	}
	return c.send(line)
}

// ControlRequest is a request of the CLI that has no specific callback, see [Options.OtherRequest].
type ControlRequest struct {
	RequestID, Subtype string
	Raw                json.RawMessage // the whole request object, a copy
}

// refuseUnknown answers a request of an unknown subtype. Without an answer, the CLI would wait
// forever.
func refuseUnknown(o *callbacks, id string, body json.RawMessage, fields []field) answerer {
	subtype := text(lookup(fields, "subtype"))
	if o.OtherRequest != nil && slices.Contains(o.otherSubtypes, subtype) {
		r := ControlRequest{RequestID: id, Subtype: subtype, Raw: clone(body)}
		return answerer{
			run: func(ctx context.Context) (response, error) {
				return payloadOf(o.OtherRequest(ctx, r))
			},
			failed: failure,
		}
	}
	return refuse(fmt.Sprintf("unsupported control request %q", subtype), "unsupported_request")
}
