package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/sayso-dev/sayso/account"
	"github.com/sayso-dev/sayso/store/engine"
)

const (
	selectSettings = "SELECT name, value, changed_by, changed_at FROM settings ORDER BY name"
	changeSetting  = `INSERT INTO settings (name, value, changed_by, changed_at) VALUES ($1, $2, $3, $4) ON CONFLICT (name)
		DO UPDATE SET value = excluded.value, changed_by = excluded.changed_by, changed_at = excluded.changed_at`
)

// Settings implements [account.SettingStore].
func (s *Store) Settings(ctx context.Context) (list []account.Setting, err error) {
	err = s.query(ctx, "settings", selectSettings, func(rows pgx.Rows) error {
		var one account.Setting
		var at int64
		if err := rows.Scan(&one.Name, &one.Value, &one.ChangedBy, &at); err != nil {
			return err
		}
		one.ChangedAt = engine.Time(at)
		list = append(list, one)
		return nil
	})
	return list, err
}

// ChangeSetting implements [account.SettingStore].
func (s *Store) ChangeSetting(ctx context.Context, one account.Setting, body []byte) error {
	return s.write(ctx, "change setting "+one.Name, durable, statement{text: lockAudit},
		statement{text: changeSetting, args: []any{one.Name, engine.Shown(one.Value), engine.Shown(one.ChangedBy), engine.Micros(one.ChangedAt)}},
		statement{text: insertIncident, args: []any{body}})
}
