package alert

import (
	"context"
	"crypto/ecdh"
	"encoding/json"
	"net/url"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/pending"
)

// View is what a person is shown of their alerts.
type View struct {
	PushKey string
	Choices Choices
	Targets []Target // without addresses
}

// View returns what holds for a person, or for the server with "".
func (a *Alerter) View(ctx context.Context, userID string) (View, error) {
	stored, err := a.o.Store.Choices(ctx)
	if err != nil {
		return View{}, err
	}
	all, err := a.o.Store.Targets(ctx)
	if err != nil {
		return View{}, err
	}
	v := View{PushKey: a.o.Key.Public(), Choices: readChoices(stored[userID])}
	for _, t := range all {
		if t.UserID == userID {
			t.Address = Address{}
			v.Targets = append(v.Targets, t)
		}
	}
	return v, nil
}

// Choose keeps what a person chose.
func (a *Alerter) Choose(ctx context.Context, userID string, c Choices) error {
	if err := c.check(); err != nil {
		return err
	}
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if err := a.o.Store.PutChoices(ctx, userID, text); err != nil {
		return err
	}
	a.refresh()
	return nil
}

// Add keeps a place for a person and returns it. A browser that is known
// already, by its address, takes the place of what it was; what is new is on record
// as added by that person.
func (a *Alerter) Add(ctx context.Context, t Target, by pending.Actor) (Target, error) {
	if err := checkURL(t.Address.URL, a.o.Private); err != nil {
		return Target{}, err
	}
	switch t.Way {
	case Push:
		_, err := ecdh.P256().NewPublicKey(t.Address.P256DH)
		if err != nil || len(t.Address.Auth) != 16 || t.UserID == "" {
			return Target{}, problem.For("keys", "push_keys")
		}
	case Webhook:
		if len(t.Address.Secret) < minSecret {
			return Target{}, problem.For("secret", "secret_too_short", "min", minSecret)
		}
	case Ntfy:
		if t.Address.Priority < 0 || t.Address.Priority > 5 {
			return Target{}, problem.For("priority", "priority_range")
		}
	default:
		return Target{}, problem.For("way", "channel_unknown", "channel", string(t.Way))
	}
	all, err := a.o.Store.Targets(ctx)
	if err != nil {
		return Target{}, err
	}
	t.TargetID, t.CreatedAt = uuid.NewString(), time.Now()
	if t.Name == "" {
		if u, err := url.Parse(t.Address.URL); err == nil {
			t.Name = u.Host
		}
	}
	n, again := 0, false
	for _, known := range all {
		if known.UserID == t.UserID {
			n++
		}
		if t.Way != Push || known.Way != Push || known.Address.URL != t.Address.URL {
			continue
		}
		if known.UserID == t.UserID {
			t.TargetID, t.CreatedAt, again = known.TargetID, known.CreatedAt, true
			continue
		}
		// Another person signs in there now, and nobody else shall read what is theirs.
		if err := a.o.Store.DeleteTarget(ctx, known.TargetID, nil); err != nil {
			return Target{}, err
		}
	}
	if n >= maxTargets {
		return Target{}, problem.For("way", "too_many_channels")
	}
	var record []byte
	if !again {
		if record, err = recordOf("alert_target_added", t, by); err != nil {
			return Target{}, err
		}
	}
	if err := a.o.Store.PutTarget(ctx, t, record); err != nil {
		return Target{}, err
	}
	a.refresh()
	t.Address = Address{}
	return t, nil
}

// Remove forgets a place of a person, and puts on record who wanted that. ErrNotFound,
// also for those of others.
func (a *Alerter) Remove(ctx context.Context, userID, targetID string, by pending.Actor) error {
	t, err := a.own(ctx, userID, targetID)
	if err != nil {
		return err
	}
	record, err := recordOf("alert_target_removed", t, by)
	if err != nil {
		return err
	}
	if err := a.o.Store.DeleteTarget(ctx, targetID, record); err != nil {
		return err
	}
	a.refresh()
	return nil
}

// Test tells a person at one place that they can be told there. What went wrong
// comes as a sentence, "" when it was taken.
func (a *Alerter) Test(ctx context.Context, userID, targetID string) (failure string, err error) {
	t, err := a.own(ctx, userID, targetID)
	if err != nil {
		return "", err
	}
	stored, err := a.o.Store.Choices(ctx)
	if err != nil {
		return "", err
	}
	language := readChoices(stored[userID]).Language
	if own, err := a.readLanguages(ctx, []Target{t}); err != nil {
		return "", err
	} else if own[userID] != "" {
		language = own[userID]
	}
	say := wordsOf(language)
	failed := a.send(ctx, t, Delivery{DeliveryID: uuid.NewString(), TargetID: targetID, Step: "test"},
		Message{Kind: "show", Tag: "test", Title: say.test, Body: say.testBody, Path: "/settings", Renotify: true})
	sentAt := time.Now()
	if failed != nil {
		failure, sentAt = failureOf(failed), time.Time{}
	}
	return failure, a.o.Store.MarkTarget(ctx, targetID, sentAt, failure)
}

func (a *Alerter) own(ctx context.Context, userID, targetID string) (Target, error) {
	all, err := a.o.Store.Targets(ctx)
	if err != nil {
		return Target{}, err
	}
	i := slices.IndexFunc(all, func(t Target) bool { return t.TargetID == targetID && t.UserID == userID })
	if i < 0 {
		return Target{}, ErrNotFound
	}
	return all[i], nil
}
