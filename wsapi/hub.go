// Package wsapi is the live edge for browsers: the WebSocket on which tabs learn of
// every change and send commands, as docs/integrating/live.md describes.
//
// # State, not events
//
// A tab gets the current state, never a log of events. Its outbox is a set of sessions
// that changed, a cursor for each transcript it reads, and a bounded queue of acks; so a
// slow tab skips what is out of date and never makes another one wait. A frame is built
// and encoded once for each change and shared by all tabs.
//
// # Concurrency
//
// [Hub.Run] turns changes into frames and owns every WebSocket until it returns; before
// and after, [Hub.ServeTab] refuses. [Hub.Touch] never blocks.
package wsapi

//go:generate go generate ../wire

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/alert"
	"github.com/sayso-dev/sayso/internal/command"
	"github.com/sayso-dev/sayso/internal/decision"
	"github.com/sayso-dev/sayso/internal/options"
	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// Times and sizes of the hub.
const (
	transcriptEvery = 50 * time.Millisecond  // at most this often a transcript frame of one session
	presenceEvery   = time.Second            // at most this often a presence frame of one session
	typingLife      = 5 * time.Second        // how long a typing command says so
	recheckEvery    = 750 * time.Millisecond // a sign-in that ended elsewhere is noticed within it
	retryAfter      = 250 * time.Millisecond // after the store failed
	maxTabs         = 2000                   // sockets of one server
	pieceItems      = 200                    // items read for one transcript frame
	pieceBytes      = 1 << 20                // of items, after which a transcript frame ends
)

// Store is what the hub reads.
type Store interface {
	ProcessState(ctx context.Context, sessionID string) (session.ProcessState, error)
	ActiveProcesses(ctx context.Context) ([]session.ProcessState, error)
	Transcript(ctx context.Context, sessionID string, after int64, limit int) (session.Page, error)
	Drafts(ctx context.Context, userID string) ([]account.Draft, error)
	Bookmarks(ctx context.Context, userID string) ([]account.Bookmark, error)
	// Ping reports why nothing can be stored, nil when all is well. The hub calls it
	// every second.
	Ping(ctx context.Context) error
}

// Processes knows what Claude is writing; see orchestrator.Orchestrator.
type Processes interface {
	Live(sessionID string) (session.Live, bool)
}

// People says whether whoever opened a tab may still be there; see account.Directory.
type People interface {
	Renew(ctx context.Context, who account.Identity) (account.Identity, error)
	OnChange(f func())
}

// Options configures a [Hub]. What may be nil says so; the rest is required.
type Options struct {
	Store     Store
	Processes Processes
	People    People
	Guard     *access.Guard
	Rules     *decision.Rules
	Commands  *command.Executor
	Refusals  *refusal.Table
	// Alerts learns what each tab shows. It may be nil.
	Alerts *alert.Alerter
	// OnFrame is told how long after it was asked a request was put before the tabs. It
	// is called with a lock held, so it must not block. It may be nil.
	OnFrame func(took time.Duration) `optional:"true"`
	Version string
	NodeID  string
	Log     *slog.Logger
}

// A Hub turns changes of sessions into frames. Each change is read, encoded and put
// before every tab once; what a tab has not fetched yet is replaced by what is newer.
type Hub struct {
	o    Options
	slow atomic.Int64 // tabs cut because they were too slow
	// faults counts tabs that ended because a command failed in an unexpected way.
	faults atomic.Int64

	wake    chan struct{} // capacity 1: there is something for Run
	recheck chan struct{} // capacity 1: a sign-in ended
	suspect chan struct{} // capacity 1: something could not be stored

	mu       sync.Mutex // protects following; never held over I/O
	running  bool
	notice   wire.NoticeCode                  // what stands in the way of storing
	changed  map[string]struct{}              // sessions that were announced since Run read them
	feeds    map[string]*feed                 // sessions that run, wait, or are read by a tab
	tabs     map[*tab]bool                    // true once the tab has its first snapshot
	deleting map[string]string                // sessions that are being deleted, with their projects
	commands map[*context.CancelFunc]struct{} // commands under way
	served   sync.WaitGroup                   // tabs
	retryAt  time.Time                        // after the store failed; zero when it did not
	watched  time.Time                        // since when there have been tabs
}

// feed is what the tabs are told about one session. The hub's mutex protects it.
type feed struct {
	sessionID string
	inProject string // its project as last told
	version   uint64
	reported  []byte // the lifecycle frame that the tabs have
	active    bool   // runs or has an open request
	readers   map[*tab]*reading
	requests  map[string]struct{} // open ones, as last told

	// Transcript. round counts the times that the readers were told to look.
	round  int64
	due    time.Time // when they must be told again; zero when there is nothing new
	next   time.Time // not before
	pieces []*piece  // of the last round, shared by the readers

	// The block that grows, and the one before it. liveRev counts what became of them.
	block, before block
	liveRev       int64

	// changes counts what the store may know; at the count of the end, the transcript had
	// no more than the total, up to the cursor.
	changes int64
	end     struct{ changes, cursor, total int64 }

	// Presence.
	presenceDue  time.Time
	presenceNext time.Time
}

// tellReaders has the readers told that there is something new, soon. The caller holds the
// hub's mutex.
func (f *feed) tellReaders() {
	if !f.due.IsZero() {
		return
	}
	f.due = f.next
	if f.due.IsZero() {
		f.due = time.Now()
	}
}

// New returns a hub, which serves tabs while Run does. It registers with the people,
// commands and refusals of its options to hear of their changes. The error names an
// option that is missing.
func New(o Options) (*Hub, error) {
	if err := options.Check("wsapi", o); err != nil {
		return nil, err
	}
	h := &Hub{
		o: o, wake: make(chan struct{}, 1), recheck: make(chan struct{}, 1), suspect: make(chan struct{}, 1),
		notice:  wire.NoNotice,
		changed: map[string]struct{}{}, feeds: map[string]*feed{}, tabs: map[*tab]bool{}, deleting: map[string]string{},
		commands: map[*context.CancelFunc]struct{}{},
	}
	if h.o.OnFrame == nil {
		h.o.OnFrame = func(time.Duration) {}
	}
	o.People.OnChange(h.recheckSoon)
	o.Commands.OnDraft(h.draftChanged)
	o.Refusals.OnStoreProblem = h.checkStoreSoon
	return h, nil
}

// Touch says that a session changed. It never blocks.
func (h *Hub) Touch(sessionID string) {
	h.mu.Lock()
	h.changed[sessionID] = struct{}{}
	if f := h.feeds[sessionID]; f != nil {
		f.changes++
	}
	h.mu.Unlock()
	wake(h.wake)
}

// TouchItems says that only the transcript of a session has changed: its readers look, and
// its state is not read again. It never blocks.
func (h *Hub) TouchItems(sessionID string) { h.touchTranscript(sessionID, true) }

// TouchLive says that only the block that Claude is writing in a session has grown: its
// readers look, and nothing is read from the store. It never blocks.
func (h *Hub) TouchLive(sessionID string) { h.touchTranscript(sessionID, false) }

func (h *Hub) touchTranscript(sessionID string, stored bool) {
	h.mu.Lock()
	f := h.feeds[sessionID]
	if f != nil && stored {
		f.changes++
	}
	due := f != nil && len(f.readers) > 0 && f.due.IsZero()
	if due {
		f.tellReaders()
	}
	h.mu.Unlock()
	if due {
		wake(h.wake)
	}
}

// TouchAll says that any session may have changed. It never blocks.
func (h *Hub) TouchAll() {
	h.mu.Lock()
	for sessionID, f := range h.feeds {
		h.changed[sessionID] = struct{}{}
		f.changes++
	}
	h.mu.Unlock()
	wake(h.wake)
}

// wake makes the receiver of a channel of capacity 1 look again. It never blocks.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Run serves tabs until ctx ends, then closes every WebSocket with 1001 and returns
// once the last of them is gone. It can run once.
func (h *Hub) Run(ctx context.Context) error {
	h.mu.Lock()
	h.running = true
	h.mu.Unlock()
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

// Running reports whether tabs are served.
func (h *Hub) Running() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.running
}

// during returns a context that ends with ctx, with the hub, or with done, which
// must be called.
func (h *Hub) during(ctx context.Context) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.running {
		cancel()
	}
	h.commands[&cancel] = struct{}{}
	return ctx, func() {
		cancel()
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.commands, &cancel)
	}
}

// Tabs returns the number of tabs.
func (h *Hub) Tabs() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.tabs)
}

// SlowTabs returns how many tabs were cut since the start because they were too slow.
func (h *Hub) SlowTabs() int64 { return h.slow.Load() }

// Faults returns how many tabs ended since the start because of a defect of the server.
func (h *Hub) Faults() int64 { return h.faults.Load() }

// Readers returns how many tabs read a session.
func (h *Hub) Readers(sessionID string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if f := h.feeds[sessionID]; f != nil {
		return len(f.readers)
	}
	return 0
}

// round does what is due: bells first, because a state waits for nothing, then
// newcomers, transcripts and presence.
func (h *Hub) round(ctx context.Context) {
	h.mu.Lock()
	changed := h.changed
	h.changed, h.retryAt = map[string]struct{}{}, time.Time{}
	if len(h.tabs) == 0 {
		// Nobody is told anything, and who comes is told everything.
		clear(h.feeds)
		h.mu.Unlock()
		return
	}
	h.mu.Unlock()
	for sessionID := range changed {
		h.refresh(ctx, sessionID)
	}
	h.welcome(ctx)
	h.tellDue(time.Now())
}

// failed notes that the store failed; what could not be read is tried again.
func (h *Hub) failed(ctx context.Context, what string, err error) {
	if ctx.Err() != nil {
		return
	}
	h.o.Log.ErrorContext(ctx, what, "error", err)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.retryAt = time.Now().Add(retryAfter)
}

// awayPatience is how long the tabs wait for a session to be read while the store is known
// to be out of order: one of them must not hold up the others.
const awayPatience = 500 * time.Millisecond

// whileAway bounds a read while the store is known to be out of order.
func (h *Hub) whileAway(ctx context.Context) (context.Context, context.CancelFunc) {
	if h.CanStore() {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, awayPatience)
}

// refresh reads a session and tells every tab that may see it when it changed.
func (h *Hub) refresh(ctx context.Context, sessionID string) {
	reading, done := h.whileAway(ctx)
	defer done()
	state, err := h.o.Store.ProcessState(reading, sessionID)
	deleted := errors.Is(err, session.ErrNotFound)
	if deleted {
		h.mu.Lock()
		inProject := h.deleting[sessionID]
		if f := h.feeds[sessionID]; f != nil {
			inProject = f.inProject
		}
		delete(h.deleting, sessionID)
		h.mu.Unlock()
		state = session.ProcessState{SessionID: sessionID, Version: wire.MaxSafeInteger, State: session.Dead, InProject: inProject}
		err = nil
	}
	// Read after the state, so that it is not older than the change that the state's
	// version may be of.
	book := project.NewBook(nil, nil)
	if err == nil && state.InProject != "" {
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
	known := h.feeds[sessionID]
	changed := known == nil || known.version < state.Version
	people := map[project.Person]bool{}
	for t := range h.tabs {
		people[audience(t, state)] = true
	}
	h.mu.Unlock()
	// What each person is told, nil for nothing.
	frames := map[project.Person][]byte{}
	for who := range people {
		if state.InProject != "" && book.May(who, project.See, access.PlaceOfProcess(state)) != nil {
			continue
		}
		frames[who] = []byte{}
		if changed {
			w := wire.NewProcessState(state, access.PlaceOfProcess(state), book, who, h.o.Rules.Levels)
			w.Deleted = deleted
			frames[who] = wire.Encode(w)
		}
	}

	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.feed(sessionID)
	f.inProject = state.InProject
	f.active = state.Running() || len(state.Requests) > 0
	reported := false
	var news progress
	if state.Lifecycle != nil {
		news = newProgress(sessionID, state.Lifecycle)
		reported = !bytes.Equal(news.frame, f.reported)
		f.reported = news.frame
	}
	for t, welcomed := range h.tabs {
		frame := frames[audience(t, state)]
		if frame == nil {
			continue // not theirs to see, or they came since
		}
		if welcomed && changed {
			t.putState(sessionID, frame)
		}
		if welcomed && reported {
			t.putProgress(sessionID, news)
		}
	}
	if changed {
		f.version = state.Version
		h.measure(f, state.Requests)
	}
	if len(f.readers) > 0 {
		f.tellReaders()
	}
	h.forgetIfIdle(f)
}

// measure reports how long the requests that the tabs did not have before took to reach
// them. Those from before the first tab waited for it, and not for us. The caller holds
// mu.
func (h *Hub) measure(f *feed, open []pending.Request) {
	before := f.requests
	f.requests = make(map[string]struct{}, len(open))
	for _, r := range open {
		f.requests[r.RequestID] = struct{}{}
		if _, known := before[r.RequestID]; !known && r.CreatedAt.After(h.watched) {
			h.o.OnFrame(time.Since(r.CreatedAt))
		}
	}
}

// audience is who a tab is, as far as it matters to what they are told about a
// session: in the default project all are told the same, but for whose an answer
// is that can be taken back.
func audience(t *tab, state session.ProcessState) project.Person {
	if state.InProject != "" || slices.ContainsFunc(state.Requests, func(r pending.Request) bool { return r.Held != nil }) {
		return access.Person(t.who)
	}
	return project.Person{}
}

// feed returns the feed of a session, making it when there is none. The caller
// holds mu.
func (h *Hub) feed(sessionID string) *feed {
	f := h.feeds[sessionID]
	if f == nil {
		f = &feed{sessionID: sessionID, readers: map[*tab]*reading{}}
		h.feeds[sessionID] = f
	}
	return f
}

// forgetIfIdle drops a feed that nobody needs. The caller holds mu.
func (h *Hub) forgetIfIdle(f *feed) {
	if !f.active && len(f.readers) == 0 {
		delete(h.feeds, f.sessionID)
	}
}

// Deleting notes the project of a session that is about to be deleted, so that only
// those hear of it who could see it.
func (h *Hub) Deleting(sessionID, inProject string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.running && inProject != "" {
		h.deleting[sessionID] = inProject
	}
}

// tellDue tells the readers of transcripts and presence that are due.
func (h *Hub) tellDue(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.feeds {
		if !f.due.IsZero() && !f.due.After(now) {
			f.due, f.next = time.Time{}, now.Add(transcriptEvery)
			f.round++
			for t := range f.readers {
				t.markTranscript(f)
			}
		}
		if !f.presenceDue.IsZero() && !f.presenceDue.After(now) {
			frame, expiry := f.presence(now)
			f.presenceDue, f.presenceNext = expiry, now.Add(presenceEvery)
			for t := range f.readers {
				t.putPresence(f.sessionID, frame)
			}
		}
	}
}

// untilDue returns how long there is nothing to do unless a session changes.
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

// join registers a tab; false when tabs are not served, or too many are.
func (h *Hub) join(t *tab) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.running || len(h.tabs) >= maxTabs {
		return false
	}
	if len(h.tabs) == 0 {
		h.watched = time.Now()
	}
	h.tabs[t] = false
	if h.notice != wire.NoNotice {
		t.putNotice(wire.Encode(wire.NewNotice(h.notice)))
	}
	h.served.Add(1)
	wake(h.wake)
	return true
}

// leave forgets a tab.
func (h *Hub) leave(t *tab) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.tabs, t)
	now := time.Now()
	for _, f := range h.feeds {
		if f.readers[t] != nil {
			delete(f.readers, t)
			h.presenceChanged(f, now)
			h.forgetIfIdle(f)
		}
	}
	h.served.Done()
}
