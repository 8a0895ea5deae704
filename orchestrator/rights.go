package orchestrator

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// errBypassStopped means that a session that bypasses approvals does not continue by itself,
// because the person who had the right may have lost it. A person must start it again.
var errBypassStopped = errors.New("a session that asks nobody is started by a person")

// recordBypass records in the audit log that a process is about to bypass approvals. If that
// fails, the process must not do so.
func (o *Orchestrator) recordBypass(ctx context.Context, s session.Session, by pending.Actor) error {
	return o.record(ctx, newIncident("asks_nobody", s, by))
}

// rightsInterval is how long Claude may go on bypassing approvals after the right to do so has
// ended. Rights end in many places, also outside this server, so the database is polled while a
// process is in that mode.
const rightsInterval = 3 * time.Second

// rights holds who may bypass approvals, and where, at one moment.
type rights struct {
	book   *project.Book
	people map[string]project.Person // users whose account is not disabled, by id
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

// mayBypass reports whether a person may bypass approvals in a folder.
func (o *Orchestrator) mayBypass(ctx context.Context, userID, folder string) (bool, error) {
	r, err := o.rights(ctx)
	return err == nil && r.mayBypass(userID, folder), err
}

// watchRights checks the rights every rightsInterval until ctx ends, and ends the bypass of each
// process whose user no longer has the right. Checks do not overlap; a process that is slow to
// change its mode delays neither the next check nor other processes.
func (o *Orchestrator) watchRights(ctx context.Context) {
	pause := time.NewTicker(rightsInterval)
	defer pause.Stop()
	var ending sync.WaitGroup
	defer ending.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		for _, p := range o.processesWithoutRight(ctx) {
			if p.endingBypass.CompareAndSwap(false, true) {
				ending.Go(func() {
					defer p.endingBypass.Store(false)
					if _, is := p.bypassingFor(); is { // its mode may have changed since the check
						p.endBypass(ctx)
					}
				})
			}
		}
	}
}

// processesWithoutRight lists the processes that bypass approvals for a user who does not have the
// right.
func (o *Orchestrator) processesWithoutRight(ctx context.Context) (list []*process) {
	var bypassing []*process
	for _, p := range o.all() {
		if _, is := p.bypassingFor(); is {
			bypassing = append(bypassing, p)
		}
	}
	if len(bypassing) == 0 {
		return nil
	}
	r, err := o.rights(ctx)
	if err != nil {
		if ctx.Err() == nil {
			o.o.Log.ErrorContext(ctx, "cannot read who can bypass approvals", "error", err)
		}
		return nil
	}
	for _, p := range bypassing {
		if by, is := p.bypassingFor(); is && !r.mayBypass(by, p.session.CWD) {
			list = append(list, p)
		}
	}
	return list
}
