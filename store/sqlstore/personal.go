package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sayso-dev/sayso/internal/account"
)

// preferencesValues returns the columns that a change of preferences sets, and nil for those that it
// leaves unchanged.
func preferencesValues(c account.PreferencesChange) (keys []byte, single, language any, err error) {
	if c.Keys != nil {
		if keys, err = json.Marshal(c.Keys); err != nil {
			return nil, nil, nil, err
		}
	}
	if c.SingleKeys != nil {
		single = *c.SingleKeys
	}
	if c.Language != nil {
		language = SanitizeText(*c.Language)
	}
	return keys, single, language, nil
}

// draftColumns is the select list that [readDraft] scans, over drafts d.
const draftColumns = "d.user_id, d.session_id, d.request_id, d.value, d.changed_at"

// readDraft reads a row of [draftColumns].
func readDraft(row Row) (d account.Draft, err error) {
	var value []byte
	var changedAt int64
	err = row.Scan(&d.UserID, &d.SessionID, &d.RequestID, &value, &changedAt)
	d.Value, d.ChangedAt = value, Time(changedAt)
	return d, err
}

// templateColumns is the select list that [readTemplate] scans.
const templateColumns = "user_id, template_id, name, place, text, uses, used_at"

// readTemplate reads a row of [templateColumns].
func readTemplate(row Row) (t account.Template, err error) {
	var usedAt int64
	err = row.Scan(&t.UserID, &t.TemplateID, &t.Name, &t.Place, &t.Text, &t.Uses, &usedAt)
	t.UsedAt = Time(usedAt)
	return t, err
}

const sendable = "(d.request_id = '' OR EXISTS (SELECT 1 FROM requests r WHERE r.request_id = d.request_id AND r.status IN ('open', 'orphaned')))"

var (
	putDraft = define(insertInto("drafts", "user_id, session_id, request_id, value, changed_at") +
		" ON CONFLICT (user_id, session_id, request_id) DO UPDATE SET value = excluded.value, changed_at = excluded.changed_at")
	removeDraft = define("DELETE FROM drafts WHERE user_id = $1 AND session_id = $2 AND request_id = $3")
	sweepDrafts = define("DELETE FROM drafts AS d WHERE d.user_id = $1 AND (NOT " + sendable +
		" OR d.changed_at < (SELECT n.changed_at FROM drafts n WHERE n.user_id = $1 ORDER BY n.changed_at DESC LIMIT 1 OFFSET $2))")
	selectDrafts  = query("SELECT " + draftColumns + " FROM drafts d WHERE d.user_id = $1 AND " + sendable + " ORDER BY d.changed_at, d.session_id, d.request_id")
	learnTemplate = define(`INSERT INTO templates (user_id, template_id, text, uses, used_at, place) VALUES ($1, $2, $3, 1, $4, $5)
		ON CONFLICT (user_id, template_id) DO UPDATE SET uses = templates.uses + 1, used_at = excluded.used_at`)
	sweepTemplates = define(`DELETE FROM templates AS t WHERE t.user_id = $1 AND t.name = '' AND t.used_at < (
		SELECT n.used_at FROM templates n WHERE n.user_id = $1 AND n.name = '' AND n.place = t.place ORDER BY n.used_at DESC LIMIT 1 OFFSET $2)`)
	selectTemplates = query("SELECT " + templateColumns + " FROM templates WHERE user_id = $1 ORDER BY used_at DESC, template_id")
	// In PostgreSQL, two simultaneous calls may exceed the limit by one.
	keepTemplate = define(`INSERT INTO templates (user_id, template_id, name, place, text, uses, used_at)
		SELECT $1, $2, $3, $4, $5, 0, $6 WHERE (SELECT count(*) FROM templates WHERE user_id = $1 AND name <> '') < $7`).Require(account.ErrTooMany)
	deleteTemplate = define("DELETE FROM templates WHERE user_id = $1 AND template_id = $2").Require(account.ErrNotFound)
	changeTemplate = define("UPDATE templates SET name = $3, text = $4 WHERE user_id = $1 AND template_id = $2").Require(account.ErrNotFound)
	// A NULL argument leaves the value unchanged, or sets its default in a new row.
	changePreferences = defineBoth(`INSERT INTO preferences (user_id, keys, single_keys, language) VALUES ($1, COALESCE($2, '{}'), COALESCE($3, 1), COALESCE($4, ''))
		ON CONFLICT (user_id) DO UPDATE SET keys = COALESCE($2, keys), single_keys = COALESCE($3, single_keys), language = COALESCE($4, language)`,
		`INSERT INTO preferences (user_id, keys, single_keys, language)
		VALUES ($1, COALESCE($2::bytea, '{}'), COALESCE($3::boolean, true), COALESCE($4::text, ''))
		ON CONFLICT (user_id) DO UPDATE SET keys = COALESCE($2::bytea, preferences.keys),
			single_keys = COALESCE($3::boolean, preferences.single_keys), language = COALESCE($4::text, preferences.language)`)
	selectPreferences = query("SELECT keys, single_keys, language FROM preferences WHERE user_id = $1")
)

// PutDraft implements [account.PersonalStore].
func (s Shared) PutDraft(ctx context.Context, d account.Draft) error {
	put := step(removeDraft, d.UserID, d.SessionID, d.RequestID)
	if d.Value != nil {
		put = step(putDraft, d.UserID, d.SessionID, d.RequestID, s.e.Bind(d.Value), Micros(d.ChangedAt))
	}
	return s.e.Apply(ctx, Change{What: "put draft of " + d.UserID, Orphan: account.ErrNotFound,
		Steps: []Step{put, step(sweepDrafts, d.UserID, account.MaxDrafts-1)}})
}

// Drafts implements [account.PersonalStore].
func (s Shared) Drafts(ctx context.Context, userID string) ([]account.Draft, error) {
	return queryAll(ctx, s, "drafts of "+userID, selectDrafts, readDraft, userID)
}

// LearnTemplate implements [account.PersonalStore].
func (s Shared) LearnTemplate(ctx context.Context, t account.Template) error {
	return s.e.Apply(ctx, Change{What: "learn template of " + t.UserID, Steps: []Step{
		step(learnTemplate, t.UserID, t.TemplateID, SanitizeText(t.Text), Micros(t.UsedAt), string(t.Place)),
		step(sweepTemplates, t.UserID, account.MaxTemplates-1)}})
}

// ChangeTemplate implements [account.PersonalStore].
func (s Shared) ChangeTemplate(ctx context.Context, userID, templateID, name, text string) error {
	change := step(deleteTemplate, userID, templateID)
	if text != "" {
		change = step(changeTemplate, userID, templateID, SanitizeText(name), SanitizeText(text))
	}
	return s.e.Apply(ctx, Change{What: "change template of " + userID, Steps: []Step{change}})
}

// Templates implements [account.PersonalStore].
func (s Shared) Templates(ctx context.Context, userID string) ([]account.Template, error) {
	return queryAll(ctx, s, "templates of "+userID, selectTemplates, readTemplate, userID)
}

// KeepTemplate implements [account.PersonalStore].
func (s Shared) KeepTemplate(ctx context.Context, t account.Template) error {
	return s.e.Apply(ctx, Change{What: "keep template of " + t.UserID, Steps: []Step{step(keepTemplate, t.UserID, t.TemplateID, SanitizeText(t.Name),
		string(t.Place), SanitizeText(t.Text), Micros(t.UsedAt), account.MaxOwnTemplates)}})
}

// ChangePreferences implements [account.PersonalStore].
func (s Shared) ChangePreferences(ctx context.Context, userID string, c account.PreferencesChange) error {
	keys, single, language, err := preferencesValues(c)
	if err != nil {
		return fmt.Errorf("store: change preferences of %s: %w", userID, err)
	}
	return s.e.Apply(ctx, Change{What: "change preferences of " + userID, Steps: []Step{step(changePreferences, userID, s.e.Bind(keys), single, language)}})
}

// Preferences implements [account.PersonalStore].
func (s Shared) Preferences(ctx context.Context, userID string) (account.Preferences, error) {
	p := account.DefaultPreferences()
	err := s.e.Query(ctx, "preferences of "+userID, selectPreferences, func(row Row) error {
		var keys []byte
		if err := row.Scan(&keys, &p.SingleKeys, &p.Language); err != nil {
			return err
		}
		return json.Unmarshal(keys, &p.Keys)
	}, userID)
	return p, err
}
