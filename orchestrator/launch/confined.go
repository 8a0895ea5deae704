package launch

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/review"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/pending"
)

// confined is the Runner of this machine for a caller on another machine, who must not choose the
// folders: calls outside the runner's own roots are refused. Package workingtree checks the roots for
// calls about working trees. ResolvePath and RealPath follow the links of any path, and IsFolder
// inspects any path; these read no file.
type confined struct {
	local
	own workspace.Roots
}

// check returns the real path of a folder inside the runner's roots, or a [problem.Error]. The folder
// need not exist.
func (c confined) check(ctx context.Context, dir string) (string, error) {
	real, err := c.ResolvePath(ctx, dir)
	if err == nil && !c.own.Contains(real) {
		err = problem.New("folder_outside", "folder", dir, "roots", strings.Join(c.own, ", "))
	}
	return real, err
}

func (c confined) RepositoryRoot(ctx context.Context, folder string) (string, error) {
	if _, err := c.check(ctx, folder); err != nil {
		return "", err
	}
	return c.local.RepositoryRoot(ctx, folder)
}

func (c confined) ResolveFolder(ctx context.Context, roots workspace.Roots, dir string) (string, error) {
	return c.local.ResolveFolder(ctx, roots.Within(c.own), dir)
}

func (c confined) ListFolders(ctx context.Context, roots workspace.Roots, s workspace.Search) (workspace.Listing, error) {
	return c.local.ListFolders(ctx, roots.Within(c.own), s)
}

func (c confined) ReadFile(ctx context.Context, roots workspace.Roots, dir, path string, maxBytes int64) (workspace.File, error) {
	dir, err := c.check(ctx, dir)
	if err != nil {
		return workspace.File{}, err
	}
	return c.local.ReadFile(ctx, roots.Within(c.own), dir, path, maxBytes)
}

func (c confined) FolderSettings(ctx context.Context, dir string, granted map[pending.Scope][]string) (FolderSettings, error) {
	dir, err := c.check(ctx, dir)
	if err != nil {
		return FolderSettings{}, err
	}
	return c.local.FolderSettings(ctx, dir, granted)
}

func (c confined) SettingsFiles(ctx context.Context, dir string) ([]SettingsFile, error) {
	dir, err := c.check(ctx, dir)
	if err != nil {
		return nil, err
	}
	return c.local.SettingsFiles(ctx, dir)
}

func (c confined) FindGrants(ctx context.Context, folders []string) (FoundGrants, error) {
	for _, folder := range folders {
		if _, err := c.check(ctx, folder); err != nil {
			return FoundGrants{}, err
		}
	}
	return c.local.FindGrants(ctx, folders)
}

func (c confined) RemoveGrant(ctx context.Context, g pending.Grant) ([]string, error) {
	if g.Folder != "" && g.Scope != pending.ScopeUser {
		if _, err := c.check(ctx, g.Folder); err != nil {
			return nil, err
		}
	}
	return c.local.RemoveGrant(ctx, g)
}

func (c confined) MakeFolder(ctx context.Context, dir string) error {
	dir, err := c.check(ctx, dir)
	if err != nil {
		return err
	}
	return c.local.MakeFolder(ctx, dir)
}

// MatchPaths returns the zero Matches for patterns outside the roots, because matches would list the
// folders there.
func (c confined) MatchPaths(ctx context.Context, pattern string) (review.Matches, error) {
	found, err := c.local.MatchPaths(ctx, pattern)
	for _, path := range append([]string{filepath.Dir(pattern)}, found.Paths...) {
		if _, outside := c.check(ctx, path); err == nil && outside != nil {
			return review.Matches{}, nil
		}
	}
	return found, err
}
