package httpapi

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/wire"
)

// postLogin exchanges the secret of a sign-in link, an API token, or a name and a
// password for a cookie. It ends the browser's previous sign-in, so that nobody can
// prepare one for another person.
func (s *Server) postLogin(w http.ResponseWriter, r *http.Request, _ account.Identity) error {
	var body wire.Login
	if err := readBody(r, &body); err != nil {
		return err
	}
	ctx := context.WithoutCancel(r.Context()) // a link works once, so its cookie must be stored
	succeeded := func() {}
	var err error
	if body.Username != "" {
		if succeeded, err = s.beginAttempt(r, body.Username); err != nil {
			return err
		}
	}
	who, secret, err := s.signIn(ctx, r, body)
	if body.Username == "" && err != nil {
		// A valid token or link works even if other attempts from the same address fail.
		if _, wait := s.beginAttempt(r, ""); wait != nil {
			err = wait
		}
	}
	if err != nil {
		s.recordFailure(r, body.Username, err, map[bool]account.Method{true: account.ByPassword, false: account.ByLink}[body.Username != ""])
		return err
	}
	succeeded()
	return s.completeSignIn(ctx, w, r, who, secret)
}

// completeSignIn sends the cookie and the page key of a successful sign-in by any method,
// and ends the browser's previous sign-in.
func (s *Server) completeSignIn(ctx context.Context, w http.ResponseWriter, r *http.Request, who account.Identity, secret string) error {
	if c, err := r.Cookie(s.cookieName(r)); err == nil {
		if err := s.o.Directory.ReplaceCookie(ctx, c.Value); err != nil {
			s.o.Log.ErrorContext(ctx, "end the former sign-in", "error", err)
		}
	}
	s.recordToken(r, account.Hash(secret), true)
	me, err := s.wireMe(ctx, who)
	if err != nil {
		return err
	}
	cookie, pageKey := account.SplitCookie(secret)
	me.PageKey = pageKey
	http.SetCookie(w, s.newCookie(r, cookie, int(math.Ceil(time.Until(who.Credential.ExpiresAt).Seconds()))))
	writeJSON(w, http.StatusOK, me)
	return nil
}

func (s *Server) signIn(ctx context.Context, r *http.Request, body wire.Login) (who account.Identity, secret string, err error) {
	deviceLabel, from := deviceName(r.UserAgent()), s.remoteAddress(r)
	if body.Username != "" {
		who, secret, err = s.o.Directory.SignInByPassword(r.Context(), body.Username, body.Password, deviceLabel, from)
		if errors.Is(err, account.ErrRefused) {
			err = refusal.New("wrong_name_or_password")
		}
		return who, secret, err
	}
	who, secret, err = s.o.Directory.SignInByToken(ctx, body.Token, deviceLabel, from)
	if !errors.Is(err, account.ErrRefused) {
		return who, secret, err
	}
	// On a server without users, the first person to sign in becomes its owner, so they
	// must be at this machine.
	if ip, err := netip.ParseAddr(from); err != nil || !ip.IsLoopback() || !slices.Contains(loopbackNames, hostName(r.Host)) {
		unclaimed, err := s.o.Directory.Unclaimed(ctx)
		if err != nil {
			return account.Identity{}, "", err
		}
		if unclaimed {
			return account.Identity{}, "", refusal.New("not_set_up")
		}
	}
	who, secret, err = s.o.Directory.SignIn(ctx, body.Token, deviceLabel, from)
	if errors.Is(err, account.ErrRefused) {
		err = refusal.New("sign_in_link_used")
	}
	return who, secret, err
}

func (s *Server) postLogout(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	if err := readBody(r, &struct{}{}); err != nil {
		return err
	}
	if who.Credential.Kind != account.Cookie {
		return refusal.New("token_signs_out")
	}
	if err := s.o.Directory.SignOut(context.WithoutCancel(r.Context()), who); err != nil {
		return err
	}
	http.SetCookie(w, s.newCookie(r, "", -1))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) getMe(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	me, err := s.wireMe(r.Context(), who)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, me)
	return nil
}

// postSetUp turns the temporary admin, created when the server first started, into a
// real one.
func (s *Server) postSetUp(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body wire.SetUp
	if err := readBody(r, &body); err != nil {
		return err
	}
	if err := requireSetUpBrowser(who); err != nil {
		return err
	}
	user, err := s.o.Directory.SetUp(context.WithoutCancel(r.Context()), who, body.Name, body.Password)
	if err != nil {
		return err
	}
	who.User = user
	me, err := s.wireMe(r.Context(), who)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, me)
	return nil
}

func (s *Server) postPassword(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body wire.NewPassword
	if err := readBody(r, &body); err != nil {
		return err
	}
	if err := requireUnlimited(who); err != nil {
		return err
	}
	succeeded, err := s.beginAttempt(r, who.User.Name)
	if err != nil {
		return err
	}
	err = s.o.Directory.ChangePassword(context.WithoutCancel(r.Context()), who, body.CurrentPassword, body.Password)
	if errors.Is(err, account.ErrRefused) {
		return wrongPassword()
	}
	succeeded() // the current password was right, or there was none
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// targetUser returns the user whose sign-ins a request is about: the caller or, for
// admins, the one that ?user_id names.
func (s *Server) targetUser(r *http.Request, who account.Identity) (userID string, err error) {
	userID = r.URL.Query().Get("user_id")
	if userID == "" || userID == who.User.UserID {
		return who.User.UserID, nil
	}
	if !who.User.Role.AtLeast(account.Admin) {
		return "", account.ErrNotFound
	}
	_, err = s.o.Directory.User(r.Context(), userID)
	return userID, err
}

func (s *Server) getSignIns(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	userID, err := s.targetUser(r, who)
	if err != nil {
		return err
	}
	all, err := s.o.Directory.SignIns(r.Context(), userID)
	if err != nil {
		return err
	}
	list := wire.SignInList{SignIns: make([]wire.SignIn, 0, len(all))}
	for _, c := range all {
		list.SignIns = append(list.SignIns, wire.SignIn{
			SignInID: c.CredentialID, Device: c.Name, Address: c.Address, CreatedAt: wire.Seconds(c.CreatedAt),
			LastUsedAt: wire.SecondsOrNull(c.LastUsedAt), ExpiresAt: wire.SecondsOrNull(c.ExpiresAt),
			Current: c.CredentialID == who.Credential.CredentialID, Method: c.Method,
		})
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}

func (s *Server) deleteSignIn(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	if err := requireUnlimited(who); err != nil {
		return err
	}
	userID, err := s.targetUser(r, who)
	if err != nil {
		return err
	}
	if err := s.o.Directory.EndSignIn(context.WithoutCancel(r.Context()), userID, r.PathValue("id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// visibleTokens lists the tokens that a person may see: their own, or all for admins.
func (s *Server) visibleTokens(ctx context.Context, who account.Identity) ([]account.Identity, error) {
	all, err := s.o.Directory.Tokens(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(t account.Identity) bool {
		return t.User.UserID != who.User.UserID && !who.User.Role.AtLeast(account.Admin)
	}), nil
}

func (s *Server) getTokens(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	tokens, err := s.visibleTokens(r.Context(), who)
	if err != nil {
		return err
	}
	list := wire.TokenList{Tokens: make([]wire.Token, 0, len(tokens))}
	for _, t := range tokens {
		list.Tokens = append(list.Tokens, wireToken(t))
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}

func (s *Server) postToken(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body wire.TokenCreate
	if err := readBody(r, &body); err != nil {
		return err
	}
	ctx := context.WithoutCancel(r.Context())
	lifetime := time.Duration(body.ExpiresIn * float64(time.Second))
	var created account.Identity
	var secret string
	var err error
	switch {
	case body.Role != "" && requireUnlimited(who) != nil:
		err = requireUnlimited(who)
	case body.Role == "":
		created, secret, err = s.o.Directory.CreateOwnToken(ctx, who, body.Name, body.Scope, lifetime)
	case !who.User.Role.AtLeast(account.Admin):
		err = refusal.Forbidden(account.Admin)
	default:
		created, secret, err = s.o.Directory.CreateToken(ctx, who.User, body.Name, body.Role, lifetime)
	}
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, wire.TokenCreated{Token: wireToken(created), Secret: secret})
	return nil
}

func (s *Server) deleteToken(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	if err := requireUnlimited(who); err != nil {
		return err
	}
	ctx := context.WithoutCancel(r.Context())
	tokens, err := s.visibleTokens(ctx, who)
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	if !slices.ContainsFunc(tokens, func(t account.Identity) bool { return t.Credential.CredentialID == id }) {
		return account.ErrNotFound
	}
	if err := s.o.Directory.RevokeToken(ctx, id); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) getUsers(w http.ResponseWriter, r *http.Request, _ account.Identity) error {
	all, err := s.o.Directory.Users(r.Context())
	if err != nil {
		return err
	}
	list := wire.PersonList{Users: make([]wire.Person, 0, len(all))}
	for _, u := range all {
		list.Users = append(list.Users, wirePerson(u))
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}

func (s *Server) postUser(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body wire.PersonCreate
	if err := readBody(r, &body); err != nil {
		return err
	}
	if err := requireUnlimited(who); err != nil {
		return err
	}
	created, err := s.o.Directory.CreateUser(context.WithoutCancel(r.Context()), body.Name, body.Role, body.Password)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, wirePerson(created))
	return nil
}

func (s *Server) patchUser(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body wire.PersonChange
	if err := readBody(r, &body); err != nil {
		return err
	}
	if body.Password != nil || body.Role != nil || body.Disabled != nil && !*body.Disabled {
		if err := requireUnlimited(who); err != nil {
			return err
		}
	}
	ctx, id := context.WithoutCancel(r.Context()), r.PathValue("id")
	if body.Password != nil {
		if _, err := s.o.Directory.ResetPassword(ctx, id, *body.Password); err != nil {
			return err
		}
	}
	if body.Role != nil {
		if err := s.o.Directory.SetRole(ctx, id, *body.Role); err != nil {
			return err
		}
	}
	if body.Disabled != nil {
		if err := s.o.Directory.SetDisabled(ctx, id, *body.Disabled); err != nil {
			return err
		}
	}
	user, err := s.o.Directory.User(ctx, id)
	if err != nil {
		return err
	}
	if body.Limits != nil {
		own := project.Override(*body.Limits)
		if err := own.Check(); err != nil {
			return err
		}
		if err := s.o.Store.SetUserLimits(ctx, id, user.Name, own, access.Actor(who)); err != nil {
			return err
		}
		s.o.Driver.LimitsChanged()
	}
	writeJSON(w, http.StatusOK, wirePerson(user))
	return nil
}

// postSignInLink creates a sign-in link, with which an admin gives a person access without
// a password.
func (s *Server) postSignInLink(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	if err := readBody(r, &struct{}{}); err != nil {
		return err
	}
	ctx, id := context.WithoutCancel(r.Context()), r.PathValue("id")
	user, err := s.o.Directory.User(ctx, id)
	if err != nil {
		return err
	}
	if user.Disabled {
		return refusal.New("disabled")
	}
	secret, err := s.o.Directory.NewSignInLink(ctx, id)
	if errors.Is(err, account.ErrNotFound) {
		return refusal.NotSignedIn() // the caller's credential has just ended
	}
	if err != nil {
		return err
	}
	expiresAt := time.Now().Add(account.SignInLinkTTL)
	if credentialEnd := who.Credential.TokenExpiry(); !credentialEnd.IsZero() && credentialEnd.Before(expiresAt) {
		expiresAt = credentialEnd
	}
	writeJSON(w, http.StatusCreated, wire.SignInLink{Token: secret, ExpiresAt: wire.Seconds(expiresAt)})
	return nil
}

func (s *Server) wireMe(ctx context.Context, who account.Identity) (wire.Me, error) {
	me := wire.Me{
		User: wire.User{Name: who.User.Name, Role: who.User.Role}, UserID: who.User.UserID, HasPassword: who.User.HasPassword,
	}
	if s.o.NoSetUp || who.User.HasPassword || who.Credential.Kind != account.Cookie || who.Credential.IsLimited() {
		return me, nil
	}
	var err error
	if who.User.Role == account.Admin {
		if me.SetUp, err = s.o.Directory.Unclaimed(ctx); err != nil {
			return wire.Me{}, err
		}
	}
	if !me.SetUp {
		me.NeedsWay, err = s.o.Directory.NeedsSignInMethod(ctx, who)
	}
	return me, err
}

func wirePerson(u account.User) wire.Person {
	return wire.Person{
		UserID: u.UserID, Name: u.Name, Role: u.Role, Disabled: u.Disabled, HasPassword: u.HasPassword, CreatedAt: wire.Seconds(u.CreatedAt),
	}
}

func wireToken(t account.Identity) wire.Token {
	return wire.Token{
		TokenID: t.Credential.CredentialID, Name: t.Credential.Name, User: t.User.Name, Role: t.User.Role,
		CreatedAt: wire.Seconds(t.Credential.CreatedAt), ExpiresAt: wire.SecondsOrNull(t.Credential.ExpiresAt),
		LastUsedAt: wire.SecondsOrNull(t.Credential.LastUsedAt), Revoked: t.Credential.Revoked,
	}
}

func wrongPassword() error {
	ref := refusal.New("wrong_password")
	ref.Body.Field = "current_password"
	return ref
}
