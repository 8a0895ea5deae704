package mcpapi

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/pending"
)

// errAskerGone is why a question is taken away that nobody waits for.
const errAskerGone = sentence("The asker is gone.")

// errTokenEnded is why a question is taken away whose asker may not ask any longer.
const errTokenEnded = sentence("The session of the agent has ended, and its token with it.")

var (
	errTooMany  = errors.New("too many questions at once")
	errTooFast  = errors.New("too many questions in a minute")
	errStopping = errors.New("the server is going away")
)

// desk holds the questions that are asked here. Each has one goroutine, which
// outlives the calls that wait for it.
type desk struct {
	requests Requests
	log      *slog.Logger
	ended    func(context.Context, pending.Request) // called off the way of the answer

	mu      sync.Mutex
	running bool
	held    map[string]*held
	recent  map[string][]time.Time // session → when it asked, over the last minute
	work    sync.WaitGroup         // questions and calls
}

// held is one question that is asked here.
type held struct {
	requestID, sessionID string
	cancel               context.CancelCauseFunc
	done                 chan struct{} // closed once row and err are set
	row                  pending.Request
	err                  error

	// Guarded by the desk.
	calls    int
	last     string      // name of the call that left last; see calls
	ticketed bool        // its asker was told to come back for the answer
	grace    *time.Timer // runs while nobody waits
}

func newDesk(requests Requests, log *slog.Logger) *desk {
	return &desk{requests: requests, log: log, held: map[string]*held{}, recent: map[string][]time.Time{}}
}

// Run owns the questions until ctx ends; then it lets go of them, open as they
// are, and has the calls break off.
func (d *desk) Run(ctx context.Context, breakOff func()) error {
	d.mu.Lock()
	d.running = true
	d.mu.Unlock()

	d.adopt(ctx)
	<-ctx.Done()

	d.mu.Lock()
	d.running = false
	for _, h := range d.held {
		h.quiet()
		h.cancel(pending.ErrDetached)
	}
	d.mu.Unlock()
	breakOff()
	d.work.Wait()
	return nil
}

// adopt takes up what an earlier server left open. Nobody waits for it yet; whoever
// asked has some time to say that it still does.
func (d *desk) adopt(ctx context.Context) {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 10*time.Second) {
		rows, err := d.requests.Open(ctx, "")
		if err == nil {
			for _, row := range rows {
				if row.Source == pending.SourceMCP || row.Source == pending.SourceHook {
					d.take(row)
				}
			}
			return
		}
		if ctx.Err() == nil {
			d.log.ErrorContext(ctx, "cannot read the open questions of agents", "error", err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// take holds a question that nobody here waits for.
func (d *desk) take(row pending.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.running || d.held[row.RequestID] != nil {
		return
	}
	d.watch(d.hold(row), ServerGone)
}

// enter counts a call; false while the desk is closed.
func (d *desk) enter() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.running {
		d.work.Add(1)
	}
	return d.running
}

func (d *desk) exit() { d.work.Done() }

// join lets a call wait for a question, which is asked when it is not held yet.
// limited holds it against what one session may ask.
func (d *desk) join(req pending.Request, limited bool) (*held, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.running {
		return nil, errStopping
	}
	h := d.held[req.RequestID]
	if h == nil {
		if limited {
			if err := d.admit(req.SessionID, time.Now()); err != nil {
				return nil, err
			}
		}
		h = d.hold(req)
	}
	h.calls++
	h.quiet()
	return h, nil
}

// admit counts a new question of a session, or says why there may be no more.
func (d *desk) admit(sessionID string, now time.Time) error {
	open := 0
	for _, h := range d.held {
		if h.sessionID == sessionID {
			open++
		}
	}
	if open >= MaxOpen {
		return errTooMany
	}
	var recent []time.Time
	for _, at := range d.recent[sessionID] {
		if now.Sub(at) < time.Minute {
			recent = append(recent, at)
		}
	}
	if len(recent) >= MaxPerMinute {
		return errTooFast
	}
	for id, asked := range d.recent {
		if now.Sub(asked[len(asked)-1]) >= time.Minute {
			delete(d.recent, id)
		}
	}
	d.recent[sessionID] = append(recent, now)
	return nil
}

// hold asks a question until it is resolved or the desk is told otherwise.
func (d *desk) hold(req pending.Request) *held {
	ctx, cancel := context.WithCancelCause(context.Background())
	h := &held{requestID: req.RequestID, sessionID: req.SessionID, cancel: cancel, done: make(chan struct{})}
	d.held[req.RequestID] = h
	d.work.Go(func() {
		defer cancel(nil)
		row, err := d.requests.Ask(ctx, req)
		d.mu.Lock()
		h.row, h.err = row, err
		h.quiet()
		delete(d.held, req.RequestID)
		close(h.done)
		d.mu.Unlock()
		if row.Status.Final() {
			d.ended(context.WithoutCancel(ctx), row)
		}
	})
	return h
}

// leave ends the wait of a call: it was cancelled, its connection has gone, or it
// was given a ticket. The last one that is cancelled takes the question along; of
// any other it is known some time later that its asker is gone.
func (d *desk) leave(h *held, c *call) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h.calls--
	h.last = c.name()
	if h.calls == 0 && c.givenUp.Load() {
		h.cancel(errCancelled)
		return
	}
	if h.ticketed {
		d.watch(h, TicketGone)
	} else {
		d.watch(h, AskerGone)
	}
}

// expel ends the wait of a call whose token is no longer good, and with it the
// question: who held the token has none left to ask with.
func (d *desk) expel(h *held) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h.calls--
	h.cancel(errTokenEnded)
}

// cancel takes away the question whose last call has gone, because its client says
// that it went on purpose. A client may cut the connection before it says so; who
// sets givenUp before misses no call that leaves.
func (d *desk) cancel(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, h := range d.held {
		if h.calls == 0 && h.last == name && !h.ticketed {
			h.cancel(errCancelled)
		}
	}
}

// ticket notes that the asker of a question comes back for it.
func (d *desk) ticket(h *held) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h.ticketed = true
}

// watch takes a question away when nobody waits for it for some time.
func (d *desk) watch(h *held, patience time.Duration) {
	if h.calls > 0 || !d.running {
		return
	}
	h.quiet()
	h.grace = time.AfterFunc(patience, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if h.calls == 0 && d.running {
			h.cancel(errAskerGone)
		}
	})
}

func (h *held) quiet() {
	if h.grace != nil {
		h.grace.Stop()
		h.grace = nil
	}
}
