package remote

import (
	"context"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/folder"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/runner"
	"github.com/sayso-dev/sayso/runner/link"
)

// near is what is near Claude on another host. Each method is one call, by its own name.
type near struct{ c *link.Conn }

// NewRunner returns what is near Claude on the runner at the other end, which serves it with
// [runner.MethodsOf]. The connection has [launch.ErrorCodes] among its errors.
func NewRunner(c *link.Conn) launch.Runner { return near{c} }

// get calls a method that returns a value and an error.
func get[T any](ctx context.Context, n near, method string, args ...any) (result T, err error) {
	err = runner.Invoke(ctx, n.c, method, args, &result)
	return result, err
}

func (n near) Home(ctx context.Context) (string, error) { return get[string](ctx, n, "Home") }

func (n near) ResolvePath(ctx context.Context, path string) (string, error) {
	return get[string](ctx, n, "ResolvePath", path)
}

func (n near) RepositoryRoot(ctx context.Context, folder string) (string, error) {
	return get[string](ctx, n, "RepositoryRoot", folder)
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

func (n near) FolderSettings(ctx context.Context, dir string, granted map[pending.Scope][]string) (folder.Found, error) {
	return get[folder.Found](ctx, n, "FolderSettings", dir, granted)
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
	return runner.Invoke(ctx, n.c, "MakeFolder", []any{dir})
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

func (n near) SavedCheckpoint(ctx context.Context, sessionID, messageID string) (claude.Checkpoint, error) {
	return get[claude.Checkpoint](ctx, n, "SavedCheckpoint", sessionID, messageID)
}
