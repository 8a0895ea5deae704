package account

import (
	"context"
	"errors"
	"sync"
	"time"
)

// What an account event is about, beside those of linked identities and passkeys
// that are refused.
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

// IncidentUser is whom an account event is about.
type IncidentUser struct {
	UserID string `json:"user_id"`
	Name   string `json:"name"`
}

func about(u User) *IncidentUser { return &IncidentUser{UserID: u.UserID, Name: u.Name} }

// note puts what was done in a context on record, in the name of its actor. It is
// called once it is done; an error means that the record of it is missing.
func (d *Directory) note(ctx context.Context, i Incident) error {
	who := actor(ctx)
	i.By = IncidentPerson{UserID: who.User.UserID, Name: who.User.Name, Device: who.Device(), Address: who.From}
	if i.By.Name == "" {
		i.By.Name = "the server"
	}
	return d.record(ctx, i)
}

// signedIn puts a sign-in on record.
func (d *Directory) signedIn(ctx context.Context, id Identity) error {
	return d.record(ctx, Incident{
		What: EventSignedIn, User: about(id.User), Method: id.Credential.Method, CredentialID: id.Credential.CredentialID,
		By: IncidentPerson{UserID: id.User.UserID, Name: id.User.Name, Device: id.Credential.Name, Address: id.Credential.Address},
	})
}

// ended puts on record that a credential was ended on purpose.
func (d *Directory) ended(ctx context.Context, c Credential) error {
	what := EventSignInEnded
	if c.Kind == APIToken {
		what = EventTokenRevoked
	}
	i := Incident{What: what, CredentialID: c.CredentialID, CredentialName: c.Name}
	u, err := d.store.User(ctx, c.UserID)
	if err == nil {
		i.User = about(u)
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	return d.note(ctx, i)
}

// NoteAgentToken puts on record that a token for an agent outside was made; those of
// Claude's own processes are not.
func (d *Directory) NoteAgentToken(ctx context.Context, owner User, name string) error {
	return d.note(ctx, Incident{What: EventTokenCreated, User: about(owner), CredentialName: name, Why: "for an agent, which can only ask"})
}

// Bounds of what guessing writes on record: whoever guesses must not be able to fill
// the trail.
const (
	failureEvery    = 10 * time.Minute // one entry for each address and account, with a count
	failuresPerHour = 60               // entries of all together
	maxFailureKeys  = 1000
)

// failureLog decides which failures are written. The zero value is ready.
type failureLog struct {
	mu      sync.Mutex
	last    map[string]time.Time // key → when it was written
	waiting map[string]int       // key → failures since
	written []time.Time          // within the last hour, oldest first
	dropped int                  // failures of keys that were forgotten
}

// take counts a failure and returns how many an entry written now stands for, 0 when
// none is to be written.
func (l *failureLog) take(key string, now time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil || len(l.last) >= maxFailureKeys {
		for _, n := range l.waiting {
			l.dropped += n
		}
		l.last, l.waiting = map[string]time.Time{}, map[string]int{}
	}
	l.waiting[key]++
	l.written = since(l.written, now.Add(-time.Hour))
	if at, known := l.last[key]; known && now.Sub(at) < failureEvery || len(l.written) >= failuresPerHour {
		if !known {
			l.last[key] = time.Time{}
		}
		return 0
	}
	n := l.waiting[key] + l.dropped
	l.dropped = 0
	delete(l.waiting, key)
	l.last[key] = now
	l.written = append(l.written, now)
	return n
}

// NoteFailure puts a failed sign-in on record, or one that had to wait when limited
// is true. Of many from one address for one account there is one entry in ten
// minutes, with their number since the last, and of all together 60 in an hour.
// What was typed is only kept when it is the name of a user: it may be a password
// in the wrong field.
func (d *Directory) NoteFailure(ctx context.Context, name, address string, method Method, limited bool) error {
	what := EventSignInFailed
	if limited {
		what = EventSignInLimited
	}
	n := d.failures.take(what+" "+network(address)+" "+CanonicalName(name), time.Now())
	if n == 0 {
		return nil
	}
	i := Incident{What: what, Count: n, Method: method, By: IncidentPerson{Name: "nobody known", Address: address}}
	users, err := d.store.Users(ctx)
	if err != nil {
		return err
	}
	if u, found := FindUser(users, name); found && name != "" {
		i.User = about(u)
	}
	return d.record(ctx, i)
}
