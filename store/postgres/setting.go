package postgres

import (
	"context"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/store/engine"
)

const changeSetting = `INSERT INTO settings (name, value, changed_by, changed_at) VALUES ($1, $2, $3, $4) ON CONFLICT (name)
	DO UPDATE SET value = excluded.value, changed_by = excluded.changed_by, changed_at = excluded.changed_at`

// Settings implements [account.SettingStore].
func (s *Store) Settings(ctx context.Context) ([]account.Setting, error) {
	return engine.All(ctx, s.query, "settings", engine.SelectSettings, engine.ReadSetting)
}

// ChangeSetting implements [account.SettingStore].
func (s *Store) ChangeSetting(ctx context.Context, one account.Setting, body []byte) error {
	return s.write(ctx, "change setting "+one.Name, durable, statement{text: lockAudit},
		statement{text: changeSetting, args: []any{one.Name, engine.Shown(one.Value), engine.Shown(one.ChangedBy), engine.Micros(one.ChangedAt)}},
		statement{text: insertIncident, args: []any{body}})
}
