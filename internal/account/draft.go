package account

import (
	"context"
	"encoding/json"
	"time"
)

// Limits of the data stored for one person.
const (
	MaxDraftBytes    = 128 << 10
	MaxDrafts        = 200 // the oldest are dropped first
	MaxTemplates     = 50  // learned in one place; the least recently used are dropped first
	MaxOwnTemplates  = 100 // created explicitly
	MaxTemplateName  = 60  // characters
	MaxTemplateBytes = 2000
)

// Draft is an unfinished answer to a request or message to a session. Its author has it on
// all devices, and it is never shown to other people.
type Draft struct {
	UserID    string
	SessionID string
	RequestID string          // "" for the message to the session
	Value     json.RawMessage // as the tab sent it; nil deletes the draft
	ChangedAt time.Time
}

// TemplatePlace is the kind of text that a template was used for.
type TemplatePlace string

const (
	ReasonPlace  TemplatePlace = "reason"  // for a denial
	AnswerPlace  TemplatePlace = "answer"  // to a question, as free text
	MessagePlace TemplatePlace = "message" // to a session
)

// Template is a saved reply: a text that a person sent to Claude and can insert again.
// It is never sent automatically.
type Template struct {
	UserID     string
	TemplateID string // UUID
	Name       string // "" if learned from use
	Place      TemplatePlace
	Text       string
	Uses       int
	UsedAt     time.Time
}

// PersonalStore stores the drafts, templates and preferences that each person has on all
// devices. Writes need not survive a power cut.
type PersonalStore interface {
	// PutDraft replaces or deletes a draft, and drops drafts that can no longer be sent
	// or exceed MaxDrafts. It returns ErrNotFound for an unknown session.
	PutDraft(ctx context.Context, d Draft) error
	// Drafts lists the drafts of a user that can still be sent, least recently changed
	// first.
	Drafts(ctx context.Context, userID string) ([]Draft, error)

	// LearnTemplate counts a use of a template, creates it if it is new, and drops
	// learned ones above MaxTemplates.
	LearnTemplate(ctx context.Context, t Template) error
	// KeepTemplate stores a template with a name. It returns ErrTooMany above
	// MaxOwnTemplates.
	KeepTemplate(ctx context.Context, t Template) error
	// ChangeTemplate replaces the text and name of a template, or removes it if text is
	// "". It returns ErrNotFound if the user does not have it.
	ChangeTemplate(ctx context.Context, userID, templateID, name, text string) error
	// Templates lists the templates of a user, most recently used first.
	Templates(ctx context.Context, userID string) ([]Template, error)

	// Preferences returns the preferences of a user, or the defaults.
	Preferences(ctx context.Context, userID string) (Preferences, error)
	// ChangePreferences stores the fields that are not nil.
	ChangePreferences(ctx context.Context, userID string, change PreferencesChange) error
}

// Preferences are a person's settings for the web app.
type Preferences struct {
	Keys       map[string]string // shortcut by action; the web app knows both
	SingleKeys bool              // whether single-key shortcuts work
	Language   string            // last language of the app, such as "de", or ""
}

// DefaultPreferences returns the preferences of a person who changed none.
func DefaultPreferences() Preferences {
	return Preferences{Keys: map[string]string{}, SingleKeys: true}
}

// PreferencesChange holds new values; nil fields stay unchanged.
type PreferencesChange struct {
	Keys       map[string]string
	SingleKeys *bool
	Language   *string
}
