package wsapi

import (
	"errors"
	"net/http"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/session"
)

func (s *Server) getPending(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	book, err := s.book(r.Context())
	if err != nil {
		return err
	}
	open, err := s.o.Requests.Open(r.Context(), "")
	if err != nil {
		return err
	}
	sessions := map[string]session.Session{}
	list := PendingList{PendingRequests: make([]PendingRequest, 0, len(open))}
	for _, req := range open {
		ses, known := sessions[req.SessionID]
		if !known {
			if ses, err = s.o.Store.Session(r.Context(), req.SessionID); err != nil && !errors.Is(err, session.ErrNotFound) {
				return err
			}
			sessions[req.SessionID] = ses
		}
		if ses.SessionID == "" || book.May(person(who), project.See, placeOf(ses)) != nil {
			continue
		}
		one := PendingRequest{SessionID: req.SessionID, SessionTitle: ses.Title, Request: wireRequest(req)}
		one.Approval = wireApproval(req, ses.CWD, placeOf(ses), book, person(who))
		one.Held = wireHeld(req.Held, person(who))
		one.Risk = s.levels.of(req, ses.CWD)
		list.PendingRequests = append(list.PendingRequests, one)
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}

func (s *Server) getRequest(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	req, _, err := s.mayRequest(r.Context(), who, project.See, r.PathValue("id"))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, RequestFate{
		RequestID: req.RequestID, SessionID: req.SessionID, Status: req.Status,
		ExpiresAt: optionalSeconds(req.ExpiresAt), Resolved: wireResolved(req),
	})
	return nil
}

func (s *Server) postExtend(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	c := new(Extend)
	return s.postRequestCommand(w, r, who, "extend", c, &c.RequestID)
}

func (s *Server) postWithdraw(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	c := new(WithdrawApproval)
	return s.postRequestCommand(w, r, who, "withdraw_approval", c, &c.RequestID)
}

func (s *Server) postUndo(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	c := new(Undo)
	return s.postRequestCommand(w, r, who, "undo", c, &c.RequestID)
}

func (s *Server) postResponse(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	c := new(PendingRequestResponse)
	return s.postRequestCommand(w, r, who, "pending_request_response", c, &c.RequestID)
}

// postRequestCommand carries out a command about the request that the address
// names. named is the request_id of c, which may be left out of the body and must
// not name another.
func (s *Server) postRequestCommand(w http.ResponseWriter, r *http.Request, who account.Identity, kind string, c deed, named *string) error {
	if err := decodeBody(r, c, "request_id", "session_id"); err != nil {
		return err
	}
	id := r.PathValue("id")
	if *named != "" && *named != id {
		return refuseField("request_id", "The body names another request than the address.")
	}
	*named = id
	s.answerCommand(w, r, commandSpecs[kind], c, who, http.StatusOK)
	return nil
}
