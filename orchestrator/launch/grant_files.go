package launch

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

// grantFiles reads and changes the settings files of a CLI that contain grants.
type grantFiles struct {
	getenv func(key string) string  // reads the environment of the CLI
	as     func(func() error) error // calls a function with the file rights of its user
}

func (c *CLI) grantFiles() grantFiles { return grantFiles{c.Getenv, c.As} }

// FoundGrant is a grant in a settings file.
type FoundGrant struct {
	pending.Grant
	File string
}

// FoundGrants lists the grants in settings files.
type FoundGrants struct {
	Grants   []FoundGrant
	Problems []string // sentences about files that cannot be read
}

// settingsNames has the names of a folder's settings files, in its subfolder .claude.
var settingsNames = map[pending.Scope]string{pending.ScopeLocal: "settings.local.json", pending.ScopeProject: "settings.json"}

// paths returns the files that may contain a grant of a scope. For a folder inside a Git
// repository, 2.1.197 writes to the folder itself and 2.1.329 to the root of the repository.
func (f grantFiles) paths(scope pending.Scope, folder string) []string {
	if scope == pending.ScopeUser {
		return []string{config.Settings(f.getenv, f.getenv("HOME"))}
	}
	name := settingsNames[scope]
	if name == "" || folder == "" {
		return nil
	}
	files := []string{filepath.Join(folder, ".claude", name)}
	if root := f.root(folder); root != folder {
		files = append(files, filepath.Join(root, ".claude", name))
	}
	return files
}

// RepositoryRoot returns the root of the Git repository that a folder is in, or the folder itself
// if it is in none or cannot be read.
func (c *CLI) RepositoryRoot(_ context.Context, folder string) (string, error) {
	return c.grantFiles().root(folder), nil
}

func (f grantFiles) root(folder string) (root string) {
	if err := f.as(func() (err error) {
		root, err = config.Project(folder)
		return err
	}); err != nil {
		return folder
	}
	return root
}

// RemoveGrant removes a grant from the files that may contain it, and returns the files that it
// has changed, even with an error.
func (c *CLI) RemoveGrant(ctx context.Context, g pending.Grant) (changed []string, err error) {
	return c.grantFiles().remove(ctx, g)
}

func (f grantFiles) remove(ctx context.Context, g pending.Grant) (changed []string, err error) {
	for _, path := range f.paths(g.Scope, g.Folder) {
		var removed bool
		err := f.as(func() (err error) {
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

// removeFrom removes a grant from a settings file. A missing file contains no grants.
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
			mode, _ := json.Marshal(g.Rule) // cannot fail for a string
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

// FindGrants returns the grants in the settings file of the CLI's user and in those of folders.
func (c *CLI) FindGrants(_ context.Context, folders []string) (FoundGrants, error) {
	return c.grantFiles().find(folders), nil
}

func (f grantFiles) find(folders []string) (found FoundGrants) {
	seen := map[string]bool{}
	f.findIn(&found, seen, pending.ScopeUser, "")
	for _, folder := range folders {
		f.findIn(&found, seen, pending.ScopeLocal, folder)
		f.findIn(&found, seen, pending.ScopeProject, folder)
	}
	return found
}

// findIn adds to found the grants in the files of a scope, except files in seen.
func (f grantFiles) findIn(found *FoundGrants, seen map[string]bool, scope pending.Scope, folder string) {
	for _, path := range f.paths(scope, folder) {
		if seen[path] {
			continue
		}
		seen[path] = true
		var data []byte
		err := f.as(func() (err error) {
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
