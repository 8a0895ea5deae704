package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/store/sqlstore"
)

var (
	insertProject = define("INSERT INTO projects (project_id, name, name_folded, version, created_at, body) VALUES (?, ?, ?, 1, ?, ?)")
	changeProject = define("UPDATE projects SET name = ?, name_folded = ?, version = ?, body = ? WHERE project_id = ?")
	deleteProject = define("DELETE FROM projects WHERE project_id = ?")
	insertFolder  = define("INSERT INTO project_folders (folder, project_id) VALUES (?, ?)")
	dropFolders   = define("DELETE FROM project_folders WHERE project_id = ?")

	projectOfSession = sqlstore.ProjectOfSession[sqlstore.SQLite]
	// The sessions that a change of a project affects, as a JSON list.
	selectTouched = define("SELECT json_group_array(session_id) FROM sessions WHERE in_project = ? OR in_project <> " + projectOfSession)
	placeSessions = define("UPDATE sessions SET in_project = " + projectOfSession + " WHERE session_id IN (SELECT value FROM json_each(?))")
	growVersions  = define("UPDATE processes SET version = version + 1 WHERE session_id IN (SELECT value FROM json_each(?))")
)

// Projects implements [project.Store].
func (s *Store) Projects(ctx context.Context) ([]project.Project, error) {
	if s.noProjects.known() && !s.isClosed() && ctx.Err() == nil {
		return nil, nil
	}
	foundNone := s.noProjects.beginRead()
	list, err := s.Shared.Projects(ctx)
	if err == nil && len(list) == 0 {
		foundNone()
	}
	return list, err
}

// CreateProject implements [project.Store].
func (s *Store) CreateProject(ctx context.Context, p project.Project, by pending.Actor) (touched []string, err error) {
	p.Version = 1
	body, err := sqlstore.ProjectBody(p)
	if err != nil {
		return nil, fmt.Errorf("sqlite: create project %s: %w", p.ProjectID, err)
	}
	defer s.noProjects.beginCreation()()
	err = s.write(ctx, sqlstore.Durable, "create project "+p.ProjectID, func(ctx context.Context, t tx) error {
		_, err := t.exec(ctx, insertProject,
			p.ProjectID, sqlstore.SanitizeText(p.Name), sqlstore.Fold(p.Name), sqlstore.Micros(p.CreatedAt), string(body))
		if isUniqueViolation(err) {
			return project.ErrExists
		}
		if err != nil {
			return err
		}
		touched, err = t.settleProject(ctx, nil, &p, by)
		return err
	})
	return touched, err
}

// ChangeProject implements [project.Store].
func (s *Store) ChangeProject(ctx context.Context, p project.Project, by pending.Actor) (now project.Project, touched []string, err error) {
	err = s.write(ctx, sqlstore.Durable, "change project "+p.ProjectID, func(ctx context.Context, t tx) error {
		before, err := t.project(ctx, p.ProjectID)
		switch {
		case err != nil:
			return err
		case before.Version != p.Version:
			return project.ErrChanged
		}
		now = p
		now.CreatedAt = before.CreatedAt
		now.Version++
		body, err := sqlstore.ProjectBody(now)
		if err != nil {
			return err
		}
		_, err = t.exec(ctx, changeProject,
			sqlstore.SanitizeText(now.Name), sqlstore.Fold(now.Name), now.Version, string(body), now.ProjectID)
		if isUniqueViolation(err) {
			return project.ErrExists
		}
		if err != nil {
			return err
		}
		touched, err = t.settleProject(ctx, &before, &now, by)
		return err
	})
	if err != nil {
		return project.Project{}, nil, err
	}
	return now, touched, nil
}

// DeleteProject implements [project.Store].
func (s *Store) DeleteProject(ctx context.Context, projectID string, by pending.Actor) (touched []string, err error) {
	err = s.write(ctx, sqlstore.Durable, "delete project "+projectID, func(ctx context.Context, t tx) error {
		before, err := t.project(ctx, projectID)
		if err != nil {
			return err
		}
		if _, err := t.exec(ctx, deleteProject, projectID); err != nil {
			return err
		}
		touched, err = t.settleProject(ctx, &before, nil, by)
		return err
	})
	return touched, err
}

// project reads a project within the transaction.
func (t tx) project(ctx context.Context, projectID string) (project.Project, error) {
	var p project.Project
	err := t.scanRow(ctx, sqlstore.SelectProject.Statement, func(row sqlstore.Row) (err error) {
		p, err = sqlstore.ReadProject(row)
		return err
	}, projectID)
	return p, replaceNoRows(err, project.ErrNotFound)
}

// settleProject stores the consequences of a change of a project: its folders, the sessions in it,
// and the audit entry. It returns the ids of the affected sessions.
func (t tx) settleProject(ctx context.Context, before, after *project.Project, by pending.Actor) (touched []string, err error) {
	projectID := ""
	if before != nil {
		projectID = before.ProjectID
		if _, err := t.exec(ctx, dropFolders, projectID); err != nil {
			return nil, err
		}
	}
	if after != nil {
		projectID = after.ProjectID
		for _, folder := range after.Folders {
			_, err := t.exec(ctx, insertFolder, folder, projectID)
			if isUniqueViolation(err) {
				return nil, project.ErrFolderTaken
			}
			if err != nil {
				return nil, err
			}
		}
	}
	var list string
	if err := t.queryRow(ctx, []any{&list}, selectTouched, projectID); err != nil {
		return nil, err
	}
	if _, err := t.exec(ctx, placeSessions, list); err != nil {
		return nil, err
	}
	if _, err := t.exec(ctx, growVersions, list); err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(list), &touched); err != nil {
		return nil, err
	}
	body, err := sqlstore.ProjectAudit(before, after, by, t.now)
	if err != nil {
		return nil, err
	}
	return touched, t.appendAudit(ctx, body)
}
