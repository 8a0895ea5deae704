package sqlite

import (
	"context"
	"database/sql"

	"github.com/sayso-dev/sayso/account"
	"github.com/sayso-dev/sayso/store/engine"
)

const selectSettings = "SELECT name, value, changed_by, changed_at FROM settings ORDER BY name"

// Settings implements [account.SettingStore].
func (s *Store) Settings(ctx context.Context) (list []account.Setting, err error) {
	err = s.query(ctx, "settings", selectSettings, func(rows *sql.Rows) error {
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
	return s.write(ctx, full, "change setting "+one.Name, func(ctx context.Context, t tx) error {
		if _, err := t.exec(ctx, `INSERT INTO settings (name, value, changed_by, changed_at) VALUES (?, ?, ?, ?) ON CONFLICT (name)
			DO UPDATE SET value = excluded.value, changed_by = excluded.changed_by, changed_at = excluded.changed_at`,
			one.Name, engine.Shown(one.Value), engine.Shown(one.ChangedBy), engine.Micros(one.ChangedAt)); err != nil {
			return err
		}
		return t.append(ctx, body)
	})
}
