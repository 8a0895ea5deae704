package access

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// ErrOtherPerson refuses what one person decided or wrote and another one's browser
// sends, as it may after somebody else signed in there.
var ErrOtherPerson = errors.New("somebody else gave this")

// Store reads what a person may see or not.
type Store interface {
	Session(ctx context.Context, sessionID string) (session.Session, error)
	Request(ctx context.Context, requestID string) (pending.Request, error)
	Projects(ctx context.Context) ([]project.Project, error)
}

// People lists the users of the server.
type People interface {
	Users(ctx context.Context) ([]account.User, error)
}

// A Guard decides what a person may see and do. It reads the projects for each
// question, so that a change holds for the next command.
type Guard struct {
	store  Store
	people People
	disk   project.Disk
	last   atomic.Pointer[project.Book] // that could be read; nil before the first
}

// NewGuard returns a guard. disk looks at the files of sessions for the rules of
// projects; it is zero where nobody can look.
func NewGuard(store Store, people People, disk project.Disk) *Guard {
	return &Guard{store: store, people: people, disk: disk}
}

// Book returns the projects as they are now.
func (g *Guard) Book(ctx context.Context) (*project.Book, error) {
	projects, err := g.store.Projects(ctx)
	if err != nil {
		return project.NewBook(nil, nil), err
	}
	book := project.NewBook(nil, nil)
	if len(projects) > 0 {
		people, err := g.people.Users(ctx)
		if err != nil {
			return nil, err
		}
		book = project.NewBook(projects, people).WithDisk(g.disk)
	}
	g.last.Store(book)
	return book, nil
}

// Recall decides by the projects as they were last whether a person may do something in a
// session, while the store cannot tell: [pending.ErrUnavailable] when it never could.
func (g *Guard) Recall(who account.Identity, action project.Action, ses session.Session) error {
	book := g.last.Load()
	if book == nil {
		return pending.ErrUnavailable
	}
	err := book.May(Person(who), action, PlaceOf(ses))
	if errors.Is(err, project.ErrHidden) {
		return session.ErrNotFound
	}
	return err
}

// Session returns a session in which a person may do something, and the projects by
// which that was decided. One that they may not see is [session.ErrNotFound], as one
// that is not there.
func (g *Guard) Session(ctx context.Context, who account.Identity, action project.Action, sessionID string) (session.Session, *project.Book, error) {
	ses, err := g.store.Session(ctx, sessionID)
	if err != nil {
		return session.Session{}, nil, err
	}
	book, err := g.Book(ctx)
	if err != nil {
		return session.Session{}, nil, err
	}
	err = book.May(Person(who), action, PlaceOf(ses))
	if errors.Is(err, project.ErrHidden) {
		return session.Session{}, nil, session.ErrNotFound
	}
	return ses, book, err
}

// Request returns a request in whose session a person may do something, with the
// session and the projects. One that they may not see is [pending.ErrNotFound].
func (g *Guard) Request(ctx context.Context, who account.Identity, action project.Action, requestID string) (pending.Request, session.Session, *project.Book, error) {
	r, err := g.store.Request(ctx, requestID)
	if err != nil {
		return pending.Request{}, session.Session{}, nil, err
	}
	ses, book, err := g.Session(ctx, who, action, r.SessionID)
	if errors.Is(err, session.ErrNotFound) {
		return pending.Request{}, session.Session{}, nil, pending.ErrNotFound
	}
	return r, ses, book, err
}

// Start checks the start of a session in a folder, with all symlinks resolved. The
// error is a [problem.Error] when it is not allowed.
func (g *Guard) Start(ctx context.Context, who account.Identity, folder, mode string, tools []string) error {
	book, err := g.Book(ctx)
	if err != nil {
		return err
	}
	in := project.Place{ProjectID: book.ProjectIDOf(folder)}
	err = book.May(Person(who), project.Start, in)
	if errors.Is(err, project.ErrHidden) {
		return problem.New("start_not_allowed")
	}
	if err != nil {
		return err
	}
	return book.MayLoosen(Person(who), in, mode, tools)
}

// GivenBy returns [ErrOtherPerson] when a command names another user than the one who
// sends it. A command that names nobody is of whoever sends it.
func GivenBy(userID string, who account.Identity) error {
	if userID == "" || userID == who.User.UserID {
		return nil
	}
	return ErrOtherPerson
}

// SessionOf returns the session of a request and the projects, whoever asks.
func (g *Guard) SessionOf(ctx context.Context, r pending.Request) (session.Session, *project.Book, error) {
	ses, err := g.store.Session(ctx, r.SessionID)
	if err != nil {
		return session.Session{}, nil, err
	}
	book, err := g.Book(ctx)
	return ses, book, err
}
