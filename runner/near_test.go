package runner_test

import (
	"context"
	"encoding/json"
	"net"
	"sync"
	"testing"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/folder"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/orchestrator/launch/launchtest"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/runner"
	"github.com/sayso-dev/sayso/runner/link"
)

// What is near Claude is called over a connection like a local runner: each method has a context
// and an error, and between them what JSON carries.
func TestRunnerOverAConnection(t *testing.T) {
	t.Parallel()
	launchtest.TestRunner(t, func(t *testing.T, cli *launch.CLI) launch.Runner {
		methods, err := runner.MethodsOf[launch.Runner](cli)
		if err != nil {
			t.Fatal(err)
		}
		a, b := net.Pipe()
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() {
			if c, err := link.Greet(ctx, a, "hello", nil, link.Options{Serve: methods.Serve, Errors: launch.ErrorCodes}); err == nil {
				_ = c.Run(ctx) // until the connection is lost
			}
		})
		welcome := func(context.Context, json.RawMessage) (any, error) { return nil, nil }
		c, err := link.Accept(ctx, b, welcome, link.Options{Errors: launch.ErrorCodes})
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() { _ = c.Run(ctx) })
		t.Cleanup(func() {
			cancel()
			running.Wait()
		})
		return afar{c}
	})
}

// afar is a runner at the other end of a connection.
type afar struct{ c *link.Conn }

func invoke[R any](ctx context.Context, f afar, name string, args ...any) (result R, err error) {
	err = runner.Invoke(ctx, f.c, name, append([]any{}, args...), &result)
	return result, err
}

func (f afar) Home(ctx context.Context) (string, error) { return invoke[string](ctx, f, "Home") }
func (f afar) ResolvePath(ctx context.Context, path string) (string, error) {
	return invoke[string](ctx, f, "ResolvePath", path)
}
func (f afar) RepositoryRoot(ctx context.Context, dir string) (string, error) {
	return invoke[string](ctx, f, "RepositoryRoot", dir)
}
func (f afar) Installation(ctx context.Context) (launch.Installation, error) {
	return invoke[launch.Installation](ctx, f, "Installation")
}
func (f afar) SignInSentence(ctx context.Context) (string, error) {
	return invoke[string](ctx, f, "SignInSentence")
}
func (f afar) ResolveFolder(ctx context.Context, roots workspace.Roots, dir string) (string, error) {
	return invoke[string](ctx, f, "ResolveFolder", roots, dir)
}
func (f afar) ListFolders(ctx context.Context, roots workspace.Roots, s workspace.Search) (workspace.Listing, error) {
	return invoke[workspace.Listing](ctx, f, "ListFolders", roots, s)
}
func (f afar) ReadFile(ctx context.Context, roots workspace.Roots, dir, path string, maxBytes int64) (workspace.File, error) {
	return invoke[workspace.File](ctx, f, "ReadFile", roots, dir, path, maxBytes)
}
func (f afar) FolderSettings(ctx context.Context, dir string, granted map[pending.Scope][]string) (folder.Found, error) {
	return invoke[folder.Found](ctx, f, "FolderSettings", dir, granted)
}
func (f afar) SettingsFiles(ctx context.Context, dir string) ([]launch.SettingsFile, error) {
	return invoke[[]launch.SettingsFile](ctx, f, "SettingsFiles", dir)
}
func (f afar) FindGrants(ctx context.Context, folders []string) (launch.FoundGrants, error) {
	return invoke[launch.FoundGrants](ctx, f, "FindGrants", folders)
}
func (f afar) RemoveGrant(ctx context.Context, g pending.Grant) ([]string, error) {
	return invoke[[]string](ctx, f, "RemoveGrant", g)
}
func (f afar) MakeFolder(ctx context.Context, dir string) error {
	return runner.Invoke(ctx, f.c, "MakeFolder", []any{dir})
}
func (f afar) SavedConversations(ctx context.Context, limit int) ([]claude.SavedConversation, error) {
	return invoke[[]claude.SavedConversation](ctx, f, "SavedConversations", limit)
}
func (f afar) SavedConversation(ctx context.Context, sessionID string) (claude.SavedConversation, error) {
	return invoke[claude.SavedConversation](ctx, f, "SavedConversation", sessionID)
}
func (f afar) ReadSaved(ctx context.Context, sessionID string, end, size int64) (launch.SavedChunk, error) {
	return invoke[launch.SavedChunk](ctx, f, "ReadSaved", sessionID, end, size)
}
func (f afar) SavedMentions(ctx context.Context, sessionID, text string) (bool, error) {
	return invoke[bool](ctx, f, "SavedMentions", sessionID, text)
}
func (f afar) SavedEntryBefore(ctx context.Context, sessionID, messageID string) (string, error) {
	return invoke[string](ctx, f, "SavedEntryBefore", sessionID, messageID)
}
func (f afar) SavedCheckpoint(ctx context.Context, sessionID, messageID string) (claude.Checkpoint, error) {
	return invoke[claude.Checkpoint](ctx, f, "SavedCheckpoint", sessionID, messageID)
}
