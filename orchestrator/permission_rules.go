package orchestrator

import (
	"context"
	"encoding/json"
)

// SettingsRules are the permission rules of one settings file of the CLI.
type SettingsRules struct {
	// Source is the scope of the file: user, project, local or managed.
	Source           string
	Allow, Ask, Deny []string
	DefaultMode      string
	Home             string // of the CLI's user
}

// PermissionRules returns the permission rules that the settings files of a session's CLI contain.
// Missing and unreadable files have none.
func (o *Orchestrator) PermissionRules(ctx context.Context, sessionID string) ([]SettingsRules, error) {
	s, err := o.o.Store.Session(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	files, err := o.runner.SettingsFiles(ctx, s.CWD)
	if err != nil {
		return nil, err
	}
	home, err := o.runner.Home(ctx)
	if err != nil {
		return nil, err
	}
	var out []SettingsRules
	for _, f := range files {
		var content struct {
			Permissions struct {
				Allow       []string `json:"allow"`
				Ask         []string `json:"ask"`
				Deny        []string `json:"deny"`
				DefaultMode string   `json:"defaultMode"`
			} `json:"permissions"`
		}
		if json.Unmarshal(f.Data, &content) == nil {
			p := content.Permissions
			out = append(out, SettingsRules{Source: f.Source, Allow: p.Allow, Ask: p.Ask, Deny: p.Deny, DefaultMode: p.DefaultMode, Home: home})
		}
	}
	return out, nil
}
