package httpapi

import (
	"context"
	"net/http"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/command"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/wire"
)

func (s *Server) postSession(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	c := new(wire.CreateSession)
	if err := decodeBody(r, c); err != nil {
		return err
	}
	s.answerCommand(w, r, "create_session", c, who, http.StatusCreated)
	return nil
}

// commandRoute returns a handler for a command about the session in the path.
func commandRoute(name string) func(*Server, http.ResponseWriter, *http.Request, account.Identity) error {
	return func(s *Server, w http.ResponseWriter, r *http.Request, who account.Identity) error {
		spec, _ := command.Find(name)
		c := spec.New()
		if err := decodeBody(r, c, "session_id"); err != nil {
			return err
		}
		id, bodyID := r.PathValue("id"), c.Session()
		if *bodyID != "" && *bodyID != id {
			return refusal.For("session_id", "other_session")
		}
		*bodyID = id
		s.answerCommand(w, r, name, c, who, http.StatusAccepted)
		return nil
	}
}

// answerCommand runs a command and responds with its outcome. A closed connection does
// not cancel the command: a person's decision counts.
func (s *Server) answerCommand(w http.ResponseWriter, r *http.Request, kind string, c wire.Command, who account.Identity, successStatus int) {
	spec, _ := command.Find(kind)
	result := s.o.Commands.Perform(context.WithoutCancel(r.Context()), spec, c, who)
	if result.Status == http.StatusOK {
		writeJSON(w, successStatus, result.Outcome)
		return
	}
	s.refusals.Add(1)
	writeRefusal(w, &refusal.Refusal{Status: result.Status, Retry: result.Retry}, result.Outcome)
}
