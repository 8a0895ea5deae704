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

// frame is what a tab reads of any frame.
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
	Error json.RawMessage `json:"error"` // a sentence in a process_state, a refusal in an ack
}

// ack is the fate of an answer as its tab was told.
type ack struct {
	Result    string    `json:"result"`
	Resolved  *resolved `json:"resolved"`
	HeldUntil *float64  `json:"held_until"`
	Code      string    `json:"-"` // of the refusal
}

// unsure reports whether the server does not know what became of the command.
func (a ack) unsure() bool {
	return a.Result == "rejected" && (a.Code == "unavailable" || a.Code == "read_only" || a.Code == "internal")
}

// last reports whether the same command is told the same from now on. A held answer
// is not settled, and one that met a held one of somebody else may still be.
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

// shown is a request as a tab was shown it.
type shown struct {
	SessionID string
	form
}

// given is an answer of a tab and what became of it.
type given struct {
	answer
	SessionID string
	RequestID string // as the server names it
	ToolUseID string
	Acks      []ack // that say something final; each must be the same

	Hold   time.Duration // for which it asks to be held; 0 for not at all
	Held   bool          // the tab was told once that it is held
	Undos  int           // how often the tab asked for it back
	Undone bool          // an undo was acked
	holding
}

// tabLedger is what one tab saw, gave and was told: the first of the ledgers.
type tabLedger struct {
	Name   string
	Shown  map[string]shown  // by request id
	Given  map[string]*given // by command id
	Barred int               // answers refused since somebody else's was held
	Faults []fault           // that can only be seen as they happen
}

// tabOptions says how a tab behaves.
type tabOptions struct {
	index   int
	client  blackbox.Client
	random  *rand.Rand
	answers bool             // whether it answers what it is shown
	holds   bool             // whether it has answers held, and takes some back
	think   time.Duration    // at most so long it takes over an answer
	first   time.Duration    // longest pause before the first attempt to connect again
	longest time.Duration    // longest pause before any
	started func() time.Time // when the present server was started
	// snapshot is called with every active_processes and how long after the start
	// of its server it came.
	snapshot func(f frame, took time.Duration)
	// died is called when a session is seen dead for the first time.
	died func(sessionID, why string)
}

// tab plays one tab of the web app: it drops states that are older than what it
// has, keeps its answers until they are acked, says them again on each new
// connection, and connects again whatever happens.
type tab struct {
	tabOptions
	work sync.WaitGroup // answers that are thought about

	mu       sync.Mutex // protects following
	ledger   tabLedger
	versions map[string]uint64
	dead     map[string]time.Time
	orphaned map[string]map[string]time.Time // by session, then request id: when first seen so
	open     map[string]bool                 // request ids that are shown now
	thinking int                             // answers that are thought about
	conn     *websocket.Conn                 // once the snapshot has come; nil between connections
	unacked  map[string]*given               // by command id
	sent     map[string]*given               // by command id: whatever was ever sent
	again    map[string]bool                 // command ids that are said once more though they are acked
	undos    map[string]*undo                // by command id: whatever was ever sent
	stopped  bool
}

func newTab(name string, o tabOptions) *tab {
	return &tab{
		tabOptions: o,
		ledger:     tabLedger{Name: name, Shown: map[string]shown{}, Given: map[string]*given{}},
		versions:   map[string]uint64{}, dead: map[string]time.Time{}, orphaned: map[string]map[string]time.Time{},
		open: map[string]bool{}, unacked: map[string]*given{}, sent: map[string]*given{}, again: map[string]bool{}, undos: map[string]*undo{},
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

// connect plays one connection to its end and reports whether it got anywhere.
func (t *tab) connect(ctx context.Context) (greeted bool) {
	var started time.Time
	if t.started != nil {
		started = t.started()
	}
	conn, err := t.client.Dial(ctx)
	if err != nil {
		return false
	}
	// Another server may have been started while this one was dialled.
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
			t.blame(fault{Kind: other, ID: t.ledger.Name, Sentence: fmt.Sprintf("a frame cannot be read: %v", err)})
			return greeted
		}
		if f.Type == "active_processes" {
			greeted = true
			t.greet(ctx, conn, f)
			if t.snapshot != nil && same {
				t.snapshot(f, at.Sub(started))
			}
			continue
		}
		t.take(ctx, f, at)
	}
}

// greet takes in what is there on a new connection and says everything again
// that was not acked.
func (t *tab) greet(ctx context.Context, conn *websocket.Conn, f frame) {
	at := time.Now()
	t.mu.Lock()
	t.conn = conn
	for _, p := range f.Processes {
		if known := t.versions[p.SessionID]; p.Version < known {
			t.ledger.Faults = append(t.ledger.Faults, fault{Kind: other, ID: p.SessionID, Sentence: fmt.Sprintf(
				"the version of the session went back from %d to %d, so %s drops its state", known, p.Version, t.ledger.Name)})
		}
	}
	var again []map[string]any
	for _, g := range t.unacked {
		again = append(again, g.Command)
	}
	for id := range t.again {
		again = append(again, t.sent[id].Command)
	}
	for _, u := range t.undos {
		if !u.acked {
			again = append(again, u.command)
		}
	}
	t.mu.Unlock()
	for _, p := range f.Processes {
		t.take(ctx, p, at)
	}
	for _, command := range again {
		t.send(ctx, command)
	}
}

func (t *tab) take(ctx context.Context, f frame, at time.Time) {
	switch f.Type {
	case "batch":
		for _, inner := range f.Frames {
			t.take(ctx, inner, at)
		}
	case "process_state":
		t.state(ctx, f, at)
	case "ack":
		t.acked(ctx, f)
	}
}

func (t *tab) state(ctx context.Context, f frame, at time.Time) {
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
				t.ledger.Faults = append(t.ledger.Faults, fault{Kind: other, ID: r.RequestID, Sentence: t.ledger.Name + " saw the request open again after it was resolved"})
				t.open[r.RequestID] = true
			}
			continue
		}
		t.ledger.Shown[r.RequestID] = shown{f.SessionID, r}
		t.open[r.RequestID] = true
		if t.answers {
			// Most people do not look whether the form is still there when they click.
			t.giveIn(ctx, time.Duration(t.random.Float64()*float64(t.think)), t.random.IntN(4) == 0, t.ledger.Shown[r.RequestID])
		}
	}
	for id := range t.open {
		if t.ledger.Shown[id].SessionID == f.SessionID && !now[id] {
			delete(t.open, id)
		}
	}
}

// giveIn has a request answered in a while; who is careful looks then whether the
// form is still there. The caller holds t.mu.
func (t *tab) giveIn(ctx context.Context, wait time.Duration, careful bool, r shown) {
	t.thinking++
	t.after(wait, func() {
		t.mu.Lock()
		t.thinking--
		if t.stopped || careful && !t.open[r.RequestID] {
			t.mu.Unlock()
			return
		}
		a, err := newAnswer(t.index, t.ledger.Name, r.SessionID, r.form, t.random)
		if err != nil {
			t.ledger.Faults = append(t.ledger.Faults, fault{Kind: other, ID: r.RequestID, Sentence: err.Error()})
			t.mu.Unlock()
			return
		}
		g := &given{answer: a, SessionID: r.SessionID, RequestID: r.RequestID, ToolUseID: r.ToolUseID}
		t.hold(ctx, g)
		t.ledger.Given[g.CommandID] = g
		t.unacked[g.CommandID], t.sent[g.CommandID] = g, g
		if t.random.IntN(10) == 0 {
			t.again[g.CommandID] = true
		}
		t.mu.Unlock()
		t.send(ctx, g.Command)
	})
}

// send says a command now if there is a connection; the next one says it anyway.
func (t *tab) send(ctx context.Context, command map[string]any) {
	t.mu.Lock()
	conn := t.conn
	t.mu.Unlock()
	if conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_ = conn.Write(ctx, websocket.MessageText, encode(command)) // what fails here ends the connection
}

func (t *tab) acked(ctx context.Context, f frame) {
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
		t.undoAcked(ctx, u, got)
		return
	case g == nil:
		t.ledger.Faults = append(t.ledger.Faults, fault{Kind: misrouted, ID: f.CommandID, Sentence: t.ledger.Name + " got an ack for a command that it never gave"})
		t.mu.Unlock()
		return
	case !got.last() && len(g.Acks) > 0 && !got.unsure():
		// A held ack may still be on its way when an undo is acked, never after the
		// last word on the answer.
		t.ledger.Faults = append(t.ledger.Faults, fault{Kind: told, ID: g.RequestID, Sentence: fmt.Sprintf(
			"%s was told %q and, asking again, %q while an answer was held", t.ledger.Name, g.Acks[0], got)})
		t.mu.Unlock()
		return
	case !got.last():
		t.passing(ctx, g, got)
		t.mu.Unlock()
		return
	}
	g.Acks = append(g.Acks, got)
	delete(t.unacked, f.CommandID)
	t.decideAnew(ctx, g)
	repeat := t.again[f.CommandID] && len(g.Acks) == 1
	if len(g.Acks) > 1 {
		delete(t.again, f.CommandID)
	}
	t.mu.Unlock()
	if repeat {
		t.send(ctx, g.Command)
	}
}

func (t *tab) blame(f fault) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ledger.Faults = append(t.ledger.Faults, f)
}

// idle reports whether every answer is given and acked and every form gone.
func (t *tab) idle() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, u := range t.undos {
		if !u.acked {
			return false
		}
	}
	return t.thinking == 0 && len(t.unacked) == 0 && len(t.open) == 0 && len(t.again) == 0
}

// settled counts the answers that were acked.
func (t *tab) settled() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.ledger.Given) - len(t.unacked)
}

// forms are the ids of the requests that are shown.
func (t *tab) forms() map[string]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.open)
}

// showing counts the forms that are shown.
func (t *tab) showing() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.open)
}
