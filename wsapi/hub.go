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
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sayso-dev/sayso/internal/access"
	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/alert"
	"github.com/sayso-dev/sayso/internal/command"
	"github.com/sayso-dev/sayso/internal/decision"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/wire"
)

// Times and sizes of the hub.
const (
	transcriptEvery = 50 * time.Millisecond  // between transcript frames of one session
	presenceEvery   = time.Second            // between presence frames of one session
	typingTTL       = 5 * time.Second        // how long a typing command applies
	recheckEvery    = 750 * time.Millisecond // between checks for sign-ins that ended on other servers
	maxTabs         = 2000                   // sockets of one server
	pieceItems      = 200                    // items read for one transcript frame
)

// Store is what the hub reads.
type Store interface {
	ProcessState(ctx context.Context, sessionID string) (session.ProcessState, error)
	ActiveProcesses(ctx context.Context) ([]session.ProcessState, error)
	Transcript(ctx context.Context, sessionID string, after int64, limit int) (session.Page, error)
	Drafts(ctx context.Context, userID string) ([]account.Draft, error)
	Bookmarks(ctx context.Context, userID string) ([]account.Bookmark, error)
	// Ping returns why the store rejects writes, nil if it accepts them. The hub calls it
	// every second.
	Ping(ctx context.Context) error
}

// Processes knows what Claude is writing; see orchestrator.Orchestrator.
type Processes interface {
	Live(sessionID string) (session.Live, bool)
}

// People checks whether the people of open tabs are still signed in; see account.Directory.
type People interface {
	Renew(ctx context.Context, who account.Identity) (account.Identity, error)
	OnChange(f func())
}

// Options configures a [Hub]. Fields are required unless they say that they may be nil.
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
	// OnFrame is called when a request has been queued for the tabs, with the time of its
	// creation. A lock is held meanwhile, so it must not block. It may be nil.
	OnFrame func(requestID string, created time.Time) `optional:"true"`
	// Announce tells the other servers of the database about a change that their tabs must get. It
	// must not block. It may be nil.
	Announce func(topic session.Topic, key string) `optional:"true"`
	// OnViewers tells the other servers who reads a session here: nobody if the list is empty. It must
	// not block. It may be nil.
	OnViewers func(wire.Presence) `optional:"true"`
	Version   string
	NodeID    string
	Log       *slog.Logger
}

// A Hub turns changes of sessions into frames. Each change is read and encoded once and
// queued for every tab; a newer frame replaces an older one that a tab has not received
// yet.
type Hub struct {
	o    Options
	slow atomic.Int64 // tabs closed because they were too slow
	// faults counts tabs that ended because a command failed in an unexpected way.
	faults atomic.Int64

	wake    chan struct{} // capacity 1: Run has work
	recheck chan struct{} // capacity 1: a sign-in ended
	suspect chan struct{} // capacity 1: a write failed
	started chan struct{} // closed when Run serves tabs

	mu       sync.Mutex // protects following; never held over I/O
	running  bool
	notice   wire.NoticeCode                     // why the store rejects writes
	machines []byte                              // frame of the machines on which sessions run; nil before it is known
	changed  map[string]struct{}                 // sessions that changed since Run last read them
	feeds    map[string]*feed                    // sessions that run, have open requests, or are read by a tab
	tabs     map[*tab]bool                       // true once the tab has its first snapshot
	deleting map[string]string                   // sessions that are being deleted, with their projects
	commands map[*context.CancelFunc]struct{}    // commands in progress
	served   sync.WaitGroup                      // tabs
	drafts   map[string]map[string]account.Draft // those that tabs have, without texts, by user and key
	personal map[personal]bool                   // what another server may have changed
	unread   []wire.Presence                     // of sessions that no tab reads any more, to be announced
	// elsewhere lists who reads sessions on other servers, by session and server.
	elsewhere map[string]map[string][]wire.ViewerInfo
	retryAt   time.Time // set while the store fails
	watched   time.Time // when the first of the tabs joined
}

// Touch marks a session as changed. It never blocks.
func (h *Hub) Touch(sessionID string) {
	h.mu.Lock()
	h.changed[sessionID] = struct{}{}
	if f := h.feeds[sessionID]; f != nil {
		f.changes++
	}
	h.mu.Unlock()
	wake(h.wake)
}

// TouchItems marks only the transcript of a session as changed, so its state is not read
// again. It never blocks.
func (h *Hub) TouchItems(sessionID string) { h.touchTranscript(sessionID, true) }

// TouchLive marks only the growing block of a session as changed, so nothing is read from
// the store. It never blocks.
func (h *Hub) TouchLive(sessionID string) { h.touchTranscript(sessionID, false) }

func (h *Hub) touchTranscript(sessionID string, stored bool) {
	h.mu.Lock()
	f := h.feeds[sessionID]
	if f != nil && stored {
		f.changes++
	}
	due := f != nil && len(f.readers) > 0 && f.due.IsZero()
	if due {
		f.scheduleReaders()
	}
	h.mu.Unlock()
	if due {
		wake(h.wake)
	}
}

// TouchAll marks all sessions as changed. It never blocks.
func (h *Hub) TouchAll() {
	h.mu.Lock()
	for sessionID, f := range h.feeds {
		h.changed[sessionID] = struct{}{}
		f.changes++
	}
	h.mu.Unlock()
	wake(h.wake)
}

// wake sends to a channel of capacity 1 unless it is full. It never blocks.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Started returns a channel that is closed once Run serves tabs.
func (h *Hub) Started() <-chan struct{} { return h.started }

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

// SlowTabs returns how many tabs were closed since the start because they were too slow.
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

// failed logs a failure of the store and schedules another attempt.
func (h *Hub) failed(ctx context.Context, what string, err error) {
	if ctx.Err() != nil {
		return
	}
	h.o.Log.ErrorContext(ctx, what, "error", err)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.retryAt = time.Now().Add(retryAfter)
}

// feed returns the feed of a session, and creates it if necessary. The caller holds mu.
func (h *Hub) feed(sessionID string) *feed {
	f := h.feeds[sessionID]
	if f == nil {
		f = &feed{sessionID: sessionID, readers: map[*tab]*reading{}}
		h.feeds[sessionID] = f
	}
	return f
}

// forgetIfIdle deletes a feed without readers or activity. The caller holds mu.
func (h *Hub) forgetIfIdle(f *feed) {
	if !f.active && len(f.readers) == 0 {
		delete(h.feeds, f.sessionID)
	}
}

// Deleting records the project of a session that is about to be deleted, "" for the default one, so
// that only tabs that could see the session receive its last frame. A deletion that was not recorded
// here, because another server makes it, is sent only to people who may see all projects.
func (h *Hub) Deleting(sessionID, inProject string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.running {
		h.deleting[sessionID] = inProject
	}
}

// presenceChanged makes a presence frame due. The caller holds mu.
func (h *Hub) presenceChanged(f *feed, now time.Time) {
	f.presenceDue = now
	if f.presenceNext.After(now) {
		f.presenceDue = f.presenceNext
	}
	wake(h.wake)
}

// join registers a tab. It returns false if the hub does not run or has too many tabs.
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
	if h.machines != nil {
		t.putMachines(h.machines)
	}
	h.served.Add(1)
	wake(h.wake)
	return true
}

// ShowMachines sends the machines on which sessions run to all tabs, if they changed.
func (h *Hub) ShowMachines(all []wire.Machine) {
	frame := wire.Encode(wire.Machines{Type: "machines", Machines: all})
	h.mu.Lock()
	defer h.mu.Unlock()
	if bytes.Equal(frame, h.machines) {
		return
	}
	h.machines = frame
	for t := range h.tabs {
		t.putMachines(frame)
	}
}

// leave removes a tab.
func (h *Hub) leave(t *tab) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.tabs, t)
	h.forgetDrafts(t.who.User.UserID)
	now := time.Now()
	for _, f := range h.feeds {
		if f.readers[t] != nil {
			delete(f.readers, t)
			h.noteUnread(f)
			h.presenceChanged(f, now)
			h.forgetIfIdle(f)
		}
	}
	h.served.Done()
}

// CanStore reports whether the last check found that the store accepts writes.
func (h *Hub) CanStore() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.notice == wire.NoNotice
}

// personal is what another server may have changed for one user.
type personal struct {
	topic  session.Topic
	userID string
}

// announce tells other servers about a change that their tabs must get.
func (h *Hub) announce(topic session.Topic, key string) {
	if h.o.Announce != nil {
		h.o.Announce(topic, key)
	}
}

// noteUnread queues an announcement to other servers if nobody reads a session here any more. The
// caller holds mu.
func (h *Hub) noteUnread(f *feed) {
	if len(f.readers) == 0 && len(f.viewersSent) > 0 {
		f.viewersSent = nil
		h.unread = append(h.unread, wire.Presence{SessionID: f.sessionID})
	}
}

// forgetDrafts removes the drafts noted for a user if no tab of theirs is left. The caller holds mu.
func (h *Hub) forgetDrafts(userID string) {
	for t := range h.tabs {
		if t.who.User.UserID == userID {
			return
		}
	}
	delete(h.drafts, userID)
}
