package grants

import (
	"encoding/json"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/rule"
	"github.com/sayso-dev/sayso/pending"
)

// Process is a running process that grants may hold in.
type Process struct {
	SessionID, ProcessID, Folder string
	Files                        Files // find the repositories of folders
}

// Obeys reports whether a grant holds in the process.
func (p Process) Obeys(g pending.Grant) bool {
	switch g.Scope {
	case pending.ScopeUser:
		return true
	case pending.ScopeSession:
		return g.SessionID == p.SessionID && (g.ProcessID == "" || g.ProcessID == p.ProcessID)
	}
	return g.Folder == p.Folder || p.Files.project(p.Folder) == p.Files.project(g.Folder)
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
func (p Process) Used(list []pending.Grant, c Call, result *claude.User) (grantIDs []string) {
	call := rule.Call{Tool: c.Tool, Input: c.Input, Dir: p.Folder, Home: c.Home}
	for _, g := range list {
		if g.Kind != pending.GrantRule || !rule.Parse(g.Rule).Covers(call) || !p.Obeys(g) {
			continue
		}
		why, known := result.Permission(c.ToolUseID)
		if known && (why.Decision != "accept" || why.Reason != "rule" && why.Reason != "subcommandResults") {
			return grantIDs
		}
		if !known && c.Mode == "acceptEdits" && rule.Parse("Edit").Covers(call) {
			return grantIDs
		}
		grantIDs = append(grantIDs, g.GrantID)
	}
	return grantIDs
}
