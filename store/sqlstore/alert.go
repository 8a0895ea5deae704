package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/internal/alert"
)

// targetColumns lists all columns of alert_targets.
const targetColumns = "target_id, user_id, kind, name, address, created_at, sent_at, problem"

// readTarget reads a row of [targetColumns].
func readTarget(row Row) (t alert.Target, err error) {
	var address string
	var createdAt, sentAt int64
	if err = row.Scan(&t.TargetID, &t.UserID, (*string)(&t.Way), &t.Name, &address, &createdAt, &sentAt, &t.Problem); err != nil {
		return t, err
	}
	t.CreatedAt, t.SentAt = Time(createdAt), Time(sentAt)
	if err := json.Unmarshal([]byte(address), &t.Address); err != nil {
		return alert.Target{}, fmt.Errorf("address of target %s: %w", t.TargetID, err)
	}
	return t, nil
}

// targetValues returns the arguments for an insertion of [targetColumns].
func targetValues(t alert.Target) ([]any, error) {
	address, err := json.Marshal(t.Address)
	if err != nil {
		return nil, err
	}
	return []any{t.TargetID, t.UserID, string(t.Way), SanitizeText(t.Name), string(address), Micros(t.CreatedAt), Micros(t.SentAt), SanitizeText(t.Problem)}, nil
}

// deliveryColumns lists all columns of alert_deliveries.
const deliveryColumns = "delivery_id, target_id, occasion, step, session_id, request_id, state, attempts, due_at, created_at, sent_at"

// readDelivery reads a row of [deliveryColumns].
func readDelivery(row Row) (d alert.Delivery, err error) {
	var dueAt, createdAt, sentAt int64
	err = row.Scan(&d.DeliveryID, &d.TargetID, (*string)(&d.Occasion), (*string)(&d.Step), &d.SessionID, &d.RequestID,
		(*string)(&d.State), &d.Attempts, &dueAt, &createdAt, &sentAt)
	d.DueAt, d.CreatedAt, d.SentAt = Time(dueAt), Time(createdAt), Time(sentAt)
	return d, err
}

// deliveryValues returns the arguments for an insertion of [deliveryColumns].
func deliveryValues(d alert.Delivery) []any {
	return []any{d.DeliveryID, d.TargetID, string(d.Occasion), string(d.Step), d.SessionID, d.RequestID, string(d.State), d.Attempts,
		Micros(d.DueAt), Micros(d.CreatedAt), Micros(d.SentAt)}
}

var (
	putTarget = define(insertInto("alert_targets", targetColumns) + ` ON CONFLICT (target_id) DO UPDATE
		SET user_id = excluded.user_id, kind = excluded.kind, name = excluded.name, address = excluded.address,
		created_at = excluded.created_at, sent_at = excluded.sent_at, problem = excluded.problem`)
	selectTargets = query("SELECT " + targetColumns + " FROM alert_targets ORDER BY created_at, target_id")
	markTarget    = define("UPDATE alert_targets SET sent_at = CASE WHEN sent_at < $1 THEN $1 ELSE sent_at END, problem = $2 WHERE target_id = $3").Require(alert.ErrNotFound)
	deleteTarget  = define("DELETE FROM alert_targets WHERE target_id = $1").Require(alert.ErrNotFound)
	selectChoices = query("SELECT user_id, body FROM alert_choices")
	putChoices    = define(insertInto("alert_choices", "user_id, body") + " ON CONFLICT (user_id) DO UPDATE SET body = excluded.body")
	putDelivery   = define(insertInto("alert_deliveries", deliveryColumns) + ` ON CONFLICT (delivery_id) DO UPDATE
		SET state = excluded.state, attempts = excluded.attempts, due_at = excluded.due_at, sent_at = excluded.sent_at`)
	selectDeliveries = query("SELECT " + deliveryColumns + " FROM alert_deliveries ORDER BY created_at, delivery_id")
	forgetDeliveries = define("DELETE FROM alert_deliveries WHERE created_at < $1 AND state <> 'queued'")
)

// checkTerm fails unless the lease on jobs has this term. A newer lease cannot be taken until the
// transaction has ended. SQLite has only one server and needs no lease.
var checkTerm = requireTerm(alert.ErrOutdated)

func requireTerm(outdated error) *Statement {
	s := Define(Postgres, `SELECT n / least(n, 1) FROM (SELECT count(*) AS n FROM
		(SELECT 1 FROM job_lease WHERE term = $1 FOR SHARE) AS locked) AS counted`)
	s.unmatched = outdated
	return s
}

// PutTarget implements [alert.Store].
func (s Shared) PutTarget(ctx context.Context, t alert.Target, record []byte) error {
	values, err := targetValues(t)
	if err != nil {
		return err
	}
	return s.e.Apply(ctx, Change{What: "put target of alerts", Durability: Durable, Steps: []Step{step(putTarget, values...)}, Audit: record})
}

// Targets implements [alert.Store].
func (s Shared) Targets(ctx context.Context) ([]alert.Target, error) {
	return queryAll(ctx, s, "targets of alerts", selectTargets, readTarget)
}

// MarkTarget implements [alert.Store].
func (s Shared) MarkTarget(ctx context.Context, targetID string, sentAt time.Time, problem string) error {
	return s.e.Apply(ctx, Change{What: "mark target of alerts", Steps: []Step{step(markTarget, Micros(sentAt), SanitizeText(problem), targetID)}})
}

// DeleteTarget implements [alert.Store].
func (s Shared) DeleteTarget(ctx context.Context, targetID string, record []byte) error {
	return s.e.Apply(ctx, Change{What: "delete target of alerts", Durability: Durable, Steps: []Step{step(deleteTarget, targetID)}, Audit: record})
}

// Choices implements [alert.Store].
func (s Shared) Choices(ctx context.Context) (map[string]json.RawMessage, error) {
	choices := map[string]json.RawMessage{}
	err := s.e.Query(ctx, "choices of alerts", selectChoices, func(row Row) error {
		var userID, body string
		err := row.Scan(&userID, &body)
		choices[userID] = json.RawMessage(body)
		return err
	})
	if err != nil {
		return nil, err
	}
	return choices, nil
}

// PutChoices implements [alert.Store].
func (s Shared) PutChoices(ctx context.Context, userID string, choices json.RawMessage) error {
	return s.e.Apply(ctx, Change{What: "put choices of alerts", Durability: Durable, Steps: []Step{step(putChoices, userID, string(choices))}})
}

// PutDelivery implements [alert.Store].
func (s Shared) PutDelivery(ctx context.Context, d alert.Delivery, term int64) error {
	return s.e.Apply(ctx, Change{What: "put delivery", Durability: Durable, Orphan: alert.ErrNotFound,
		Steps: []Step{step(checkTerm, term), step(putDelivery, deliveryValues(d)...)}})
}

// Deliveries implements [alert.Store].
func (s Shared) Deliveries(ctx context.Context) ([]alert.Delivery, error) {
	return queryAll(ctx, s, "deliveries", selectDeliveries, readDelivery)
}

// ForgetDeliveries implements [alert.Store].
func (s Shared) ForgetDeliveries(ctx context.Context, before time.Time) error {
	return s.e.Apply(ctx, Change{What: "forget deliveries", Steps: []Step{step(forgetDeliveries, before.UnixMicro())}})
}
