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

// ErrOtherPerson refuses a command that was given by a different user from the one who is signed
// in. This happens when somebody else signs in to a browser that still has unsent commands.
var ErrOtherPerson = errors.New("another person gave this command")

// Store reads sessions, requests and projects.
type Store interface {
	Session(ctx context.Context, sessionID string) (session.Session, error)
	Request(ctx context.Context, requestID string) (pending.Request, error)
	Projects(ctx context.Context) ([]project.Project, error)
}

// People lists the users of the server.
type People interface {
	Users(ctx context.Context) ([]account.User, error)
}

// A Guard decides what a person may see and do. It reads the projects on every call, so a
// change applies to the next command.
type Guard struct {
	store    Store
	people   People
	disks    func(runnerID string) project.Disk
	lastBook atomic.Pointer[project.Book] // the last book that was read; nil before the first
}

// NewGuard returns a guard. disks returns the disk of a runner, from which the rules of projects
// read the files of sessions; it is nil if files cannot be read.
func NewGuard(store Store, people People, disks func(runnerID string) project.Disk) *Guard {
	return &Guard{store: store, people: people, disks: disks}
}

// Book returns the current projects.
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
		book = project.NewBook(projects, people).WithDisks(g.disks)
	}
	g.lastBook.Store(book)
	return book, nil
}

// Recall checks whether a person may perform an action in a session, by the projects that were
// read last. Use it while the store is unavailable. It returns [pending.ErrUnavailable] if no
// projects were ever read.
func (g *Guard) Recall(who account.Identity, action project.Action, ses session.Session) error {
	book := g.lastBook.Load()
	if book == nil {
		return pending.ErrUnavailable
	}
	err := book.May(Person(who), action, PlaceOf(ses))
	if errors.Is(err, project.ErrHidden) {
		return session.ErrNotFound
	}
	return err
}

// Session returns a session in which a person may perform an action, and the projects that
// allow it. It returns [session.ErrNotFound] for a session that the person may not see, so
// that ids reveal nothing.
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

// Request returns a request in whose session a person may perform an action, with the session
// and the projects. It returns [pending.ErrNotFound] for one that the person may not see.
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

// Start checks whether a person may start a session in a folder, whose symlinks must be
// resolved. It returns a [problem.Error] when they may not.
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

// CheckSameUser returns [ErrOtherPerson] if userID is not that of who. An empty userID matches
// everybody.
func CheckSameUser(userID string, who account.Identity) error {
	if userID == "" || userID == who.User.UserID {
		return nil
	}
	return ErrOtherPerson
}

// SessionOf returns the session of a request, and the projects, without checking any rights.
func (g *Guard) SessionOf(ctx context.Context, r pending.Request) (session.Session, *project.Book, error) {
	ses, err := g.store.Session(ctx, r.SessionID)
	if err != nil {
		return session.Session{}, nil, err
	}
	book, err := g.Book(ctx)
	return ses, book, err
}
