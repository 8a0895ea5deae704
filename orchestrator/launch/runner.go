package launch

import (
	"context"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/review"
	"github.com/sayso-dev/sayso/internal/workingtree"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/pending"
)

// Runner gives access to the machine on which Claude runs: its CLI, folders, settings and saved
// conversations, with the file rights of Claude's user. Its methods block on the disk. [NewRunner]
// returns the Runner of this machine. Calls may cross the network: values must survive
// encoding/json, and a server can distinguish only the errors of [ErrorCodes].
type Runner interface {
	Disk
	workingtree.Trees
	// Installation describes the CLI. It may run the CLI for that.
	Installation(ctx context.Context) (Installation, error)
	// SignInSentence tells a person how to sign in to the CLI.
	SignInSentence(ctx context.Context) (string, error)

	// ResolveFolder returns the real path of a folder inside the roots, or a [problem.Error].
	ResolveFolder(ctx context.Context, roots workspace.Roots, dir string) (real string, err error)
	ListFolders(ctx context.Context, roots workspace.Roots, s workspace.Search) (workspace.Listing, error)
	// ReadFile reads a file of up to maxBytes bytes inside a folder or the roots.
	ReadFile(ctx context.Context, roots workspace.Roots, dir, path string, maxBytes int64) (workspace.File, error)
	// FolderSettings returns what the CLI would load from a folder, except granted: the rules that
	// people had the CLI add, by scope.
	FolderSettings(ctx context.Context, dir string, granted map[pending.Scope][]string) (FolderSettings, error)
	SettingsFiles(ctx context.Context, dir string) ([]SettingsFile, error)
	// FindGrants returns what the settings of the CLI's user and of folders allow.
	FindGrants(ctx context.Context, folders []string) (FoundGrants, error)
	// RemoveGrant removes a grant from the settings files that may contain it. It returns the files
	// that it has changed, even with an error.
	RemoveGrant(ctx context.Context, g pending.Grant) (files []string, err error)
	MakeFolder(ctx context.Context, dir string) error

	// The next five methods read the conversations that CLIs of this user have saved. They return
	// [claude.ErrNotSaved] for a conversation that does not exist.
	SavedConversations(ctx context.Context, limit int) ([]claude.SavedConversation, error)
	SavedConversation(ctx context.Context, sessionID string) (claude.SavedConversation, error)
	ReadSaved(ctx context.Context, sessionID string, end, size int64) (SavedChunk, error)
	SavedMentions(ctx context.Context, sessionID, text string) (bool, error)
	SavedEntryBefore(ctx context.Context, sessionID, messageID string) (entry string, err error)
	// CheckpointChanges returns the files of a session that differ from the copies that its CLI
	// made of them before a message. CompareCheckpoint compares one of these files with its copy, or
	// returns a [problem.Error].
	CheckpointChanges(ctx context.Context, at workingtree.Place, sessionID, messageID string) (CheckpointChanges, error)
	CompareCheckpoint(ctx context.Context, at workingtree.Place, sessionID, messageID, path string) (workingtree.Comparison, error)
}

// Disk answers what the rules of projects and risk levels need to know about files.
type Disk interface {
	project.Disk
	review.FileSystem
}

// local is the runner of this machine.
type local struct {
	*CLI
	*workingtree.Git
}

// NewRunner returns the Runner of this machine. It refuses folders outside own, even if the caller
// passes other roots; with a nil own, only the caller's roots count.
func NewRunner(cli *CLI, own workspace.Roots) (Runner, error) {
	git, err := workingtree.New(workingtree.Options{Command: cli.Command, As: cli.As, Environ: cli.Environ, Roots: own})
	if err != nil {
		return nil, err
	}
	if own != nil {
		return confined{local{cli, git}, own}, nil
	}
	return local{cli, git}, nil
}
