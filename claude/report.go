package claude

import (
	"context"
	"encoding/json"
	"fmt"
)

// Reports of the CLI about itself. Names, descriptions and error texts come from MCP servers, plugins
// and files: they may be of any length and contain any character. A CLI that does not know a request
// refuses it with a *[RequestError].

// MCPServerStatus is an MCP server of the CLI.
type MCPServerStatus struct {
	Name   string `json:"name"`
	Status string `json:"status"` // connected, failed, needs-auth, pending or disabled
	Error  string `json:"error"`  // of a failed server
	Scope  string `json:"scope"`  // of its configuration: user, project, local, dynamic, managed, …
	Config struct {
		Type    string `json:"type"` // stdio, http, sse, …
		URL     string `json:"url"`
		Command string `json:"command"`
	} `json:"config"`
	Tools []MCPTool `json:"tools"` // of a connected server
}

// MCPTool is a tool of an MCP server.
type MCPTool struct {
	Name        string `json:"name"` // as the server names it, without mcp__server__
	Description string `json:"description"`
}

// MCPStatus returns the MCP servers of the CLI.
func (c *Client) MCPStatus(ctx context.Context) ([]MCPServerStatus, error) {
	var r struct {
		MCPServers []MCPServerStatus `json:"mcpServers"`
	}
	err := c.report(ctx, "mcp_status", nil, &r)
	return r.MCPServers, err
}

// ToggleMCP enables or disables an MCP server. The CLI remembers the choice for the folder.
func (c *Client) ToggleMCP(ctx context.Context, server string, enabled bool) error {
	_, err := c.Request(ctx, "mcp_toggle", map[string]any{"serverName": server, "enabled": enabled})
	return err
}

// ReconnectMCP connects to an MCP server again. It blocks until the server has answered.
func (c *Client) ReconnectMCP(ctx context.Context, server string) error {
	_, err := c.Request(ctx, "mcp_reconnect", map[string]any{"serverName": server})
	return err
}

// AuthenticateMCP starts the sign-in to an MCP server. It returns the URL that the person must open in
// a browser, or "" if no sign-in is needed. The CLI then listens on its own port for the browser.
func (c *Client) AuthenticateMCP(ctx context.Context, server string) (address string, err error) {
	var r struct {
		AuthURL string `json:"authUrl"`
	}
	err = c.report(ctx, "mcp_authenticate", map[string]any{"serverName": server}, &r)
	return r.AuthURL, err
}

// FinishMCPSignIn passes the CLI the URL that the browser was redirected to, for a browser that
// cannot reach the CLI's port. [Client.ReconnectMCP] then connects to the server.
func (c *Client) FinishMCPSignIn(ctx context.Context, server, callback string) error {
	_, err := c.Request(ctx, "mcp_oauth_callback_url", map[string]any{"serverName": server, "callbackUrl": callback})
	return err
}

// ContextUsage describes what fills the context window, in tokens, as estimated by the CLI.
type ContextUsage struct {
	Categories           []ContextCategory `json:"categories"`
	TotalTokens          float64           `json:"totalTokens"`
	MaxTokens            float64           `json:"maxTokens"`
	AutoCompactThreshold float64           `json:"autoCompactThreshold"` // 0 when unknown
	AutoCompacts         bool              `json:"isAutoCompactEnabled"`
	MemoryFiles          []struct {
		Path   string  `json:"path"`
		Tokens float64 `json:"tokens"`
	} `json:"memoryFiles"`
	Agents []struct {
		Name   string  `json:"agentType"`
		Source string  `json:"source"`
		Tokens float64 `json:"tokens"`
	} `json:"agents"`
	Skills struct {
		List []struct {
			Name   string  `json:"name"`
			Source string  `json:"source"`
			Plugin string  `json:"pluginName"`
			Tokens float64 `json:"tokens"`
		} `json:"skillFrontmatter"`
	} `json:"skills"`
}

// ContextCategory is a part of the context.
type ContextCategory struct {
	ID       string  `json:"id"`   // such as messages; "" from an older CLI
	Name     string  `json:"name"` // in English
	Kind     string  `json:"kind"` // used, free, buffer (kept for compaction) or deferred (not loaded)
	Tokens   float64 `json:"tokens"`
	Deferred bool    `json:"isDeferred"`
}

// ContextUsage returns what fills the context window. The CLI counts the tokens locally.
func (c *Client) ContextUsage(ctx context.Context) (ContextUsage, error) {
	var r ContextUsage
	err := c.report(ctx, "get_context_usage", map[string]any{"detail": "summary"}, &r)
	for i := range r.Categories {
		// An older CLI sends only the names.
		if of := &r.Categories[i]; of.Kind == "" {
			switch {
			case of.Deferred:
				of.Kind = "deferred"
			case of.Name == "Free space":
				of.Kind = "free"
			case of.Name == "Autocompact buffer" || of.Name == "Compact buffer":
				of.Kind = "buffer"
			default:
				of.Kind = "used"
			}
		}
	}
	return r, err
}

// PermissionRule is a permission rule in force.
type PermissionRule struct {
	Behavior    string `json:"behavior"` // allow, deny or ask
	Source      string `json:"source"`   // userSettings, policySettings, session, …
	Rule        string `json:"rule"`
	NotInEffect bool   `json:"notInEffect"` // overridden by a policy
}

// PermissionRules returns the permission rules of the CLI, in the CLI's order.
func (c *Client) PermissionRules(ctx context.Context) ([]PermissionRule, error) {
	var r struct {
		State struct {
			Rules []PermissionRule `json:"rules"`
		} `json:"state"`
	}
	err := c.report(ctx, "list_permission_rules", nil, &r)
	return r.State.Rules, err
}

// ListedHook is an entry in the CLI's list of hooks.
type ListedHook struct {
	Event    string `json:"event"`
	Matcher  string `json:"matcher"` // "" for all
	Source   string `json:"source"`  // userSettings, sessionHook, pluginHook, …
	Plugin   string `json:"pluginName"`
	Type     string `json:"type"` // command, prompt, http, …
	Text     string `json:"commandText"`
	Disabled bool   `json:"disabled"` // by the mode of the session or a policy
}

// HookPolicy is the effect of a managed policy on hooks.
type HookPolicy struct {
	Disabled    bool `json:"disabledByPolicy"` // no hook runs
	ManagedOnly bool `json:"managedOnly"`      // only hooks of the policy run; they are not listed
	Managed     int  `json:"policyHookCount"`  // number of the policy's hooks
}

// Hooks returns the hooks of the CLI, except those of a policy.
func (c *Client) Hooks(ctx context.Context) ([]ListedHook, HookPolicy, error) {
	var r struct {
		Hooks  []ListedHook `json:"hooks"`
		Policy HookPolicy   `json:"policy"`
	}
	err := c.report(ctx, "get_hooks_listing", nil, &r)
	return r.Hooks, r.Policy, err
}

// Settings is a part of the CLI's settings.
type Settings struct {
	// Plugins are enabled or disabled, by name@marketplace.
	Plugins map[string]bool
	// Rules are the permission rules of all files, in the CLI's order.
	Rules []PermissionRule
}

// Settings returns a part of the CLI's settings. It leaves out the rest, which may contain secrets.
func (c *Client) Settings(ctx context.Context) (Settings, error) {
	var r struct {
		Effective struct {
			EnabledPlugins map[string]json.RawMessage `json:"enabledPlugins"`
		} `json:"effective"`
		Sources []struct {
			Source   string `json:"source"`
			Settings struct {
				Permissions struct {
					Allow []string `json:"allow"`
					Ask   []string `json:"ask"`
					Deny  []string `json:"deny"`
				} `json:"permissions"`
			} `json:"settings"`
		} `json:"sources"`
	}
	if err := c.report(ctx, "get_settings", nil, &r); err != nil {
		return Settings{}, err
	}
	s := Settings{Plugins: map[string]bool{}}
	for name, on := range r.Effective.EnabledPlugins {
		s.Plugins[name] = string(on) != "false" // a list of versions also enables it
	}
	for _, of := range r.Sources {
		p := of.Settings.Permissions
		for _, group := range []struct {
			behavior string
			rules    []string
		}{{"deny", p.Deny}, {"ask", p.Ask}, {"allow", p.Allow}} {
			for _, rule := range group.rules {
				s.Rules = append(s.Rules, PermissionRule{Behavior: group.behavior, Source: of.Source, Rule: rule})
			}
		}
	}
	return s, nil
}

// PlanLimit is a limit of the account's plan.
type PlanLimit struct {
	Utilization *float64 `json:"utilization"` // percent; nil when unknown
	ResetsAt    string   `json:"resets_at"`   // RFC 3339; "" when unknown
}

// PlanLimits returns the limits of the account's plan by name, such as five_hour and seven_day, or
// nil if the account has none, as with an API key. The CLI queries the API for them.
func (c *Client) PlanLimits(ctx context.Context) (map[string]PlanLimit, error) {
	var r struct {
		Available bool                       `json:"rate_limits_available"`
		Limits    map[string]json.RawMessage `json:"rate_limits"`
	}
	err := c.report(ctx, "get_usage", map[string]any{"skip_behaviors": true}, &r)
	if err != nil || !r.Available {
		return nil, err
	}
	limits := map[string]PlanLimit{}
	for name, raw := range r.Limits {
		var l PlanLimit
		if json.Unmarshal(raw, &l) == nil && (l.Utilization != nil || l.ResetsAt != "") {
			limits[name] = l
		}
	}
	return limits, nil
}

// report sends a request and decodes the response; fields of an unexpected type stay zero.
func (c *Client) report(ctx context.Context, subtype string, fields map[string]any, into any) error {
	var request any
	if fields != nil {
		request = fields
	}
	raw, err := c.Request(ctx, subtype, request)
	if err != nil {
		return err
	}
	if err := lenient(raw, into); err != nil {
		return fmt.Errorf("claude: %s: %w", subtype, err)
	}
	return nil
}
