package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/sayso-dev/sayso/cmd/blackbox"
)

// frame holds the fields of all frames that a tab reads.
type frame struct {
	Type            string  `json:"type"`
	SessionID       string  `json:"session_id"`
	Version         uint64  `json:"version"`
	State           string  `json:"state"`
	Frames          []frame `json:"frames"`
	Processes       []frame `json:"processes"`
	PendingRequests []form  `json:"pending_requests"`
	KillReason      string  `json:"kill_reason"`
	CommandID       string  `json:"command_id"`
	ack
	Error json.RawMessage `json:"error"` // a message in a process_state, a refusal in an ack
}

// ack is the result of an answer.
type ack struct {
	Result    string    `json:"result"`
	Resolved  *resolved `json:"resolved"`
	HeldUntil *float64  `json:"held_until"`
	Code      string    `json:"-"` // of the refusal
}

// unsure reports whether the server does not know the result of the command.
func (a ack) unsure() bool {
	return a.Result == "rejected" && (a.Code == "unavailable" || a.Code == "read_only" || a.Code == "internal")
}

// last reports whether sending the command again gets the same ack. A held answer is not
// settled, and an answer refused because of a held one may still be applied.
func (a ack) last() bool { return !a.unsure() && a.HeldUntil == nil && a.Code != "held" }

type resolved struct {
	Outcome string  `json:"outcome"`
	By      string  `json:"by"`
	At      float64 `json:"at"`
}

func (a ack) String() string {
	s := a.Result
	if a.Code != "" {
		s += " (" + a.Code + ")"
	}
	if a.Resolved != nil {
		s += ": " + a.Resolved.Outcome
		if a.Resolved.By != "" {
			s += " by " + a.Resolved.By
		}
	}
	return s
}

// shown is a request in a tab.
type shown struct {
	SessionID string
	form
}

// sentAnswer is an answer of a tab and its acks.
type sentAnswer struct {
	answer
	SessionID string
	RequestID string // of the server
	ToolUseID string
	Acks      []ack // final ones, which must be equal
	SentAt    time.Time
	AckedAt   time.Time // of the first one

	Hold   time.Duration // requested hold; 0 for none
	Held   bool          // an ack reported the hold
	Undos  int           // undo commands
	Undone bool          // an undo was acked
	holdPlan
}

// tabLedger records the requests, answers and acks of one tab.
type tabLedger struct {
	Name             string
	Shown            map[string]shown       // by request id
	Gone             map[string]time.Time   // by request id: when a state first did not contain it any more
	Sent             map[string]*sentAnswer // by command id
	Undos            []*undo
	RefusedWhileHeld int     // answers refused because another one was held
	Faults           []fault // that cannot be detected later
}

// tabOptions configures a tab.
type tabOptions struct {
	index    int
	client   blackbox.Client
	random   *rand.Rand
	answers  bool             // whether it answers requests
	holds    bool             // whether it holds answers and undoes some
	maxDelay time.Duration    // upper limit of the delay before an answer
	first    time.Duration    // longest pause before the first attempt to connect again
	longest  time.Duration    // longest pause before any
	started  func() time.Time // when the present server was started
	// snapshot is called with every active_processes and the time since the server's start.
	snapshot func(f frame, took time.Duration)
	// died is called when a session becomes dead.
	died func(sessionID, why string)
}

// tab behaves like a tab of the web app: it ignores old states, keeps its answers until they
// are acked, sends them again on each new connection, and always reconnects.
type tab struct {
	tabOptions
	work sync.WaitGroup // answers that are scheduled

	mu        sync.Mutex // protects following
	ledger    tabLedger
	versions  map[string]uint64
	dead      map[string]time.Time
	orphaned  map[string]map[string]time.Time // by session, then request id: when first seen so
	open      map[string]bool                 // ids of the requests shown now
	scheduled int                             // answers that are scheduled
	conn      *websocket.Conn                 // set after the snapshot; nil between connections
	unacked   map[string]*sentAnswer          // by command id
	sent      map[string]*sentAnswer          // by command id; all that were sent
	resend    map[string]bool                 // command ids to send once more although they are acked
	undos     map[string]*undo                // by command id; all that were sent
	stopped   bool
}

func newTab(name string, o tabOptions) *tab {
	return &tab{
		tabOptions: o,
		ledger:     tabLedger{Name: name, Shown: map[string]shown{}, Gone: map[string]time.Time{}, Sent: map[string]*sentAnswer{}},
		versions:   map[string]uint64{}, dead: map[string]time.Time{}, orphaned: map[string]map[string]time.Time{},
		open: map[string]bool{}, unacked: map[string]*sentAnswer{}, sent: map[string]*sentAnswer{}, resend: map[string]bool{}, undos: map[string]*undo{},
	}
}

// run keeps the tab connected until ctx ends.
func (t *tab) run(ctx context.Context) {
	defer t.work.Wait()
	defer func() {
		t.mu.Lock()
		t.stopped = true
		t.mu.Unlock()
	}()
	for attempt := 0; ctx.Err() == nil; {
		if t.connect(ctx) {
			attempt = 0
		}
		t.mu.Lock()
		wait := time.Duration(t.random.Float64() * float64(min(t.longest, t.first<<min(attempt, 20))))
		t.mu.Unlock()
		attempt++
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// connect serves one connection until it ends and reports whether it received a snapshot.
func (t *tab) connect(ctx context.Context) (greeted bool) {
	var started time.Time
	if t.started != nil {
		started = t.started()
	}
	conn, err := t.client.Dial(ctx)
	if err != nil {
		return false
	}
	// Another server may have started during the dial.
	same := t.started != nil && t.started().Equal(started)
	defer conn.CloseNow()
	defer func() {
		t.mu.Lock()
		t.conn = nil
		t.mu.Unlock()
	}()
	for {
		_, text, err := conn.Read(ctx)
		if err != nil {
			return greeted
		}
		at := time.Now()
		var f frame
		if err := json.Unmarshal(text, &f); err != nil {
			t.addFault(fault{Kind: otherFaults, ID: t.ledger.Name, Message: fmt.Sprintf("a frame cannot be read: %v", err)})
			return greeted
		}
		if f.Type == "active_processes" {
			greeted = true
			t.handleSnapshot(ctx, conn, f)
			if t.snapshot != nil && same {
				t.snapshot(f, at.Sub(started))
			}
			continue
		}
		t.handleFrame(ctx, f, at)
	}
}

// handleSnapshot handles the snapshot of a new connection and sends everything again that was
// not acked.
func (t *tab) handleSnapshot(ctx context.Context, conn *websocket.Conn, f frame) {
	at := time.Now()
	t.mu.Lock()
	t.conn = conn
	for _, p := range f.Processes {
		if known := t.versions[p.SessionID]; p.Version < known {
			t.ledger.Faults = append(t.ledger.Faults, fault{Kind: otherFaults, ID: p.SessionID, Message: fmt.Sprintf(
				"the version of the session went back from %d to %d, so %s drops its state", known, p.Version, t.ledger.Name)})
		}
	}
	var again []map[string]any
	for _, g := range t.unacked {
		again = append(again, g.Command)
	}
	for id := range t.resend {
		again = append(again, t.sent[id].Command)
	}
	for _, u := range t.undos {
		if !u.acked {
			again = append(again, u.command)
		}
	}
	t.mu.Unlock()
	for _, p := range f.Processes {
		t.handleFrame(ctx, p, at)
	}
	for _, command := range again {
		t.send(ctx, command)
	}
}

func (t *tab) handleFrame(ctx context.Context, f frame, at time.Time) {
	switch f.Type {
	case "batch":
		for _, inner := range f.Frames {
			t.handleFrame(ctx, inner, at)
		}
	case "process_state":
		t.handleState(ctx, f, at)
	case "ack":
		t.handleAck(ctx, f)
	}
}

func (t *tab) handleState(ctx context.Context, f frame, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f.Version < t.versions[f.SessionID] {
		return
	}
	t.versions[f.SessionID] = f.Version
	if f.State != "dead" {
		delete(t.dead, f.SessionID)
	} else if t.dead[f.SessionID].IsZero() {
		t.dead[f.SessionID] = at
		if t.died != nil {
			why := f.KillReason
			if why == "" {
				why = string(f.Error)
			}
			t.died(f.SessionID, why)
		}
	}
	now := map[string]bool{}
	for _, r := range f.PendingRequests {
		now[r.RequestID] = true
		if r.Status == "orphaned" {
			seen := t.orphaned[f.SessionID]
			if seen == nil {
				seen = map[string]time.Time{}
				t.orphaned[f.SessionID] = seen
			}
			if seen[r.RequestID].IsZero() {
				seen[r.RequestID] = at
			}
		}
		if _, known := t.ledger.Shown[r.RequestID]; known {
			if !t.open[r.RequestID] {
				t.ledger.Faults = append(t.ledger.Faults, fault{Kind: otherFaults, ID: r.RequestID, Message: t.ledger.Name + " saw the request open again after it was resolved"})
				t.open[r.RequestID] = true
			}
			continue
		}
		t.ledger.Shown[r.RequestID] = shown{f.SessionID, r}
		t.open[r.RequestID] = true
		if t.answers {
			// Most people do not check that the form is still there before they click.
			t.scheduleAnswer(ctx, time.Duration(t.random.Float64()*float64(t.maxDelay)), t.random.IntN(4) == 0, t.ledger.Shown[r.RequestID])
		}
	}
	for id := range t.open {
		if t.ledger.Shown[id].SessionID == f.SessionID && !now[id] {
			delete(t.open, id)
			t.ledger.Gone[id] = at
		}
	}
}

// scheduleAnswer schedules the answer to a request. With careful, the tab first checks that the
// form is still open. The caller holds t.mu.
func (t *tab) scheduleAnswer(ctx context.Context, wait time.Duration, careful bool, r shown) {
	t.scheduled++
	t.after(wait, func() {
		t.mu.Lock()
		t.scheduled--
		if t.stopped || careful && !t.open[r.RequestID] {
			t.mu.Unlock()
			return
		}
		a, err := newAnswer(t.index, t.ledger.Name, r.SessionID, r.form, t.random)
		if err != nil {
			t.ledger.Faults = append(t.ledger.Faults, fault{Kind: otherFaults, ID: r.RequestID, Message: err.Error()})
			t.mu.Unlock()
			return
		}
		g := &sentAnswer{answer: a, SessionID: r.SessionID, RequestID: r.RequestID, ToolUseID: r.ToolUseID, SentAt: time.Now()}
		t.hold(ctx, g)
		t.ledger.Sent[g.CommandID] = g
		t.unacked[g.CommandID], t.sent[g.CommandID] = g, g
		if t.random.IntN(10) == 0 {
			t.resend[g.CommandID] = true
		}
		t.mu.Unlock()
		t.send(ctx, g.Command)
	})
}

// send sends a command if there is a connection; otherwise handleSnapshot will.
func (t *tab) send(ctx context.Context, command map[string]any) {
	t.mu.Lock()
	conn := t.conn
	t.mu.Unlock()
	if conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_ = conn.Write(ctx, websocket.MessageText, encode(command)) // an error ends the connection, too
}

func (t *tab) handleAck(ctx context.Context, f frame) {
	got := f.ack
	var refusal struct {
		Code string `json:"code"`
	}
	if len(f.Error) > 0 && json.Unmarshal(f.Error, &refusal) == nil {
		got.Code = refusal.Code
	}
	t.mu.Lock()
	g, u := t.sent[f.CommandID], t.undos[f.CommandID]
	switch {
	case u != nil:
		t.mu.Unlock()
		t.handleUndoAck(ctx, u, got)
		return
	case g == nil:
		t.ledger.Faults = append(t.ledger.Faults, fault{Kind: misrouted, ID: f.CommandID, Message: t.ledger.Name + " got an ack for a command that it never sent"})
		t.mu.Unlock()
		return
	case !got.last() && len(g.Acks) > 0 && !got.unsure():
		// A provisional ack may arrive after the ack of an undo, but never after the final ack.
		t.ledger.Faults = append(t.ledger.Faults, fault{Kind: contradictoryAcks, ID: g.RequestID, Message: fmt.Sprintf(
			"%s was told %q and, asking again, %q while an answer was held", t.ledger.Name, g.Acks[0], got)})
		t.mu.Unlock()
		return
	case !got.last():
		t.handleProvisionalAck(ctx, g, got)
		t.mu.Unlock()
		return
	}
	if len(g.Acks) == 0 {
		g.AckedAt = time.Now()
	}
	g.Acks = append(g.Acks, got)
	delete(t.unacked, f.CommandID)
	t.answerAgain(ctx, g)
	repeat := t.resend[f.CommandID] && len(g.Acks) == 1
	if len(g.Acks) > 1 {
		delete(t.resend, f.CommandID)
	}
	t.mu.Unlock()
	if repeat {
		t.send(ctx, g.Command)
	}
}

func (t *tab) addFault(f fault) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ledger.Faults = append(t.ledger.Faults, f)
}

// idle reports whether every answer is sent and acked, and no form is open.
func (t *tab) idle() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, u := range t.undos {
		if !u.acked {
			return false
		}
	}
	return t.scheduled == 0 && len(t.unacked) == 0 && len(t.open) == 0 && len(t.resend) == 0
}

// settled returns the number of acked answers.
func (t *tab) settled() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.ledger.Sent) - len(t.unacked)
}

// forms returns the ids of the open requests.
func (t *tab) forms() map[string]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.open)
}

// showing returns the number of open forms.
func (t *tab) showing() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.open)
}
