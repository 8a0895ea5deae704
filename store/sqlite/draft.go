package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/store/engine"
)

const (
	sendable        = "(d.request_id = '' OR EXISTS (SELECT 1 FROM requests r WHERE r.request_id = d.request_id AND r.status IN ('open', 'orphaned')))"
	putDraft        = "INSERT INTO drafts (user_id, session_id, request_id, value, changed_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (user_id, session_id, request_id) DO UPDATE SET value = excluded.value, changed_at = excluded.changed_at"
	removeDraft     = "DELETE FROM drafts WHERE user_id = ? AND session_id = ? AND request_id = ?"
	sweepDrafts     = "DELETE FROM drafts AS d WHERE d.user_id = ?1 AND (NOT " + sendable + " OR d.changed_at < (SELECT n.changed_at FROM drafts n WHERE n.user_id = ?1 ORDER BY n.changed_at DESC LIMIT 1 OFFSET ?2))"
	selectDrafts    = "SELECT " + engine.DraftColumns + " FROM drafts d WHERE d.user_id = ? AND " + sendable + " ORDER BY d.changed_at, d.session_id, d.request_id"
	learnTemplate   = "INSERT INTO templates (user_id, template_id, text, uses, used_at, place) VALUES (?, ?, ?, 1, ?, ?) ON CONFLICT (user_id, template_id) DO UPDATE SET uses = templates.uses + 1, used_at = excluded.used_at"
	sweepTemplates  = "DELETE FROM templates AS t WHERE t.user_id = ?1 AND t.name = '' AND t.used_at < (SELECT n.used_at FROM templates n WHERE n.user_id = ?1 AND n.name = '' AND n.place = t.place ORDER BY n.used_at DESC LIMIT 1 OFFSET ?2)"
	selectTemplates = "SELECT " + engine.TemplateColumns + " FROM templates WHERE user_id = ? ORDER BY used_at DESC, template_id"
	keepTemplate    = `INSERT INTO templates (user_id, template_id, name, place, text, uses, used_at)
		SELECT ?1, ?2, ?3, ?4, ?5, 0, ?6 WHERE (SELECT count(*) FROM templates WHERE user_id = ?1 AND name <> '') < ?7`
	// What is not given stays, or is what holds for who chose nothing.
	changePreferences = `INSERT INTO preferences (user_id, keys, single_keys, language) VALUES (?1, COALESCE(?2, '{}'), COALESCE(?3, 1), COALESCE(?4, ''))
		ON CONFLICT (user_id) DO UPDATE SET keys = COALESCE(?2, keys), single_keys = COALESCE(?3, single_keys), language = COALESCE(?4, language)`
	selectPreferences = "SELECT keys, single_keys, language FROM preferences WHERE user_id = ?"
)

// PutDraft implements [account.Desk].
func (s *Store) PutDraft(ctx context.Context, d account.Draft) error {
	return s.write(ctx, normal, "put draft of "+d.UserID, func(ctx context.Context, t tx) error {
		var err error
		if d.Value == nil {
			_, err = t.exec(ctx, removeDraft, d.UserID, d.SessionID, d.RequestID)
		} else {
			_, err = t.exec(ctx, putDraft, d.UserID, d.SessionID, d.RequestID, bind(d.Value), engine.Micros(d.ChangedAt))
		}
		if orphan(err) {
			return account.ErrNotFound
		}
		if err == nil {
			_, err = t.exec(ctx, sweepDrafts, d.UserID, account.MaxDrafts-1)
		}
		return err
	})
}

// Drafts implements [account.Desk].
func (s *Store) Drafts(ctx context.Context, userID string) ([]account.Draft, error) {
	return engine.All(ctx, s.query, "drafts of "+userID, selectDrafts, engine.ReadDraft, userID)
}

// LearnTemplate implements [account.Desk].
func (s *Store) LearnTemplate(ctx context.Context, tpl account.Template) error {
	return s.write(ctx, normal, "learn template of "+tpl.UserID, func(ctx context.Context, t tx) error {
		_, err := t.exec(ctx, learnTemplate, tpl.UserID, tpl.TemplateID, engine.Shown(tpl.Text), engine.Micros(tpl.UsedAt), string(tpl.Place))
		if err == nil {
			_, err = t.exec(ctx, sweepTemplates, tpl.UserID, account.MaxTemplates-1)
		}
		return err
	})
}

// ChangeTemplate implements [account.Desk].
func (s *Store) ChangeTemplate(ctx context.Context, userID, templateID, name, text string) error {
	return s.write(ctx, normal, "change template of "+userID, func(ctx context.Context, t tx) error {
		if text == "" {
			return found(t.exec(ctx, "DELETE FROM templates WHERE user_id = ? AND template_id = ?", userID, templateID))
		}
		return found(t.exec(ctx, "UPDATE templates SET name = ?, text = ? WHERE user_id = ? AND template_id = ?", engine.Shown(name), engine.Shown(text), userID, templateID))
	})
}

// Templates implements [account.Desk].
func (s *Store) Templates(ctx context.Context, userID string) ([]account.Template, error) {
	return engine.All(ctx, s.query, "templates of "+userID, selectTemplates, engine.ReadTemplate, userID)
}

// KeepTemplate implements [account.Desk].
func (s *Store) KeepTemplate(ctx context.Context, tpl account.Template) error {
	return s.write(ctx, normal, "keep template of "+tpl.UserID, func(ctx context.Context, t tx) error {
		n, err := t.exec(ctx, keepTemplate, tpl.UserID, tpl.TemplateID, engine.Shown(tpl.Name), string(tpl.Place), engine.Shown(tpl.Text),
			engine.Micros(tpl.UsedAt), account.MaxOwnTemplates)
		if err == nil && n == 0 {
			return account.ErrTooMany
		}
		return err
	})
}

// ChangePreferences implements [account.Desk].
func (s *Store) ChangePreferences(ctx context.Context, userID string, c account.PreferencesChange) error {
	keys, single, language, err := engine.PreferencesValues(c)
	if err != nil {
		return fmt.Errorf("sqlite: change preferences of %s: %w", userID, err)
	}
	return s.write(ctx, normal, "change preferences of "+userID, func(ctx context.Context, t tx) error {
		_, err := t.exec(ctx, changePreferences, userID, bind(keys), single, language)
		return err
	})
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
