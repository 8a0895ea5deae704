package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/command"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// grantStore holds what grantHandlers reads and writes.
type grantStore interface {
	ActiveProcesses(ctx context.Context) ([]session.ProcessState, error)
	Grants(ctx context.Context, q pending.GrantQuery) ([]pending.Grant, error)
}

// grantDriver is what grantHandlers needs from the orchestrator.
type grantDriver interface {
	FoundGrants(ctx context.Context) (orchestrator.Found, error)
	RevokeAnswer(ctx context.Context, requestID string, by pending.Actor) (orchestrator.Revocation, error)
	RevokeFound(ctx context.Context, g pending.Grant, by pending.Actor) (orchestrator.Revocation, error)
	RevokeGrant(ctx context.Context, grantID string, by pending.Actor) (orchestrator.Revocation, error)
}

// grantHandlers serves grants: permissions that people added to an approval, so that
// Claude does not ask again.
type grantHandlers struct {
	store  grantStore
	driver grantDriver
	guard  *access.Guard
}

// getGrants lists the caller's grants, or all grants for admins.
func (s *grantHandlers) getGrants(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	query := r.URL.Query()
	q := pending.GrantQuery{RequestID: query.Get("request_id"), All: query.Get("revoked") == "true"}
	admin := who.User.Role.AtLeast(account.Admin)
	if !admin {
		q.UserID = who.User.UserID
	}
	grants, err := s.store.Grants(r.Context(), q)
	if err != nil {
		return err
	}
	found, err := s.driver.FoundGrants(r.Context())
	if err != nil {
		return err
	}
	running, titles, err := s.activeSessions(r.Context(), who)
	if err != nil {
		return err
	}
	inFile, isListed := map[grantPlace]bool{}, map[grantPlace]bool{}
	for _, f := range found.Grants {
		inFile[grantPlace{f.Kind, f.Rule, f.Folder, f.Scope}] = true
	}
	list := wire.GrantList{Grants: make([]wire.Grant, 0, len(grants)), Found: []wire.FoundGrant{}, Problems: []string{}}
	for _, g := range grants {
		if _, known := titles[g.SessionID]; !known && g.SessionID != "" {
			ses, _, err := s.guard.Session(r.Context(), who, project.See, g.SessionID)
			if err != nil && !errors.Is(err, session.ErrNotFound) {
				return err
			}
			titles[g.SessionID] = ses.Title
		}
		place := grantPlace{g.Kind, g.Rule, g.Folder, g.Scope}
		if g.Scope == pending.ScopeUser {
			place.folder = ""
		}
		state := grantState(g, running[g.SessionID], inFile[place])
		if state == wire.GrantInForce {
			isListed[place] = true
		}
		list.Grants = append(list.Grants, wire.Grant{
			GrantID: g.GrantID, Kind: g.Kind, Rule: g.Rule, Scope: g.Scope, Folder: g.Folder, SessionID: g.SessionID, SessionTitle: titles[g.SessionID],
			RequestID: g.RequestID, ToolName: g.ToolName, By: g.By.Name, Device: g.By.Device, GrantedAt: wire.Seconds(g.At), Uses: g.Uses,
			LastUsedAt: wire.SecondsOrNull(g.LastUsedAt), State: state, RevokedAt: wire.SecondsOrNull(g.RevokedAt), RevokedBy: wire.OrNull(g.RevokedBy),
		})
	}
	if admin && q.RequestID == "" {
		list.Problems = append(list.Problems, found.Problems...)
		for _, f := range found.Grants {
			if !isListed[grantPlace{f.Kind, f.Rule, f.Folder, f.Scope}] {
				list.Found = append(list.Found, wire.FoundGrant{Kind: f.Kind, Rule: f.Rule, Scope: f.Scope, Folder: f.Folder, File: f.File})
			}
		}
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}

// grantPlace identifies a grant in a settings file.
type grantPlace struct {
	kind         pending.GrantKind
	rule, folder string
	scope        pending.Scope
}

// grantState returns the state of a grant. running is the process id of its session, "" for none;
// inFile reports whether a settings file contains the grant.
func grantState(g pending.Grant, running string, inFile bool) wire.GrantState {
	switch {
	case !g.RevokedAt.IsZero():
		return wire.GrantRevoked
	case g.Scope == pending.ScopeSession && g.ProcessID != "" && running != g.ProcessID:
		return wire.GrantEnded
	case g.Scope != pending.ScopeSession && g.Kind != pending.GrantMode && !inFile:
		return wire.GrantMissing
	}
	return wire.GrantInForce
}

// activeSessions returns the process ids and titles of active sessions, by session id. The
// title of a session that the person may not see is "".
func (s *grantHandlers) activeSessions(ctx context.Context, who account.Identity) (running, titles map[string]string, err error) {
	active, err := s.store.ActiveProcesses(ctx)
	if err != nil {
		return nil, nil, err
	}
	book, err := s.guard.Book(ctx)
	if err != nil {
		return nil, nil, err
	}
	running, titles = map[string]string{}, map[string]string{}
	for _, p := range active {
		titles[p.SessionID] = ""
		if book.May(access.Person(who), project.See, access.PlaceOfProcess(p)) == nil {
			titles[p.SessionID] = p.Title
		}
		if p.Running() {
			running[p.SessionID] = p.ProcessID
		}
	}
	return running, titles, nil
}

// postGrantRevoke revokes grants of the caller, or of anybody for admins.
func (s *grantHandlers) postGrantRevoke(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body wire.GrantRevoke
	if err := readBody(r, &body); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), command.Timeout)
	defer cancel()
	revocation, err := s.revokeGrant(ctx, body, who)
	if errors.Is(err, pending.ErrNotFound) {
		return refusal.New("grant_not_found")
	}
	if err != nil {
		return err
	}
	out := wire.Revocation{Revoked: revocation.Grants, Files: revocation.Files, Asking: revocation.Asking, Until: revocation.Until}
	if out.Files == nil {
		out.Files = []string{}
	}
	for i, text := range out.Until {
		if r := statement.Find(text); r != nil {
			if out.Reasons == nil {
				out.Reasons = wire.Reasons{}
			}
			out.Reasons["until."+strconv.Itoa(i)] = *r
		}
	}
	if out.Until == nil {
		out.Until = []string{}
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

func (s *grantHandlers) revokeGrant(ctx context.Context, body wire.GrantRevoke, who account.Identity) (orchestrator.Revocation, error) {
	if f := body.Found; f != nil {
		if !who.User.Role.AtLeast(account.Admin) {
			return orchestrator.Revocation{}, refusal.Forbidden(account.Admin)
		}
		return s.driver.RevokeFound(ctx, pending.Grant{Kind: f.Kind, Rule: f.Rule, Scope: f.Scope, Folder: f.Folder}, access.Actor(who))
	}
	grants, err := s.store.Grants(ctx, pending.GrantQuery{GrantID: body.GrantID, RequestID: body.RequestID, All: true})
	if err != nil {
		return orchestrator.Revocation{}, err
	}
	if len(grants) == 0 || grants[0].By.UserID != who.User.UserID && !who.User.Role.AtLeast(account.Admin) {
		return orchestrator.Revocation{}, pending.ErrNotFound
	}
	if body.RequestID != "" {
		return s.driver.RevokeAnswer(ctx, body.RequestID, access.Actor(who))
	}
	return s.driver.RevokeGrant(ctx, body.GrantID, access.Actor(who))
}
