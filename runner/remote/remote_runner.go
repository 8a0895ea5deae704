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

// remoteRunner implements [launch.Runner] for another host. Each method is one call of the same name.
type remoteRunner struct {
	c      *link.Conn
	prefix string // before the names of the calls
}

// NewRunner returns the [launch.Runner] at the other end of c, which must serve it with
// [runner.MethodsOf]. The Errors of the connection must include [launch.ErrorCodes].
func NewRunner(c *link.Conn) launch.Runner { return remoteRunner{c: c} }

// NewRelayedRunner is like [NewRunner] for a runner behind the other end of c, where the names of the
// calls have a prefix.
func NewRelayedRunner(c *link.Conn, prefix string) launch.Runner { return remoteRunner{c, prefix} }

// get calls a method that returns a value and an error.
func get[T any](ctx context.Context, r remoteRunner, method string, args ...any) (result T, err error) {
	err = runner.Invoke(ctx, r.c, r.prefix+method, args, &result)
	return result, unreachable(r.c, err)
}

// isUnknown reports whether a call failed because the runner, or the server in front of it, runs a
// release without that method. An earlier runner takes it for a call about a process, whose arguments
// are not an array, and returns [link.ErrProtocol].
func isUnknown(err error) bool {
	var theirs *link.RemoteError
	return errors.Is(err, link.ErrUnknown) || errors.As(err, &theirs) && errors.Is(err, link.ErrProtocol)
}

func (r remoteRunner) Home(ctx context.Context) (string, error) { return get[string](ctx, r, "Home") }

func (r remoteRunner) ResolvePath(ctx context.Context, path string) (string, error) {
	return get[string](ctx, r, "ResolvePath", path)
}

func (r remoteRunner) RepositoryRoot(ctx context.Context, folder string) (string, error) {
	return get[string](ctx, r, "RepositoryRoot", folder)
}

func (r remoteRunner) RealPath(ctx context.Context, path string) (review.RealPath, error) {
	return get[review.RealPath](ctx, r, "RealPath", path)
}

func (r remoteRunner) IsFolder(ctx context.Context, path string) (bool, error) {
	return get[bool](ctx, r, "IsFolder", path)
}

func (r remoteRunner) MatchPaths(ctx context.Context, pattern string) (review.Matches, error) {
	return get[review.Matches](ctx, r, "MatchPaths", pattern)
}

// PrivateFiles returns nil for a runner of a release without this method.
func (r remoteRunner) PrivateFiles(ctx context.Context) ([]string, error) {
	files, err := get[[]string](ctx, r, "PrivateFiles")
	if isUnknown(err) {
		return nil, nil
	}
	return files, err
}

func (r remoteRunner) Installation(ctx context.Context) (launch.Installation, error) {
	return get[launch.Installation](ctx, r, "Installation")
}

func (r remoteRunner) SignInSentence(ctx context.Context) (string, error) {
	return get[string](ctx, r, "SignInSentence")
}

func (r remoteRunner) ResolveFolder(ctx context.Context, roots workspace.Roots, dir string) (string, error) {
	return get[string](ctx, r, "ResolveFolder", roots, dir)
}

func (r remoteRunner) ListFolders(ctx context.Context, roots workspace.Roots, s workspace.Search) (workspace.Listing, error) {
	return get[workspace.Listing](ctx, r, "ListFolders", roots, s)
}

func (r remoteRunner) ReadFile(ctx context.Context, roots workspace.Roots, dir, path string, maxBytes int64) (workspace.File, error) {
	return get[workspace.File](ctx, r, "ReadFile", roots, dir, path, maxBytes)
}

func (r remoteRunner) FolderSettings(ctx context.Context, dir string, granted map[pending.Scope][]string) (launch.FolderSettings, error) {
	return get[launch.FolderSettings](ctx, r, "FolderSettings", dir, granted)
}

func (r remoteRunner) SettingsFiles(ctx context.Context, dir string) ([]launch.SettingsFile, error) {
	return get[[]launch.SettingsFile](ctx, r, "SettingsFiles", dir)
}

func (r remoteRunner) FindGrants(ctx context.Context, folders []string) (launch.FoundGrants, error) {
	return get[launch.FoundGrants](ctx, r, "FindGrants", folders)
}

func (r remoteRunner) RemoveGrant(ctx context.Context, g pending.Grant) ([]string, error) {
	return get[[]string](ctx, r, "RemoveGrant", g)
}

func (r remoteRunner) MakeFolder(ctx context.Context, dir string) error {
	return runner.Invoke(ctx, r.c, r.prefix+"MakeFolder", []any{dir})
}

func (r remoteRunner) SavedConversations(ctx context.Context, limit int) ([]claude.SavedConversation, error) {
	return get[[]claude.SavedConversation](ctx, r, "SavedConversations", limit)
}

func (r remoteRunner) SavedConversation(ctx context.Context, sessionID string) (claude.SavedConversation, error) {
	return get[claude.SavedConversation](ctx, r, "SavedConversation", sessionID)
}

func (r remoteRunner) ReadSaved(ctx context.Context, sessionID string, end, size int64) (launch.SavedChunk, error) {
	return get[launch.SavedChunk](ctx, r, "ReadSaved", sessionID, end, size)
}

func (r remoteRunner) SavedMentions(ctx context.Context, sessionID, text string) (bool, error) {
	return get[bool](ctx, r, "SavedMentions", sessionID, text)
}

func (r remoteRunner) SavedEntryBefore(ctx context.Context, sessionID, messageID string) (string, error) {
	return get[string](ctx, r, "SavedEntryBefore", sessionID, messageID)
}

func (r remoteRunner) CheckpointChanges(ctx context.Context, at workingtree.Place, sessionID, messageID string) (launch.CheckpointChanges, error) {
	return get[launch.CheckpointChanges](ctx, r, "CheckpointChanges", at, sessionID, messageID)
}

func (r remoteRunner) CompareCheckpoint(ctx context.Context, at workingtree.Place, sessionID, messageID, path string) (workingtree.Comparison, error) {
	return get[workingtree.Comparison](ctx, r, "CompareCheckpoint", at, sessionID, messageID, path)
}

func (r remoteRunner) TreeSummary(ctx context.Context, p workingtree.Place) (workingtree.Summary, error) {
	return get[workingtree.Summary](ctx, r, "TreeSummary", p)
}

func (r remoteRunner) TreeStatus(ctx context.Context, p workingtree.Place, base workingtree.Base) (workingtree.Status, error) {
	return get[workingtree.Status](ctx, r, "TreeStatus", p, base)
}

func (r remoteRunner) CompareFile(ctx context.Context, p workingtree.Place, base workingtree.Base, path, oldPath string) (workingtree.Comparison, error) {
	return get[workingtree.Comparison](ctx, r, "CompareFile", p, base, path, oldPath)
}

func (r remoteRunner) ListTree(ctx context.Context, p workingtree.Place, folder string) (workingtree.Listing, error) {
	return get[workingtree.Listing](ctx, r, "ListTree", p, folder)
}

func (r remoteRunner) SearchTree(ctx context.Context, p workingtree.Place, query string) (workingtree.Found, error) {
	return get[workingtree.Found](ctx, r, "SearchTree", p, query)
}

func (r remoteRunner) ReadTreeFile(ctx context.Context, p workingtree.Place, path string, maxBytes int64) (workingtree.File, error) {
	return get[workingtree.File](ctx, r, "ReadTreeFile", p, path, maxBytes)
}

func (r remoteRunner) Snapshot(ctx context.Context, p workingtree.Place) (workingtree.Base, error) {
	return get[workingtree.Base](ctx, r, "Snapshot", p)
}

func (r remoteRunner) PlanDiscard(ctx context.Context, p workingtree.Place, path, seen string) (workingtree.Discarded, error) {
	return get[workingtree.Discarded](ctx, r, "PlanDiscard", p, path, seen)
}

func (r remoteRunner) Discard(ctx context.Context, p workingtree.Place, d workingtree.Discarded) error {
	return runner.Invoke(ctx, r.c, r.prefix+"Discard", []any{p, d})
}

func (r remoteRunner) PlanCommit(ctx context.Context, p workingtree.Place, message string, paths []string) ([]string, error) {
	return get[[]string](ctx, r, "PlanCommit", p, message, paths)
}

func (r remoteRunner) Commit(ctx context.Context, p workingtree.Place, message string, paths []string) (string, error) {
	return get[string](ctx, r, "Commit", p, message, paths)
}

func (r remoteRunner) InspectFiles(ctx context.Context, p workingtree.Place, paths []string) ([]workingtree.FileInfo, error) {
	return get[[]workingtree.FileInfo](ctx, r, "InspectFiles", p, paths)
}

func (r remoteRunner) KeepFiles(ctx context.Context, p workingtree.Place, paths []string) (map[string]string, error) {
	return get[map[string]string](ctx, r, "KeepFiles", p, paths)
}

func (r remoteRunner) Branches(ctx context.Context, p workingtree.Place) ([]string, error) {
	return get[[]string](ctx, r, "Branches", p)
}

func (r remoteRunner) WorktreesFolder(ctx context.Context, p workingtree.Place) (string, error) {
	return get[string](ctx, r, "WorktreesFolder", p)
}

func (r remoteRunner) PlanWorktree(ctx context.Context, p workingtree.Place, branch, base string) (workingtree.NewWorktree, error) {
	return get[workingtree.NewWorktree](ctx, r, "PlanWorktree", p, branch, base)
}

func (r remoteRunner) AddWorktree(ctx context.Context, p workingtree.Place, w workingtree.NewWorktree) (string, error) {
	return get[string](ctx, r, "AddWorktree", p, w)
}

func (r remoteRunner) Worktree(ctx context.Context, p workingtree.Place) (workingtree.Worktree, error) {
	return get[workingtree.Worktree](ctx, r, "Worktree", p)
}

func (r remoteRunner) PlanMerge(ctx context.Context, p workingtree.Place, digest string) (workingtree.Merge, error) {
	return get[workingtree.Merge](ctx, r, "PlanMerge", p, digest)
}

func (r remoteRunner) MergeWorktree(ctx context.Context, p workingtree.Place, m workingtree.Merge) (string, error) {
	return get[string](ctx, r, "MergeWorktree", p, m)
}

func (r remoteRunner) PlanRemoval(ctx context.Context, p workingtree.Place, digest string) (workingtree.RemovedWorktree, error) {
	return get[workingtree.RemovedWorktree](ctx, r, "PlanRemoval", p, digest)
}

func (r remoteRunner) RemoveWorktree(ctx context.Context, p workingtree.Place, w workingtree.RemovedWorktree) (workingtree.RemovedWorktree, error) {
	return get[workingtree.RemovedWorktree](ctx, r, "RemoveWorktree", p, w)
}
