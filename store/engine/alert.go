package engine

import (
	"encoding/json"
	"fmt"

	"github.com/sayso-dev/sayso/alert"
)

// TargetColumns are all columns of alert_targets.
const TargetColumns = "target_id, user_id, kind, name, address, created_at, sent_at, problem"

// TargetRow takes one row of [TargetColumns].
type TargetRow struct {
	t                 alert.Target
	address           string
	createdAt, sentAt int64
}

// Dest is what to scan into.
func (x *TargetRow) Dest() []any {
	return []any{&x.t.TargetID, &x.t.UserID, (*string)(&x.t.Way), &x.t.Name, &x.address, &x.createdAt, &x.sentAt, &x.t.Problem}
}

// Target is the row that was scanned.
func (x *TargetRow) Target() (alert.Target, error) {
	t := x.t
	t.CreatedAt, t.SentAt = Time(x.createdAt), Time(x.sentAt)
	if err := json.Unmarshal([]byte(x.address), &t.Address); err != nil {
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

// DeliveryRow takes one row of [DeliveryColumns].
type DeliveryRow struct {
	d                        alert.Delivery
	dueAt, createdAt, sentAt int64
}

// Dest is what to scan into.
func (x *DeliveryRow) Dest() []any {
	return []any{&x.d.DeliveryID, &x.d.TargetID, (*string)(&x.d.Occasion), (*string)(&x.d.Step), &x.d.SessionID, &x.d.RequestID,
		(*string)(&x.d.State), &x.d.Attempts, &x.dueAt, &x.createdAt, &x.sentAt}
}

// Delivery is the row that was scanned.
func (x *DeliveryRow) Delivery() alert.Delivery {
	d := x.d
	d.DueAt, d.CreatedAt, d.SentAt = Time(x.dueAt), Time(x.createdAt), Time(x.sentAt)
	return d
}

// DeliveryValues are the arguments of an insertion of [DeliveryColumns].
func DeliveryValues(d alert.Delivery) []any {
	return []any{d.DeliveryID, d.TargetID, string(d.Occasion), string(d.Step), d.SessionID, d.RequestID, string(d.State), d.Attempts,
		Micros(d.DueAt), Micros(d.CreatedAt), Micros(d.SentAt)}
}
