package access_test

import (
	"context"
	"errors"
	"testing"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// memory holds a session without a project and one in a project of Ana alone.
type memory struct{ fault error }

func (m memory) Session(_ context.Context, id string) (session.Session, error) {
	switch id {
	case "open":
		return session.Session{SessionID: id, CWD: "/w/open"}, m.fault
	case "hers":
		return session.Session{SessionID: id, CWD: "/w/hers", InProject: "p"}, m.fault
	}
	return session.Session{}, session.ErrNotFound
}

func (m memory) Request(_ context.Context, id string) (pending.Request, error) {
	if id == "none" {
		return pending.Request{}, pending.ErrNotFound
	}
	return pending.Request{RequestID: id, SessionID: id}, nil
}

func (m memory) Projects(context.Context) ([]project.Project, error) {
	return []project.Project{{
		ProjectID: "p", Name: "p", Folders: []string{"/w/hers"},
		Start: project.Whom{Role: account.Member}, Answer: project.Whom{Role: account.Member},
		Members: []project.Member{{UserID: "ana", Role: account.Member}},
	}}, m.fault
}

func (m memory) Users(context.Context) ([]account.User, error) {
	return []account.User{ana.User, ben.User, eva.User}, nil
}

var (
	ana = account.Identity{User: account.User{UserID: "ana", Name: "Ana", Role: account.Member}}
	ben = account.Identity{User: account.User{UserID: "ben", Name: "Ben", Role: account.Member}}
	eva = account.Identity{User: account.User{UserID: "eva", Name: "Eva", Role: account.Viewer}}
)

// TestSessionsAndRequests: what a person may not see is not there, and what they may see
// and not do is forbidden.
func TestSessionsAndRequests(t *testing.T) {
	t.Parallel()
	const hidden, forbidden = "not found", "forbidden"
	for name, row := range map[string]struct {
		who    account.Identity
		action project.Action
		id     string
		want   string // "" for allowed
	}{
		"a session without a project":      {ben, project.See, "open", ""},
		"a member's own project":           {ana, project.Answer, "hers", ""},
		"somebody else's project":          {ben, project.See, "hers", hidden},
		"a viewer looks":                   {eva, project.See, "open", ""},
		"a viewer answers":                 {eva, project.Answer, "open", forbidden},
		"a viewer in a project of another": {eva, project.Answer, "hers", hidden},
		"nothing":                          {ana, project.See, "none", hidden},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := access.NewGuard(memory{}, memory{}, nil)
			ses, _, err := g.Session(t.Context(), row.who, row.action, row.id)
			_, _, _, requestErr := g.Request(t.Context(), row.who, row.action, row.id)
			switch row.want {
			case "":
				if err != nil || ses.SessionID != row.id || requestErr != nil {
					t.Errorf("got %q, %v and %v, want both", ses.SessionID, err, requestErr)
				}
			case hidden:
				if !errors.Is(err, session.ErrNotFound) || !errors.Is(requestErr, pending.ErrNotFound) {
					t.Errorf("got %v and %v, want nothing found", err, requestErr)
				}
			case forbidden:
				if !errors.Is(err, problem.Forbidden) || !errors.Is(requestErr, problem.Forbidden) {
					t.Errorf("got %v and %v, want it forbidden", err, requestErr)
				}
			}
		})
	}
}

func TestStart(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		who     account.Identity
		folder  string
		allowed bool
	}{
		"a folder of no project":              {ben, "/w/open", true},
		"a folder of one's project":           {ana, "/w/hers/below", true},
		"a folder of somebody else's project": {ben, "/w/hers/below", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := access.NewGuard(memory{}, memory{}, nil).Start(t.Context(), row.who, row.folder, "default", nil)
			if row.allowed && err != nil || !row.allowed && !errors.Is(err, problem.Forbidden) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestStoreFails: who cannot be checked is not let through.
func TestStoreFails(t *testing.T) {
	t.Parallel()
	away := errors.New("the database is away")
	g := access.NewGuard(memory{away}, memory{away}, nil)
	if _, _, err := g.Session(t.Context(), ana, project.See, "open"); !errors.Is(err, away) {
		t.Errorf("session: got %v", err)
	}
	if err := g.Start(t.Context(), ana, "/w/open", "default", nil); !errors.Is(err, away) {
		t.Errorf("start: got %v", err)
	}
}

func TestGivenBy(t *testing.T) {
	t.Parallel()
	for userID, want := range map[string]error{"": nil, "ana": nil, "ben": access.ErrOtherPerson} {
		if err := access.CheckSameUser(userID, ana); !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", userID, err, want)
		}
	}
}
