package claude

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// MCPServerConfig is a [StdioServer], an [HTTPServer], an [SSEServer] or a [LocalServer].
type MCPServerConfig interface {
	// config returns the server's entry in the CLI's configuration, nil for a server in this process.
	config() (map[string]any, error)
}

// MCPToolPolicy sets the permissions of one tool of a server.
type MCPToolPolicy struct {
	Name             string `json:"name"`
	PermissionPolicy string `json:"permission_policy,omitempty"`  // always_allow, always_ask or always_deny
	OrgMaxPermission string `json:"org_max_permission,omitempty"` // allow, ask or blocked
}

// StdioServer is an MCP server that the CLI starts. From CLI 2.1.329 on, [Start] sends its arguments and
// variables over the CLI's input. With an older CLI they are part of the command line, which other users
// of the host can read: use [Options.MCPConfigFile] for secrets.
type StdioServer struct {
	Command string
	Args    []string
	Env     map[string]string
	// Timeout bounds a tool call; 0 for the CLI's default.
	Timeout time.Duration
	// AlwaysLoad offers all tools to the model from the start.
	AlwaysLoad bool
}

func (s StdioServer) config() (map[string]any, error) {
	if s.Command == "" {
		return nil, errors.New("has no command")
	}
	out := map[string]any{"type": "stdio", "command": s.Command}
	if len(s.Args) > 0 {
		out["args"] = s.Args
	}
	if len(s.Env) > 0 {
		out["env"] = s.Env
	}
	return withCommon(out, nil, s.Timeout, s.AlwaysLoad), nil
}

// HTTPServer is an MCP server over streamable HTTP.
type HTTPServer struct {
	URL        string
	Headers    map[string]string
	Tools      []MCPToolPolicy
	Timeout    time.Duration // of a tool call; 0 for the CLI's default
	AlwaysLoad bool          // offers all tools to the model from the start
}

func (s HTTPServer) config() (map[string]any, error) {
	return remoteConfig("http", s.URL, s.Headers, s.Tools, s.Timeout, s.AlwaysLoad)
}

// SSEServer is an MCP server over server-sent events, the transport before streamable HTTP.
type SSEServer struct {
	URL        string
	Headers    map[string]string
	Tools      []MCPToolPolicy
	Timeout    time.Duration // of a tool call; 0 for the CLI's default
	AlwaysLoad bool          // offers all tools to the model from the start
}

func (s SSEServer) config() (map[string]any, error) {
	return remoteConfig("sse", s.URL, s.Headers, s.Tools, s.Timeout, s.AlwaysLoad)
}

func remoteConfig(kind, url string, headers map[string]string, tools []MCPToolPolicy, timeout time.Duration, always bool) (map[string]any, error) {
	if url == "" {
		return nil, errors.New("has no URL")
	}
	out := map[string]any{"type": kind, "url": url}
	if len(headers) > 0 {
		out["headers"] = headers
	}
	return withCommon(out, tools, timeout, always), nil
}

func withCommon(out map[string]any, tools []MCPToolPolicy, timeout time.Duration, always bool) map[string]any {
	if len(tools) > 0 {
		out["tools"] = tools
	}
	if timeout > 0 {
		out["timeout"] = timeout.Milliseconds()
	}
	if always {
		out["alwaysLoad"] = true
	}
	return out
}

// mcpServers returns the MCP servers that the CLI connects to by itself.
func (o *Options) mcpServers() (map[string]json.RawMessage, error) {
	servers := map[string]json.RawMessage{}
	for name, s := range o.MCPServers {
		if s == nil || name == "" {
			return nil, fmt.Errorf("%q is empty", name)
		}
		config, err := s.config()
		if err != nil {
			return nil, fmt.Errorf("%q %w", name, err)
		}
		if config == nil {
			continue
		}
		if servers[name], err = json.Marshal(config); err != nil {
			return nil, err
		}
	}
	return servers, nil
}

// mcpConfig returns mcpServers as an argument, "" for none.
func (o *Options) mcpConfig() (string, error) {
	servers, err := o.mcpServers()
	if err != nil || len(servers) == 0 {
		return "", err
	}
	text, err := json.Marshal(map[string]any{"mcpServers": servers})
	return string(text), err
}

// overInitialize moves options from the command line to r: those that a CLI from readsInitialize on
// accepts over its input, where no other user of the host can read them.
func (o Options) overInitialize(r *InitializeRequest) (rest Options, err error) {
	servers, err := o.mcpServers()
	if err != nil {
		return o, err
	}
	for _, p := range o.Plugins {
		r.Plugins = append(r.Plugins, p.config())
	}
	if len(servers) > 0 {
		r.MCPServers = servers
	}
	r.AppendSystemPrompt = o.AppendSystemPrompt
	o.MCPServers, o.Plugins, o.AppendSystemPrompt = nil, nil, ""
	return o, nil
}
