package launch

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/workingtree"
	"github.com/sayso-dev/sayso/internal/workspace"
)

// maxCheckpointFiles bounds the list of files of a checkpoint.
const maxCheckpointFiles = 200

// CheckpointChanges lists the files that differ from their copies in a checkpoint. More is set if
// the list is truncated.
type CheckpointChanges struct {
	Changes []workingtree.Change
	More    bool
}

// CheckpointChanges implements [Runner]. It returns [claude.ErrNotSaved] if there is no checkpoint.
func (l local) CheckpointChanges(ctx context.Context, at workingtree.Place, sessionID, messageID string) (found CheckpointChanges, err error) {
	files, backups, err := l.checkpointed(at, sessionID, messageID)
	if err != nil {
		return found, err
	}
	f, err := l.Open(ctx, at)
	if err != nil {
		return found, err
	}
	defer f.Close()
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if len(found.Changes) == maxCheckpointFiles {
			found.More = true
			break
		}
		c, same, err := l.compareBackup(ctx, f, path, backups, files[path])
		if err != nil {
			return CheckpointChanges{}, err
		}
		if same || c.After.State == workingtree.ContentOutside { // it may be hidden from the person
			continue
		}
		change := workingtree.Change{Path: path, Status: workingtree.Modified, Added: -1, Removed: -1, Readable: true, Version: c.Digest}
		switch workingtree.ContentMissing {
		case c.Before.State:
			change.Status = workingtree.Added
		case c.After.State:
			change.Status = workingtree.Deleted
		}
		found.Changes = append(found.Changes, change)
	}
	return found, nil
}

// CompareCheckpoint implements [Runner].
func (l local) CompareCheckpoint(ctx context.Context, at workingtree.Place, sessionID, messageID, path string) (c workingtree.Comparison, err error) {
	files, backups, err := l.checkpointed(at, sessionID, messageID)
	if err != nil {
		return c, err
	}
	f, err := l.Open(ctx, at)
	if err != nil {
		return c, err
	}
	defer f.Close()
	backup, known := files[path]
	if !known {
		return c, problem.For("path", "file_unchanged")
	}
	c, _, err = l.compareBackup(ctx, f, path, backups, backup)
	return c, err
}

// checkpointed returns the names of a checkpoint's copies in the folder backups, by the paths of their
// files. Paths are relative to the session's folder for files in it, else absolute.
func (l local) checkpointed(at workingtree.Place, sessionID, messageID string) (files map[string]string, backups string, err error) {
	c, err := l.savedCheckpoint(sessionID, messageID)
	if err != nil {
		return nil, "", err
	}
	files = map[string]string{}
	for path, backup := range c.Files {
		if !filepath.IsAbs(path) {
			path = filepath.Join(at.CWD, path)
		}
		if rest, inside := strings.CutPrefix(path, at.CWD+"/"); inside {
			path = rest
		}
		files[path] = backup
	}
	return files, c.Folder, nil
}

// compareBackup compares a file with its copy. backup is "" for a file that did not exist.
func (l local) compareBackup(ctx context.Context, f *workingtree.Folder, path, backups, backup string) (c workingtree.Comparison, same bool, err error) {
	before := workspace.File{State: workspace.FileMissing}
	if backup != "" {
		before, err = l.ReadFile(ctx, nil, backups, backup, workingtree.MaxCompared)
		if err != nil {
			return c, false, fmt.Errorf("launch: read a backup of Claude: %w", err)
		}
		if before.State == workspace.FileMissing {
			before.State = workspace.FileOutside // the file existed, but its copy is gone
		}
	}
	return f.CompareWith(before, path)
}
