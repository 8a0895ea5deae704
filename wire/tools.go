package wire

// SessionTools lists what Claude can use in a session besides its built-in tools, and the
// rules that apply. Its texts come from MCP servers and files: show them unchanged.
type SessionTools struct {
	Servers []SessionServer  `json:"servers"`
	Skills  []SessionSkill   `json:"skills"`
	Agents  []SessionAgent   `json:"agents"`
	Plugins []SessionPlugin  `json:"plugins"`
	Hooks   []SessionHook    `json:"hooks"`
	Policy  HookPolicy       `json:"policy"`
	Rules   []PermissionRule `json:"rules"`
	// Missing, Unanswered and More contain some of servers, skills, plugins, hooks, rules and
	// session_rules: Missing those that this version of the CLI does not report, Unanswered
	// those that it did not report in time, and More those with further entries.
	Missing    []string `json:"missing"`
	Unanswered []string `json:"unanswered"`
	More       []string `json:"more"`
	May        []string `json:"may"` // actions of a ServerChange that the caller may take
}

// SessionServer is an MCP server of a session.
type SessionServer struct {
	Name   string       `json:"name"`
	Status string       `json:"status"` // connected, failed, needs-auth, pending or disabled
	Error  string       `json:"error"`
	Scope  string       `json:"scope"` // of its configuration
	Host   string       `json:"host"`  // of a remote server
	Own    bool         `json:"own"`   // sayso's own, through which Claude asks people; it cannot be changed
	Tools  []ServerTool `json:"tools"`
}

// ServerTool is a tool of an MCP server.
type ServerTool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Approval    string `json:"approval"` // asks, allowed or denied, by the rules; "" when unknown
}

// SessionSkill is a skill or a custom command.
type SessionSkill struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Source      string `json:"source"`
	Plugin      string `json:"plugin"`
	BuiltIn     bool   `json:"built_in"`
}

// SessionAgent is a subagent that Claude can start.
type SessionAgent struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Source      string `json:"source"`
}

// SessionPlugin is a plugin in the settings of the CLI.
type SessionPlugin struct {
	Name    string `json:"name"` // with its marketplace
	Enabled bool   `json:"enabled"`
}

// SessionHook is a hook that the CLI runs.
type SessionHook struct {
	Event    string `json:"event"`
	Matcher  string `json:"matcher"` // "" for all
	Source   string `json:"source"`
	Plugin   string `json:"plugin"`
	Kind     string `json:"kind"` // command, prompt, http, …
	Text     string `json:"text"`
	Disabled bool   `json:"disabled"` // by the mode of the session or by managed settings
}

// HookPolicy is the effect of managed settings on hooks.
type HookPolicy struct {
	Disabled    bool `json:"disabled"`     // no hooks run
	ManagedOnly bool `json:"managed_only"` // only hooks in managed settings run
	Managed     int  `json:"managed"`      // hooks in managed settings, which are not listed
}

// PermissionRule is a permission rule of the CLI.
type PermissionRule struct {
	Behavior    string `json:"behavior"` // allow, deny or ask
	Source      string `json:"source"`   // userSettings, policySettings, session, …
	Rule        string `json:"rule"`
	NotInEffect bool   `json:"not_in_effect"` // overridden by managed settings
}

// ServerChange changes an MCP server of a session.
type ServerChange struct {
	Server string `json:"server" validate:"required,max=1000"`
	Action string `json:"action" validate:"oneof=enable disable reconnect sign_in finish_sign_in"`
	// Callback is the address to which the browser was redirected; with finish_sign_in.
	Callback string `json:"callback,omitempty" validate:"max=8192"`
}

// ServerChanged is the outcome of a ServerChange.
type ServerChanged struct {
	// SignInURL is the address at which the person continues a sign_in; "" if none is needed.
	// Open it only at the person's request.
	SignInURL string `json:"sign_in_url"`
}

// ContextUsage describes what fills the context of a session, in tokens as the CLI counts them.
type ContextUsage struct {
	Tokens     int               `json:"tokens"`
	Window     int               `json:"window"`
	CompactsAt int               `json:"compacts_at"` // 0 if the CLI does not compact automatically
	Categories []ContextCategory `json:"categories"`
	Files      []ContextFile     `json:"files"` // that contain instructions
	More       bool              `json:"more"`  // further files were left out
	Limits     []AccountLimit    `json:"limits"`
}

// ContextCategory is a part of the context.
type ContextCategory struct {
	ID     string `json:"id"`   // such as messages; "" from an older CLI
	Name   string `json:"name"` // in English
	Kind   string `json:"kind"` // used, free, buffer or deferred
	Tokens int    `json:"tokens"`
}

// ContextFile is a file in the context.
type ContextFile struct {
	Path   string `json:"path"`
	Tokens int    `json:"tokens"`
}

// AccountLimit is a limit of the Claude account.
type AccountLimit struct {
	Name     string   `json:"name"`                // five_hour, seven_day, …
	Status   string   `json:"status"`              // allowed, allowed_warning or rejected; "" when unknown
	Percent  *float64 `json:"percent,omitempty"`   // used
	ResetsAt *float64 `json:"resets_at,omitempty"` // Unix seconds
}

// CostHistory is the cost of sessions in the last days, in US dollars.
type CostHistory struct {
	Days    []CostDay `json:"days"`    // days with costs, oldest first
	Project string    `json:"project"` // of the session; "" for the default project
	Today   float64   `json:"today"`   // 00:00 UTC, Unix seconds
	Count   int       `json:"count"`   // days, including today
}

// CostDay is the cost of a day, which begins at 00:00 UTC.
type CostDay struct {
	At      float64 `json:"at"`
	Mine    float64 `json:"mine"`    // sessions of the caller, in all projects
	Project float64 `json:"project"` // all sessions in the project
}
