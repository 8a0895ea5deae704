// Package grants determines what grants mean to a CLI: in which processes they apply, how to make a
// CLI forget them, and which calls they cover. It talks to no process and reads no file.
package grants

import (
	"context"
	"encoding/json"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/rule"
	"github.com/sayso-dev/sayso/pending"
)

// Process is a running process in which grants may apply.
type Process struct {
	SessionID, ProcessID, Folder string
	Repositories                 Repositories
}

// Repositories finds Git repositories.
type Repositories interface {
	// RepositoryRoot returns the root of the Git repository that a folder is in, or the folder
	// itself if it is in none.
	RepositoryRoot(ctx context.Context, folder string) (string, error)
}

// Obeys reports whether a grant applies in the process. If it returns an error, the grant may
// apply.
func (p Process) Obeys(ctx context.Context, g pending.Grant) (bool, error) {
	switch g.Scope {
	case pending.ScopeUser:
		return true, nil
	case pending.ScopeSession:
		return g.SessionID == p.SessionID && (g.ProcessID == "" || g.ProcessID == p.ProcessID), nil
	}
	if g.Folder == p.Folder {
		return true, nil
	}
	own, err := p.Repositories.RepositoryRoot(ctx, p.Folder)
	if err != nil {
		return false, err
	}
	granted, err := p.Repositories.RepositoryRoot(ctx, g.Folder)
	return own == granted, err
}

// Call is a tool call that ran without a question.
type Call struct {
	ToolUseID, Tool string
	Input           json.RawMessage
	Mode            string // permission mode in which it ran
	Home            string // of the CLI's user
}

// Used returns the ids of the grants that a call used. The CLI does not name them: the result of
// 2.1.329 only has that a rule was the reason, and that of 2.1.197 not even that. With an error,
// Used returns the grants that it had found before.
func (p Process) Used(ctx context.Context, list []pending.Grant, c Call, result *claude.User) (grantIDs []string, err error) {
	call := rule.Call{Tool: c.Tool, Input: c.Input, Dir: p.Folder, Home: c.Home}
	for _, g := range list {
		if g.Kind != pending.GrantRule || !rule.Parse(g.Rule).Covers(call) {
			continue
		}
		if obeys, err := p.Obeys(ctx, g); err != nil {
			return grantIDs, err
		} else if !obeys {
			continue
		}
		why, known := result.Permission(c.ToolUseID)
		if known && (why.Decision != "accept" || why.Reason != "rule" && why.Reason != "subcommandResults") {
			return grantIDs, nil
		}
		if !known && c.Mode == "acceptEdits" && rule.Parse("Edit").Covers(call) {
			return grantIDs, nil
		}
		grantIDs = append(grantIDs, g.GrantID)
	}
	return grantIDs, nil
}
