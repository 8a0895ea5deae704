package orchestrator

import (
	"context"
	"slices"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/session"
)

// maxRecent bounds the recent folders, recentSearch the sessions in which they are searched.
const (
	maxRecent    = 12
	recentSearch = 500
)

// Folders lists folders in which userID may start a session, their most recent ones first. It
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
	q := session.Query{Archived: true, Limit: 100}
	for looked := 0; ; {
		page, next, err := o.o.Store.Sessions(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, s := range page {
			if s.OwnerID == userID && s.Kind == session.Ours && !s.Demo && !slices.Contains(recent, s.CWD) {
				recent = append(recent, s.CWD)
			}
		}
		looked += len(page)
		if next == "" || len(recent) >= maxRecent || looked >= recentSearch {
			return recent[:min(len(recent), maxRecent)], nil
		}
		q.Cursor = next
	}
}
