package sqlite

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sayso-dev/sayso/internal/alert"
	"github.com/sayso-dev/sayso/store/engine"
)

const (
	putTarget = "INSERT INTO alert_targets (" + engine.TargetColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (target_id) DO UPDATE
		SET user_id = excluded.user_id, kind = excluded.kind, name = excluded.name, address = excluded.address,
		created_at = excluded.created_at, sent_at = excluded.sent_at, problem = excluded.problem`
	selectTargets = "SELECT " + engine.TargetColumns + " FROM alert_targets ORDER BY created_at, target_id"
	markTarget    = "UPDATE alert_targets SET sent_at = max(sent_at, ?), problem = ? WHERE target_id = ?"
	selectChoices = "SELECT user_id, body FROM alert_choices"
	putChoices    = "INSERT INTO alert_choices (user_id, body) VALUES (?, ?) ON CONFLICT (user_id) DO UPDATE SET body = excluded.body"
	putDelivery   = "INSERT INTO alert_deliveries (" + engine.DeliveryColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (delivery_id) DO UPDATE
		SET state = excluded.state, attempts = excluded.attempts, due_at = excluded.due_at, sent_at = excluded.sent_at`
	selectDeliveries = "SELECT " + engine.DeliveryColumns + " FROM alert_deliveries ORDER BY created_at, delivery_id"
	forgetDeliveries = "DELETE FROM alert_deliveries WHERE created_at < ? AND state <> 'queued'"
)

// PutTarget implements [alert.Store].
func (s *Store) PutTarget(ctx context.Context, target alert.Target, record []byte) error {
	values, err := engine.TargetValues(target)
	if err != nil {
		return err
	}
	return s.write(ctx, full, "put target of alerts", func(ctx context.Context, t tx) error {
		if _, err := t.exec(ctx, putTarget, values...); err != nil || record == nil {
			return err
		}
		return t.append(ctx, record)
	})
}

// Targets implements [alert.Store].
func (s *Store) Targets(ctx context.Context) ([]alert.Target, error) {
	return engine.All(ctx, s.query, "targets of alerts", selectTargets, engine.ReadTarget)
}

// MarkTarget implements [alert.Store].
func (s *Store) MarkTarget(ctx context.Context, targetID string, sentAt time.Time, problem string) error {
	return s.write(ctx, normal, "mark target of alerts", func(ctx context.Context, t tx) error {
		n, err := t.exec(ctx, markTarget, engine.Micros(sentAt), engine.Shown(problem), targetID)
		if err == nil && n == 0 {
			return alert.ErrNotFound
		}
		return err
	})
}

// DeleteTarget implements [alert.Store].
func (s *Store) DeleteTarget(ctx context.Context, targetID string, record []byte) error {
	return s.write(ctx, full, "delete target of alerts", func(ctx context.Context, t tx) error {
		n, err := t.exec(ctx, "DELETE FROM alert_targets WHERE target_id = ?", targetID)
		if err == nil && n == 0 {
			return alert.ErrNotFound
		}
		if err != nil || record == nil {
			return err
		}
		return t.append(ctx, record)
	})
}

// Choices implements [alert.Store].
func (s *Store) Choices(ctx context.Context) (map[string]json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	err := s.query(ctx, "choices of alerts", selectChoices, func(rows engine.Row) error {
		var userID, body string
		err := rows.Scan(&userID, &body)
		all[userID] = json.RawMessage(body)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// PutChoices implements [alert.Store].
func (s *Store) PutChoices(ctx context.Context, userID string, choices json.RawMessage) error {
	return s.write(ctx, full, "put choices of alerts", func(ctx context.Context, t tx) error {
		_, err := t.exec(ctx, putChoices, userID, string(choices))
		return err
	})
}

// PutDelivery implements [alert.Store].
func (s *Store) PutDelivery(ctx context.Context, d alert.Delivery) error {
	return s.write(ctx, full, "put delivery", func(ctx context.Context, t tx) error {
		_, err := t.exec(ctx, putDelivery, engine.DeliveryValues(d)...)
		if orphan(err) {
			return alert.ErrNotFound
		}
		return err
	})
}

// Deliveries implements [alert.Store].
func (s *Store) Deliveries(ctx context.Context) ([]alert.Delivery, error) {
	return engine.All(ctx, s.query, "deliveries", selectDeliveries, engine.ReadDelivery)
}

// ForgetDeliveries implements [alert.Store].
func (s *Store) ForgetDeliveries(ctx context.Context, before time.Time) error {
	return s.write(ctx, normal, "forget deliveries", func(ctx context.Context, t tx) error {
		_, err := t.exec(ctx, forgetDeliveries, before.UnixMicro())
		return err
	})
}
