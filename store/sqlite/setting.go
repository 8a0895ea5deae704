package sqlite

import (
	"context"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/store/engine"
)

// Settings implements [account.SettingStore].
func (s *Store) Settings(ctx context.Context) ([]account.Setting, error) {
	return engine.All(ctx, s.query, "settings", engine.SelectSettings, engine.ReadSetting)
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
