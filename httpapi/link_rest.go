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

// linkCeremony differs from oidcCeremony, so that neither flow can finish the other.
const linkCeremony = "oidc-link"

// linkFlow is the state of a link in progress. Only the credential that began it can
// finish it.
type linkFlow struct {
	Flow         oidc.Flow `json:"flow"`
	UserID       string    `json:"user_id"`
	CredentialID string    `json:"credential_id"`
}

// postLinkBegin returns the address at which the browser signs in with the identity to
// link. It requires proof of identity again, so that a stolen browser session cannot
// become permanent.
func (s *Server) postLinkBegin(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body wire.LinkNew
	if err := readBody(r, &body); err != nil {
		return err
	}
	if err := requireBrowser(who); err != nil {
		return err
	}
	if err := s.requireOIDC(r); err != nil {
		return err
	}
	if err := s.proveOwner(r, who, body.CurrentPassword); err != nil {
		return err
	}
	address, flow, err := s.o.OIDC.Provider.Begin(r.Context())
	if err != nil {
		return s.oidcRefusal(r, err)
	}
	err = s.beginCeremony(w, r, linkCeremony, linkFlow{Flow: flow, UserID: who.User.UserID, CredentialID: who.Credential.CredentialID})
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.OIDCBegun{Address: address})
	return nil
}

// postLink finishes a link with the parameters of the provider's redirect, as
// postOIDCLogin does.
func (s *Server) postLink(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body wire.OIDCLogin
	if err := readBody(r, &body); err != nil {
		return err
	}
	if err := requireBrowser(who); err != nil {
		return err
	}
	if err := s.requireOIDC(r); err != nil {
		return err
	}
	var begun linkFlow
	if err := s.finishCeremony(w, r, linkCeremony, &begun); err != nil {
		return err
	}
	if begun.UserID != who.User.UserID || begun.CredentialID != who.Credential.CredentialID {
		return refusal.New("begun_by_another")
	}
	person, err := s.o.OIDC.Provider.Finish(r.Context(), begun.Flow, body.State, body.Code)
	if err != nil {
		return s.oidcRefusal(r, err)
	}
	l, err := s.o.Directory.Link(context.WithoutCancel(r.Context()), who, account.ExternalIdentity{Issuer: person.Issuer, Subject: person.Subject})
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, wireLink(l))
	return nil
}

func (s *Server) getLinks(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	all, err := s.o.Directory.Links(r.Context(), who.User.UserID)
	if err != nil {
		return err
	}
	list := wire.LinkList{Links: make([]wire.Link, 0, len(all))}
	for _, l := range all {
		list.Links = append(list.Links, wireLink(l))
	}
	if s.o.OIDC != nil {
		list.Provider = &s.o.OIDC.Name
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}

func (s *Server) deleteLink(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	if err := requireUnlimited(who); err != nil {
		return err
	}
	if err := s.o.Directory.Unlink(context.WithoutCancel(r.Context()), who, r.PathValue("id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// proveOwner makes a person prove who they are before they add a sign-in method: by
// their password, or by having signed in recently.
func (s *Server) proveOwner(r *http.Request, who account.Identity, password string) error {
	succeeded, err := s.beginAttempt(r, who.User.Name)
	if err != nil {
		return err
	}
	err = s.o.Directory.ProveOwner(r.Context(), who, password)
	if errors.Is(err, account.ErrRefused) {
		return wrongPassword()
	}
	succeeded() // the password was right, or there was none
	return err
}

func wireLink(l account.Link) wire.Link {
	return wire.Link{LinkID: l.ID(), Issuer: l.Issuer, CreatedAt: wire.Seconds(l.CreatedAt), ByHand: l.ByHand}
}
