package engine

import (
	"encoding/json"

	"github.com/sayso-dev/sayso/internal/account"
)

// PreferencesValues are what a change of preferences stores; nil for what stays.
func PreferencesValues(c account.PreferencesChange) (keys []byte, single, language any, err error) {
	if c.Keys != nil {
		if keys, err = json.Marshal(c.Keys); err != nil {
			return nil, nil, nil, err
		}
	}
	if c.SingleKeys != nil {
		single = *c.SingleKeys
	}
	if c.Language != nil {
		language = Shown(*c.Language)
	}
	return keys, single, language, nil
}

// DraftColumns is the select list of [ReadDraft] over drafts d.
const DraftColumns = "d.user_id, d.session_id, d.request_id, d.value, d.changed_at"

// ReadDraft reads a row of [DraftColumns].
func ReadDraft(row Row) (d account.Draft, err error) {
	var value []byte
	var changedAt int64
	err = row.Scan(&d.UserID, &d.SessionID, &d.RequestID, &value, &changedAt)
	d.Value, d.ChangedAt = value, Time(changedAt)
	return d, err
}

// TemplateColumns is the select list of [ReadTemplate].
const TemplateColumns = "user_id, template_id, name, place, text, uses, used_at"

// ReadTemplate reads a row of [TemplateColumns].
func ReadTemplate(row Row) (t account.Template, err error) {
	var usedAt int64
	err = row.Scan(&t.UserID, &t.TemplateID, &t.Name, &t.Place, &t.Text, &t.Uses, &usedAt)
	t.UsedAt = Time(usedAt)
	return t, err
}
