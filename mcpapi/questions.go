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
const errAskerGone = ending("asker_gone")

// errTokenEnded is why a question is taken away whose asker may not ask any longer.
const errTokenEnded = ending("agent_session_ended")

var (
	errTooMany  = errors.New("too many questions at once")
	errTooFast  = errors.New("too many questions in a minute")
	errStopping = errors.New("the server is going away")
)

// questions holds the questions that are asked here. Each has one goroutine, which
// outlives the calls that wait for it.
type questions struct {
	requests Requests
	log      *slog.Logger
	ended    func(context.Context, pending.Request) // called off the way of the answer

	mu      sync.Mutex
	running bool
	open    map[string]*openQuestion
	recent  map[string][]time.Time // session → when it asked, over the last minute
	work    sync.WaitGroup         // questions and calls
}

// openQuestion is one question that is asked here.
type openQuestion struct {
	requestID, sessionID string
	cancel               context.CancelCauseFunc
	done                 chan struct{} // closed once row and err are set
	row                  pending.Request
	err                  error

	// Guarded by questions.mu.
	calls    int
	last     string      // name of the call that left last; see calls
	ticketed bool        // its asker was told to come back for the answer
	grace    *time.Timer // runs while nobody waits
}

func newQuestions(requests Requests, log *slog.Logger) *questions {
	return &questions{requests: requests, log: log, open: map[string]*openQuestion{}, recent: map[string][]time.Time{}}
}

// Run owns the questions until ctx ends; then it lets go of them, open as they
// are, and has the calls break off.
func (d *questions) Run(ctx context.Context, breakOff func()) error {
	d.mu.Lock()
	d.running = true
	d.mu.Unlock()

	d.resumeStored(ctx)
	<-ctx.Done()

	d.mu.Lock()
	d.running = false
	for _, h := range d.open {
		h.stopGrace()
		h.cancel(pending.ErrDetached)
	}
	d.mu.Unlock()
	breakOff()
	d.work.Wait()
	return nil
}

// resumeStored takes up what an earlier server left open. Nobody waits for it yet; whoever
// asked has some time to say that it still does.
func (d *questions) resumeStored(ctx context.Context) {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 10*time.Second) {
		rows, err := d.requests.Open(ctx, "")
		if err == nil {
			for _, row := range rows {
				if row.Source == pending.SourceMCP || row.Source == pending.SourceHook {
					d.resume(row)
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

// resume holds a question that nobody here waits for.
func (d *questions) resume(row pending.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.running || d.open[row.RequestID] != nil {
		return
	}
	d.startGrace(d.ask(row), ServerGone)
}

// beginCall counts a call; false while Run does not run.
func (d *questions) beginCall() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.running {
		d.work.Add(1)
	}
	return d.running
}

func (d *questions) endCall() { d.work.Done() }

// join lets a call wait for a question, which is asked when it is not held yet.
// limited holds it against what one session may ask.
func (d *questions) join(req pending.Request, limited bool) (*openQuestion, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.running {
		return nil, errStopping
	}
	h := d.open[req.RequestID]
	if h == nil {
		if limited {
			if err := d.admit(req.SessionID, time.Now()); err != nil {
				return nil, err
			}
		}
		h = d.ask(req)
	}
	h.calls++
	h.stopGrace()
	return h, nil
}

// admit counts a new question of a session, or says why there may be no more.
func (d *questions) admit(sessionID string, now time.Time) error {
	open := 0
	for _, h := range d.open {
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

// ask asks a question until it is resolved or cancelled.
func (d *questions) ask(req pending.Request) *openQuestion {
	ctx, cancel := context.WithCancelCause(context.Background())
	h := &openQuestion{requestID: req.RequestID, sessionID: req.SessionID, cancel: cancel, done: make(chan struct{})}
	d.open[req.RequestID] = h
	d.work.Go(func() {
		defer cancel(nil)
		row, err := d.requests.Ask(ctx, req)
		d.mu.Lock()
		h.row, h.err = row, err
		h.stopGrace()
		delete(d.open, req.RequestID)
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
func (d *questions) leave(h *openQuestion, c *call) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h.calls--
	h.last = c.name()
	if h.calls == 0 && c.cancelledByClient.Load() {
		h.cancel(errCancelled)
		return
	}
	if h.ticketed {
		d.startGrace(h, TicketGone)
	} else {
		d.startGrace(h, AskerGone)
	}
}

// leaveRevoked ends the wait of a call whose token is no longer good, and with it the
// question: who held the token has none left to ask with.
func (d *questions) leaveRevoked(h *openQuestion) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h.calls--
	h.cancel(errTokenEnded)
}

// cancel takes away the question whose last call has gone, because its client says
// that it went on purpose. A client may cut the connection before it says so; who
// sets givenUp before misses no call that leaves.
func (d *questions) cancel(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, h := range d.open {
		if h.calls == 0 && h.last == name && !h.ticketed {
			h.cancel(errCancelled)
		}
	}
}

// ticket notes that the asker of a question comes back for it.
func (d *questions) ticket(h *openQuestion) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h.ticketed = true
}

// startGrace takes a question away when nobody waits for it for some time.
func (d *questions) startGrace(h *openQuestion, patience time.Duration) {
	if h.calls > 0 || !d.running {
		return
	}
	h.stopGrace()
	h.grace = time.AfterFunc(patience, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if h.calls == 0 && d.running {
			h.cancel(errAskerGone)
		}
	})
}

func (h *openQuestion) stopGrace() {
	if h.grace != nil {
		h.grace.Stop()
		h.grace = nil
	}
}
