package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// errAsksNobody: a session in which Claude asks nobody would have gone on by itself.
// Whoever had the right to that may have lost it since; a person starts it again.
var errAsksNobody = errors.New("a session that asks nobody is started by a person")

// bypassBody is an entry of the audit trail; docs/operating/audit.md describes it.
type bypassBody struct {
	What      string    `json:"what"` // asks_nobody
	At        time.Time `json:"at"`
	By        bypassBy  `json:"by"`
	SessionID string    `json:"session_id"`
	Folder    string    `json:"folder"`
}

type bypassBy struct {
	UserID  string `json:"user_id"`
	Name    string `json:"name"`
	Device  string `json:"device"`
	Address string `json:"address,omitempty"`
}

// recordAsksNobody puts on record that a process is to be started in which Claude
// asks nobody. What cannot be put there is not started.
func (o *Orchestrator) recordAsksNobody(ctx context.Context, s session.Session, by pending.Actor) error {
	body, err := json.Marshal(bypassBody{
		What: "asks_nobody", At: time.Now().UTC().Truncate(time.Microsecond), SessionID: s.SessionID, Folder: s.CWD,
		By: bypassBy{by.UserID, by.Name, by.Device, by.Address},
	})
	if err == nil {
		err = o.o.Store.AddIncident(ctx, body)
	}
	if err != nil {
		return fmt.Errorf("orchestrator: put on record that Claude asks nobody: %w", err)
	}
	return nil
}

// rightsInterval is how long Claude may go on asking nobody after the right to that has
// ended. Rights end in many places, also outside of this server; the rows are looked
// at while a process is in that mode, and only then.
const rightsInterval = 3 * time.Second

// rights are who may have Claude ask nobody, and where, at one moment.
type rights struct {
	book   *project.Book
	people map[string]project.Person // whose account is not disabled, by user id
}

func (o *Orchestrator) rights(ctx context.Context) (rights, error) {
	projects, err := o.o.Store.Projects(ctx)
	if err != nil {
		return rights{}, err
	}
	users, err := o.o.Store.Users(ctx)
	if err != nil {
		return rights{}, err
	}
	r := rights{book: project.NewBook(projects, users), people: map[string]project.Person{}}
	for _, u := range users {
		if !u.Disabled {
			r.people[u.UserID] = project.Person{UserID: u.UserID, Role: u.Role}
		}
	}
	return r, nil
}

func (r rights) mayBypass(userID, folder string) bool {
	who, known := r.people[userID]
	return known && r.book.May(who, project.Bypass, project.Place{ProjectID: r.book.ProjectIDOf(folder)}) == nil
}

// mayBypass reports whether somebody may have Claude ask nobody in a folder.
func (o *Orchestrator) mayBypass(ctx context.Context, userID, folder string) (bool, error) {
	r, err := o.rights(ctx)
	return err == nil && r.mayBypass(userID, folder), err
}

// watchRights looks at the rights again and again until ctx ends, and has Claude ask
// in every process that asks nobody, and for which nobody stands any more who may
// want that. A look waits for the one before it; a process that is slow to take the
// mode holds up neither the next look nor another process.
func (o *Orchestrator) watchRights(ctx context.Context) {
	pause := time.NewTicker(rightsInterval)
	defer pause.Stop()
	var telling sync.WaitGroup
	defer telling.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		for _, p := range o.withoutRight(ctx) {
			if p.asking.CompareAndSwap(false, true) {
				telling.Go(func() {
					defer p.asking.Store(false)
					if _, is := p.bypassingFor(); is { // it was not told since the look
						p.endBypass(ctx)
					}
				})
			}
		}
	}
}

// withoutRight lists the processes that ask nobody, and for which nobody stands any more
// who may want that.
func (o *Orchestrator) withoutRight(ctx context.Context) (list []*process) {
	var sparing []*process
	for _, p := range o.all() {
		if _, is := p.bypassingFor(); is {
			sparing = append(sparing, p)
		}
	}
	if len(sparing) == 0 {
		return nil
	}
	r, err := o.rights(ctx)
	if err != nil {
		if ctx.Err() == nil {
			o.o.Log.ErrorContext(ctx, "cannot see who may have Claude ask nobody", "error", err)
		}
		return nil
	}
	for _, p := range sparing {
		if by, is := p.bypassingFor(); is && !r.mayBypass(by, p.session.CWD) {
			list = append(list, p)
		}
	}
	return list
}
