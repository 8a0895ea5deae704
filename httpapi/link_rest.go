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

// A flow that links is none that signs in, and the other way round.
const linkCeremony = "oidc-link"

// linking is what one was begun with: it is ended by who began it, in the sign-in
// that proved who they are.
type linking struct {
	Flow         oidc.Flow `json:"flow"`
	UserID       string    `json:"user_id"`
	CredentialID string    `json:"credential_id"`
}

// postLinkBegin says where the browser is to sign in with the identity that is to
// be linked. Whoever has only got hold of a browser that is signed in must not be
// able to stay.
func (s *Server) postLinkBegin(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body wire.LinkNew
	if err := readBody(r, &body); err != nil {
		return err
	}
	if err := inBrowser(who); err != nil {
		return err
	}
	if err := s.oidcHere(r); err != nil {
		return err
	}
	if err := s.provesOwner(r, who, body.CurrentPassword); err != nil {
		return err
	}
	address, flow, err := s.o.OIDC.Provider.Begin(r.Context())
	if err != nil {
		return s.oidcRefusal(r, err)
	}
	s.begin(w, r, linkCeremony, linking{Flow: flow, UserID: who.User.UserID, CredentialID: who.Credential.CredentialID})
	writeJSON(w, http.StatusOK, wire.OIDCBegun{Address: address})
	return nil
}

// postLink takes what the browser brought back, as postOIDCLogin does.
func (s *Server) postLink(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body wire.OIDCLogin
	if err := readBody(r, &body); err != nil {
		return err
	}
	if err := inBrowser(who); err != nil {
		return err
	}
	if err := s.oidcHere(r); err != nil {
		return err
	}
	var kept linking
	if err := s.finish(w, r, linkCeremony, &kept); err != nil {
		return err
	}
	if kept.UserID != who.User.UserID || kept.CredentialID != who.Credential.CredentialID {
		return refusal.New("begun_by_another")
	}
	person, err := s.o.OIDC.Provider.Finish(r.Context(), kept.Flow, body.State, body.Code)
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
	if err := whole(who); err != nil {
		return err
	}
	if err := s.o.Directory.Unlink(context.WithoutCancel(r.Context()), who, r.PathValue("id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// provesOwner refuses when a person who wants another way in is not the one who
// signed in: they know the password or have signed in just now.
func (s *Server) provesOwner(r *http.Request, who account.Identity, password string) error {
	succeeded, err := s.attempt(r, who.User.Name)
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

func wrongPassword() error {
	ref := refusal.New("wrong_password")
	ref.Body.Field = "current_password"
	return ref
}

func wireLink(l account.Link) wire.Link {
	return wire.Link{LinkID: l.ID(), Issuer: l.Issuer, CreatedAt: wire.Seconds(l.CreatedAt), ByHand: l.ByHand}
}
