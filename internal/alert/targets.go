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

// View is what a person sees of their alert settings.
type View struct {
	PushKey string
	Choices Choices
	Targets []Target // without addresses
}

// View returns the alert settings of a person, or of the server for "".
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

// SetChoices stores a person's choices. The error is a *[problem.Error] for invalid ones.
func (a *Alerter) SetChoices(ctx context.Context, userID string, c Choices) error {
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

// AddTarget stores a target for a person and returns it without its address. It replaces a
// browser that is already registered with the same address. It records a new target in the
// audit log, with by as the person who added it.
func (a *Alerter) AddTarget(ctx context.Context, t Target, by pending.Actor) (Target, error) {
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
		if len(t.Address.Secret) < minSecretBytes {
			return Target{}, problem.For("secret", "secret_too_short", "min", minSecretBytes)
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
	n, replaced := 0, false
	var formerOwners []string // the targets of this browser that belong to other people
	for _, known := range all {
		if known.UserID == t.UserID {
			n++
		}
		if t.Way != Push || known.Way != Push || known.Address.URL != t.Address.URL {
			continue
		}
		if known.UserID == t.UserID {
			t.TargetID, t.CreatedAt, replaced = known.TargetID, known.CreatedAt, true
			continue
		}
		formerOwners = append(formerOwners, known.TargetID)
	}
	if n >= maxTargets && !replaced {
		return Target{}, problem.For("way", "too_many_channels")
	}
	// Another person now uses this browser and must not get the previous person's alerts.
	for _, id := range formerOwners {
		if err := a.o.Store.DeleteTarget(ctx, id, nil); err != nil {
			return Target{}, err
		}
	}
	var record []byte
	if !replaced {
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

// RemoveTarget deletes a person's target and records who removed it. It returns ErrNotFound
// for an unknown target and for another person's.
func (a *Alerter) RemoveTarget(ctx context.Context, userID, targetID string, by pending.Actor) error {
	t, err := a.ownTarget(ctx, userID, targetID)
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

// TestTarget sends a test alert to one target of a person. failure tells people why the target
// did not accept it, "" if it did.
func (a *Alerter) TestTarget(ctx context.Context, userID, targetID string) (failure string, err error) {
	t, err := a.ownTarget(ctx, userID, targetID)
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
	msgs := messagesFor(language)
	failed := a.send(ctx, t, Delivery{DeliveryID: uuid.NewString(), TargetID: targetID, Step: "test"},
		Message{Kind: "show", Tag: "test", Title: msgs.test, Body: msgs.testBody, Path: "/settings", Renotify: true})
	sentAt := time.Now()
	if failed != nil {
		failure, sentAt = failureMessage(failed), time.Time{}
	}
	return failure, a.o.Store.MarkTarget(ctx, targetID, sentAt, failure)
}

func (a *Alerter) ownTarget(ctx context.Context, userID, targetID string) (Target, error) {
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
