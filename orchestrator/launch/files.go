package launch

import (
	"context"
	"os"
	"path/filepath"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/folder"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/workspace"
)

// ResolveFolder is [workspace.Roots.Resolve] for a folder that the CLI's user may enter.
func (c *CLI) ResolveFolder(_ context.Context, roots workspace.Roots, dir string) (string, error) {
	return readAs(c, func() (string, error) {
		real, err := roots.Resolve(dir)
		if err != nil {
			return real, err
		}
		if _, err := os.Stat(real + "/."); err != nil && c.RunAs != nil {
			return real, problem.New("folder_no_access", "folder", dir, "user", c.RunAs.DisplayName())
		}
		return real, nil
	})
}

// MakeFolder makes a folder with its parents, unless it exists.
func (c *CLI) MakeFolder(_ context.Context, dir string) error {
	return c.As(func() error { return os.MkdirAll(dir, 0o700) })
}

// ListFolders is [workspace.Roots.List].
func (c *CLI) ListFolders(_ context.Context, roots workspace.Roots, s workspace.Search) (workspace.Listing, error) {
	return readAs(c, func() (workspace.Listing, error) { return roots.List(s) })
}

// ReadFile is [workspace.Roots.ReadFile].
func (c *CLI) ReadFile(_ context.Context, roots workspace.Roots, dir, path string, maxBytes int64) (workspace.File, error) {
	return readAs(c, func() (workspace.File, error) { return roots.ReadFile(dir, path, maxBytes) })
}

// FolderSettings is [folder.Read] for this CLI. allowed are rules, by their file, that a person
// had it add.
func (c *CLI) FolderSettings(_ context.Context, dir string, allowed map[string][]string) (folder.Found, error) {
	return readAs(c, func() (folder.Found, error) {
		return folder.Read(dir, folder.Trusted{Own: c.OwnFolders(), Home: c.Getenv("HOME"), Allowed: allowed})
	})
}

// SettingsFile is the content of a settings file of the CLI.
type SettingsFile struct {
	Source string // its scope: user, project, local or managed
	Data   []byte
}

// managedSettings is the path of an administrator's settings on this system.
var managedSettings = []string{"/etc/claude-code/managed-settings.json", "/Library/Application Support/ClaudeCode/managed-settings.json"}

// maxSettings bounds a settings file, in bytes.
const maxSettings = 1 << 20

// SettingsFiles reads the settings files for sessions in a folder. It leaves out missing and
// unreadable ones.
func (c *CLI) SettingsFiles(_ context.Context, dir string) ([]SettingsFile, error) {
	return readAs(c, func() (files []SettingsFile, err error) {
		add := func(source, path string) {
			if data, err := readSettings(path); err == nil {
				files = append(files, SettingsFile{source, data})
			}
		}
		for _, path := range managedSettings {
			add("managed", path)
		}
		if dir := c.ConfigDir(); dir != "" {
			add("user", filepath.Join(dir, "settings.json"))
		}
		for source, name := range map[string]string{"project": ".claude/settings.json", "local": ".claude/settings.local.json"} {
			// As for any file of the session, no symbolic link may lead out of it.
			file, err := workspace.Roots(nil).ReadFile(dir, name, maxSettings)
			if err == nil && file.State == workspace.FileRead {
				files = append(files, SettingsFile{source, file.Data})
			}
		}
		return files, nil
	})
}

func readSettings(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSettings {
		return nil, os.ErrInvalid
	}
	return os.ReadFile(path)
}

// SavedConversations is [claude.SavedFolder.List].
func (c *CLI) SavedConversations(_ context.Context, limit int) ([]claude.SavedConversation, error) {
	return readAs(c, func() ([]claude.SavedConversation, error) { return c.savedFolder().List(limit) })
}

// SavedConversation is [claude.SavedFolder.Find].
func (c *CLI) SavedConversation(_ context.Context, sessionID string) (claude.SavedConversation, error) {
	return readAs(c, func() (claude.SavedConversation, error) { return c.savedFolder().Find(sessionID) })
}

// ReadSaved is [claude.SavedFolder.Read].
func (c *CLI) ReadSaved(_ context.Context, saved claude.SavedConversation, end, size int64, each func(claude.SavedMessage)) (begin int64, err error) {
	return readAs(c, func() (int64, error) { return c.savedFolder().Read(saved, end, size, each) })
}

// SavedMentions is [claude.SavedFolder.Mentions], or [claude.ErrNotSaved].
func (c *CLI) SavedMentions(_ context.Context, sessionID, text string) (bool, error) {
	return readAs(c, func() (bool, error) {
		saved, err := c.savedFolder().Find(sessionID)
		if err != nil {
			return false, err
		}
		return c.savedFolder().Mentions(saved, text)
	})
}

// SavedEntryBefore is [claude.SavedFolder.EntryBefore].
func (c *CLI) SavedEntryBefore(_ context.Context, sessionID, messageID string) (string, error) {
	return readAs(c, func() (string, error) {
		saved, err := c.savedFolder().Find(sessionID)
		if err != nil {
			return "", err
		}
		return c.savedFolder().EntryBefore(saved, messageID)
	})
}

// SavedCheckpoint is [claude.SavedFolder.Checkpoint].
func (c *CLI) SavedCheckpoint(_ context.Context, sessionID, messageID string) (claude.Checkpoint, error) {
	return readAs(c, func() (claude.Checkpoint, error) {
		saved, err := c.savedFolder().Find(sessionID)
		if err != nil {
			return claude.Checkpoint{}, err
		}
		return c.savedFolder().Checkpoint(saved, messageID)
	})
}

// readAs is [CLI.As] for what f returns.
func readAs[T any](c *CLI, f func() (T, error)) (found T, err error) {
	err = c.As(func() error {
		found, err = f()
		return err
	})
	return found, err
}
