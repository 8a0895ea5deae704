package httpapi

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/wire"
)

// projectStore holds what projectHandlers reads and writes.
type projectStore interface {
	ChangeProject(ctx context.Context, p project.Project, by pending.Actor) (now project.Project, touched []string, err error)
	CreateProject(ctx context.Context, p project.Project, by pending.Actor) (touched []string, err error)
	DeleteProject(ctx context.Context, projectID string, by pending.Actor) (touched []string, err error)
}

// projectDriver is what projectHandlers needs from the orchestrator.
type projectDriver interface {
	Bounds(ctx context.Context) (*project.Bounds, []project.SessionUse, error)
	LimitsChanged()
}

// projectHandlers serves projects.
type projectHandlers struct {
	store  projectStore
	driver projectDriver
	guard  *access.Guard
	live   Live
	people access.People
}

// getProjects lists the projects that a person may see.
func (s *projectHandlers) getProjects(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	book, err := s.guard.Book(r.Context())
	if err != nil {
		return err
	}
	list := wire.ProjectList{Projects: []wire.Project{}}
	for _, p := range book.Visible(access.Person(who)) {
		list.Projects = append(list.Projects, wireProject(p, book, access.Person(who)))
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}

func (s *projectHandlers) getProject(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	p, book, err := s.mayProject(r.Context(), who, project.See, r.PathValue("id"))
	if err != nil {
		return err
	}
	out := wireProject(p, book, access.Person(who))
	bounds, taken, err := s.driver.Bounds(r.Context())
	if err != nil {
		return err
	}
	use := wireUse(bounds.UseIn(p.ProjectID, "", taken))
	out.Use = &use
	if book.May(access.Person(who), project.Manage, project.Place{ProjectID: p.ProjectID}) == nil {
		people, err := s.people.Users(r.Context())
		if err != nil {
			return err
		}
		for _, u := range people {
			if !u.Disabled {
				out.People = append(out.People, wire.ProjectPerson{UserID: u.UserID, Name: u.Name, ServerRole: u.Role})
			}
		}
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

// mayProject returns a project if a person may perform an action in it.
func (s *projectHandlers) mayProject(ctx context.Context, who account.Identity, action project.Action, projectID string) (project.Project, *project.Book, error) {
	book, err := s.guard.Book(ctx)
	if err != nil {
		return project.Project{}, nil, err
	}
	p, known := book.Project(projectID)
	if !known {
		return project.Project{}, nil, project.ErrNotFound
	}
	return p, book, book.May(access.Person(who), action, project.Place{ProjectID: projectID})
}

func (s *projectHandlers) postProject(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body wire.ProjectCreate
	if err := readBody(r, &body); err != nil {
		return err
	}
	ctx := context.WithoutCancel(r.Context())
	people, err := s.people.Users(ctx)
	if err != nil {
		return err
	}
	p, err := project.Check(project.Project{
		ProjectID: uuid.NewString(), Name: body.Name, Folders: body.Folders, Members: members(body.Members), CreatedAt: time.Now(), Version: 1,
	}, people)
	if err != nil {
		return err
	}
	affected, err := s.store.CreateProject(ctx, p, access.Actor(who))
	if err != nil {
		return err
	}
	s.live.ProjectsChanged(ctx, affected)
	writeJSON(w, http.StatusCreated, wireProject(p, project.NewBook([]project.Project{p}, people), access.Person(who)))
	return nil
}

func (s *projectHandlers) patchProject(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body wire.ProjectChange
	if err := readBody(r, &body); err != nil {
		return err
	}
	ctx := context.WithoutCancel(r.Context())
	p, _, err := s.mayProject(ctx, who, project.Manage, r.PathValue("id"))
	if err != nil {
		return err
	}
	// Folders and bypass rights affect people outside the project, limits the whole
	// server.
	if (body.Name != nil || body.Folders != nil || body.Bypass != nil || body.Limits != nil || body.EachLimits != nil) && !who.User.Role.AtLeast(account.Admin) {
		return refusal.New("server_admin_only")
	}
	p.Version = body.Version
	setIfPresent(&p.Name, body.Name)
	setIfPresent(&p.Folders, body.Folders)
	setIfPresent(&p.Bypass, body.Bypass)
	if body.Members != nil {
		p.Members = members(*body.Members)
	}
	if body.Start != nil {
		p.Start = project.Whom(*body.Start)
	}
	if body.Answer != nil {
		p.Answer = project.Whom(*body.Answer)
	}
	if body.Rules != nil {
		p.Rules = nil
		for _, rule := range *body.Rules {
			p.Rules = append(p.Rules, project.Rule(rule))
		}
	}
	if body.Limits != nil {
		p.Limits = applyLimits(p.Limits, *body.Limits)
	}
	if body.EachLimits != nil {
		p.EachLimit = applyLimits(p.EachLimit, *body.EachLimits)
	}
	setIfPresent(&p.AskTimeout, body.AskTimeout)
	people, err := s.people.Users(ctx)
	if err != nil {
		return err
	}
	if p, err = project.Check(p, people); err != nil {
		return err
	}
	p, affected, err := s.store.ChangeProject(ctx, p, access.Actor(who))
	if err != nil {
		return err
	}
	s.live.ProjectsChanged(ctx, affected)
	s.driver.LimitsChanged() // changed folders may fall under other limits
	writeJSON(w, http.StatusOK, wireProject(p, project.NewBook([]project.Project{p}, people), access.Person(who)))
	return nil
}

// deleteProject deletes a project. Its sessions stay and become visible to everybody.
func (s *projectHandlers) deleteProject(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	ctx := context.WithoutCancel(r.Context())
	affected, err := s.store.DeleteProject(ctx, r.PathValue("id"), access.Actor(who))
	if err != nil {
		return err
	}
	s.live.ProjectsChanged(ctx, affected)
	s.driver.LimitsChanged()
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func setIfPresent[T any](field *T, to *T) {
	if to != nil {
		*field = *to
	}
}

func members(list []wire.ProjectMember) []project.Member {
	out := []project.Member{}
	for _, m := range list {
		out = append(out, project.Member{UserID: m.UserID, Role: m.Role})
	}
	return out
}

func wireProject(p project.Project, book *project.Book, who project.Person) wire.Project {
	in := project.Place{ProjectID: p.ProjectID}
	out := wire.Project{
		ProjectID: p.ProjectID, Name: p.Name, Folders: p.Folders, Members: []wire.ProjectMember{}, Start: wire.Whom(p.Start), Answer: wire.Whom(p.Answer),
		Rules: []wire.ProjectRule{}, Bypass: p.Bypass, Limits: wireLimits(p.Limits), EachLimits: wireLimits(p.EachLimit), AskTimeout: p.AskTimeout, Version: p.Version,
		CreatedAt: wire.Seconds(p.CreatedAt), Role: book.RoleIn(who, p.ProjectID), Rights: book.Rights(who, in),
		Names: map[string]string{},
	}
	userIDs := slices.Concat(p.Start.People, p.Answer.People, p.Bypass)
	for _, m := range p.Members {
		out.Members = append(out.Members, wire.ProjectMember{UserID: m.UserID, Role: m.Role})
		userIDs = append(userIDs, m.UserID)
	}
	for _, rule := range p.Rules {
		out.Rules = append(out.Rules, wire.ProjectRule(rule))
		userIDs = append(userIDs, rule.People...)
	}
	names := book.NameList(userIDs)
	for i, id := range userIDs {
		out.Names[id] = names[i]
	}
	return out
}
