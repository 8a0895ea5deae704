package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/command"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/wire"
)

// templateStore holds what templateHandlers reads and writes.
type templateStore interface {
	ChangeTemplate(ctx context.Context, userID, templateID, name, text string) error
	KeepTemplate(ctx context.Context, t account.Template) error
	Templates(ctx context.Context, userID string) ([]account.Template, error)
}

// templateHandlers serves a person's saved replies.
type templateHandlers struct {
	store    templateStore
	commands *command.Executor
}

func (s *templateHandlers) getTemplates(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	list, err := s.store.Templates(r.Context(), who.User.UserID)
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

func (s *templateHandlers) postTemplate(w http.ResponseWriter, r *http.Request, who account.Identity) error {
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
		return refusal.For("name", "template_name_missing")
	case text == "":
		return refusal.For("text", "template_text_missing")
	}
	err := s.store.KeepTemplate(r.Context(), account.Template{
		UserID: who.User.UserID, TemplateID: uuid.NewString(), Name: name, Place: place, Text: text, UsedAt: time.Now(),
	})
	if errors.Is(err, account.ErrTooMany) {
		return refusal.For("name", "too_many_templates", "max", account.MaxOwnTemplates)
	}
	if err != nil {
		return err
	}
	return s.getTemplates(w, r, who)
}

func (s *templateHandlers) patchTemplate(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	var body wire.TemplateText
	if err := readBody(r, &body); err != nil {
		return err
	}
	if strings.TrimSpace(body.Text) == "" {
		return refusal.For("text", "template_text_missing")
	}
	name := ""
	if body.Name != nil {
		name = strings.TrimSpace(*body.Name)
	} else {
		list, err := s.store.Templates(r.Context(), who.User.UserID)
		if err != nil {
			return err
		}
		for _, t := range list {
			if t.TemplateID == r.PathValue("id") {
				name = t.Name
			}
		}
	}
	if err := s.store.ChangeTemplate(r.Context(), who.User.UserID, r.PathValue("id"), name, strings.TrimSpace(body.Text)); err != nil {
		return err
	}
	return s.getTemplates(w, r, who)
}

func (s *templateHandlers) deleteTemplate(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	if err := s.store.ChangeTemplate(r.Context(), who.User.UserID, r.PathValue("id"), "", ""); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
