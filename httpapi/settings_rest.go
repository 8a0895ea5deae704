package httpapi

import (
	"context"
	"net/http"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/wire"
)

// settingsHandlers serves the server's settings.
type settingsHandlers struct {
	settings Settings
}

// Settings lists and changes the server's settings. Change returns a [problem.Error]
// for an invalid value and [account.ErrNotFound] for a setting that cannot be changed
// at run time.
type Settings interface {
	List(ctx context.Context) ([]wire.SettingInfo, error)
	Change(ctx context.Context, name, value string, by account.Identity) error
}

func (s *settingsHandlers) getSettings(w http.ResponseWriter, r *http.Request, _ account.Identity) error {
	list := wire.SettingList{Settings: []wire.SettingInfo{}}
	if s.settings != nil {
		found, err := s.settings.List(r.Context())
		if err != nil {
			return err
		}
		list.Settings = append(list.Settings, found...)
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}

func (s *settingsHandlers) patchSettings(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body wire.SettingChange
	if err := readBody(r, &body); err != nil {
		return err
	}
	if s.settings == nil {
		return account.ErrNotFound
	}
	if err := s.settings.Change(context.WithoutCancel(r.Context()), body.Name, body.Value, who); err != nil {
		return err
	}
	return s.getSettings(w, r, who)
}
