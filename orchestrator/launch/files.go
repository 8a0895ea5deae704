package launch

import (
	"context"
	"os"
	"path/filepath"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/folder"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/workspace"
	"github.com/sayso-dev/sayso/pending"
)

// ResolveFolder calls [workspace.Roots.Resolve]. It also returns a [problem.Error] if the CLI's user
// may not enter the folder.
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

// MakeFolder creates a folder with its parents, unless it exists.
func (c *CLI) MakeFolder(_ context.Context, dir string) error {
	return c.As(func() error { return os.MkdirAll(dir, 0o700) })
}

// ListFolders calls [workspace.Roots.List].
func (c *CLI) ListFolders(_ context.Context, roots workspace.Roots, s workspace.Search) (workspace.Listing, error) {
	return readAs(c, func() (workspace.Listing, error) { return roots.List(s) })
}

// ReadFile calls [workspace.Roots.ReadFile].
func (c *CLI) ReadFile(_ context.Context, roots workspace.Roots, dir, path string, maxBytes int64) (workspace.File, error) {
	return readAs(c, func() (workspace.File, error) { return roots.ReadFile(dir, path, maxBytes) })
}

// FolderSettings calls [folder.Read] for this CLI. granted has the rules that people had the CLI add
// to the folder's settings, by scope, which is local or project.
func (c *CLI) FolderSettings(_ context.Context, dir string, granted map[pending.Scope][]string) (FolderSettings, error) {
	allowed := map[string][]string{}
	for scope, rules := range granted {
		allowed[filepath.Join(dir, ".claude", settingsNames[scope])] = rules
	}
	found, err := readAs(c, func() (folder.Found, error) {
		return folder.Read(dir, folder.Trusted{Own: c.OwnFolders(), Home: c.Getenv("HOME"), Allowed: allowed})
	})
	return FolderSettings{Found: found, NeverLoaded: c.SettingsIn != nil && !c.SettingsIn.Contains(dir), CheckedAtStart: true}, err
}

// SettingsFile is the content of a settings file of the CLI.
type SettingsFile struct {
	Source string // its scope: user, project, local or managed
	Data   []byte
}

// managedSettings lists the paths of an administrator's settings, on Linux and macOS.
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
			// As for any file of the session, no symbolic link may lead out of the folder.
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

// SavedConversations calls [claude.SavedFolder.List].
func (c *CLI) SavedConversations(_ context.Context, limit int) ([]claude.SavedConversation, error) {
	return readAs(c, func() ([]claude.SavedConversation, error) { return c.savedFolder().List(limit) })
}

// SavedConversation calls [claude.SavedFolder.Find].
func (c *CLI) SavedConversation(_ context.Context, sessionID string) (claude.SavedConversation, error) {
	return readAs(c, func() (claude.SavedConversation, error) { return c.savedFolder().Find(sessionID) })
}

// SavedChunk is a part of a saved conversation.
type SavedChunk struct {
	Lines [][]byte // see [claude.DecodeSaved]
	Begin int64    // where the previous chunk ends; 0 when there is none
}

// ReadSaved calls [claude.SavedFolder.Read], or returns [claude.ErrNotSaved].
func (c *CLI) ReadSaved(_ context.Context, sessionID string, end, size int64) (SavedChunk, error) {
	return readAs(c, func() (chunk SavedChunk, err error) {
		saved, err := c.savedFolder().Find(sessionID)
		if err != nil {
			return chunk, err
		}
		chunk.Begin, err = c.savedFolder().Read(saved, end, size, func(line []byte) { chunk.Lines = append(chunk.Lines, line) })
		return chunk, err
	})
}

// SavedMentions calls [claude.SavedFolder.Mentions], or returns [claude.ErrNotSaved].
func (c *CLI) SavedMentions(_ context.Context, sessionID, text string) (bool, error) {
	return readAs(c, func() (bool, error) {
		saved, err := c.savedFolder().Find(sessionID)
		if err != nil {
			return false, err
		}
		return c.savedFolder().Mentions(saved, text)
	})
}

// SavedEntryBefore calls [claude.SavedFolder.EntryBefore], or returns [claude.ErrNotSaved].
func (c *CLI) SavedEntryBefore(_ context.Context, sessionID, messageID string) (string, error) {
	return readAs(c, func() (string, error) {
		saved, err := c.savedFolder().Find(sessionID)
		if err != nil {
			return "", err
		}
		return c.savedFolder().EntryBefore(saved, messageID)
	})
}

// savedCheckpoint calls [claude.SavedFolder.Checkpoint], or returns [claude.ErrNotSaved].
func (c *CLI) savedCheckpoint(sessionID, messageID string) (claude.Checkpoint, error) {
	return readAs(c, func() (claude.Checkpoint, error) {
		saved, err := c.savedFolder().Find(sessionID)
		if err != nil {
			return claude.Checkpoint{}, err
		}
		return c.savedFolder().Checkpoint(saved, messageID)
	})
}

// readAs is like [CLI.As], for a function with a result.
func readAs[T any](c *CLI, f func() (T, error)) (found T, err error) {
	err = c.As(func() error {
		found, err = f()
		return err
	})
	return found, err
}
