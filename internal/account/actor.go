package account

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// makerTime is for how long a credential counts as that of who made or reset it.
const makerTime = 24 * time.Hour

type actorKey struct{}

// WithActor returns a context in which who acts: what the [Directory] makes and
// changes in it is recorded as made by them, with the credential they came with.
func WithActor(ctx context.Context, who Identity) context.Context {
	return context.WithValue(ctx, actorKey{}, who)
}

// actor returns who acts in a context, the zero value when nobody said.
func actor(ctx context.Context) Identity {
	who, _ := ctx.Value(actorKey{}).(Identity)
	return who
}

// CommandLine returns the actor of sayso's own commands, which a user of the
// operating system ran. It is no user.
func CommandLine(osUser string) Identity {
	return Identity{User: User{Name: "command line"}, Credential: Credential{Name: osUser}}
}

// responsibleUser returns who is behind a credential of a user: who made it, for a day, or
// the user.
func responsibleUser(userID, madeBy string, at time.Time) string {
	if madeBy != "" && time.Since(at) < makerTime {
		return madeBy
	}
	return userID
}

// responsibleUser returns who is behind what is made with a credential. A token that
// somebody else made is theirs for as long as it lives: they have seen its secret.
func (id Identity) responsibleUser() string {
	c := id.Credential
	if c.Kind == APIToken && c.CreatedBy != "" {
		return c.CreatedBy
	}
	return responsibleUser(id.User.UserID, c.CreatedBy, c.CreatedAt)
}

// boundedBy completes a credential that is made with the one of an identity: it may
// do no more and live no longer, and ends with it when a token is its root.
func (c Credential) boundedBy(by Identity) Credential {
	parent := by.Credential
	c.ParentID, c.CreatedBy = parent.CredentialID, by.responsibleUser()
	if parent.Role != "" && (c.Role == "" || !parent.Role.AtLeast(c.Role)) {
		c.Role = parent.Role
	}
	if parent.Kind == APIToken || parent.Bound {
		c.Bound, c.BoundUntil = true, parent.Until()
	}
	return c
}

// Until returns when all ends that a token or a credential bound to one makes, zero
// for never.
func (c Credential) Until() time.Time {
	if c.Kind == APIToken {
		return c.ExpiresAt
	}
	return c.BoundUntil
}

// Limited reports whether a credential may do less than its user: it has a scope,
// or it is a token that expires or descends from one. Nothing can be made with it
// that could outlive or exceed it.
func (c Credential) Limited() bool {
	return c.Role != "" || (c.Kind == APIToken || c.Bound) && !c.Until().IsZero()
}

// CredentialMakers returns the users other than userID who made or reset a
// credential of userID in the last day, or have seen the secret of a token that is
// still good: what is done with such an account may have been done by them. The
// password, passkeys, linked identities, sign-in links, sign-ins and tokens count,
// and the account itself.
func (d *Directory) CredentialMakers(ctx context.Context, userID string) ([]string, error) {
	u, err := d.store.User(ctx, userID)
	if err != nil {
		return nil, fmt.Errorf("account: credential makers: %w", err)
	}
	var makers []string
	add := func(by string, at time.Time) {
		if by := responsibleUser(userID, by, at); by != userID && !slices.Contains(makers, by) {
			makers = append(makers, by)
		}
	}
	add(u.CreatedBy, u.CreatedAt)
	add(u.PasswordBy, u.PasswordAt)
	all, err := d.store.Credentials(ctx, userID)
	if err != nil {
		return nil, fmt.Errorf("account: credential makers: %w", err)
	}
	now := time.Now()
	for _, c := range all {
		if c.Kind == APIToken && c.live(now) {
			add(c.CreatedBy, now)
		}
		add(c.CreatedBy, c.CreatedAt)
	}
	keys, err := d.Passkeys(ctx, userID)
	if err != nil {
		return nil, err
	}
	for _, p := range keys {
		add(p.CreatedBy, p.CreatedAt)
	}
	links, err := d.Links(ctx, userID)
	if err != nil {
		return nil, err
	}
	for _, l := range links {
		add(l.CreatedBy, l.CreatedAt)
	}
	return makers, nil
}
