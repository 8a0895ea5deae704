package account

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Values of Incident.What for account events. Incidents about linked identities and refused
// passkeys have other values.
const (
	EventUserCreated    = "user_created"
	EventUserDisabled   = "user_disabled"
	EventUserEnabled    = "user_enabled"
	EventRoleChanged    = "role_changed"
	EventPasswordSet    = "password_set"
	EventLinkCreated    = "sign_in_link_created"
	EventTokenCreated   = "token_created"
	EventTokenRevoked   = "token_revoked"
	EventPasskeyAdded   = "passkey_added"
	EventPasskeyRemoved = "passkey_removed"
	EventSetUp          = "set_up"
	EventSignedIn       = "signed_in"
	EventSignInEnded    = "sign_in_ended"
	EventSignInFailed   = "sign_in_failed"
	EventSignInLimited  = "sign_in_limited"
)

// IncidentUser is the user whom an account event concerns.
type IncidentUser struct {
	UserID string `json:"user_id"`
	Name   string `json:"name"`
}

func incidentUser(u User) *IncidentUser { return &IncidentUser{UserID: u.UserID, Name: u.Name} }

// recordByActor writes an incident to the audit log in the name of the context's
// actor. Call it after the change; an error means that the entry is missing.
func (d *Directory) recordByActor(ctx context.Context, i Incident) error {
	who := actorOf(ctx)
	i.By = IncidentPerson{UserID: who.User.UserID, Name: who.User.Name, Device: who.Device(), Address: who.From}
	if i.By.Name == "" {
		i.By.Name = "the server"
	}
	return d.record(ctx, i)
}

// recordSignIn writes a sign-in to the audit log.
func (d *Directory) recordSignIn(ctx context.Context, id Identity) error {
	return d.record(ctx, Incident{
		What: EventSignedIn, User: incidentUser(id.User), Method: id.Credential.Method, CredentialID: id.Credential.CredentialID,
		By: IncidentPerson{UserID: id.User.UserID, Name: id.User.Name, Device: id.Credential.Name, Address: id.Credential.Address},
	})
}

// recordEnd writes the deliberate end of a credential to the audit log.
func (d *Directory) recordEnd(ctx context.Context, c Credential) error {
	what := EventSignInEnded
	if c.Kind == APIToken {
		what = EventTokenRevoked
	}
	i := Incident{What: what, CredentialID: c.CredentialID, CredentialName: c.Name}
	u, err := d.store.User(ctx, c.UserID)
	if err == nil {
		i.User = incidentUser(u)
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	return d.recordByActor(ctx, i)
}

// NoteAgentToken records the creation of a token for an external agent. Tokens of
// sayso's own Claude processes are not recorded.
func (d *Directory) NoteAgentToken(ctx context.Context, owner User, name string) error {
	return d.recordByActor(ctx, Incident{What: EventTokenCreated, User: incidentUser(owner), CredentialName: name, Why: "for an agent, which can only ask"})
}

// Limits of recorded failures, so that guessing cannot fill the audit log.
const (
	failureEvery    = 10 * time.Minute // one entry for each address and account, with a count
	failuresPerHour = 60               // entries in total
	maxFailureKeys  = 1000
)

// failureLog decides which failures are recorded. The zero value is ready to use.
type failureLog struct {
	mu         sync.Mutex
	lastEntry  map[string]time.Time // key → last entry
	unrecorded map[string]int       // key → failures since the last entry
	entries    []time.Time          // entries of the last hour, oldest first
	dropped    int                  // failures of forgotten keys
}

// count counts a failure. It returns the number of failures that a new entry must report,
// or 0 if no entry must be written.
func (l *failureLog) count(key string, now time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lastEntry == nil || len(l.lastEntry) >= maxFailureKeys {
		for _, n := range l.unrecorded {
			l.dropped += n
		}
		l.lastEntry, l.unrecorded = map[string]time.Time{}, map[string]int{}
	}
	l.unrecorded[key]++
	l.entries = timesAfter(l.entries, now.Add(-time.Hour))
	if at, known := l.lastEntry[key]; known && now.Sub(at) < failureEvery || len(l.entries) >= failuresPerHour {
		if !known {
			l.lastEntry[key] = time.Time{}
		}
		return 0
	}
	n := l.unrecorded[key] + l.dropped
	l.dropped = 0
	delete(l.unrecorded, key)
	l.lastEntry[key] = now
	l.entries = append(l.entries, now)
	return n
}

// timesAfter returns the part of a sorted list after t.
func timesAfter(list []time.Time, t time.Time) []time.Time {
	for i, at := range list {
		if at.After(t) {
			return list[i:]
		}
	}
	return nil
}

// NoteFailure records a failed sign-in, or one that was rate limited. Failures of one
// address and account are combined into one entry every ten minutes, with at most 60
// entries an hour in total. The typed name is stored only if a user has it, because it
// may be a password in the wrong field.
func (d *Directory) NoteFailure(ctx context.Context, name, address string, method Method, limited bool) error {
	what := EventSignInFailed
	if limited {
		what = EventSignInLimited
	}
	n := d.failures.count(what+" "+networkOf(address)+" "+CanonicalName(name), time.Now())
	if n == 0 {
		return nil
	}
	i := Incident{What: what, Count: n, Method: method, By: IncidentPerson{Name: "unknown", Address: address}}
	users, err := d.store.Users(ctx)
	if err != nil {
		return err
	}
	if u, found := FindUser(users, name); found && name != "" {
		i.User = incidentUser(u)
	}
	return d.record(ctx, i)
}
