package storetest

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/alert"
	"github.com/sayso-dev/sayso/store"
)

func target(user string) alert.Target {
	return alert.Target{
		TargetID: uuid.NewString(), UserID: user, Way: alert.Push, Name: "Chrome on Linux", CreatedAt: after(1),
		Address: alert.Address{URL: "https://push.example/x", P256DH: []byte{4, 0, 255}, Auth: []byte{0, 1}, Secret: "s", Priority: 3},
	}
}

func delivery(targetID string) alert.Delivery {
	return alert.Delivery{
		DeliveryID: uuid.NewString(), TargetID: targetID, Occasion: alert.Waiting, Step: alert.First, SessionID: "s", RequestID: "r",
		State: alert.Queued, DueAt: after(5), CreatedAt: after(2),
	}
}

func alerts(t *testing.T, open func(t *testing.T) store.Store) {
	ctx := context.Background()
	s := suite{t, open}

	s.run("Targets", func(t *testing.T, st store.Store) {
		a, b := target("ada"), target("")
		b.CreatedAt, b.Way, b.Address = after(2), alert.Webhook, alert.Address{URL: "https://example.org"}
		must(t, st.PutTarget(ctx, b, []byte(`{"what":"alert_target_added"}`)))
		must(t, st.PutTarget(ctx, a, nil))
		list, err := st.Targets(ctx)
		must(t, err)
		equal(t, "targets", list, []alert.Target{a, b})

		a.Name, a.Address.URL = "Firefox", "https://push.example/y"
		must(t, st.PutTarget(ctx, a, nil))
		must(t, st.MarkTarget(ctx, a.TargetID, after(9), ""))
		must(t, st.MarkTarget(ctx, a.TargetID, alert.Target{}.SentAt, "It answered 500."))
		a.SentAt, a.Problem = after(9), "It answered 500."
		must(t, st.DeleteTarget(ctx, b.TargetID, []byte(`{"what":"alert_target_removed"}`)))
		list, err = st.Targets(ctx)
		must(t, err)
		equal(t, "targets after changes", list, []alert.Target{a})

		wantError(t, "mark what is gone", st.MarkTarget(ctx, b.TargetID, after(9), ""), alert.ErrNotFound)
		wantError(t, "delete what is gone", st.DeleteTarget(ctx, b.TargetID, []byte(`{"what":"alert_target_removed"}`)), alert.ErrNotFound)
		trail, err := st.Audit(ctx, 0, 10)
		must(t, err)
		var what []string
		for _, e := range trail {
			what = append(what, string(e.Body))
		}
		equal(t, "on record", what, []string{`{"what":"alert_target_added"}`, `{"what":"alert_target_removed"}`})
	})

	s.run("ChoicesOfAlerts", func(t *testing.T, st store.Store) {
		must(t, st.PutChoices(ctx, "ada", json.RawMessage(`{"a": 1}`)))
		must(t, st.PutChoices(ctx, "", json.RawMessage(`{}`)))
		must(t, st.PutChoices(ctx, "ada", json.RawMessage(`{"a": 2}`)))
		all, err := st.Choices(ctx)
		must(t, err)
		equal(t, "choices", all, map[string]json.RawMessage{"ada": json.RawMessage(`{"a": 2}`), "": json.RawMessage(`{}`)})
	})

	s.run("Deliveries", func(t *testing.T, st store.Store) {
		a := target("ada")
		must(t, st.PutTarget(ctx, a, nil))
		lease, err := st.HoldLease(ctx, "server", time.Hour)
		must(t, err)
		term := lease.Term
		one, two := delivery(a.TargetID), delivery(a.TargetID)
		two.CreatedAt, two.Attempts, two.SentAt = after(3), 1, after(4)
		must(t, st.PutDelivery(ctx, two, term))
		list, err := st.Deliveries(ctx)
		must(t, err)
		equal(t, "one that was begun", list, []alert.Delivery{two})
		two.SentAt = time.Time{} // the target did not accept it
		must(t, st.PutDelivery(ctx, two, term))
		must(t, st.PutDelivery(ctx, one, term))
		one.State, one.Attempts, one.SentAt, one.DueAt = alert.Sent, 2, after(7), after(8)
		must(t, st.PutDelivery(ctx, one, term))
		list, err = st.Deliveries(ctx)
		must(t, err)
		equal(t, "deliveries", list, []alert.Delivery{one, two})

		must(t, st.ForgetDeliveries(ctx, after(10)))
		list, err = st.Deliveries(ctx)
		must(t, err)
		equal(t, "what is queued stays", list, []alert.Delivery{two})

		wantError(t, "without a target", st.PutDelivery(ctx, delivery(uuid.NewString()), term), alert.ErrNotFound)
		must(t, st.DeleteTarget(ctx, a.TargetID, nil))
		list, err = st.Deliveries(ctx)
		must(t, err)
		equal(t, "deliveries go with their target", len(list), 0)
	})
}
