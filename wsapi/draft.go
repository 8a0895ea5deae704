package wsapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/wire"
)

// draftChanged brings a draft to all tabs of its person.
func (h *Hub) draftChanged(d account.Draft, commandID string) {
	h.tellPerson(d.UserID, d.SessionID+"/"+d.RequestID, wire.Encode(wire.NewKeptDraft(d, commandID)))
}

// tellPerson puts a frame about something of one person before their tabs; a
// newer one about the same takes its place.
func (h *Hub) tellPerson(userID, what string, frame []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for t := range h.tabs {
		if t.who.User.UserID == userID {
			t.putPrivate(what, frame)
		}
	}
}

// putPrivate keeps the newest frame about something of this tab's person.
func (t *tab) putPrivate(what string, frame []byte) {
	t.mu.Lock()
	t.private[what] = frame
	t.mu.Unlock()
	poke(t.wake)
}

// bringDrafts gives a new tab what its person has half written. What changes
// meanwhile is put by [Hub.tellPerson] and is newer.
func (t *tab) bringDrafts(ctx context.Context) {
	drafts, err := t.hub.s.o.Store.Drafts(ctx, t.who.User.UserID)
	if err != nil {
		t.hub.failed(ctx, "read drafts for a tab", err)
		return
	}
	t.mu.Lock()
	for _, d := range drafts {
		what := d.SessionID + "/" + d.RequestID
		if t.private[what] == nil {
			t.private[what] = wire.Encode(wire.NewKeptDraft(d, ""))
		}
	}
	t.mu.Unlock()
	poke(t.wake)
}

func (s *Server) getTemplates(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	list, err := s.o.Store.Templates(r.Context(), who.User.UserID)
	if err != nil {
		return err
	}
	all := wire.TemplateList{Templates: make([]wire.Template, 0, len(list))}
	for _, t := range list {
		all.Templates = append(all.Templates, wire.Template{TemplateID: t.TemplateID, Name: t.Name, Place: t.Place, Text: t.Text, Uses: t.Uses, UsedAt: wire.Seconds(t.UsedAt)})
	}
	writeJSON(w, http.StatusOK, all)
	return nil
}

func (s *Server) postTemplate(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body wire.TemplateText
	if err := readBody(r, &body); err != nil {
		return err
	}
	place := body.Place
	if place == "" {
		place = account.ReasonPlace
	}
	if body.Name == nil {
		if err := s.commands.Learn(r.Context(), who, place, body.Text); err != nil {
			return err
		}
		return s.getTemplates(w, r, who)
	}
	name, text := strings.TrimSpace(*body.Name), strings.TrimSpace(body.Text)
	switch {
	case name == "":
		return refusal.Field("name", "A template needs a name.")
	case text == "":
		return refusal.Field("text", "A template needs a text.")
	}
	err := s.o.Store.KeepTemplate(r.Context(), account.Template{
		UserID: who.User.UserID, TemplateID: uuid.NewString(), Name: name, Place: place, Text: text, UsedAt: time.Now(),
	})
	if errors.Is(err, account.ErrTooMany) {
		return refusal.Field("name", fmt.Sprintf("You have %d templates of your own already. Remove one first.", account.MaxOwnTemplates))
	}
	if err != nil {
		return err
	}
	return s.getTemplates(w, r, who)
}

func (s *Server) patchTemplate(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body wire.TemplateText
	if err := readBody(r, &body); err != nil {
		return err
	}
	if strings.TrimSpace(body.Text) == "" {
		return refusal.Field("text", "A template needs a text.")
	}
	name := ""
	if body.Name != nil {
		name = strings.TrimSpace(*body.Name)
	} else {
		list, err := s.o.Store.Templates(r.Context(), who.User.UserID)
		if err != nil {
			return err
		}
		for _, t := range list {
			if t.TemplateID == r.PathValue("id") {
				name = t.Name
			}
		}
	}
	if err := s.o.Store.ChangeTemplate(r.Context(), who.User.UserID, r.PathValue("id"), name, strings.TrimSpace(body.Text)); err != nil {
		return err
	}
	return s.getTemplates(w, r, who)
}

func (s *Server) deleteTemplate(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	if err := s.o.Store.ChangeTemplate(r.Context(), who.User.UserID, r.PathValue("id"), "", ""); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
