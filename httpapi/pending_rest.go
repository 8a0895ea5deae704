package httpapi

import (
	"errors"
	"net/http"
	"slices"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

func (s *Server) getPending(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	book, err := s.o.Guard.Book(r.Context())
	if err != nil {
		return err
	}
	states, err := s.o.Store.ActiveProcesses(r.Context())
	if err != nil {
		return err
	}
	var open []pending.Request
	for _, state := range states {
		open = append(open, state.Requests...)
	}
	slices.SortStableFunc(open, func(a, b pending.Request) int { return a.CreatedAt.Compare(b.CreatedAt) })
	sessions := map[string]session.Session{}
	list := wire.PendingList{PendingRequests: make([]wire.PendingRequest, 0, len(open))}
	for _, req := range open {
		ses, known := sessions[req.SessionID]
		if !known {
			if ses, err = s.o.Store.Session(r.Context(), req.SessionID); err != nil && !errors.Is(err, session.ErrNotFound) {
				return err
			}
			sessions[req.SessionID] = ses
		}
		if ses.SessionID == "" || book.May(access.Person(who), project.See, access.PlaceOf(ses)) != nil {
			continue
		}
		entry := wire.PendingRequest{SessionID: req.SessionID, SessionTitle: ses.Title, Request: wire.NewRequest(req)}
		entry.Approval = wire.NewApprovalRule(r.Context(), req, ses.CWD, access.PlaceOf(ses), book, access.Person(who))
		entry.Held = wire.NewHeldAnswer(req.Held, access.Person(who))
		entry.Risk = s.o.Rules.Levels.Of(req, ses.RunnerID, ses.CWD)
		list.PendingRequests = append(list.PendingRequests, entry)
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}

func (s *Server) getRequest(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	req, _, _, err := s.o.Guard.Request(r.Context(), who, project.See, r.PathValue("id"))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.RequestFate{
		RequestID: req.RequestID, SessionID: req.SessionID, Status: req.Status,
		ExpiresAt: wire.SecondsOrNull(req.ExpiresAt), Resolved: wire.NewResolved(req),
	})
	return nil
}

func (s *Server) postExtend(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	c := new(wire.Extend)
	return s.postRequestCommand(w, r, who, "extend", c, &c.RequestID)
}

func (s *Server) postWithdraw(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	c := new(wire.WithdrawApproval)
	return s.postRequestCommand(w, r, who, "withdraw_approval", c, &c.RequestID)
}

func (s *Server) postUndo(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	c := new(wire.Undo)
	return s.postRequestCommand(w, r, who, "undo", c, &c.RequestID)
}

func (s *Server) postResponse(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	c := new(wire.PendingRequestResponse)
	return s.postRequestCommand(w, r, who, "pending_request_response", c, &c.RequestID)
}

// postRequestCommand runs a command about the request in the path. bodyID is the
// request_id of c, which may be empty and must not name another request.
func (s *Server) postRequestCommand(w http.ResponseWriter, r *http.Request, who account.Identity, kind string, c wire.Command, bodyID *string) error {
	if err := decodeBody(r, c, "request_id", "session_id"); err != nil {
		return err
	}
	id := r.PathValue("id")
	if *bodyID != "" && *bodyID != id {
		return refusal.For("request_id", "other_request")
	}
	*bodyID = id
	s.answerCommand(w, r, kind, c, who, http.StatusOK)
	return nil
}
