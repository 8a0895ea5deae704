package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/store/sqlstore"
)

var (
	// Fails if the version is not the one that was read before.
	insertProject = define("INSERT INTO projects (project_id, name, name_folded, version, created_at, body) VALUES ($1, $2, $3, 1, $4, $5)")
	changeProject = define("UPDATE projects SET name = $2, name_folded = $3, version = version + 1, body = $4 WHERE project_id = $1 AND version = $5").Require(project.ErrChanged)
	deleteProject = define("DELETE FROM projects WHERE project_id = $1 AND version = $2").Require(project.ErrChanged)
	lockFolders   = define("SELECT pg_advisory_xact_lock(8243113893085146474)")
	dropFolders   = define("DELETE FROM project_folders WHERE project_id = $1")
	addFolders    = define("INSERT INTO project_folders (folder, project_id) SELECT unnest($2::bytea[]), $1")

	projectOfSession = sqlstore.ProjectOfSession[sqlstore.Postgres]
	placeSessions    = define(`WITH placed AS (UPDATE sessions SET in_project = ` + projectOfSession + ` WHERE in_project = $1 OR in_project <> ` + projectOfSession + ` RETURNING session_id),
		bump AS (UPDATE processes SET version = version + 1 WHERE session_id IN (SELECT session_id FROM placed) RETURNING session_id)
		SELECT coalesce(array_agg(session_id ORDER BY session_id), '{}') FROM bump`)
)

// CreateProject implements [project.Store].
func (s *Store) CreateProject(ctx context.Context, p project.Project, by pending.Actor) (touched []string, err error) {
	what := "create project " + p.ProjectID
	p.Version = 1
	body, err := sqlstore.ProjectBody(p)
	if err != nil {
		return nil, fmt.Errorf("postgres: %s: %w", what, err)
	}
	insert := step{Statement: insertProject, args: []any{p.ProjectID, sqlstore.SanitizeText(p.Name), sqlstore.Fold(p.Name), sqlstore.Micros(p.CreatedAt), body}}
	return s.settleProject(ctx, what, nil, &p, by, insert)
}

// ChangeProject implements [project.Store].
func (s *Store) ChangeProject(ctx context.Context, p project.Project, by pending.Actor) (now project.Project, touched []string, err error) {
	what := "change project " + p.ProjectID
	before, err := s.Project(ctx, p.ProjectID)
	if err != nil {
		return project.Project{}, nil, err
	}
	if before.Version != p.Version {
		return project.Project{}, nil, fmt.Errorf("postgres: %s: %w", what, project.ErrChanged)
	}
	now = p
	now.CreatedAt = before.CreatedAt
	now.Version++
	body, err := sqlstore.ProjectBody(now)
	if err != nil {
		return project.Project{}, nil, fmt.Errorf("postgres: %s: %w", what, err)
	}
	touched, err = s.settleProject(ctx, what, &before, &now, by,
		step{Statement: changeProject, args: []any{p.ProjectID, sqlstore.SanitizeText(p.Name), sqlstore.Fold(p.Name), body, p.Version}})
	if err != nil {
		return project.Project{}, nil, err
	}
	return now, touched, nil
}

// DeleteProject implements [project.Store].
func (s *Store) DeleteProject(ctx context.Context, projectID string, by pending.Actor) (touched []string, err error) {
	what := "delete project " + projectID
	before, err := s.Project(ctx, projectID)
	if err != nil {
		return nil, err
	}
	return s.settleProject(ctx, what, &before, nil, by, step{Statement: deleteProject, args: []any{projectID, before.Version}})
}

// settleProject changes a project and stores the consequences: its folders, the sessions in it, and
// the audit entry. It returns the ids of the affected sessions.
func (s *Store) settleProject(ctx context.Context, what string, before, after *project.Project, by pending.Actor, change step) (touched []string, err error) {
	entry, err := sqlstore.ProjectAudit(before, after, by, time.Now())
	if err != nil {
		return nil, fmt.Errorf("postgres: %s: %w", what, err)
	}
	steps := []step{{Statement: lockAudit}, {Statement: lockFolders}, change}
	var projectID string
	if before != nil {
		projectID = before.ProjectID
		steps = append(steps, step{Statement: dropFolders, args: []any{projectID}})
	}
	if after != nil {
		projectID = after.ProjectID
		folders := make([][]byte, 0, len(after.Folders))
		for _, f := range after.Folders {
			folders = append(folders, []byte(f))
		}
		steps = append(steps, step{Statement: addFolders, args: []any{projectID, folders}})
	}
	var found bool
	steps = append(steps,
		step{placeSessions, []any{projectID}, scanRow(&found, &touched)},
		step{Statement: appendAudit, args: []any{entry}})
	err = s.write(ctx, what, steps...)
	switch {
	case violates(err, uniqueRule) && constraint(err) == "project_folders_pkey":
		return nil, fmt.Errorf("postgres: %s: %w", what, project.ErrFolderTaken)
	case violates(err, uniqueRule):
		return nil, fmt.Errorf("postgres: %s: %w", what, project.ErrExists)
	case err != nil:
		return nil, err
	}
	return touched, nil
}

// constraint returns the name of the constraint that a statement violated.
func constraint(err error) string {
	if pg := serverError(err); pg != nil {
		return pg.ConstraintName
	}
	return ""
}
