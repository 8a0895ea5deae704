package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/internal/alert"
	"github.com/sayso-dev/sayso/store/engine"
)

const (
	putTarget = "INSERT INTO alert_targets (" + engine.TargetColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (target_id) DO UPDATE
		SET user_id = excluded.user_id, kind = excluded.kind, name = excluded.name, address = excluded.address,
		created_at = excluded.created_at, sent_at = excluded.sent_at, problem = excluded.problem`
	selectTargets = "SELECT " + engine.TargetColumns + " FROM alert_targets ORDER BY created_at, target_id"
	markTarget    = "UPDATE alert_targets SET sent_at = greatest(sent_at, $1), problem = $2 WHERE target_id = $3"
	deleteTarget  = "DELETE FROM alert_targets WHERE target_id = $1"
	recordTarget  = appendAudit + "(SELECT 1 FROM alert_targets t WHERE t.target_id = $2)"
	putChoices    = "INSERT INTO alert_choices (user_id, body) VALUES ($1, $2) ON CONFLICT (user_id) DO UPDATE SET body = excluded.body"
	putDelivery   = "INSERT INTO alert_deliveries (" + engine.DeliveryColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT (delivery_id) DO UPDATE
		SET state = excluded.state, attempts = excluded.attempts, due_at = excluded.due_at, sent_at = excluded.sent_at`
	selectDeliveries = "SELECT " + engine.DeliveryColumns + " FROM alert_deliveries ORDER BY created_at, delivery_id"
	forgetDeliveries = "DELETE FROM alert_deliveries WHERE created_at < $1 AND state <> 'queued'"
)

// PutTarget implements [alert.Store].
func (s *Store) PutTarget(ctx context.Context, t alert.Target, record []byte) error {
	values, err := engine.TargetValues(t)
	if err != nil {
		return err
	}
	steps := []statement{{text: putTarget, args: values}}
	if record != nil {
		steps = append([]statement{{text: lockAudit}}, append(steps, statement{text: insertIncident, args: []any{record}})...)
	}
	return s.write(ctx, "put target of alerts", durable, steps...)
}

// Targets implements [alert.Store].
func (s *Store) Targets(ctx context.Context) ([]alert.Target, error) {
	return engine.All(ctx, s.query, "targets of alerts", selectTargets, engine.ReadTarget)
}

// MarkTarget implements [alert.Store].
func (s *Store) MarkTarget(ctx context.Context, targetID string, sentAt time.Time, problem string) error {
	const what = "mark target of alerts"
	var n int64
	err := s.write(ctx, what, relaxed, statement{markTarget, []any{engine.Micros(sentAt), engine.Shown(problem), targetID}, changed(&n)})
	return known(what, n, err)
}

// DeleteTarget implements [alert.Store].
func (s *Store) DeleteTarget(ctx context.Context, targetID string, record []byte) error {
	const what = "delete target of alerts"
	var n int64
	steps := []statement{{deleteTarget, []any{targetID}, changed(&n)}}
	if record != nil {
		// Before the row goes: without it there is nothing to record.
		steps = append([]statement{{text: lockAudit}, {text: recordTarget, args: []any{record, targetID}}}, steps...)
	}
	err := s.write(ctx, what, durable, steps...)
	return known(what, n, err)
}

// known is the error of a write that found so many targets.
func known(what string, n int64, err error) error {
	if err == nil && n == 0 {
		err = fmt.Errorf("postgres: %s: %w", what, alert.ErrNotFound)
	}
	return err
}

// Choices implements [alert.Store].
func (s *Store) Choices(ctx context.Context) (map[string]json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	err := s.query(ctx, "choices of alerts", "SELECT user_id, body FROM alert_choices", func(rows engine.Row) error {
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
	return s.write(ctx, "put choices of alerts", durable, statement{text: putChoices, args: []any{userID, string(choices)}})
}

// PutDelivery implements [alert.Store].
func (s *Store) PutDelivery(ctx context.Context, d alert.Delivery) error {
	err := s.write(ctx, "put delivery", durable, statement{text: putDelivery, args: engine.DeliveryValues(d)})
	if violates(err, foreignKeyRule) {
		err = fmt.Errorf("postgres: put delivery: %w", alert.ErrNotFound)
	}
	return err
}

// Deliveries implements [alert.Store].
func (s *Store) Deliveries(ctx context.Context) ([]alert.Delivery, error) {
	return engine.All(ctx, s.query, "deliveries", selectDeliveries, engine.ReadDelivery)
}

// ForgetDeliveries implements [alert.Store].
func (s *Store) ForgetDeliveries(ctx context.Context, before time.Time) error {
	return s.write(ctx, "forget deliveries", relaxed, statement{text: forgetDeliveries, args: []any{before.UnixMicro()}})
}
