package wsapi

import (
	"errors"
	"net/http"

	"github.com/sayso-dev/sayso/account"
	"github.com/sayso-dev/sayso/session"
)

func (s *Server) getPending(w http.ResponseWriter, r *http.Request, _ account.Identity) error {
	open, err := s.o.Requests.Open(r.Context(), "")
	if err != nil {
		return err
	}
	titles := map[string]string{}
	list := PendingList{PendingRequests: make([]PendingRequest, 0, len(open))}
	for _, req := range open {
		title, known := titles[req.SessionID]
		if !known {
			ses, err := s.o.Store.Session(r.Context(), req.SessionID)
			if err != nil && !errors.Is(err, session.ErrNotFound) {
				return err
			}
			title = ses.Title
			titles[req.SessionID] = title
		}
		list.PendingRequests = append(list.PendingRequests, PendingRequest{SessionID: req.SessionID, SessionTitle: title, Request: wireRequest(req)})
	}
	writeJSON(w, http.StatusOK, list)
	return nil
}

func (s *Server) getRequest(w http.ResponseWriter, r *http.Request, _ account.Identity) error {
	req, err := s.o.Store.Request(r.Context(), r.PathValue("id"))
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

func (s *Server) postResponse(w http.ResponseWriter, r *http.Request, who account.Identity) error {
	c := new(PendingRequestResponse)
	return s.postRequestCommand(w, r, who, "pending_request_response", c, &c.RequestID)
}

// postRequestCommand carries out a command about the request that the address
// names. named is the request_id of c, which may be left out of the body and must
// not name another.
func (s *Server) postRequestCommand(w http.ResponseWriter, r *http.Request, who account.Identity, kind string, c deed, named *string) error {
	if err := readBody(r, c); err != nil {
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
