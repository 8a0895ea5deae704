package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/rule"
	"github.com/sayso-dev/sayso/internal/ellipsis"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/orchestrator/launch"
)

// Tools lists what the CLI of a session can use besides its built-in tools, and the rules for it.
// The texts come from the CLI, MCP servers and files; only their length is bounded.
type Tools struct {
	Servers []ToolServer
	Skills  []Skill
	Agents  []Agent
	Plugins []Plugin
	Hooks   []claude.ListedHook
	Policy  claude.HookPolicy
	Rules   []claude.PermissionRule
	// Missing names the parts that this version of the CLI does not report, Unanswered those that
	// it did not report in time, and More those that have more entries. Parts are servers, skills
	// (with agents), plugins, hooks, rules and session_rules.
	Missing, Unanswered, More []string
}

// ToolServer is an MCP server.
type ToolServer struct {
	Name   string
	Status string // connected, failed, needs-auth, pending or disabled
	Error  string
	Scope  string // of its configuration
	Host   string // of a remote server
	Own    bool   // sayso's own server, through which Claude asks people
	Tools  []ServerTool
}

// ServerTool is a tool of an MCP server, and what the permission rules do with its calls.
type ServerTool struct {
	Name        string
	Description string
	Approval    Approval
}

// Approval is what the permission rules and the mode do with a call.
type Approval string

// The approvals. The zero Approval is unknown.
const (
	ApprovalAsks    Approval = "asks"
	ApprovalAllowed Approval = "allowed"
	ApprovalDenied  Approval = "denied"
)

// Skill is a skill or a custom command.
type Skill struct {
	Name, Description, Source, Plugin string
	BuiltIn                           bool // it comes with the CLI
}

// Agent is a subagent that Claude can start.
type Agent struct{ Name, Description, Source string }

// Plugin is a plugin in the settings of the CLI.
type Plugin struct {
	Name    string // with its marketplace
	Enabled bool
}

// Bounds of what the CLI reports: entries of a list, and bytes of a text.
const (
	maxReported     = 300
	maxReportedText = 1000
	maxReportedName = 200
)

// errUnanswered is the cause with which a request ends that the CLI did not answer in time.
var errUnanswered = errors.New("the CLI did not answer in time")

// Tools asks the CLI of a session what it can use. It blocks for up to [Limits].Reply. It returns
// [ErrNotRunning], or a [problem.Error] if the CLI does not answer at all.
func (o *Orchestrator) Tools(ctx context.Context, sessionID string) (Tools, error) {
	p, client, err := o.reachable(ctx, sessionID)
	if err != nil {
		return Tools{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.o.rules().Limits.Reply, errUnanswered)
	defer cancel()
	var (
		asking                                            sync.WaitGroup
		servers                                           []claude.MCPServerStatus
		usage                                             claude.ContextUsage
		settings                                          claude.Settings
		rules                                             []claude.PermissionRule
		t                                                 Tools
		serversErr, usageErr, settingsErr, hooksErr, rErr error
	)
	asking.Go(func() { servers, serversErr = client.MCPStatus(ctx) })
	asking.Go(func() { usage, usageErr = client.ContextUsage(ctx) })
	asking.Go(func() { settings, settingsErr = client.Settings(ctx) })
	asking.Go(func() { t.Hooks, t.Policy, hooksErr = client.Hooks(ctx) })
	asking.Go(func() { rules, rErr = client.PermissionRules(ctx) })
	asking.Wait()
	if isRefused(rErr) && settingsErr == nil { // an older CLI reports only the rules of files
		rules, rErr = settings.Rules, nil
		t.Missing = append(t.Missing, "session_rules")
	}
	answered := false
	for _, part := range []struct {
		name string
		err  error
	}{{"servers", serversErr}, {"skills", usageErr}, {"plugins", settingsErr}, {"hooks", hooksErr}, {"rules", rErr}} {
		switch {
		case part.err == nil:
			answered = true
		case isRefused(part.err):
			answered = true
			t.Missing = append(t.Missing, part.name)
		case errors.Is(part.err, claude.ErrClosed):
			return Tools{}, ErrNotRunning
		default:
			t.Unanswered = append(t.Unanswered, part.name)
		}
	}
	if !answered {
		return Tools{}, problem.New("claude_unanswered")
	}
	mode := p.snapshot().row.PermissionMode
	for _, s := range bounded(&t, "servers", servers) {
		t.Servers = append(t.Servers, toolServer(&t, s, rules, rErr == nil, mode))
	}
	described := map[string]string{} // descriptions by "/" and the name of a skill, or by the name of an agent
	if offered := p.catalog.Load(); offered != nil {
		for _, c := range slices.Backward(offered.Commands) { // the first command of a name is the one that runs
			described["/"+c.Name] = c.Description
		}
		for _, a := range offered.Agents {
			described[a.Name] = a.Description
		}
	}
	for _, s := range bounded(&t, "skills", usage.Skills.List) {
		t.Skills = append(t.Skills, Skill{
			Name: ellipsis.Bytes(s.Name, maxReportedName), Description: described["/"+s.Name], Source: ellipsis.Bytes(s.Source, maxReportedName),
			Plugin: ellipsis.Bytes(s.Plugin, maxReportedName), BuiltIn: s.Source == "built-in" || s.Source == "bundled",
		})
	}
	for _, a := range bounded(&t, "skills", usage.Agents) {
		t.Agents = append(t.Agents, Agent{Name: ellipsis.Bytes(a.Name, maxReportedName), Description: described[a.Name], Source: ellipsis.Bytes(a.Source, maxReportedName)})
	}
	for _, name := range bounded(&t, "plugins", slices.Sorted(maps.Keys(settings.Plugins))) {
		t.Plugins = append(t.Plugins, Plugin{Name: ellipsis.Bytes(name, maxReportedName), Enabled: settings.Plugins[name]})
	}
	t.Hooks = bounded(&t, "hooks", t.Hooks)
	for i := range t.Hooks {
		h := &t.Hooks[i]
		for _, text := range []*string{&h.Event, &h.Matcher, &h.Source, &h.Plugin, &h.Type} {
			*text = ellipsis.Bytes(*text, maxReportedName)
		}
		h.Text = ellipsis.Bytes(h.Text, maxReportedText)
	}
	t.Rules = bounded(&t, "rules", rules)
	for i := range t.Rules {
		r := &t.Rules[i]
		r.Behavior, r.Source, r.Rule = ellipsis.Bytes(r.Behavior, maxReportedName), ellipsis.Bytes(r.Source, maxReportedName), ellipsis.Bytes(r.Rule, maxReportedText)
	}
	return t, nil
}

func toolServer(t *Tools, s claude.MCPServerStatus, rules []claude.PermissionRule, known bool, mode string) ToolServer {
	out := ToolServer{
		Name: ellipsis.Bytes(s.Name, maxReportedName), Status: ellipsis.Bytes(s.Status, maxReportedName), Error: ellipsis.Bytes(s.Error, maxReportedText),
		Scope: ellipsis.Bytes(s.Scope, maxReportedName), Own: s.Name == launch.MCPServer,
	}
	if address, err := url.Parse(s.Config.URL); err == nil {
		out.Host = ellipsis.Bytes(address.Host, maxReportedName)
	}
	for _, tool := range bounded(t, "servers", s.Tools) {
		made := ServerTool{Name: ellipsis.Bytes(tool.Name, maxReportedName), Description: ellipsis.Bytes(tool.Description, maxReportedText)}
		if known {
			made.Approval = approvalOf("mcp__"+toolNamePart(s.Name)+"__"+toolNamePart(tool.Name), rules, mode)
		}
		out.Tools = append(out.Tools, made)
	}
	return out
}

// toolNamePart returns a name in the form that the CLI uses inside the name of an MCP tool.
func toolNamePart(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
}

// approvalOf returns what the rules and the mode do with every call of an MCP tool. Deny rules take
// precedence over ask rules, and these over allow rules.
func approvalOf(tool string, rules []claude.PermissionRule, mode string) Approval {
	says := func(behavior string) bool {
		return slices.ContainsFunc(rules, func(r claude.PermissionRule) bool {
			if r.Behavior != behavior || r.NotInEffect {
				return false
			}
			parsed := rule.Parse(r.Rule)
			return parsed.Content == "" && parsed.AppliesTo(tool)
		})
	}
	switch {
	case says("deny"):
		return ApprovalDenied
	case says("ask"):
		return ApprovalAsks
	case mode == bypass || says("allow"):
		return ApprovalAllowed
	case mode == "dontAsk":
		return ApprovalDenied
	}
	return ApprovalAsks
}

// reachable returns the running process of a session and the client of its CLI. It returns
// [ErrNotRunning], or a [problem.Error] while the CLI is starting.
func (o *Orchestrator) reachable(ctx context.Context, sessionID string) (*process, *claude.Client, error) {
	if _, err := o.ownSession(ctx, sessionID); err != nil {
		return nil, nil, err
	}
	p, err := o.running(ctx, sessionID)
	if err != nil {
		return nil, nil, err
	}
	s, client := p.snapshot(), p.clientNow()
	switch {
	case client == nil || s.detached || s.stopReason != "" || s.ended:
		return nil, nil, ErrNotRunning
	case !s.initialized:
		return nil, nil, problem.New("claude_starting")
	}
	return p, client, nil
}

// isRefused reports whether the CLI refused a request, as a CLI does that does not know the request.
func isRefused(err error) bool {
	var refused *claude.RequestError
	return errors.As(err, &refused)
}

// bounded returns the first maxReported entries of a list that the CLI reports, and adds part to
// t.More if there are more.
func bounded[E any](t *Tools, part string, list []E) []E {
	if len(list) <= maxReported {
		return list
	}
	if !slices.Contains(t.More, part) {
		t.More = append(t.More, part)
	}
	return list[:maxReported]
}

// ownServer refuses to change sayso's own MCP server, through which Claude asks people.
func ownServer(name string) error {
	if name == launch.MCPServer {
		return problem.For("server", "mcp_server_own")
	}
	return nil
}

// refusedByCLI converts an error of the CLI about an MCP server to one for people.
func refusedByCLI(err error) error {
	var refused *claude.RequestError
	switch {
	case errors.Is(err, errUnanswered):
		return problem.New("claude_unanswered")
	case errors.Is(err, claude.ErrClosed):
		return ErrNotRunning
	case errors.As(err, &refused):
		return problem.New("mcp_server_failed", "detail", ellipsis.Bytes(cmp.Or(strings.TrimSpace(refused.Sentence), "?"), maxReportedText))
	}
	return err
}
