package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/store/engine"
)

// exactlyOne makes the transaction fail, with [noneChanged], unless a statement
// changes one row: what it was to change is not what was read before.
func exactlyOne(change string) string {
	return "WITH c AS (" + change + " RETURNING 1) SELECT 1 / (SELECT count(*) FROM c)"
}

const noneChanged = "22012" // a division by zero

var (
	selectProjects = "SELECT " + engine.ProjectColumns + " FROM projects ORDER BY name_folded COLLATE \"C\""
	selectProject  = "SELECT " + engine.ProjectColumns + " FROM projects WHERE project_id = $1"

	// A session that is made meanwhile waits, and then finds the folders as they are.
	lockFolders  = "SELECT pg_advisory_xact_lock(8243113893085146474)"
	awaitFolders = "SELECT pg_advisory_xact_lock_shared(8243113893085146474)"

	insertProject = "INSERT INTO projects (project_id, name, name_folded, version, created_at, body) VALUES ($1, $2, $3, 1, $4, $5)"
	changeProject = exactlyOne("UPDATE projects SET name = $2, name_folded = $3, version = version + 1, body = $4 WHERE project_id = $1 AND version = $5")
	deleteProject = exactlyOne("DELETE FROM projects WHERE project_id = $1 AND version = $2")
	dropFolders   = "DELETE FROM project_folders WHERE project_id = $1"
	addFolders    = "INSERT INTO project_folders (folder, project_id) SELECT unnest($2::bytea[]), $1"

	placeOf       = engine.ProjectOfFolder("s.cwd", "substring(s.cwd FROM 1 FOR length(f.folder) + 1)", `'\x2f'::bytea`)
	placeSession  = "UPDATE sessions s SET in_project = " + placeOf + " WHERE s.session_id = $1"
	placeSessions = `WITH placed AS (UPDATE sessions s SET in_project = ` + placeOf + ` WHERE s.in_project = $1 OR s.in_project <> ` + placeOf + ` RETURNING s.session_id),
		bump AS (UPDATE processes SET version = version + 1 WHERE session_id IN (SELECT session_id FROM placed) RETURNING session_id)
		SELECT coalesce(array_agg(session_id ORDER BY session_id), '{}') FROM bump`
)

// Projects implements [project.Store].
func (s *Store) Projects(ctx context.Context) ([]project.Project, error) {
	return s.projects(ctx, "projects", selectProjects)
}

func (s *Store) projects(ctx context.Context, what, text string, args ...any) ([]project.Project, error) {
	return engine.All(ctx, s.query, what, text, engine.ReadProject, args...)
}

// CreateProject implements [project.Store].
func (s *Store) CreateProject(ctx context.Context, p project.Project, by pending.Actor) (touched []string, err error) {
	what := "create project " + p.ProjectID
	p.Version = 1
	body, err := engine.ProjectBody(p)
	if err != nil {
		return nil, fmt.Errorf("postgres: %s: %w", what, err)
	}
	insert := statement{text: insertProject, args: []any{p.ProjectID, engine.Shown(p.Name), engine.Fold(p.Name), engine.Micros(p.CreatedAt), body}}
	return s.settleProject(ctx, what, nil, &p, by, insert)
}

// ChangeProject implements [project.Store].
func (s *Store) ChangeProject(ctx context.Context, p project.Project, by pending.Actor) (now project.Project, touched []string, err error) {
	what := "change project " + p.ProjectID
	before, err := s.project(ctx, what, p.ProjectID)
	if err != nil {
		return project.Project{}, nil, err
	}
	if before.Version != p.Version {
		return project.Project{}, nil, fmt.Errorf("postgres: %s: %w", what, project.ErrChanged)
	}
	now = p
	now.CreatedAt = before.CreatedAt
	now.Version++
	body, err := engine.ProjectBody(now)
	if err != nil {
		return project.Project{}, nil, fmt.Errorf("postgres: %s: %w", what, err)
	}
	touched, err = s.settleProject(ctx, what, &before, &now, by,
		statement{text: changeProject, args: []any{p.ProjectID, engine.Shown(p.Name), engine.Fold(p.Name), body, p.Version}})
	if err != nil {
		return project.Project{}, nil, err
	}
	return now, touched, nil
}

// DeleteProject implements [project.Store].
func (s *Store) DeleteProject(ctx context.Context, projectID string, by pending.Actor) (touched []string, err error) {
	what := "delete project " + projectID
	before, err := s.project(ctx, what, projectID)
	if err != nil {
		return nil, err
	}
	return s.settleProject(ctx, what, &before, nil, by, statement{text: deleteProject, args: []any{projectID, before.Version}})
}

// settleProject runs the change of a project and what follows from it: its folders,
// the sessions in it, and the record. It returns the sessions that it concerns.
func (s *Store) settleProject(ctx context.Context, what string, before, after *project.Project, by pending.Actor, change statement) (touched []string, err error) {
	entry, err := engine.ProjectAudit(before, after, by, time.Now())
	if err != nil {
		return nil, fmt.Errorf("postgres: %s: %w", what, err)
	}
	steps := []statement{{text: lockAudit}, {text: lockFolders}, change}
	var projectID string
	if before != nil {
		projectID = before.ProjectID
		steps = append(steps, statement{text: dropFolders, args: []any{projectID}})
	}
	if after != nil {
		projectID = after.ProjectID
		folders := make([][]byte, 0, len(after.Folders))
		for _, f := range after.Folders {
			folders = append(folders, []byte(f))
		}
		steps = append(steps, statement{text: addFolders, args: []any{projectID, folders}})
	}
	var found bool
	steps = append(steps,
		statement{placeSessions, []any{projectID}, row(&found, &touched)},
		statement{text: insertIncident, args: []any{entry}})
	err = s.write(ctx, what, durable, steps...)
	switch {
	case violates(err, noneChanged):
		return nil, fmt.Errorf("postgres: %s: %w", what, project.ErrChanged)
	case violates(err, uniqueRule) && constraint(err) == "project_folders_pkey":
		return nil, fmt.Errorf("postgres: %s: %w", what, project.ErrFolderTaken)
	case violates(err, uniqueRule):
		return nil, fmt.Errorf("postgres: %s: %w", what, project.ErrExists)
	case err != nil:
		return nil, err
	}
	return touched, nil
}

// constraint names the rule that a statement broke.
func constraint(err error) string {
	if pg := refused(err); pg != nil {
		return pg.ConstraintName
	}
	return ""
}

func (s *Store) project(ctx context.Context, what, projectID string) (project.Project, error) {
	list, err := s.projects(ctx, what, selectProject, projectID)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("postgres: %s: %w", what, project.ErrNotFound)
	}
	if err != nil {
		return project.Project{}, err
	}
	return list[0], nil
}
