package wsapi

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/options"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// New returns a hub, which serves tabs while Run runs. It registers callbacks with the
// People, Commands and Refusals of its options. The error names a missing option.
func New(o Options) (*Hub, error) {
	if err := options.Check("wsapi", o); err != nil {
		return nil, err
	}
	h := &Hub{
		o: o, wake: make(chan struct{}, 1), recheck: make(chan struct{}, 1), suspect: make(chan struct{}, 1), started: make(chan struct{}),
		notice:  wire.NoNotice,
		changed: map[string]struct{}{}, feeds: map[string]*feed{}, tabs: map[*tab]bool{}, deleting: map[string]string{},
		drafts: map[string]map[string]account.Draft{}, personal: map[personal]bool{}, elsewhere: map[string]map[string][]wire.ViewerInfo{},
		commands: map[*context.CancelFunc]struct{}{},
	}
	if h.o.OnFrame == nil {
		h.o.OnFrame = func(string, time.Time) {}
	}
	o.People.OnChange(h.recheckSoon)
	o.Commands.OnDraft(h.draftChanged)
	o.Refusals.OnStoreProblem = h.checkStoreSoon
	return h, nil
}

// Run serves tabs until ctx ends, then closes every WebSocket with 1001 and returns after
// the last one. It can run once.
func (h *Hub) Run(ctx context.Context) error {
	h.mu.Lock()
	h.running = true
	h.mu.Unlock()
	close(h.started)
	var aside sync.WaitGroup
	aside.Go(func() { h.watchIdentities(ctx) })
	aside.Go(func() { h.watchStore(ctx) })
	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx)) // slow tabs must be closed to the end
	aside.Go(func() { h.watchTabs(watching) })

	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		h.round(ctx)
		if pause, ok := h.untilDue(); ok {
			timer.Reset(pause)
		} else {
			timer.Stop()
		}
		select {
		case <-ctx.Done():
		case <-h.wake:
		case <-timer.C:
		}
	}

	h.mu.Lock()
	h.running = false
	for cancel := range h.commands {
		(*cancel)()
	}
	for t := range h.tabs {
		t.end(wire.CloseGoingAway, wire.ErrorFrame{})
	}
	h.mu.Unlock()
	h.served.Wait()
	stopWatching()
	aside.Wait()
	return nil
}

// round does everything that is due: first changed sessions, because states are urgent, then new
// tabs, transcripts and presence.
func (h *Hub) round(ctx context.Context) {
	h.mu.Lock()
	changed := h.changed
	h.changed, h.retryAt = map[string]struct{}{}, time.Time{}
	unread := h.unread
	h.unread = nil
	nobody := len(h.tabs) == 0
	if nobody {
		// The next tab gets a snapshot of everything. Only deletions are completed.
		clear(h.feeds)
		maps.DeleteFunc(changed, func(id string, _ struct{}) bool { _, deleting := h.deleting[id]; return !deleting })
	}
	h.mu.Unlock()
	h.reportViewers(unread)
	for sessionID := range changed {
		h.refresh(ctx, sessionID)
	}
	if nobody {
		return
	}
	h.refreshPersonal(ctx)
	h.welcome(ctx)
	h.sendDue(time.Now())
}

// storeDownTimeout bounds the read of one session while the store is known to fail, so that
// it does not delay the others.
const storeDownTimeout = 500 * time.Millisecond

// boundIfStoreDown returns a context with storeDownTimeout while the store is known to fail.
func (h *Hub) boundIfStoreDown(ctx context.Context) (context.Context, context.CancelFunc) {
	if h.CanStore() {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, storeDownTimeout)
}

// refresh reads a session and, if it changed, queues its state for every tab that may see it.
func (h *Hub) refresh(ctx context.Context, sessionID string) {
	reading, done := h.boundIfStoreDown(ctx)
	defer done()
	state, err := h.o.Store.ProcessState(reading, sessionID)
	deleted := errors.Is(err, session.ErrNotFound)
	unknown := false // whether its project is
	if deleted {
		h.mu.Lock()
		inProject, noted := h.deleting[sessionID]
		f := h.feeds[sessionID]
		if f != nil {
			inProject = cmp.Or(inProject, f.inProject)
		}
		// Another server may have deleted it, or its deletion was sent before.
		unknown = !noted && f == nil
		h.mu.Unlock()
		state = session.ProcessState{SessionID: sessionID, Version: wire.MaxSafeInteger, State: session.Dead, InProject: inProject}
		err = nil
	}
	// Read after the state, which a change of the projects may have caused.
	book := project.NewBook(nil, nil)
	if err == nil && (state.InProject != "" || unknown) {
		book, err = h.o.Guard.Book(reading)
	}
	if err != nil {
		h.failed(ctx, "read session for tabs", err)
		h.mu.Lock()
		h.changed[sessionID] = struct{}{}
		h.mu.Unlock()
		return
	}
	h.mu.Lock()
	if deleted {
		delete(h.deleting, sessionID)
	}
	known := h.feeds[sessionID]
	changed := known == nil || known.version < state.Version
	people := map[project.Person]bool{}
	for t := range h.tabs {
		people[audience(t, state, unknown)] = true
	}
	h.mu.Unlock()
	// The frame for each person; nil for none, empty if the state has not changed.
	frames := map[project.Person][]byte{}
	for who := range people {
		if state.InProject != "" && book.May(who, project.See, access.PlaceOfProcess(state)) != nil {
			continue
		}
		if unknown && len(book.Hidden(who)) > 0 {
			continue // it may have been in a project that they may not see
		}
		frames[who] = []byte{}
		if changed {
			w := wire.NewProcessState(ctx, state, access.PlaceOfProcess(state), book, who, h.o.Rules.Levels)
			w.Deleted = deleted
			frames[who] = wire.Encode(w)
		}
	}
	h.queueState(state, frames, changed, unknown)
}

// queueState queues the frames of a session, by person, for the tabs that may see it, and its
// progress if that is new. changed reports whether the state is newer than the last one sent, unknown
// that its project is unknown.
func (h *Hub) queueState(state session.ProcessState, frames map[project.Person][]byte, changed, unknown bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.feed(state.SessionID)
	f.inProject = state.InProject
	f.active = state.Running() || len(state.Requests) > 0
	reported := false
	var news progress
	if state.Lifecycle != nil {
		news = newProgress(state.SessionID, state.Lifecycle)
		reported = !bytes.Equal(news.frame, f.reported)
		f.reported = news.frame
	}
	for t, welcomed := range h.tabs {
		frame := frames[audience(t, state, unknown)]
		if frame == nil {
			continue // the person may not see it, or the tab joined since
		}
		if welcomed && changed {
			t.putState(state.SessionID, frame)
		}
		if welcomed && reported {
			t.putProgress(state.SessionID, news)
		}
	}
	if changed {
		f.version = state.Version
		h.measure(f, state.Requests)
	}
	if len(f.readers) > 0 {
		f.scheduleReaders()
	}
	h.forgetIfIdle(f)
}

// measure reports how long new requests took to reach the tabs. Requests from before the
// first tab had no tab to reach. The caller holds mu.
func (h *Hub) measure(f *feed, open []pending.Request) {
	before := f.requests
	f.requests = make(map[string]struct{}, len(open))
	for _, r := range open {
		f.requests[r.RequestID] = struct{}{}
		if _, known := before[r.RequestID]; !known && r.CreatedAt.After(h.watched) {
			h.o.OnFrame(r.RequestID, r.CreatedAt)
		}
	}
}

// audience returns the part of a tab's person on which the frame of a session depends. In
// the default project, that is only the author of a held answer, who can undo it. unknown is as for
// queueState.
func audience(t *tab, state session.ProcessState, unknown bool) project.Person {
	if unknown || state.InProject != "" || slices.ContainsFunc(state.Requests, func(r pending.Request) bool { return r.Held != nil }) {
		return access.Person(t.who)
	}
	return project.Person{}
}

// sendDue queues the transcripts and presence frames that are due, and tells other servers about
// changes of the readers here.
func (h *Hub) sendDue(now time.Time) {
	var changed []wire.Presence
	defer func() { h.reportViewers(changed) }()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.feeds {
		if !f.due.IsZero() && !f.due.After(now) {
			f.due, f.next = time.Time{}, now.Add(transcriptEvery)
			f.round++
			for t := range f.readers {
				t.markTranscript(f.sessionID)
			}
		}
		if !f.presenceDue.IsZero() && !f.presenceDue.After(now) {
			here, expiry := f.viewers(now)
			if !slices.Equal(here, f.viewersSent) {
				f.viewersSent = here
				changed = append(changed, wire.Presence{SessionID: f.sessionID, Viewers: here})
			}
			frame := h.presence(f.sessionID, here)
			f.presenceDue, f.presenceNext = expiry, now.Add(presenceEvery)
			for t := range f.readers {
				t.putPresence(f.sessionID, frame)
			}
		}
	}
}

// untilDue returns the time until the next transcript, presence frame or retry is due, and false
// if none is.
func (h *Hub) untilDue() (time.Duration, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	first := h.retryAt
	for _, f := range h.feeds {
		for _, due := range []time.Time{f.due, f.presenceDue} {
			if !due.IsZero() && (first.IsZero() || due.Before(first)) {
				first = due
			}
		}
	}
	return max(time.Until(first), 0), !first.IsZero()
}

// watchTabs closes the tabs that receive no messages or answer no pings. One ticker for all
// of them costs less than a timer for each message.
func (h *Hub) watchTabs(ctx context.Context) {
	ticker := time.NewTicker(tabsEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now, pings := time.Now(), 0
		h.mu.Lock()
		for t := range h.tabs {
			switch began := t.writing.Load(); {
			case t.tooSlow:
			case began != 0 && now.Sub(time.Unix(0, began)) >= writeDeadline:
				t.tooSlow = true
				h.slow.Add(1)
				t.end(wire.CloseTooSlow, wire.ErrorFrame{})
				h.served.Go(func() { t.closeWith(wire.CloseTooSlow, "") }) // waits until the message in progress is written
			case pings < pingsAtOnce && now.Sub(t.pinged) >= pingEvery:
				t.pinged = now
				if !t.busy.Load() { // otherwise its pong waits behind the large message or slow command
					pings++
					h.served.Go(t.ping)
				}
			}
		}
		h.mu.Unlock()
	}
}
