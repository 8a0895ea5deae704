package orchestrator

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/sayso-dev/sayso/internal/workspace"
)

// SettingsRules are the permission rules of one settings file of the CLI.
type SettingsRules struct {
	// Source is the scope of the file: user, project, local or managed.
	Source           string
	Allow, Ask, Deny []string
	DefaultMode      string
	Home             string // of the CLI's user
}

// managedSettings is the path of an administrator's settings on this system.
var managedSettings = []string{"/etc/claude-code/managed-settings.json", "/Library/Application Support/ClaudeCode/managed-settings.json"}

// maxSettings bounds a settings file, in bytes.
const maxSettings = 1 << 20

// PermissionRules returns the permission rules for a session from the settings of its CLI. A
// missing or unreadable file has none.
func (o *Orchestrator) PermissionRules(ctx context.Context, sessionID string) ([]SettingsRules, error) {
	s, err := o.o.Store.Session(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	var out []SettingsRules
	add := func(source string, data []byte) {
		var file struct {
			Permissions struct {
				Allow       []string `json:"allow"`
				Ask         []string `json:"ask"`
				Deny        []string `json:"deny"`
				DefaultMode string   `json:"defaultMode"`
			} `json:"permissions"`
		}
		if json.Unmarshal(data, &file) == nil {
			p := file.Permissions
			out = append(out, SettingsRules{Source: source, Allow: p.Allow, Ask: p.Ask, Deny: p.Deny, DefaultMode: p.DefaultMode, Home: o.o.CLI.Getenv("HOME")})
		}
	}
	err = o.o.CLI.As(func() error {
		for _, path := range managedSettings {
			if data, err := readSettings(path); err == nil {
				add("managed", data)
			}
		}
		if dir := o.o.CLI.ConfigDir(); dir != "" {
			if data, err := readSettings(filepath.Join(dir, "settings.json")); err == nil {
				add("user", data)
			}
		}
		for source, name := range map[string]string{"project": ".claude/settings.json", "local": ".claude/settings.local.json"} {
			// As for any file of the session, no symbolic link may lead out of it.
			file, err := workspace.Roots(nil).ReadFile(s.CWD, name, maxSettings)
			if err == nil && file.State == workspace.FileRead {
				add(source, file.Data)
			}
		}
		return nil
	})
	return out, err
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
