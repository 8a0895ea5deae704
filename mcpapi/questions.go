package mcpapi

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/pending"
)

// errAskerGone withdraws a question whose asker is gone.
const errAskerGone = ending("asker_gone")

// errTokenEnded withdraws a question whose asker's token has ended.
const errTokenEnded = ending("agent_session_ended")

var (
	errTooMany  = errors.New("too many questions at once")
	errTooFast  = errors.New("too many questions in a minute")
	errStopping = errors.New("the server is going away")
)

// questions holds the open questions of this server. Each has one goroutine, which outlives
// the calls that wait for it.
type questions struct {
	requests Requests
	log      *slog.Logger
	ended    func(context.Context, pending.Request) // called after the calls got the answer, so as not to delay it

	mu       sync.Mutex
	running  bool
	open     map[string]*openQuestion
	askTimes map[string][]time.Time // session → when it asked, over the last minute
	work     sync.WaitGroup         // questions and calls
}

// openQuestion is one open question.
type openQuestion struct {
	requestID, sessionID string
	cancel               context.CancelCauseFunc
	done                 chan struct{} // closed after row and err are set
	row                  pending.Request
	err                  error

	// Guarded by questions.mu.
	calls    int
	last     string      // [call.name] of the call that left last
	ticketed bool        // its asker has a ticket
	grace    *time.Timer // runs while no call waits
}

func newQuestions(requests Requests, log *slog.Logger) *questions {
	return &questions{requests: requests, log: log, open: map[string]*openQuestion{}, askTimes: map[string][]time.Time{}}
}

// Run owns the questions until ctx ends. Then it detaches them, which leaves them open, calls
// breakOff to end the calls, and waits for both.
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

// resumeStored resumes the open questions of an earlier server. No call waits for them yet;
// their askers have [ServerGone] to return.
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

// resume asks a stored question for which no call waits.
func (d *questions) resume(row pending.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.running || d.open[row.RequestID] != nil {
		return
	}
	d.startGrace(d.ask(row), ServerGone)
}

// beginCall counts a call. It returns false unless Run is running.
func (d *questions) beginCall() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.running {
		d.work.Add(1)
	}
	return d.running
}

func (d *questions) endCall() { d.work.Done() }

// join lets a call wait for a question, and asks the question if it is not open yet. With limited,
// it then counts against the limits of the session.
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

// admit counts a new question of a session. It returns an error if a limit is reached.
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
	for _, at := range d.askTimes[sessionID] {
		if now.Sub(at) < time.Minute {
			recent = append(recent, at)
		}
	}
	if len(recent) >= MaxPerMinute {
		return errTooFast
	}
	for id, asked := range d.askTimes {
		if now.Sub(asked[len(asked)-1]) >= time.Minute {
			delete(d.askTimes, id)
		}
	}
	d.askTimes[sessionID] = append(recent, now)
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

// leave ends the wait of a call that was cancelled, disconnected or given a ticket. If it was the
// last call of the question, it withdraws the question: at once if the call was cancelled, otherwise
// after [AskerGone] or [TicketGone], unless a call returns.
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

// leaveRevoked ends the wait of a call whose token has ended, and withdraws the question.
func (d *questions) leaveRevoked(h *openQuestion) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h.calls--
	h.cancel(errTokenEnded)
}

// cancel withdraws the question whose last call has left, because its client cancelled that call.
// A client may disconnect before it cancels. No call is missed, because [calls.cancel] has set
// cancelledByClient before.
func (d *questions) cancel(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, h := range d.open {
		if h.calls == 0 && h.last == name && !h.ticketed {
			h.cancel(errCancelled)
		}
	}
}

// ticket records that the asker of a question has a ticket.
func (d *questions) ticket(h *openQuestion) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h.ticketed = true
}

// startGrace withdraws a question after timeout, unless a call waits for it at that time.
func (d *questions) startGrace(h *openQuestion, timeout time.Duration) {
	if h.calls > 0 || !d.running {
		return
	}
	h.stopGrace()
	h.grace = time.AfterFunc(timeout, func() {
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
