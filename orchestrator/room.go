package orchestrator

import (
	"context"
	"errors"
	"time"

	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/session"
)

// roomPause is after how long what had no room looks for it again by itself: a new
// day may have begun, or memory was given back.
const roomPause = time.Minute

// Bounds returns the limits that hold now, and what the sessions with a process
// take.
func (o *Orchestrator) Bounds(ctx context.Context) (*project.Bounds, []project.Taken, error) {
	bounds, err := project.ReadBounds(ctx, o.o.Store, o.rules().EachPerson, time.Now())
	if err != nil {
		return nil, nil, err
	}
	memory := o.memory()
	o.mu.Lock()
	defer o.mu.Unlock()
	return bounds, o.taken(memory), nil
}

// memory is what the trees of the processes take, by session id.
func (o *Orchestrator) memory() map[string]uint64 {
	memory := map[string]uint64{}
	for _, p := range o.all() {
		p.mu.Lock()
		memory[p.session.SessionID] = p.state.Memory
		p.mu.Unlock()
	}
	return memory
}

// taken lists the sessions that have a process or a place for one. It is called
// with the lock held.
func (o *Orchestrator) taken(memory map[string]uint64) (list []project.Taken) {
	for id, p := range o.processes {
		list = append(list, project.Taken{Folder: p.session.CWD, OwnerID: p.session.OwnerID, Memory: memory[id]})
	}
	for id, place := range o.places {
		if o.processes[id] == nil {
			list = append(list, project.Taken{Folder: place.session.CWD, OwnerID: place.session.OwnerID})
		}
	}
	return list
}

// place is room for a process that is about to start.
type place struct {
	session session.Session
	holders int // who asked for it and have not let go of it
}

// reserve keeps a place for a process of a session, within the limits, until release
// is called. Looking for room and taking it are one step: of two that ask for the
// last place, one gets it. The error is a [project.LimitError] when there is none.
func (o *Orchestrator) reserve(ctx context.Context, s session.Session) (release func(), err error) {
	// Until the processes of a former server are known, nobody can say what is taken.
	select {
	case <-o.settled:
	case <-o.closing:
		return nil, ErrClosing
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	bounds, err := project.ReadBounds(ctx, o.o.Store, o.rules().EachPerson, time.Now())
	if err != nil {
		return nil, err
	}
	memory := o.memory()
	o.mu.Lock()
	defer o.mu.Unlock()
	kept := o.places[s.SessionID]
	if kept == nil {
		if o.processes[s.SessionID] == nil {
			if err := bounds.Room(s.CWD, s.OwnerID, o.taken(memory)); err != nil {
				return nil, err
			}
		}
		kept = &place{session: s}
		o.places[s.SessionID] = kept
	}
	kept.holders++
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if kept.holders--; kept.holders == 0 {
			delete(o.places, s.SessionID)
		}
	}, nil
}

// mayBegin says whether another turn may begin in the session: nil, or a
// [project.LimitError].
func (p *process) mayBegin(ctx context.Context) error {
	// What the turn before has cost counts.
	p.mu.Lock()
	unstored := p.spent > 0
	p.mu.Unlock()
	if unstored {
		if err := p.flush(ctx); err != nil {
			return err
		}
	}
	p.mu.Lock()
	for p.spending > 0 && !p.ended {
		p.room.Wait()
	}
	p.mu.Unlock()
	bounds, err := project.ReadBounds(ctx, p.o.o.Store, p.o.rules().EachPerson, time.Now())
	if err != nil {
		return err
	}
	return bounds.Turn(p.session.CWD, p.session.OwnerID)
}

// hold says why what is queued is not said, or takes that back with "".
func (p *process) hold(why string) {
	p.mu.Lock()
	changed := p.state.Held != why
	p.mu.Unlock()
	if changed {
		p.update(func(s *session.ProcessState) { s.Held = why })
	}
}

// LimitsChanged has everything look again that found no room.
func (o *Orchestrator) LimitsChanged() {
	for _, p := range o.all() {
		p.pokeFeed()
	}
	poke(o.roomier)
}

// noRoom has a session that would go on by itself, and finds no room, say so and
// wait for it. Whoever is told of the change tries again, so it is told once.
func (o *Orchestrator) noRoom(ctx context.Context, sessionID string, why *project.LimitError) error {
	o.mu.Lock()
	o.waiting[sessionID] = struct{}{}
	o.mu.Unlock()
	state, err := o.o.Store.ProcessState(ctx, sessionID)
	if err != nil || state.Running() || state.Held == why.Sentence {
		return err
	}
	state.Held = why.Sentence
	if _, err := o.o.Store.SaveProcess(ctx, state); err != nil {
		return err
	}
	o.o.Bell.Ring(sessionID)
	return nil
}

// waitAgain takes up the wait of what found no room while a former server ran.
func (o *Orchestrator) waitAgain(ctx context.Context) {
	held, err := o.o.Store.HeldSessions(ctx)
	if err != nil {
		o.o.Log.ErrorContext(ctx, "cannot see which sessions wait for room", "error", err)
		return
	}
	o.mu.Lock()
	for _, sessionID := range held {
		o.waiting[sessionID] = struct{}{}
	}
	o.mu.Unlock()
	if len(held) > 0 {
		poke(o.roomier)
	}
}

// resumeWaiting starts the sessions for which there was no room, if there is now.
func (o *Orchestrator) resumeWaiting(ctx context.Context) {
	o.mu.Lock()
	waiting := o.waiting
	o.waiting = make(map[string]struct{})
	o.mu.Unlock()
	for sessionID := range waiting {
		err := o.resumeWhatWaits(ctx, sessionID)
		switch {
		case err == nil, ctx.Err() != nil, errors.Is(err, session.ErrNotFound), errors.Is(err, ErrRunning), errors.Is(err, ErrClosing):
		case passing(err):
			o.mu.Lock()
			o.waiting[sessionID] = struct{}{}
			o.mu.Unlock()
		default:
			o.o.Log.ErrorContext(ctx, "cannot resume a session that waited for room", "session_id", sessionID, "error", err)
		}
	}
}

func (o *Orchestrator) resumeWhatWaits(ctx context.Context, sessionID string) error {
	queue, err := o.o.Store.QueuedMessages(ctx, sessionID)
	if err != nil {
		return err
	}
	if len(queue) == 0 {
		return o.resumeIfAnswered(ctx, sessionID)
	}
	s, err := o.o.Store.Session(ctx, sessionID)
	if err != nil {
		return err
	}
	return o.sayWhy(ctx, sessionID, o.launch(ctx, s, launchOf(s)))
}
