package wsapi

import (
	"context"
	"errors"
	"math"
	"net/http"
	"time"

	"github.com/sayso-dev/sayso/account"
)

// postLogin exchanges the secret of a sign-in link, or an API token, for a cookie. The sign-in
// that the browser had ends, so that nobody can prepare one for another person.
func (s *Server) postLogin(w http.ResponseWriter, r *http.Request, _ account.Identity) error {
	var body Login
	if err := readBody(r, &body); err != nil {
		return err
	}
	if err := checkShape(&body); err != nil {
		return err
	}
	succeeded, wait, ok := s.limiter.Begin(remoteAddress(r))
	if !ok {
		ref := refuse(http.StatusTooManyRequests, "too_many_attempts", "Too many failed sign-ins from your address. Wait a little, then try again.")
		ref.retry = wait
		return ref
	}
	if body.Username != "" {
		return refuse(http.StatusUnauthorized, "not_signed_in", "Signing in with a password is not offered here. Use a sign-in link.")
	}
	ctx := context.WithoutCancel(r.Context()) // a link is used up once; its cookie must be stored
	who, secret, err := s.o.Directory.SignIn(ctx, body.Token, device(r.UserAgent()))
	if errors.Is(err, account.ErrRefused) {
		who, secret, err = s.o.Directory.SignInByToken(ctx, body.Token, device(r.UserAgent()))
	}
	if errors.Is(err, account.ErrRefused) {
		return refuse(http.StatusUnauthorized, "not_signed_in", "This sign-in link does not work any more: it can be used once, within ten minutes. Ask for a new one.")
	}
	if err != nil {
		return err
	}
	succeeded()
	if c, err := r.Cookie(s.cookieName()); err == nil {
		if old, err := s.o.Directory.Identify(ctx, account.Cookie, c.Value); err == nil {
			if err := s.o.Directory.SignOut(ctx, old); err != nil {
				s.o.Log.ErrorContext(ctx, "end the former sign-in", "error", err)
			}
		}
	}
	http.SetCookie(w, s.cookie(secret, int(math.Ceil(time.Until(who.Credential.ExpiresAt).Seconds()))))
	writeJSON(w, http.StatusOK, wireMe(who))
	return nil
}

func (s *Server) postLogout(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	if err := readBody(r, &struct{}{}); err != nil {
		return err
	}
	if who.Credential.Kind != account.Cookie {
		return refuse(http.StatusBadRequest, "invalid", "An API token does not sign out. Revoke it under /api/tokens.")
	}
	if err := s.o.Directory.SignOut(context.WithoutCancel(r.Context()), who); err != nil {
		return err
	}
	http.SetCookie(w, s.cookie("", -1))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) getMe(w http.ResponseWriter, _ *http.Request, who account.Identity) error {
	writeJSON(w, http.StatusOK, wireMe(who))
	return nil
}

func (s *Server) getTokens(w http.ResponseWriter, r *http.Request, _ account.Identity) error {
	tokens, err := s.o.Directory.Tokens(r.Context())
	if err != nil {
		return err
	}
	list := TokenList{Tokens: make([]Token, 0, len(tokens))}
	for _, t := range tokens {
		list.Tokens = append(list.Tokens, wireToken(t))
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}

func (s *Server) postToken(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body TokenCreate
	if err := readBody(r, &body); err != nil {
		return err
	}
	if err := checkShape(&body); err != nil {
		return err
	}
	life := time.Duration(body.ExpiresIn * float64(time.Second))
	made, secret, err := s.o.Directory.CreateToken(context.WithoutCancel(r.Context()), who.User, body.Name, body.Role, life)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, TokenCreated{Token: wireToken(made), Secret: secret})
	return nil
}

func (s *Server) deleteToken(w http.ResponseWriter, r *http.Request, _ account.Identity) error {
	if err := s.o.Directory.RevokeToken(context.WithoutCancel(r.Context()), r.PathValue("id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func wireMe(who account.Identity) Me {
	return Me{User: User{Name: who.User.Name, Role: who.User.Role}}
}

func wireToken(t account.Identity) Token {
	return Token{
		TokenID: t.Credential.CredentialID, Name: t.Credential.Name, User: t.User.Name, Role: t.User.Role,
		CreatedAt: seconds(t.Credential.CreatedAt), ExpiresAt: optionalSeconds(t.Credential.ExpiresAt),
		LastUsedAt: optionalSeconds(t.Credential.LastUsedAt), Revoked: t.Credential.Revoked,
	}
}
