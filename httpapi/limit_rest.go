package httpapi

import (
	"context"
	"net/http"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/wire"
)

// limitDriver is what limitHandlers needs of the orchestrator.
type limitDriver interface {
	Bounds(ctx context.Context) (*project.Bounds, []project.Taken, error)
}

// limitHandlers serves the limits of people and projects.
type limitHandlers struct {
	driver limitDriver
	people access.People
}

// getLimits says what whoever asks may take, and takes.
func (s *limitHandlers) getLimits(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	b, taken, err := s.driver.Bounds(r.Context())
	if err != nil {
		return err
	}
	me := who.User.UserID
	of := func(l project.Limits, u project.Use) wire.LimitUse {
		return wire.LimitUse{Limits: wireLimits(l), Use: wireUse(u)}
	}
	list := wire.LimitList{Mine: of(b.PersonLimits(me), b.UseOf(me, taken)), Projects: []wire.ProjectLimit{}, NextDay: wire.Seconds(b.NextDay())}
	for _, p := range b.Visible(access.Person(who)) {
		if p.Limits == (project.Limits{}) && p.EachLimit == (project.Limits{}) {
			continue
		}
		list.Projects = append(list.Projects, wire.ProjectLimit{
			ProjectID: p.ProjectID, Name: p.Name, Folders: p.Folders,
			All: of(p.Limits, b.UseIn(p.ProjectID, "", taken)), Mine: of(p.EachLimit, b.UseIn(p.ProjectID, me, taken)),
		})
	}
	if who.User.Role.AtLeast(account.Admin) {
		everybody := wireLimits(b.Everybody())
		list.Everybody = &everybody
		people, err := s.people.Users(r.Context())
		if err != nil {
			return err
		}
		for _, u := range people {
			list.People = append(list.People, wire.PersonLimit{
				UserID: u.UserID, Name: u.Name, Limits: wireLimits(b.PersonLimits(u.UserID)), Use: wireUse(b.UseOf(u.UserID, taken)), Own: wire.OwnLimits(b.Different(u.UserID)),
			})
		}
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}

func wireLimits(l project.Limits) wire.Limits {
	return wire.Limits{Sessions: l.Sessions, Memory: l.Memory, Cost: &l.Cost}
}

func wireUse(u project.Use) wire.ProjectUse {
	cost := u.Cost()
	return wire.ProjectUse{Sessions: u.Sessions, Memory: u.Memory, Cost: &cost}
}

// changed returns the limits after a change of them.
func changed(now project.Limits, to wire.Limits) project.Limits {
	next := project.Limits{Sessions: to.Sessions, Memory: to.Memory, Cost: now.Cost}
	if to.Cost != nil {
		next.Cost = *to.Cost
	}
	return next
}
