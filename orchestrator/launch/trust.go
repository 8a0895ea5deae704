package launch

import (
	"cmp"
	"context"
	"errors"

	"github.com/sayso-dev/sayso/claude/folder"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/pending"
)

// ErrUntrusted means that the CLI would load settings of its folder that nobody has trusted, or that
// this runner never loads.
var ErrUntrusted = errors.New("the settings of the folder are not those that were trusted")

// FolderSettings describes what the CLI would load from a folder.
type FolderSettings struct {
	folder.Found
	// NeverLoaded is set if this runner does not load them, whatever people trust; see
	// [CLI].SettingsIn.
	NeverLoaded bool `json:",omitempty"`
	// CheckedAtStart is set if the runner compares them with [Process].Trusted when it starts a
	// process. Runners of earlier releases do not.
	CheckedAtStart bool `json:",omitempty"`
}

// Trusted identifies the settings of a folder that people trust.
type Trusted struct {
	Digest  string                     `json:"digest"`            // of the trusted settings; "" if there was nothing to trust
	Granted map[pending.Scope][]string `json:"granted,omitempty"` // rules that people had the CLI add, by scope
}

// checkTrust reads the folder of a process, and returns the variables that disable what the CLI must
// not load from there; nil if it may load everything. The error is an [Error] with [ErrUntrusted] if
// the settings differ from those that a person trusted, or if the runner never loads them. A server
// could send the digest of settings that nobody has seen; only SettingsIn is enforced by the runner
// alone.
func (s *Starter) checkTrust(ctx context.Context, p Process) (overrides map[string]string, err error) {
	trusted := cmp.Or(p.Trusted, &Trusted{})
	found, err := s.CLI.FolderSettings(ctx, p.Folder, trusted.Granted)
	changed := &Error{Sentence: statement.New("folder_changed"), Err: ErrUntrusted}
	switch {
	case err != nil:
		return nil, errors.Join(s.CheckMachine(ctx), err)
	case p.UserSettingsOnly:
		overrides, ok := found.OverrideVariables()
		if !ok && !p.Demo { // the demo's folder is ours
			return nil, changed
		}
		return overrides, nil
	case found.Digest == "":
		return nil, nil
	case found.NeverLoaded:
		return nil, &Error{Sentence: statement.New("settings_never_loaded", "folder", p.Folder), Err: ErrUntrusted}
	case p.Trusted != nil && trusted.Digest != found.Digest: // a server of an earlier release sends no Trusted and compares itself
		return nil, changed
	}
	return nil, nil
}
