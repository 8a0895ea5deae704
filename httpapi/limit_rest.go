package httpapi

import (
	"context"
	"net/http"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/wire"
)

// limitDriver is what limitHandlers needs from the orchestrator.
type limitDriver interface {
	Bounds(ctx context.Context) (*project.Bounds, []project.SessionUse, error)
}

// limitHandlers serves the limits of people and projects.
type limitHandlers struct {
	driver limitDriver
	people access.People
}

// getLimits returns the limits that apply to the caller and their current use; admins
// get those of everybody.
func (s *limitHandlers) getLimits(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	b, taken, err := s.driver.Bounds(r.Context())
	if err != nil {
		return err
	}
	me := who.User.UserID
	limitUse := func(l project.Limits, u project.Use) wire.LimitUse {
		return wire.LimitUse{Limits: wireLimits(l), Use: wireUse(u)}
	}
	list := wire.LimitList{Mine: limitUse(b.PersonLimits(me), b.UseOf(me, taken)), Projects: []wire.ProjectLimit{}, NextDay: wire.Seconds(b.NextDay())}
	for _, p := range b.Visible(access.Person(who)) {
		if p.Limits == (project.Limits{}) && p.EachLimit == (project.Limits{}) {
			continue
		}
		list.Projects = append(list.Projects, wire.ProjectLimit{
			ProjectID: p.ProjectID, Name: p.Name, Folders: p.Folders,
			All: limitUse(p.Limits, b.UseIn(p.ProjectID, "", taken)), Mine: limitUse(p.EachLimit, b.UseIn(p.ProjectID, me, taken)),
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
				UserID: u.UserID, Name: u.Name, Limits: wireLimits(b.PersonLimits(u.UserID)), Use: wireUse(b.UseOf(u.UserID, taken)), Own: wire.OwnLimits(b.OverrideOf(u.UserID)),
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

// applyLimits returns the limits after a change. If the change has no cost limit, the current
// one stays.
func applyLimits(current project.Limits, change wire.Limits) project.Limits {
	next := project.Limits{Sessions: change.Sessions, Memory: change.Memory, Cost: current.Cost}
	if change.Cost != nil {
		next.Cost = *change.Cost
	}
	return next
}
