//go:build failpoints

package matrix_test

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/cmd/blackbox"
)

// frame is what a tab reads of any frame.
type frame struct {
	Type            string          `json:"type"`
	SessionID       string          `json:"session_id"`
	Version         uint64          `json:"version"`
	State           string          `json:"state"`
	QueuedMessages  int             `json:"queued_messages"`
	PendingRequests []request       `json:"pending_requests"`
	KillReason      *string         `json:"kill_reason"`
	Stuck           *string         `json:"stuck"`
	Frames          []frame         `json:"frames"`
	Processes       []frame         `json:"processes"`
	CommandID       string          `json:"command_id"`
	Result          string          `json:"result"`
	Error           json.RawMessage `json:"error"` // a sentence in a process_state, a refusal in an ack
	Resolved        *struct {
		Outcome string `json:"outcome"`
		Summary string `json:"summary"`
	} `json:"resolved"`
}

type request struct {
	RequestID   string         `json:"request_id"`
	RequestType string         `json:"request_type"`
	ToolInput   map[string]any `json:"tool_input"`
	InputHash   string         `json:"input_hash"`
	Status      string         `json:"status"`
	Form        *struct {
		Questions []struct {
			ID string `json:"id"`
		} `json:"questions"`
	} `json:"form"`
}

func (r request) name() string { return nameIn(r.ToolInput) }

// command is one that a tab gave. It is said again on every new connection
// until it is acked for good.
type command struct {
	id    string
	text  []byte
	name  string // of the request that it answers
	nonce string // of an answer: what the CLI must hear if this one counts
	// requestID is that of the request that it answers, as the server names it.
	requestID string

	// protected by tab.mu
	acks []frame
	done chan struct{} // closed with the first ack
}

// tab plays one browser tab.
type tab struct {
	label   string
	client  blackbox.Client
	answers func(t *tab, sessionID, state string, r request) map[string]any // nil: not now

	repeats func() int // how often an answer is given once more

	mu       sync.Mutex // protects following
	conn     *websocket.Conn
	states   map[string]frame
	greeted  int // snapshots so far
	commands map[string]*command
	order    []*command
	answered map[string]bool // request ids
	refusals []string        // passing ones
	closes   []websocket.StatusCode
}

func newTab(label string, client blackbox.Client) *tab {
	return &tab{label: label, client: client, states: map[string]frame{}, commands: map[string]*command{}, answered: map[string]bool{}}
}

// run keeps the tab connected until ctx ends.
func (t *tab) run(ctx context.Context) {
	for ctx.Err() == nil {
		t.connect(ctx)
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

func (t *tab) connect(ctx context.Context) {
	dialing, cancel := context.WithTimeout(ctx, 5*time.Second)
	conn, err := t.client.Dial(dialing)
	cancel()
	if err != nil {
		return
	}
	defer conn.CloseNow()
	for {
		_, text, err := conn.Read(ctx)
		if err != nil {
			t.mu.Lock()
			t.conn = nil
			t.closes = append(t.closes, websocket.CloseStatus(err))
			t.mu.Unlock()
			return
		}
		var f frame
		if err := json.Unmarshal(text, &f); err != nil {
			panic(err)
		}
		t.take(ctx, conn, f)
	}
}

func (t *tab) take(ctx context.Context, conn *websocket.Conn, f frame) {
	switch f.Type {
	case "batch":
		for _, inner := range f.Frames {
			t.take(ctx, conn, inner)
		}
	case "active_processes":
		t.mu.Lock()
		t.conn = conn
		t.greeted++
		var again []*command
		for _, c := range t.order {
			if len(c.acks) == 0 {
				again = append(again, c)
			}
		}
		shown := map[string]bool{}
		for _, p := range f.Processes {
			shown[p.SessionID] = true
		}
		for id, known := range t.states {
			if !shown[id] { // it does not run, and nothing of it is open
				known.State, known.PendingRequests = "dead", nil
				t.states[id] = known
			}
		}
		t.mu.Unlock()
		for _, p := range f.Processes {
			t.take(ctx, conn, p)
		}
		for _, c := range again {
			t.say(ctx, c)
		}
	case "process_state":
		t.state(ctx, f)
	case "ack":
		t.acked(ctx, f)
	}
}

func (t *tab) state(ctx context.Context, f frame) {
	t.mu.Lock()
	if f.Version < t.states[f.SessionID].Version {
		t.mu.Unlock()
		return
	}
	t.states[f.SessionID] = f
	t.mu.Unlock()
	t.look(ctx, f)
}

// look answers what is to be answered.
func (t *tab) look(ctx context.Context, f frame) {
	if t.answers == nil {
		return
	}
	for _, r := range f.PendingRequests {
		t.mu.Lock()
		answered := t.answered[r.RequestID]
		t.mu.Unlock()
		if answered {
			continue
		}
		if fields := t.answers(t, f.SessionID, f.State, r); fields != nil {
			t.answer(ctx, f.SessionID, r, fields)
		}
	}
}

// lookAgain answers what has become answerable although no state came.
func (t *tab) lookAgain(ctx context.Context) {
	t.mu.Lock()
	var all []frame
	for _, f := range t.states {
		all = append(all, f)
	}
	t.mu.Unlock()
	for _, f := range all {
		t.look(ctx, f)
	}
}

// answer gives an answer, once for each request.
func (t *tab) answer(ctx context.Context, sessionID string, r request, fields map[string]any) *command {
	t.mu.Lock()
	if t.answered[r.RequestID] {
		t.mu.Unlock()
		return nil
	}
	t.answered[r.RequestID] = true
	t.mu.Unlock()
	all := map[string]any{
		"type": "pending_request_response", "session_id": sessionID,
		"request_id": r.RequestID, "request_type": r.RequestType, "input_hash": r.InputHash,
	}
	for k, v := range fields {
		if k != "nonce" {
			all[k] = v
		}
	}
	nonce, _ := fields["nonce"].(string)
	c := t.put(ctx, &command{name: r.name(), nonce: nonce, requestID: r.RequestID}, all)
	for range t.repeats() {
		t.say(ctx, c)
	}
	return c
}

// give gives a command that is no answer.
func (t *tab) give(ctx context.Context, fields map[string]any) *command {
	return t.put(ctx, &command{}, fields)
}

func (t *tab) put(ctx context.Context, c *command, fields map[string]any) *command {
	c.id, c.done = uuid.NewString(), make(chan struct{})
	fields["command_id"] = c.id
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	c.text = text
	t.mu.Lock()
	t.commands[c.id] = c
	t.order = append(t.order, c)
	t.mu.Unlock()
	t.say(ctx, c)
	return c
}

// say sends a command if there is a connection; the next one says it anyway.
func (t *tab) say(ctx context.Context, c *command) {
	t.mu.Lock()
	conn := t.conn
	t.mu.Unlock()
	if conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_ = conn.Write(ctx, websocket.MessageText, c.text) // what fails ends the connection
}

func (t *tab) acked(ctx context.Context, f frame) {
	var refusal struct{ Code string }
	_ = json.Unmarshal(f.Error, &refusal) // null is none
	t.mu.Lock()
	c := t.commands[f.CommandID]
	passing := f.Result == "rejected" && (refusal.Code == "unavailable" || refusal.Code == "internal")
	switch {
	case c == nil:
		panic("an ack for a command that was never given: " + f.CommandID)
	case passing:
		t.refusals = append(t.refusals, string(f.Error))
	default:
		c.acks = append(c.acks, f)
		if len(c.acks) == 1 {
			close(c.done)
		}
	}
	t.mu.Unlock()
	if passing {
		time.AfterFunc(50*time.Millisecond, func() { t.say(ctx, c) })
	}
}

// stateOf is the newest state of a session that this tab was shown.
func (t *tab) stateOf(sessionID string) frame {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.states[sessionID]
}

// requestNamed is a request that the tab shows.
func (t *tab) requestNamed(sessionID, name string) request {
	for _, r := range t.stateOf(sessionID).PendingRequests {
		if r.name() == name {
			return r
		}
	}
	return request{}
}

// greetings counts the snapshots so far.
func (t *tab) greetings() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.greeted
}

// given lists the commands so far, with the result of each: "" for none yet.
func (t *tab) given() (all []outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.order {
		o := outcome{tab: t.label, name: c.name, nonce: c.nonce, requestID: c.requestID, text: string(c.text)}
		for i, a := range c.acks {
			if i == 0 {
				o.result, o.error = a.Result, string(a.Error)
			}
			if a.Result != o.result {
				o.contradicted = true
			}
		}
		all = append(all, o)
	}
	return all
}

// outcome is what became of a command.
type outcome struct {
	tab, name, nonce, text string
	requestID              string
	result, error          string
	contradicted           bool // two acks of one command differ
}
