package wsapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/orchestrator"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// GrantState says whether a grant holds.
type GrantState string

// The states of a grant.
const (
	GrantInForce GrantState = "in_force"
	GrantEnded   GrantState = "ended"   // with the process that it was for
	GrantMissing GrantState = "missing" // somebody took it out of the settings file
	GrantRevoked GrantState = "revoked"
)

// Grant is one "always allow".
type Grant struct {
	GrantID      string            `json:"grant_id"`
	Kind         pending.GrantKind `json:"kind"`
	Rule         string            `json:"rule"` // as settings files hold it; a folder; or a mode
	Scope        pending.Scope     `json:"scope"`
	Folder       string            `json:"folder"`
	SessionID    string            `json:"session_id"`
	SessionTitle string            `json:"session_title"`
	RequestID    string            `json:"request_id"`
	ToolName     string            `json:"tool_name"`
	By           string            `json:"by"`
	Device       string            `json:"device"`
	GrantedAt    float64           `json:"granted_at"`
	Uses         int               `json:"uses"` // inferred: Claude does not name the rule it went by
	LastUsedAt   *float64          `json:"last_used_at"`
	State        GrantState        `json:"state"`
	RevokedAt    *float64          `json:"revoked_at"`
	RevokedBy    *string           `json:"revoked_by"`
}

// FoundGrant is what a settings file allows that was not granted here.
type FoundGrant struct {
	Kind   pending.GrantKind `json:"kind"`
	Rule   string            `json:"rule"`
	Scope  pending.Scope     `json:"scope"`
	Folder string            `json:"folder"`
	File   string            `json:"file"`
}

// GrantList holds the grants that the caller may see, the newest first. Found is
// for admins; Problems are sentences about settings files that cannot be read.
type GrantList struct {
	Grants   []Grant      `json:"grants"`
	Found    []FoundGrant `json:"found"`
	Problems []string     `json:"problems"`
}

// GrantRevoke names what is to be taken back: one grant, all that came with the
// answer to a request, or what was found in a settings file.
type GrantRevoke struct {
	GrantID   string      `json:"grant_id,omitempty" validate:"max=100,required_without_all=RequestID Found"`
	RequestID string      `json:"request_id,omitempty" validate:"max=100,excluded_with=GrantID"`
	Found     *FoundGrant `json:"found,omitempty" validate:"excluded_with=GrantID RequestID"`
}

// Revocation says what was changed.
type Revocation struct {
	Revoked int      `json:"revoked"` // grants that were in force
	Files   []string `json:"files"`   // from which a rule was taken
	Asking  int      `json:"asking"`  // running sessions that ask again from now on
	Until   []string `json:"until"`   // sentences about where it holds on for a while
}

// getGrants lists one's own grants, all of them to an admin.
func (s *Server) getGrants(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	query := r.URL.Query()
	q := pending.GrantQuery{RequestID: query.Get("request_id"), All: query.Get("revoked") == "true"}
	admin := who.User.Role.AtLeast(account.Admin)
	if !admin {
		q.UserID = who.User.UserID
	}
	grants, err := s.o.Store.Grants(r.Context(), q)
	if err != nil {
		return err
	}
	found, err := s.o.Driver.FoundGrants(r.Context())
	if err != nil {
		return err
	}
	active, err := s.o.Store.ActiveProcesses(r.Context())
	if err != nil {
		return err
	}
	running := map[string]string{} // process ids by session
	titles := map[string]string{}
	book, err := s.book(r.Context())
	if err != nil {
		return err
	}
	for _, p := range active {
		titles[p.SessionID] = ""
		if book.May(person(who), project.See, place(p)) == nil {
			titles[p.SessionID] = p.Title
		}
		if p.Running() {
			running[p.SessionID] = p.ProcessID
		}
	}
	type spot struct {
		kind         pending.GrantKind
		rule, folder string
		scope        pending.Scope
	}
	inFile, ours := map[spot]bool{}, map[spot]bool{}
	for _, f := range found.Grants {
		inFile[spot{f.Kind, f.Rule, f.Folder, f.Scope}] = true
	}
	list := GrantList{Grants: make([]Grant, 0, len(grants)), Found: []FoundGrant{}, Problems: []string{}}
	for _, g := range grants {
		if _, known := titles[g.SessionID]; !known && g.SessionID != "" {
			ses, err := s.may(r.Context(), who, project.See, g.SessionID)
			if err != nil && !errors.Is(err, session.ErrNotFound) {
				return err
			}
			titles[g.SessionID] = ses.Title
		}
		at := spot{g.Kind, g.Rule, g.Folder, g.Scope}
		if g.Scope == pending.ScopeUser {
			at.folder = ""
		}
		state := GrantInForce
		switch {
		case !g.RevokedAt.IsZero():
			state = GrantRevoked
		case g.Scope == pending.ScopeSession && g.ProcessID != "" && running[g.SessionID] != g.ProcessID:
			state = GrantEnded
		case g.Scope != pending.ScopeSession && g.Kind != pending.GrantMode && !inFile[at]:
			state = GrantMissing
		}
		if state == GrantInForce {
			ours[at] = true
		}
		list.Grants = append(list.Grants, Grant{
			GrantID: g.GrantID, Kind: g.Kind, Rule: g.Rule, Scope: g.Scope, Folder: g.Folder, SessionID: g.SessionID, SessionTitle: titles[g.SessionID],
			RequestID: g.RequestID, ToolName: g.ToolName, By: g.By.Name, Device: g.By.Device, GrantedAt: seconds(g.At), Uses: g.Uses,
			LastUsedAt: optionalSeconds(g.LastUsedAt), State: state, RevokedAt: optionalSeconds(g.RevokedAt), RevokedBy: optional(g.RevokedBy),
		})
	}
	if admin && q.RequestID == "" {
		list.Problems = append(list.Problems, found.Problems...)
		for _, f := range found.Grants {
			if !ours[spot{f.Kind, f.Rule, f.Folder, f.Scope}] {
				list.Found = append(list.Found, FoundGrant{f.Kind, f.Rule, f.Scope, f.Folder, f.File})
			}
		}
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}

// postGrantRevoke takes grants back: one's own, or any as an admin.
func (s *Server) postGrantRevoke(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body GrantRevoke
	if err := readBody(r, &body); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), commandTimeout)
	defer cancel()
	done, err := s.revokeGrant(ctx, body, who)
	if errors.Is(err, pending.ErrNotFound) {
		return refuse(http.StatusNotFound, "not_found", "There is no such grant, or it is not yours to see.")
	}
	if err != nil {
		return err
	}
	out := Revocation{Revoked: done.Grants, Files: done.Files, Asking: done.Asking, Until: done.Until}
	if out.Files == nil {
		out.Files = []string{}
	}
	if out.Until == nil {
		out.Until = []string{}
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

func (s *Server) revokeGrant(ctx context.Context, body GrantRevoke, who account.Identity) (orchestrator.Revocation, error) {
	if f := body.Found; f != nil {
		if !who.User.Role.AtLeast(account.Admin) {
			return orchestrator.Revocation{}, forbidden(account.Admin)
		}
		return s.o.Driver.RevokeFound(ctx, pending.Grant{Kind: f.Kind, Rule: f.Rule, Scope: f.Scope, Folder: f.Folder}, actor(who))
	}
	grants, err := s.o.Store.Grants(ctx, pending.GrantQuery{GrantID: body.GrantID, RequestID: body.RequestID, All: true})
	if err != nil {
		return orchestrator.Revocation{}, err
	}
	if len(grants) == 0 || grants[0].By.UserID != who.User.UserID && !who.User.Role.AtLeast(account.Admin) {
		return orchestrator.Revocation{}, pending.ErrNotFound
	}
	if body.RequestID != "" {
		return s.o.Driver.RevokeAnswer(ctx, body.RequestID, actor(who))
	}
	return s.o.Driver.RevokeGrant(ctx, body.GrantID, actor(who))
}
