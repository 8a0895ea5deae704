package engine

import (
	"encoding/json"
	"fmt"

	"github.com/sayso-dev/sayso/internal/alert"
)

// TargetColumns are all columns of alert_targets.
const TargetColumns = "target_id, user_id, kind, name, address, created_at, sent_at, problem"

// ReadTarget reads a row of [TargetColumns].
func ReadTarget(row Row) (t alert.Target, err error) {
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

// TargetValues are the arguments of an insertion of [TargetColumns].
func TargetValues(t alert.Target) ([]any, error) {
	address, err := json.Marshal(t.Address)
	if err != nil {
		return nil, err
	}
	return []any{t.TargetID, t.UserID, string(t.Way), Shown(t.Name), string(address), Micros(t.CreatedAt), Micros(t.SentAt), Shown(t.Problem)}, nil
}

// DeliveryColumns are all columns of alert_deliveries.
const DeliveryColumns = "delivery_id, target_id, occasion, step, session_id, request_id, state, attempts, due_at, created_at, sent_at"

// ReadDelivery reads a row of [DeliveryColumns].
func ReadDelivery(row Row) (d alert.Delivery, err error) {
	var dueAt, createdAt, sentAt int64
	err = row.Scan(&d.DeliveryID, &d.TargetID, (*string)(&d.Occasion), (*string)(&d.Step), &d.SessionID, &d.RequestID,
		(*string)(&d.State), &d.Attempts, &dueAt, &createdAt, &sentAt)
	d.DueAt, d.CreatedAt, d.SentAt = Time(dueAt), Time(createdAt), Time(sentAt)
	return d, err
}

// DeliveryValues are the arguments of an insertion of [DeliveryColumns].
func DeliveryValues(d alert.Delivery) []any {
	return []any{d.DeliveryID, d.TargetID, string(d.Occasion), string(d.Step), d.SessionID, d.RequestID, string(d.State), d.Attempts,
		Micros(d.DueAt), Micros(d.CreatedAt), Micros(d.SentAt)}
}
