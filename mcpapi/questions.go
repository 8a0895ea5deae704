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

// checkInterval bounds the time between checks of a question without a call. It is shorter than
// [AskerGone], so that this server has seen on which server the asker waits, and gives it time to return
// if that server ends.
const checkInterval = AskerGone / 2

// Elsewhere provides the askers that wait on the other servers of the database.
type Elsewhere interface {
	// GracePeriods merges what [Server.GracePeriods] returns on the other servers. complete is false if
	// one of them did not answer. It must return soon after ctx has ended.
	GracePeriods(ctx context.Context, requestIDs []string) (periods map[string]time.Duration, complete bool)
}

// questions holds the open questions of this server. Each has one goroutine, which outlives
// the calls that wait for it.
type questions struct {
	requests  Requests
	log       *slog.Logger
	ended     func(context.Context, pending.Request) // called after the calls got the answer, so as not to delay it
	elsewhere Elsewhere                              // nil if the database has one server
	checks    chan struct{}                          // capacity 1: due may have questions

	mu       sync.Mutex
	running  bool
	open     map[string]*openQuestion
	due      map[*openQuestion]struct{} // to be checked by withdrawAbandoned
	askTimes map[string][]time.Time     // session → when it asked, over the last minute
	work     sync.WaitGroup             // questions and calls
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
	grace    *time.Timer // until the next check; runs while no call waits
	goneBy   time.Time   // when it is withdrawn if no call waits on any server
	// returnBy is until when a call that left this server may return. Unlike goneBy, no other server
	// moves it: two servers that report it to each other cannot keep a question open.
	returnBy time.Time
}

func newQuestions(requests Requests, log *slog.Logger) *questions {
	return &questions{
		requests: requests, log: log, checks: make(chan struct{}, 1),
		open: map[string]*openQuestion{}, due: map[*openQuestion]struct{}{}, askTimes: map[string][]time.Time{},
	}
}

// Run owns the questions until ctx ends. Then it detaches them, which leaves them open, calls
// breakOff to end the calls, and waits for both.
func (d *questions) Run(ctx context.Context, breakOff func()) error {
	d.mu.Lock()
	d.running = true
	d.mu.Unlock()

	d.work.Go(func() { d.resumeStored(ctx) })
	for ctx.Err() == nil {
		select {
		case <-d.checks:
			d.withdrawAbandoned(ctx)
		case <-ctx.Done():
		}
	}

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

// resumeStored resumes the open questions of an earlier server, and those of other servers, which may
// end. No call waits for them here yet; their askers have [ServerGone] to return.
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
		d.expectReturn(h, TicketGone)
	} else {
		d.expectReturn(h, AskerGone)
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

// expectReturn withdraws a question that a call has left after timeout, unless a call waits for it at
// that time.
func (d *questions) expectReturn(h *openQuestion, timeout time.Duration) {
	h.returnBy = time.Now().Add(timeout)
	d.startGrace(h, timeout)
}

// startGrace withdraws a question after timeout, unless a call waits for it at that time.
func (d *questions) startGrace(h *openQuestion, timeout time.Duration) {
	if h.calls > 0 || !d.running {
		return
	}
	h.goneBy = time.Now().Add(timeout)
	d.scheduleCheck(h)
}

// scheduleCheck makes Run check a question at goneBy, but no later than after checkInterval.
func (d *questions) scheduleCheck(h *openQuestion) {
	wait := time.Until(h.goneBy)
	if wait <= 0 || wait > checkInterval {
		wait = checkInterval
	}
	h.stopGrace()
	h.grace = time.AfterFunc(wait, func() {
		d.mu.Lock()
		d.due[h] = struct{}{}
		d.mu.Unlock()
		select {
		case d.checks <- struct{}{}:
		default:
		}
	})
}

// withdrawAbandoned withdraws the due questions whose time is over and for which no call waits on any
// server, and schedules the next check of the others. While the store fails, it gives the askers
// another [AskerGone]. All due questions are one call to the other servers.
func (d *questions) withdrawAbandoned(ctx context.Context) {
	d.mu.Lock()
	var due []*openQuestion
	var requestIDs []string
	for h := range d.due {
		if d.hasNoCall(h) {
			due, requestIDs = append(due, h), append(requestIDs, h.requestID)
		}
	}
	clear(d.due)
	d.mu.Unlock()
	var periods map[string]time.Duration
	complete := true
	if d.elsewhere != nil && len(due) > 0 {
		periods, complete = d.elsewhere.GracePeriods(ctx, requestIDs)
	}
	// Askers cannot return while the store fails, which this read finds out. One is enough for all.
	storeFails := false
	if len(due) > 0 {
		_, err := d.requests.Request(ctx, due[0].sessionID, due[0].requestID)
		storeFails = pending.IsTemporary(err)
	}
	if ctx.Err() != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	for _, h := range due {
		if !d.hasNoCall(h) {
			continue // a call came, or it was resolved
		}
		if by := now.Add(AskerGone); storeFails && by.After(h.goneBy) {
			h.goneBy = by
		}
		if by := now.Add(periods[h.requestID]); periods[h.requestID] > 0 && by.After(h.goneBy) {
			h.goneBy = by
		}
		// A server that does not answer may have the asker. But it may never answer, because it cannot be
		// reached or is of an earlier release, so the question is not kept for good.
		if gone := !now.Before(h.goneBy); gone && (complete || !now.Before(h.goneBy.Add(UnknownGone))) {
			h.cancel(errAskerGone)
			continue
		}
		d.scheduleCheck(h)
	}
}

// hasNoCall reports whether a question is open and no call waits for it on this server.
func (d *questions) hasNoCall(h *openQuestion) bool {
	return h.calls == 0 && d.open[h.requestID] == h
}

// gracePeriods implements [Server.GracePeriods].
func (d *questions) gracePeriods(requestIDs []string) map[string]time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	periods := map[string]time.Duration{}
	for _, id := range requestIDs {
		h := d.open[id]
		switch {
		case h == nil:
		case h.calls > 0:
			periods[id] = ServerGone // from when this server ends
		default:
			if left := time.Until(h.returnBy); left > 0 {
				periods[id] = left
			}
		}
	}
	return periods
}

func (h *openQuestion) stopGrace() {
	if h.grace != nil {
		h.grace.Stop()
		h.grace = nil
	}
}
