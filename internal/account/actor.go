package account

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// makerPeriod is how long a credential is attributed to the person who created or reset it.
const makerPeriod = 24 * time.Hour

type actorKey struct{}

// WithActor returns a context whose actor is who. The [Directory] attributes changes made
// with this context to that person and their credential.
func WithActor(ctx context.Context, who Identity) context.Context {
	return context.WithValue(ctx, actorKey{}, who)
}

// actorOf returns the actor of a context, or the zero value.
func actorOf(ctx context.Context) Identity {
	who, _ := ctx.Value(actorKey{}).(Identity)
	return who
}

// CommandLine returns the actor of sayso's own commands, run by a user of the operating
// system. It has no user id.
func CommandLine(osUser string) Identity {
	return Identity{User: User{Name: "command line"}, Credential: Credential{Name: osUser}}
}

// responsibleUser returns the user to whom a credential is attributed: its maker for
// makerPeriod, then its owner.
func responsibleUser(userID, madeBy string, at time.Time) string {
	if madeBy != "" && time.Since(at) < makerPeriod {
		return madeBy
	}
	return userID
}

// responsibleUser returns the user to whom new credentials of an identity are
// attributed. For a token created by somebody else, that is always its creator, who has
// seen its secret.
func (id Identity) responsibleUser() string {
	c := id.Credential
	if c.Kind == APIToken && c.CreatedBy != "" {
		return c.CreatedBy
	}
	return responsibleUser(id.User.UserID, c.CreatedBy, c.CreatedAt)
}

// derivedFrom completes a credential that an identity creates. It gets no more rights than
// the identity's credential. If it descends from a token, it ends with its parent and does
// not outlive the token.
func (c Credential) derivedFrom(creator Identity) Credential {
	parent := creator.Credential
	c.ParentID, c.CreatedBy = parent.CredentialID, creator.responsibleUser()
	if parent.Role != "" && (c.Role == "" || !parent.Role.AtLeast(c.Role)) {
		c.Role = parent.Role
	}
	if parent.Kind == APIToken || parent.Bound {
		c.Bound, c.BoundUntil = true, parent.TokenExpiry()
	}
	return c
}

// TokenExpiry returns when a token, or the token from which a bound credential
// descends, expires; zero for never.
func (c Credential) TokenExpiry() time.Time {
	if c.Kind == APIToken {
		return c.ExpiresAt
	}
	return c.BoundUntil
}

// IsLimited reports whether a credential has fewer rights than its user or descends
// from a token that expires.
func (c Credential) IsLimited() bool {
	return c.Role != "" || (c.Kind == APIToken || c.Bound) && !c.TokenExpiry().IsZero()
}

// CredentialMakers returns the users other than userID who created or reset a
// credential of userID in the last day, or have seen the secret of a live token: they
// could have acted as userID. It considers the account, password, passkeys, linked
// identities, sign-in links, sign-ins and tokens.
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
		if c.Kind == APIToken && c.isLive(now) {
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
