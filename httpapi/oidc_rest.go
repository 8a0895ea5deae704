package httpapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/oidc"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/wire"
)

const oidcCeremony = "oidc"

// requireOIDC refuses a request if there is no provider, or if the provider would send
// the browser back to another address.
func (s *Server) requireOIDC(r *http.Request) error {
	if s.o.OIDC == nil {
		return refusal.New("no_identity_provider")
	}
	if s.origin(r) != s.o.PublicURL {
		return refusal.New("no_oidc_here", "url", s.o.PublicURL)
	}
	return nil
}

// postOIDCBegin returns the provider's sign-in address.
func (s *Server) postOIDCBegin(w http.ResponseWriter, r *http.Request, _ account.Identity) error {
	if err := readBody(r, &struct{}{}); err != nil {
		return err
	}
	if err := s.requireOIDC(r); err != nil {
		return err
	}
	address, flow, err := s.o.OIDC.Provider.Begin(r.Context())
	if err != nil {
		return s.oidcRefusal(r, err)
	}
	if err := s.beginCeremony(w, r, oidcCeremony, flow); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.OIDCBegun{Address: address})
	return nil
}

// postOIDCLogin finishes a sign-in with the parameters of the provider's redirect. Our
// own page posts them, so no GET changes anything and the cookie stays SameSite=Strict.
func (s *Server) postOIDCLogin(w http.ResponseWriter, r *http.Request, _ account.Identity) error {
	var body wire.OIDCLogin
	if err := readBody(r, &body); err != nil {
		return err
	}
	if err := s.requireOIDC(r); err != nil {
		return err
	}
	var flow oidc.Flow
	if err := s.finishCeremony(w, r, oidcCeremony, &flow); err != nil {
		return err
	}
	succeeded, err := s.beginAttempt(r, "")
	if err != nil {
		return err
	}
	ctx := context.WithoutCancel(r.Context())
	person, err := s.o.OIDC.Provider.Finish(r.Context(), flow, body.State, body.Code)
	if errors.Is(err, oidc.ErrUnreachable) {
		succeeded() // nobody guessed
	}
	if err != nil {
		err = s.oidcRefusal(r, err)
		s.recordFailure(r, "", err, account.ByOIDC)
		return err
	}
	who, secret, err := s.o.Directory.SignInByOIDC(ctx, account.ExternalIdentity{
		Issuer: person.Issuer, Subject: person.Subject, Name: person.Name, Role: s.o.OIDC.RoleOf(person.Roles),
	}, deviceName(r.UserAgent()), s.remoteAddress(r))
	var ref *refusal.Refusal
	switch {
	case errors.Is(err, account.ErrNoRole):
		ref = refusal.New("no_role", "provider", s.o.OIDC.Name)
	case errors.Is(err, account.ErrRefused):
		ref = refusal.New("shut_out")
	case err != nil:
		return err
	default:
		succeeded()
		return s.completeSignIn(ctx, w, r, who, secret)
	}
	succeeded() // the provider vouched for them
	ref.Cause = err
	s.recordFailure(r, "", ref, account.ByOIDC)
	return ref
}

// oidcRefusal returns the error that people see, and logs the details for the operator.
func (s *Server) oidcRefusal(r *http.Request, err error) error {
	var ref *refusal.Refusal
	name := s.o.OIDC.Name
	switch {
	case errors.Is(err, oidc.ErrUnreachable):
		ref = refusal.New("oidc_unreachable", "provider", name)
	case errors.Is(err, oidc.ErrRefused):
		ref = refusal.New("oidc_refused", "provider", name)
	case errors.Is(err, oidc.ErrInvalid):
		ref = refusal.New("oidc_invalid", "provider", name)
	default:
		return err
	}
	ref.Cause = err
	s.o.Log.WarnContext(r.Context(), "sign-in at the identity provider failed", "error", err)
	return ref
}
