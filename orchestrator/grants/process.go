// Package grants knows what grants mean to a CLI: in which processes they hold, how a CLI is
// made to forget them, and which calls they cover. It talks to no process and reads no file.
package grants

import (
	"context"
	"encoding/json"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/rule"
	"github.com/sayso-dev/sayso/pending"
)

// Process is a running process that grants may hold in.
type Process struct {
	SessionID, ProcessID, Folder string
	Repositories                 Repositories
}

// Repositories finds the root of the Git repository that a folder is in; the folder itself if
// it is in none.
type Repositories interface {
	RepositoryRoot(ctx context.Context, folder string) (string, error)
}

// Obeys reports whether a grant holds in the process. With an error it may.
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

// Call is a tool call that ran without anybody being asked.
type Call struct {
	ToolUseID, Tool string
	Input           json.RawMessage
	Mode            string // permission mode in which it ran
	Home            string // of the CLI's user
}

// Used returns the ids of the grants that a call used. The CLI names none of them:
// 2.1.329 says in the result that a rule was the reason, 2.1.197 not even that.
// With an error, it returns those that it found before.
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
