package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/command"
	"github.com/sayso-dev/sayso/internal/decision"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// toolsDriver is what toolsHandlers needs from the orchestrator.
type toolsDriver interface {
	Tools(ctx context.Context, sessionID string) (orchestrator.Tools, error)
	EnableServer(ctx context.Context, sessionID, server string, enabled bool, by pending.Actor) error
	ReconnectServer(ctx context.Context, sessionID, server string, by pending.Actor) error
	SignInToServer(ctx context.Context, sessionID, server string, by pending.Actor) (address string, err error)
	FinishServerSignIn(ctx context.Context, sessionID, server, callback string, by pending.Actor) error
	ContextUsage(ctx context.Context, sessionID string) (orchestrator.ContextUsage, error)
}

// toolsStore is what toolsHandlers needs from the store.
type toolsStore interface {
	CostDays(ctx context.Context, since time.Time, userID, projectID string) ([]project.DayCost, error)
}

// toolsHandlers serves the tools of a session, the use of its context window, and its costs.
type toolsHandlers struct {
	driver toolsDriver
	store  toolsStore
	guard  *access.Guard
}

// findOurSession returns a session that a person may see and whose CLI sayso starts.
func (s *toolsHandlers) findOurSession(r *http.Request, who account.Identity) (session.Session, *project.Book, error) {
	ses, book, err := s.guard.Session(r.Context(), who, project.See, r.PathValue("id"))
	if err == nil && ses.Kind != session.Ours {
		err = refusal.NotOurs(ses.Kind)
	}
	return ses, book, err
}

func (s *toolsHandlers) getTools(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	ses, book, err := s.findOurSession(r, who)
	if err != nil {
		return err
	}
	t, err := s.driver.Tools(r.Context(), ses.SessionID)
	if err != nil {
		return err
	}
	out := wire.SessionTools{
		Servers: []wire.SessionServer{}, Skills: []wire.SessionSkill{}, Agents: []wire.SessionAgent{}, Plugins: []wire.SessionPlugin{},
		Hooks: []wire.SessionHook{}, Rules: []wire.PermissionRule{}, Policy: wire.HookPolicy(t.Policy),
		Missing: append([]string{}, t.Missing...), Unanswered: append([]string{}, t.Unanswered...), More: append([]string{}, t.More...), May: []string{},
	}
	for _, action := range decision.ServerActions {
		if decision.MayChangeServer(book, access.Person(who), action, ses) == nil {
			out.May = append(out.May, string(action))
		}
	}
	for _, server := range t.Servers {
		made := wire.SessionServer{
			Name: server.Name, Status: server.Status, Error: server.Error, Scope: server.Scope, Host: server.Host, Own: server.Own, Tools: []wire.ServerTool{},
		}
		for _, tool := range server.Tools {
			made.Tools = append(made.Tools, wire.ServerTool{Name: tool.Name, Description: tool.Description, Approval: string(tool.Approval)})
		}
		out.Servers = append(out.Servers, made)
	}
	for _, skill := range t.Skills {
		out.Skills = append(out.Skills, wire.SessionSkill(skill))
	}
	for _, agent := range t.Agents {
		out.Agents = append(out.Agents, wire.SessionAgent(agent))
	}
	for _, plugin := range t.Plugins {
		out.Plugins = append(out.Plugins, wire.SessionPlugin(plugin))
	}
	for _, hook := range t.Hooks {
		out.Hooks = append(out.Hooks, wire.SessionHook{
			Event: hook.Event, Matcher: hook.Matcher, Source: hook.Source, Plugin: hook.Plugin, Kind: hook.Type, Text: hook.Text, Disabled: hook.Disabled,
		})
	}
	for _, rule := range t.Rules {
		out.Rules = append(out.Rules, wire.PermissionRule(rule))
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

func (s *toolsHandlers) postServer(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	ses, book, err := s.findOurSession(r, who)
	if err != nil {
		return err
	}
	var c wire.ServerChange
	if err := readBody(r, &c); err != nil {
		return err
	}
	action, by := decision.ServerAction(c.Action), access.Actor(who)
	if err := decision.MayChangeServer(book, access.Person(who), action, ses); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), command.Timeout)
	defer cancel()
	var out wire.ServerChanged
	switch action {
	case decision.EnableServer, decision.DisableServer:
		err = s.driver.EnableServer(ctx, ses.SessionID, c.Server, action == decision.EnableServer, by)
	case decision.ReconnectServer:
		err = s.driver.ReconnectServer(ctx, ses.SessionID, c.Server, by)
	case decision.SignInServer:
		out.SignInURL, err = s.driver.SignInToServer(ctx, ses.SessionID, c.Server, by)
	case decision.FinishSignIn:
		err = s.driver.FinishServerSignIn(ctx, ses.SessionID, c.Server, c.Callback, by)
	}
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

func (s *toolsHandlers) getContext(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	ses, _, err := s.findOurSession(r, who)
	if err != nil {
		return err
	}
	u, err := s.driver.ContextUsage(r.Context(), ses.SessionID)
	if err != nil {
		return err
	}
	out := wire.ContextUsage{
		Tokens: u.Tokens, Window: u.Window, CompactsAt: u.CompactsAt, More: u.MoreFiles,
		Categories: []wire.ContextCategory{}, Files: []wire.ContextFile{}, Limits: []wire.AccountLimit{},
	}
	for _, c := range u.Categories {
		out.Categories = append(out.Categories, wire.ContextCategory(c))
	}
	for _, f := range u.Files {
		out.Files = append(out.Files, wire.ContextFile(f))
	}
	for _, l := range u.Limits {
		made := wire.AccountLimit{Name: l.Name, Status: l.Status}
		if l.Known {
			made.Percent = &l.Percent
		}
		if !l.ResetsAt.IsZero() {
			made.ResetsAt = new(wire.Seconds(l.ResetsAt))
		}
		out.Limits = append(out.Limits, made)
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

// costDays is the number of days in a cost history.
const costDays = 30

func (s *toolsHandlers) getCosts(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	ses, book, err := s.guard.Session(r.Context(), who, project.See, r.PathValue("id"))
	if err != nil {
		return err
	}
	today := time.Now().UTC().Truncate(24 * time.Hour)
	days, err := s.store.CostDays(r.Context(), today.AddDate(0, 0, 1-costDays), who.User.UserID, ses.InProject)
	if err != nil {
		return err
	}
	out := wire.CostHistory{Days: []wire.CostDay{}, Today: wire.Seconds(today), Count: costDays}
	if p, ok := book.Project(ses.InProject); ok {
		out.Project = p.Name
	}
	for _, d := range days {
		out.Days = append(out.Days, wire.CostDay{At: wire.Seconds(d.Day), Mine: float64(d.Person) / 1e6, Project: float64(d.Project) / 1e6})
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}
