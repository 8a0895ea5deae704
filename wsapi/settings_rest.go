package wsapi

import (
	"context"
	"net/http"

	"github.com/sayso-dev/sayso/internal/account"
)

// SettingKind says how the value of a setting is read.
type SettingKind string

// The kinds of settings.
const (
	SettingText     SettingKind = "text"
	SettingListed   SettingKind = "list"     // one on a line
	SettingSwitch   SettingKind = "switch"   // true or false
	SettingChoice   SettingKind = "choice"   // one of Choices
	SettingDays     SettingKind = "days"     // a number; 0 for never
	SettingNumber   SettingKind = "number"   // from 0 on; 0 for no limit
	SettingDuration SettingKind = "duration" // such as 1h30m0s; 0s for no limit
)

// SettingInfo is one thing that the server runs with.
type SettingInfo struct {
	Name       string      `json:"name"`
	Kind       SettingKind `json:"kind"`
	Value      string      `json:"value"`
	Title      string      `json:"title"`
	Words      string      `json:"words"` // what it does, a sentence
	Choices    []string    `json:"choices,omitempty"`
	Changeable bool        `json:"changeable"` // here, while the server runs
	ChangedBy  *string     `json:"changed_by"` // who did so last
	ChangedAt  *float64    `json:"changed_at"`
}

// SettingList holds what the server runs with.
type SettingList struct {
	Settings []SettingInfo `json:"settings"`
}

// SettingChange changes one setting.
type SettingChange struct {
	Name  string `json:"name" validate:"required,max=100"`
	Value string `json:"value" validate:"max=1000"`
}

// Settings are what the server runs with. Errors of Change are an
// [orchestrator.InvalidError] for a value that does not fit, and
// [account.ErrNotFound] for what cannot be changed here.
type Settings interface {
	List(ctx context.Context) ([]SettingInfo, error)
	Change(ctx context.Context, name, value string, by account.Identity) error
}

func (s *Server) getSettings(w http.ResponseWriter, r *http.Request, _ account.Identity) error {
	list := SettingList{Settings: []SettingInfo{}}
	if s.o.Settings != nil {
		found, err := s.o.Settings.List(r.Context())
		if err != nil {
			return err
		}
		list.Settings = append(list.Settings, found...)
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}

func (s *Server) patchSettings(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body SettingChange
	if err := readBody(r, &body); err != nil {
		return err
	}
	if s.o.Settings == nil {
		return account.ErrNotFound
	}
	if err := s.o.Settings.Change(context.WithoutCancel(r.Context()), body.Name, body.Value, who); err != nil {
		return err
	}
	return s.getSettings(w, r, who)
}
