package wsapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// Every look at a session, and everything done to one, goes through here; what is
// allowed is decided by [project.Book].

// book reads the projects as they are now, so that a change holds for the next
// command.
func (s *Server) book(ctx context.Context) (*project.Book, error) {
	projects, err := s.o.Store.Projects(ctx)
	if err != nil || len(projects) == 0 {
		return project.NewBook(nil, nil), err
	}
	people, err := s.o.Directory.Users(ctx)
	if err != nil {
		return nil, err
	}
	return project.NewBook(projects, people).On(s.o.Disk), nil
}

// may returns a session in which a person may do something. One that they may not
// see is [session.ErrNotFound], as one that is not there.
func (s *Server) may(ctx context.Context, who account.Identity, action project.Action, sessionID string) (session.Session, error) {
	ses, _, err := s.see(ctx, who, action, sessionID)
	return ses, err
}

// see is may that also returns the projects by which it decided.
func (s *Server) see(ctx context.Context, who account.Identity, action project.Action, sessionID string) (session.Session, *project.Book, error) {
	ses, err := s.o.Store.Session(ctx, sessionID)
	if err != nil {
		return session.Session{}, nil, err
	}
	book, err := s.book(ctx)
	if err != nil {
		return session.Session{}, nil, err
	}
	err = book.May(access.Person(who), action, access.PlaceOf(ses))
	if errors.Is(err, project.ErrHidden) {
		return session.Session{}, nil, session.ErrNotFound
	}
	return ses, book, err
}

// mayRequest is may for the session of a request; of a hidden one the request is
// [pending.ErrNotFound].
func (s *Server) mayRequest(ctx context.Context, who account.Identity, action project.Action, requestID string) (pending.Request, session.Session, error) {
	r, ses, _, err := s.seeRequest(ctx, who, action, requestID)
	return r, ses, err
}

// seeRequest is mayRequest that also returns the projects by which it decided.
func (s *Server) seeRequest(ctx context.Context, who account.Identity, action project.Action, requestID string) (pending.Request, session.Session, *project.Book, error) {
	r, err := s.o.Store.Request(ctx, requestID)
	if err != nil {
		return pending.Request{}, session.Session{}, nil, err
	}
	ses, book, err := s.see(ctx, who, action, r.SessionID)
	if errors.Is(err, session.ErrNotFound) {
		return pending.Request{}, session.Session{}, nil, pending.ErrNotFound
	}
	return r, ses, book, err
}

// mayStart checks the start of a session in a folder, with all symlinks resolved.
func (s *Server) mayStart(ctx context.Context, who account.Identity, folder, mode string, tools []string) error {
	book, err := s.book(ctx)
	if err != nil {
		return err
	}
	in := project.Place{ProjectID: book.Of(folder)}
	err = book.May(access.Person(who), project.Start, in)
	if errors.Is(err, project.ErrHidden) {
		return refuse(http.StatusForbidden, "forbidden", "You may not start sessions in this folder.")
	}
	if err != nil {
		return err
	}
	return book.MayLoosen(access.Person(who), in, mode, tools)
}
