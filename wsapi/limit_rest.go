package wsapi

import (
	"net/http"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/project"
)

// getLimits says what whoever asks may take, and takes.
func (s *Server) getLimits(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	b, taken, err := s.o.Driver.Bounds(r.Context())
	if err != nil {
		return err
	}
	me := who.User.UserID
	of := func(l project.Limits, u project.Use) LimitUse {
		return LimitUse{Limits: wireLimits(l), Use: wireUse(u)}
	}
	list := LimitList{Mine: of(b.Of(me), b.UseOf(me, taken)), Projects: []ProjectLimit{}, NextDay: seconds(b.NextDay())}
	for _, p := range b.Visible(person(who)) {
		if p.Limits == (project.Limits{}) && p.EachLimit == (project.Limits{}) {
			continue
		}
		list.Projects = append(list.Projects, ProjectLimit{
			ProjectID: p.ProjectID, Name: p.Name, Folders: p.Folders,
			All: of(p.Limits, b.UseIn(p.ProjectID, "", taken)), Mine: of(p.EachLimit, b.UseIn(p.ProjectID, me, taken)),
		})
	}
	if who.User.Role.AtLeast(account.Admin) {
		everybody := wireLimits(b.Everybody())
		list.Everybody = &everybody
		people, err := s.o.Directory.Users(r.Context())
		if err != nil {
			return err
		}
		for _, u := range people {
			list.People = append(list.People, PersonLimit{
				UserID: u.UserID, Name: u.Name, Limits: wireLimits(b.Of(u.UserID)), Use: wireUse(b.UseOf(u.UserID, taken)), Own: OwnLimits(b.Different(u.UserID)),
			})
		}
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}

func wireLimits(l project.Limits) Limits {
	return Limits{Sessions: l.Sessions, Memory: l.Memory, Cost: &l.Cost}
}

func wireUse(u project.Use) ProjectUse {
	cost := u.Cost()
	return ProjectUse{Sessions: u.Sessions, Memory: u.Memory, Cost: &cost}
}

// over is the limits after a change of these.
func (l Limits) over(now project.Limits) project.Limits {
	next := project.Limits{Sessions: l.Sessions, Memory: l.Memory, Cost: now.Cost}
	if l.Cost != nil {
		next.Cost = *l.Cost
	}
	return next
}
