package engine

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/pending"
)

// ProjectColumns is the select list of [ProjectTableRow.Dest].
const ProjectColumns = `project_id, name, version, created_at, body`

// ProjectTableRow takes one row of [ProjectColumns].
type ProjectTableRow struct {
	p         project.Project
	createdAt int64
	body      []byte
}

// Dest is what to scan into.
func (x *ProjectTableRow) Dest() []any {
	return []any{&x.p.ProjectID, &x.p.Name, &x.p.Version, &x.createdAt, &x.body}
}

// Project is the row that was scanned.
func (x *ProjectTableRow) Project() (project.Project, error) {
	p := x.p
	if err := decode("body", x.body, &p); err != nil {
		return project.Project{}, err
	}
	p.CreatedAt = Time(x.createdAt)
	return p, nil
}

// ReadProject reads a row of [ProjectColumns].
func ReadProject(row Row) (project.Project, error) {
	var x ProjectTableRow
	if err := row.Scan(x.Dest()...); err != nil {
		return project.Project{}, err
	}
	return x.Project()
}

// ProjectBody is the column body of a project.
func ProjectBody(p project.Project) ([]byte, error) {
	body, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("project: %w", err)
	}
	return body, nil
}

// auditProject is an entry of the audit trail about a project;
// docs/operations.md describes it.
type auditProject struct {
	What      string           `json:"what"` // project_created, project_changed, project_deleted
	At        time.Time        `json:"at"`
	By        auditPerson      `json:"by"`
	ProjectID string           `json:"project_id"`
	Name      string           `json:"name"`
	Before    *project.Project `json:"before,omitempty"`
	After     *project.Project `json:"after,omitempty"`
}

// ProjectAudit is what goes on record of a project that is made, changed or
// deleted; what was not there before or is not after is nil.
func ProjectAudit(before, after *project.Project, by pending.Actor, at time.Time) ([]byte, error) {
	entry := auditProject{
		What: "project_changed", At: Time(Micros(at)), Before: before, After: after,
		By: auditPerson{Shown(by.UserID), Shown(by.Name), Shown(by.Device), Shown(by.Address)},
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

// ProjectOfFolder is the project whose folder holds the column cwd of a row of
// sessions, the longest of several, or ”. slash is the character as the engine
// compares it with a folder.
func ProjectOfFolder(cwd, head, slash string) string {
	return `coalesce((SELECT f.project_id FROM project_folders f WHERE f.folder = ` + cwd + ` OR ` + head + ` = f.folder || ` + slash + `
		ORDER BY length(f.folder) DESC LIMIT 1), '')`
}
