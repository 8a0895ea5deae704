package remote

import (
	"context"
	"errors"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/review"
	"github.com/sayso-dev/sayso/internal/workingtree"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/runner"
	"github.com/sayso-dev/sayso/runner/link"
)

// near implements [launch.Runner] for another host. Each method is one call of the same name.
type near struct {
	c      *link.Conn
	prefix string // before the names of the calls
}

// NewRunner returns the [launch.Runner] at the other end of c, which must serve it with
// [runner.MethodsOf]. The Errors of the connection must include [launch.ErrorCodes].
func NewRunner(c *link.Conn) launch.Runner { return near{c: c} }

// NewRunnerBehind is like [NewRunner] for a runner behind the other end of c, where the names of the
// calls have a prefix.
func NewRunnerBehind(c *link.Conn, prefix string) launch.Runner { return near{c, prefix} }

// get calls a method that returns a value and an error.
func get[T any](ctx context.Context, n near, method string, args ...any) (result T, err error) {
	err = runner.Invoke(ctx, n.c, n.prefix+method, args, &result)
	return result, unreachable(n.c, err)
}

// isUnknown reports whether a call failed because the runner, or the server in front of it, runs a
// release without that method. An earlier runner takes it for a call about a process, whose arguments
// are not an array, and returns [link.ErrProtocol].
func isUnknown(err error) bool {
	var theirs *link.RemoteError
	return errors.Is(err, link.ErrUnknown) || errors.As(err, &theirs) && errors.Is(err, link.ErrProtocol)
}

func (n near) Home(ctx context.Context) (string, error) { return get[string](ctx, n, "Home") }

func (n near) ResolvePath(ctx context.Context, path string) (string, error) {
	return get[string](ctx, n, "ResolvePath", path)
}

func (n near) RepositoryRoot(ctx context.Context, folder string) (string, error) {
	return get[string](ctx, n, "RepositoryRoot", folder)
}

func (n near) RealPath(ctx context.Context, path string) (review.RealPath, error) {
	return get[review.RealPath](ctx, n, "RealPath", path)
}

func (n near) IsFolder(ctx context.Context, path string) (bool, error) {
	return get[bool](ctx, n, "IsFolder", path)
}

func (n near) MatchPaths(ctx context.Context, pattern string) (review.Matches, error) {
	return get[review.Matches](ctx, n, "MatchPaths", pattern)
}

// PrivateFiles returns nil for a runner of a release without this method.
func (n near) PrivateFiles(ctx context.Context) ([]string, error) {
	files, err := get[[]string](ctx, n, "PrivateFiles")
	if isUnknown(err) {
		return nil, nil
	}
	return files, err
}

func (n near) Installation(ctx context.Context) (launch.Installation, error) {
	return get[launch.Installation](ctx, n, "Installation")
}

func (n near) SignInSentence(ctx context.Context) (string, error) {
	return get[string](ctx, n, "SignInSentence")
}

func (n near) ResolveFolder(ctx context.Context, roots workspace.Roots, dir string) (string, error) {
	return get[string](ctx, n, "ResolveFolder", roots, dir)
}

func (n near) ListFolders(ctx context.Context, roots workspace.Roots, s workspace.Search) (workspace.Listing, error) {
	return get[workspace.Listing](ctx, n, "ListFolders", roots, s)
}

func (n near) ReadFile(ctx context.Context, roots workspace.Roots, dir, path string, maxBytes int64) (workspace.File, error) {
	return get[workspace.File](ctx, n, "ReadFile", roots, dir, path, maxBytes)
}

func (n near) FolderSettings(ctx context.Context, dir string, granted map[pending.Scope][]string) (launch.FolderSettings, error) {
	return get[launch.FolderSettings](ctx, n, "FolderSettings", dir, granted)
}

func (n near) SettingsFiles(ctx context.Context, dir string) ([]launch.SettingsFile, error) {
	return get[[]launch.SettingsFile](ctx, n, "SettingsFiles", dir)
}

func (n near) FindGrants(ctx context.Context, folders []string) (launch.FoundGrants, error) {
	return get[launch.FoundGrants](ctx, n, "FindGrants", folders)
}

func (n near) RemoveGrant(ctx context.Context, g pending.Grant) ([]string, error) {
	return get[[]string](ctx, n, "RemoveGrant", g)
}

func (n near) MakeFolder(ctx context.Context, dir string) error {
	return runner.Invoke(ctx, n.c, n.prefix+"MakeFolder", []any{dir})
}

func (n near) SavedConversations(ctx context.Context, limit int) ([]claude.SavedConversation, error) {
	return get[[]claude.SavedConversation](ctx, n, "SavedConversations", limit)
}

func (n near) SavedConversation(ctx context.Context, sessionID string) (claude.SavedConversation, error) {
	return get[claude.SavedConversation](ctx, n, "SavedConversation", sessionID)
}

func (n near) ReadSaved(ctx context.Context, sessionID string, end, size int64) (launch.SavedChunk, error) {
	return get[launch.SavedChunk](ctx, n, "ReadSaved", sessionID, end, size)
}

func (n near) SavedMentions(ctx context.Context, sessionID, text string) (bool, error) {
	return get[bool](ctx, n, "SavedMentions", sessionID, text)
}

func (n near) SavedEntryBefore(ctx context.Context, sessionID, messageID string) (string, error) {
	return get[string](ctx, n, "SavedEntryBefore", sessionID, messageID)
}

func (n near) CheckpointChanges(ctx context.Context, at workingtree.Place, sessionID, messageID string) (launch.CheckpointChanges, error) {
	return get[launch.CheckpointChanges](ctx, n, "CheckpointChanges", at, sessionID, messageID)
}

func (n near) CompareCheckpoint(ctx context.Context, at workingtree.Place, sessionID, messageID, path string) (workingtree.Comparison, error) {
	return get[workingtree.Comparison](ctx, n, "CompareCheckpoint", at, sessionID, messageID, path)
}

func (n near) TreeSummary(ctx context.Context, p workingtree.Place) (workingtree.Summary, error) {
	return get[workingtree.Summary](ctx, n, "TreeSummary", p)
}

func (n near) TreeStatus(ctx context.Context, p workingtree.Place, base workingtree.Base) (workingtree.Status, error) {
	return get[workingtree.Status](ctx, n, "TreeStatus", p, base)
}

func (n near) CompareFile(ctx context.Context, p workingtree.Place, base workingtree.Base, path, oldPath string) (workingtree.Comparison, error) {
	return get[workingtree.Comparison](ctx, n, "CompareFile", p, base, path, oldPath)
}

func (n near) ListTree(ctx context.Context, p workingtree.Place, folder string) (workingtree.Listing, error) {
	return get[workingtree.Listing](ctx, n, "ListTree", p, folder)
}

func (n near) SearchTree(ctx context.Context, p workingtree.Place, query string) (workingtree.Found, error) {
	return get[workingtree.Found](ctx, n, "SearchTree", p, query)
}

func (n near) ReadTreeFile(ctx context.Context, p workingtree.Place, path string, maxBytes int64) (workingtree.File, error) {
	return get[workingtree.File](ctx, n, "ReadTreeFile", p, path, maxBytes)
}

func (n near) Snapshot(ctx context.Context, p workingtree.Place) (workingtree.Base, error) {
	return get[workingtree.Base](ctx, n, "Snapshot", p)
}

func (n near) PlanDiscard(ctx context.Context, p workingtree.Place, path, seen string) (workingtree.Discarded, error) {
	return get[workingtree.Discarded](ctx, n, "PlanDiscard", p, path, seen)
}

func (n near) Discard(ctx context.Context, p workingtree.Place, d workingtree.Discarded) error {
	return runner.Invoke(ctx, n.c, n.prefix+"Discard", []any{p, d})
}

func (n near) PlanCommit(ctx context.Context, p workingtree.Place, message string, paths []string) ([]string, error) {
	return get[[]string](ctx, n, "PlanCommit", p, message, paths)
}

func (n near) Commit(ctx context.Context, p workingtree.Place, message string, paths []string) (string, error) {
	return get[string](ctx, n, "Commit", p, message, paths)
}

func (n near) InspectFiles(ctx context.Context, p workingtree.Place, paths []string) ([]workingtree.FileInfo, error) {
	return get[[]workingtree.FileInfo](ctx, n, "InspectFiles", p, paths)
}

func (n near) KeepFiles(ctx context.Context, p workingtree.Place, paths []string) (map[string]string, error) {
	return get[map[string]string](ctx, n, "KeepFiles", p, paths)
}

func (n near) Branches(ctx context.Context, p workingtree.Place) ([]string, error) {
	return get[[]string](ctx, n, "Branches", p)
}

func (n near) WorktreesFolder(ctx context.Context, p workingtree.Place) (string, error) {
	return get[string](ctx, n, "WorktreesFolder", p)
}

func (n near) PlanWorktree(ctx context.Context, p workingtree.Place, branch, base string) (workingtree.NewWorktree, error) {
	return get[workingtree.NewWorktree](ctx, n, "PlanWorktree", p, branch, base)
}

func (n near) AddWorktree(ctx context.Context, p workingtree.Place, w workingtree.NewWorktree) (string, error) {
	return get[string](ctx, n, "AddWorktree", p, w)
}

func (n near) Worktree(ctx context.Context, p workingtree.Place) (workingtree.Worktree, error) {
	return get[workingtree.Worktree](ctx, n, "Worktree", p)
}

func (n near) PlanMerge(ctx context.Context, p workingtree.Place, digest string) (workingtree.Merge, error) {
	return get[workingtree.Merge](ctx, n, "PlanMerge", p, digest)
}

func (n near) MergeWorktree(ctx context.Context, p workingtree.Place, m workingtree.Merge) (string, error) {
	return get[string](ctx, n, "MergeWorktree", p, m)
}

func (n near) PlanRemoval(ctx context.Context, p workingtree.Place, digest string) (workingtree.RemovedWorktree, error) {
	return get[workingtree.RemovedWorktree](ctx, n, "PlanRemoval", p, digest)
}

func (n near) RemoveWorktree(ctx context.Context, p workingtree.Place, w workingtree.RemovedWorktree) (workingtree.RemovedWorktree, error) {
	return get[workingtree.RemovedWorktree](ctx, n, "RemoveWorktree", p, w)
}
