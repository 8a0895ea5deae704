// Package grants knows what grants mean to a CLI: in which settings files they are, in
// which processes they hold, how a CLI is made to forget them, and which calls they
// cover. It talks to no process.
package grants

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sayso-dev/sayso/claude/config"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/pending"
)

// Files are the settings files of a CLI.
type Files struct {
	Getenv func(key string) string  // the environment of the CLI
	As     func(func() error) error // calls a function with the file rights of its user
}

// FoundGrant is what a settings file allows.
type FoundGrant struct {
	pending.Grant
	File string
}

// Found is what settings files allow, and which of them cannot be read.
type Found struct {
	Grants   []FoundGrant
	Problems []string // sentences
	seen     map[string]bool
}

// paths returns the files that may hold a grant of a scope. For a folder inside a Git
// repository, 2.1.197 writes to the folder and 2.1.329 to the repository.
func (f Files) paths(scope pending.Scope, folder string) []string {
	name := "settings.json"
	switch scope {
	case pending.ScopeUser:
		return []string{config.Settings(f.Getenv, f.Getenv("HOME"))}
	case pending.ScopeLocal:
		name = "settings.local.json"
	case pending.ScopeProject:
	default:
		return nil
	}
	if folder == "" {
		return nil
	}
	files := []string{filepath.Join(folder, ".claude", name)}
	if root := f.project(folder); root != folder {
		files = append(files, filepath.Join(root, ".claude", name))
	}
	return files
}

// project returns the root of the Git repository that a folder is in, or the folder.
func (f Files) project(folder string) (root string) {
	if err := f.As(func() (err error) {
		root, err = config.Project(folder)
		return err
	}); err != nil {
		return folder
	}
	return root
}

// Remove removes a grant from the files that may hold it, and returns those that it
// was in, also with an error.
func (f Files) Remove(ctx context.Context, g pending.Grant) (changed []string, err error) {
	for _, path := range f.paths(g.Scope, g.Folder) {
		var removed bool
		err := f.As(func() (err error) {
			removed, err = removeFrom(ctx, path, g)
			return err
		})
		if err != nil {
			return changed, err
		}
		if removed {
			changed = append(changed, path)
		}
	}
	return changed, nil
}

// removeFrom removes a grant from a settings file. A missing file holds nothing.
func removeFrom(ctx context.Context, path string, g pending.Grant) (removed bool, err error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	err = config.Update(ctx, path, func(data []byte) (after []byte, err error) {
		switch g.Kind {
		case pending.GrantRule:
			after, err = config.WithoutRule(data, g.Rule)
		case pending.GrantDirectory:
			after, err = config.WithoutDirectory(data, g.Rule)
		default:
			mode, _ := json.Marshal(g.Rule) // a string is always encoded
			now, err := config.Get(data, "permissions", "defaultMode")
			if err != nil || string(now) != string(mode) {
				return data, nil
			}
			return config.Set(data, nil, "permissions", "defaultMode")
		}
		removed = string(after) != string(data)
		return after, err
	})
	return removed, err
}

// Find adds to found what the files of a scope allow. Files that it has seen are
// skipped.
func (f Files) Find(found *Found, scope pending.Scope, folder string) {
	if found.seen == nil {
		found.seen = map[string]bool{}
	}
	for _, path := range f.paths(scope, folder) {
		if found.seen[path] {
			continue
		}
		found.seen[path] = true
		var data []byte
		err := f.As(func() (err error) {
			data, err = config.ReadFile(path)
			return err
		})
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) && folder != "" {
			continue
		}
		var rules, directories []string
		if err == nil {
			rules, directories, err = config.GrantsOf(data)
		}
		if err != nil {
			found.Problems = append(found.Problems, statement.New("file_unreadable", "file", path, "detail", err.Error()))
			continue
		}
		add := func(kind pending.GrantKind, texts []string) {
			for _, text := range texts {
				g := FoundGrant{pending.Grant{Kind: kind, Rule: text, Scope: scope, Folder: folder}, path}
				g.GrantID = pending.FoundGrantID(g.Grant)
				found.Grants = append(found.Grants, g)
			}
		}
		add(pending.GrantRule, rules)
		add(pending.GrantDirectory, directories)
	}
}
