package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/pending"
)

// ProjectColumns is the select list that [projectRow.dest] scans.
const ProjectColumns = `project_id, name, version, created_at, body`

// projectRow scans one row of [ProjectColumns].
type projectRow struct {
	p         project.Project
	createdAt int64
	body      []byte
}

// dest returns the destinations for Scan.
func (x *projectRow) dest() []any {
	return []any{&x.p.ProjectID, &x.p.Name, &x.p.Version, &x.createdAt, &x.body}
}

// Project returns the scanned row.
func (x *projectRow) Project() (project.Project, error) {
	p := x.p
	if err := decodeJSON("body", x.body, &p); err != nil {
		return project.Project{}, err
	}
	p.CreatedAt = Time(x.createdAt)
	return p, nil
}

// ReadProject reads a row of [ProjectColumns].
func ReadProject(row Row) (project.Project, error) {
	var x projectRow
	if err := row.Scan(x.dest()...); err != nil {
		return project.Project{}, err
	}
	return x.Project()
}

// ProjectBody returns the column body of a project.
func ProjectBody(p project.Project) ([]byte, error) {
	body, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("project: %w", err)
	}
	return body, nil
}

// auditProject is the audit entry for a change of a project; docs/operating/audit.md describes it.
type auditProject struct {
	What      string           `json:"what"` // project_created, project_changed, project_deleted
	At        time.Time        `json:"at"`
	By        auditPerson      `json:"by"`
	ProjectID string           `json:"project_id"`
	Name      string           `json:"name"`
	Before    *project.Project `json:"before,omitempty"`
	After     *project.Project `json:"after,omitempty"`
}

// ProjectAudit returns the audit entry for a project that was created (before is nil), changed, or
// deleted (after is nil).
func ProjectAudit(before, after *project.Project, by pending.Actor, at time.Time) ([]byte, error) {
	entry := auditProject{
		What: "project_changed", At: Time(Micros(at)), Before: before, After: after,
		By: auditPerson{SanitizeText(by.UserID), SanitizeText(by.Name), SanitizeText(by.Device), SanitizeText(by.Address)},
	}
	switch {
	case before == nil:
		entry.What = "project_created"
	case after == nil:
		entry.What = "project_deleted"
	}
	for _, p := range []*project.Project{before, after} {
		if p != nil {
			entry.ProjectID, entry.Name = p.ProjectID, p.Name
		}
	}
	return json.Marshal(entry)
}

// projectOfFolder selects the project of a session from its folder cwd: of the projects whose
// folder contains cwd, the one with the longest folder, or none. head is the start of cwd up to the
// length of f.folder plus one character; slash is that last character.
func projectOfFolder(cwd, head, slash string) string {
	return `coalesce((SELECT f.project_id FROM project_folders f WHERE f.folder = ` + cwd + ` OR ` + head + ` = f.folder || ` + slash + `
		ORDER BY length(f.folder) DESC LIMIT 1), '')`
}

// ProjectOfSession selects the project of a row of sessions, by dialect.
var ProjectOfSession = [2]string{
	SQLite:   projectOfFolder("sessions.cwd", "substr(sessions.cwd, 1, length(f.folder) + 1)", "'/'"),
	Postgres: projectOfFolder("sessions.cwd", "substring(sessions.cwd FROM 1 FOR length(f.folder) + 1)", `'\x2f'::bytea`),
}

var (
	selectProjects = queryBoth("SELECT "+ProjectColumns+" FROM projects ORDER BY name_folded",
		"SELECT "+ProjectColumns+` FROM projects ORDER BY name_folded COLLATE "C"`).onAnswerPath()
	SelectProject = query("SELECT " + ProjectColumns + " FROM projects WHERE project_id = $1")
	placeSession  = defineBoth(
		"UPDATE sessions SET in_project = "+ProjectOfSession[SQLite]+" WHERE session_id = $1",
		"UPDATE sessions SET in_project = "+ProjectOfSession[Postgres]+" WHERE session_id = $1")
	// Makes the creation of a session wait for a running change of folders.
	awaitFolderChanges = Define(Postgres, "SELECT pg_advisory_xact_lock_shared(8243113893085146474)")
)

// Projects implements [project.Store].
func (s Shared) Projects(ctx context.Context) ([]project.Project, error) {
	return queryAll(ctx, s, "projects", selectProjects, ReadProject)
}

// Project returns one project.
func (s Shared) Project(ctx context.Context, projectID string) (project.Project, error) {
	return queryOne(ctx, s, "project "+projectID, SelectProject, project.ErrNotFound, ReadProject, projectID)
}
