package orchestrator

import (
	"context"
	"slices"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/workingtree"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/session"
)

// maxRecent bounds the recent folders, and recentSearch the sessions that are searched for them.
const (
	maxRecent    = 12
	recentSearch = 500
)

// Folders lists folders in which userID may start a session, those that userID used last first. It
// returns a [problem.Error] for a prefix outside the workspace roots.
func (o *Orchestrator) Folders(ctx context.Context, userID string, s workspace.Search) (workspace.Listing, error) {
	var err error
	if s.Recent, err = o.recentFolders(ctx, userID); err != nil {
		return workspace.Listing{}, err
	}
	list, err := o.runner.ListFolders(ctx, o.rules().Roots, s)
	return list, problem.InField("prefix", err)
}

func (o *Orchestrator) recentFolders(ctx context.Context, userID string) ([]string, error) {
	var recent []string
	err := o.eachOwn(ctx, userID, func(s session.Session) (more bool) {
		if folder := workingtree.WithoutWorktree(s.CWD); !slices.Contains(recent, folder) {
			recent = append(recent, folder)
		}
		return len(recent) < maxRecent
	})
	return recent, err
}

// LastChoice returns the permission mode and the model of the session that userID used last in a
// folder or one of its worktrees; mode is "" if there is none.
func (o *Orchestrator) LastChoice(ctx context.Context, userID, folder string) (mode, model string, err error) {
	err = o.eachOwn(ctx, userID, func(s session.Session) (more bool) {
		if s.CWD != folder && workingtree.WithoutWorktree(s.CWD) != folder {
			return true
		}
		mode, model = s.PermissionMode, s.Model
		return false
	})
	return mode, model, err
}

// eachOwn calls each with the sessions that userID started on this runner, the last used first, until
// each returns false. It searches the last recentSearch sessions of everybody.
func (o *Orchestrator) eachOwn(ctx context.Context, userID string, each func(session.Session) (more bool)) error {
	q := session.Query{Archived: true, Limit: 100}
	for looked := 0; looked < recentSearch; {
		page, next, err := o.o.Store.Sessions(ctx, q)
		if err != nil {
			return err
		}
		for _, s := range page {
			if s.OwnerID == userID && o.drives(s.RunnerID) && s.Kind == session.Ours && !s.Demo && !each(s) {
				return nil
			}
		}
		if next == "" {
			return nil
		}
		looked += len(page)
		q.Cursor = next
	}
	return nil
}
