package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/store/engine"
)

const (
	sendable        = "(d.request_id = '' OR EXISTS (SELECT 1 FROM requests r WHERE r.request_id = d.request_id AND r.status IN ('open', 'orphaned')))"
	putDraft        = "INSERT INTO drafts (user_id, session_id, request_id, value, changed_at) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (user_id, session_id, request_id) DO UPDATE SET value = excluded.value, changed_at = excluded.changed_at"
	removeDraft     = "DELETE FROM drafts WHERE user_id = $1 AND session_id = $2 AND request_id = $3"
	sweepDrafts     = "DELETE FROM drafts AS d WHERE d.user_id = $1 AND (NOT " + sendable + " OR d.changed_at < (SELECT n.changed_at FROM drafts n WHERE n.user_id = $1 ORDER BY n.changed_at DESC LIMIT 1 OFFSET $2))"
	selectDrafts    = "SELECT " + engine.DraftColumns + " FROM drafts d WHERE d.user_id = $1 AND " + sendable + " ORDER BY d.changed_at, d.session_id, d.request_id"
	learnTemplate   = "INSERT INTO templates (user_id, template_id, text, uses, used_at, place) VALUES ($1, $2, $3, 1, $4, $5) ON CONFLICT (user_id, template_id) DO UPDATE SET uses = templates.uses + 1, used_at = excluded.used_at"
	sweepTemplates  = "DELETE FROM templates AS t WHERE t.user_id = $1 AND t.name = '' AND t.used_at < (SELECT n.used_at FROM templates n WHERE n.user_id = $1 AND n.name = '' AND n.place = t.place ORDER BY n.used_at DESC LIMIT 1 OFFSET $2)"
	selectTemplates = "SELECT " + engine.TemplateColumns + " FROM templates WHERE user_id = $1 ORDER BY used_at DESC, template_id"
	// A person has one hand to make them with: two at once may go one over the bound.
	keepTemplate = `INSERT INTO templates (user_id, template_id, name, place, text, uses, used_at)
		SELECT $1, $2, $3, $4, $5, 0, $6 WHERE (SELECT count(*) FROM templates WHERE user_id = $1 AND name <> '') < $7`
	// What is not given stays, or is what holds for who chose nothing.
	changePreferences = `INSERT INTO preferences (user_id, keys, single_keys, language)
		VALUES ($1, COALESCE($2::bytea, '{}'), COALESCE($3::boolean, true), COALESCE($4::text, ''))
		ON CONFLICT (user_id) DO UPDATE SET keys = COALESCE($2::bytea, preferences.keys),
			single_keys = COALESCE($3::boolean, preferences.single_keys), language = COALESCE($4::text, preferences.language)`
	selectPreferences = "SELECT keys, single_keys, language FROM preferences WHERE user_id = $1"
)

// PutDraft implements [account.Desk].
func (s *Store) PutDraft(ctx context.Context, d account.Draft) error {
	put := statement{text: putDraft, args: []any{d.UserID, d.SessionID, d.RequestID, bind(d.Value), engine.Micros(d.ChangedAt)}}
	if d.Value == nil {
		put = statement{text: removeDraft, args: []any{d.UserID, d.SessionID, d.RequestID}}
	}
	err := s.write(ctx, "put draft of "+d.UserID, relaxed, put,
		statement{text: sweepDrafts, args: []any{d.UserID, account.MaxDrafts - 1}})
	if violates(err, foreignKeyRule) {
		return fmt.Errorf("postgres: put draft of %s: %w", d.UserID, account.ErrNotFound)
	}
	return err
}

// Drafts implements [account.Desk].
func (s *Store) Drafts(ctx context.Context, userID string) ([]account.Draft, error) {
	return engine.All(ctx, s.query, "drafts of "+userID, selectDrafts, engine.ReadDraft, userID)
}

// LearnTemplate implements [account.Desk].
func (s *Store) LearnTemplate(ctx context.Context, t account.Template) error {
	return s.write(ctx, "learn template of "+t.UserID, relaxed,
		statement{text: learnTemplate, args: []any{t.UserID, t.TemplateID, engine.Shown(t.Text), engine.Micros(t.UsedAt), string(t.Place)}},
		statement{text: sweepTemplates, args: []any{t.UserID, account.MaxTemplates - 1}})
}

// ChangeTemplate implements [account.Desk].
func (s *Store) ChangeTemplate(ctx context.Context, userID, templateID, name, text string) error {
	if text == "" {
		return s.mark(ctx, "remove template of "+userID, relaxed, "DELETE FROM templates WHERE user_id = $1 AND template_id = $2", userID, templateID)
	}
	return s.mark(ctx, "change template of "+userID, relaxed,
		"UPDATE templates SET name = $3, text = $4 WHERE user_id = $1 AND template_id = $2", userID, templateID, engine.Shown(name), engine.Shown(text))
}

// Templates implements [account.Desk].
func (s *Store) Templates(ctx context.Context, userID string) ([]account.Template, error) {
	return engine.All(ctx, s.query, "templates of "+userID, selectTemplates, engine.ReadTemplate, userID)
}

// KeepTemplate implements [account.Desk].
func (s *Store) KeepTemplate(ctx context.Context, t account.Template) error {
	err := s.mark(ctx, "keep template of "+t.UserID, relaxed, keepTemplate, t.UserID, t.TemplateID, engine.Shown(t.Name), string(t.Place),
		engine.Shown(t.Text), engine.Micros(t.UsedAt), account.MaxOwnTemplates)
	if errors.Is(err, account.ErrNotFound) {
		return fmt.Errorf("postgres: keep template of %s: %w", t.UserID, account.ErrTooMany)
	}
	return err
}

// ChangePreferences implements [account.Desk].
func (s *Store) ChangePreferences(ctx context.Context, userID string, c account.PreferencesChange) error {
	keys, single, language, err := engine.PreferencesValues(c)
	if err != nil {
		return fmt.Errorf("postgres: change preferences of %s: %w", userID, err)
	}
	return s.write(ctx, "change preferences of "+userID, relaxed, statement{text: changePreferences, args: []any{userID, bind(keys), single, language}})
}

// Preferences implements [account.Desk].
func (s *Store) Preferences(ctx context.Context, userID string) (account.Preferences, error) {
	p := account.DefaultPreferences()
	err := s.query(ctx, "preferences of "+userID, selectPreferences, func(rows engine.Row) error {
		var keys []byte
		if err := rows.Scan(&keys, &p.SingleKeys, &p.Language); err != nil {
			return err
		}
		return json.Unmarshal(keys, &p.Keys)
	}, userID)
	return p, err
}
