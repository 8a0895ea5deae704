package claude

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
)

// Errors of a [Client].
var (
	// ErrClosed: the conversation with the CLI is over. It is what a waiting call
	// returns then, and the cause with which the context of a callback ends.
	ErrClosed = errors.New("conversation with the CLI is over")
	// ErrWithdrawn is the cause with which the context of a callback ends when
	// the CLI no longer wants the answer.
	ErrWithdrawn = errors.New("the CLI withdrew the request")
	// ErrNoAnswer is for a callback to return when nothing may be sent, because
	// somebody else answers.
	ErrNoAnswer = errors.New("no answer is to be sent")
	// ErrInvalidUTF8 comes with a line that was used all the same.
	ErrInvalidUTF8 = errors.New("line holds bytes that are no UTF-8")
	// ErrTooLarge: a line is larger than the CLI accepts, or than a budget allows.
	ErrTooLarge = errors.New("line is too large")
	// ErrReused: a control_request has the id of one that is open, and asks something
	// else. The open one stays as it is; nothing answers the other.
	ErrReused = errors.New("the CLI asks something else under the id of another request")
	// ErrReusedAnswered is the [ErrReused] of an id that was answered: the answer stays
	// the only one.
	ErrReusedAnswered = fmt.Errorf("%w, which was answered", ErrReused)
	// ErrRepeated is what a [Transport] that outlives its user may return from Send
	// for a line that the CLI got before, and only once.
	ErrRepeated = errors.New("the line was sent before")
)

// MaxSent is the largest line that is sent, in bytes: the CLI exits on more.
const MaxSent = 256 << 20

// Options are the callbacks of a [Client]. All may be nil. Callbacks that
// return an answer run in a goroutine of their own, several at once, and may
// take as long as they like; their context ends with cause [ErrWithdrawn] when
// the CLI cancels and [ErrClosed] at the end, after which their answer is
// dropped. A callback that fails or panics never allows anything.
type Options struct {
	// CanUseTool decides whether a tool may run. Nil denies. An error or a panic
	// is a deny that tells the model of a technical failure.
	CanUseTool func(ctx context.Context, r ToolRequest) (ToolDecision, error)
	// Elicitation answers a question of an MCP server. Nil declines.
	Elicitation func(ctx context.Context, r ElicitationRequest) (ElicitationAnswer, error)
	// HookCallback runs a hook that [InitializeRequest.Hooks] registered and
	// returns the hook's output, a JSON object. Nil refuses.
	HookCallback func(ctx context.Context, r HookRequest) (json.RawMessage, error)
	// MCPMessage takes a JSON-RPC message for an MCP server of this process and
	// returns the JSON-RPC response; nil output for a notification. Nil refuses.
	MCPMessage func(ctx context.Context, r MCPMessageRequest) (json.RawMessage, error)
	// UserDialog shows a dialog of a kind that
	// [InitializeRequest.SupportedDialogKinds] names and returns its result.
	// Nil cancels the dialog.
	UserDialog func(ctx context.Context, r UserDialogRequest) (json.RawMessage, error)

	// Open are requests that an earlier client of the same CLI left without an
	// answer, by id: the object inside the control_request. Their callbacks are
	// called before anything is read, so that a cancel finds them. It is for what
	// the CLI does not list in its answer to initialize, such as elicitations.
	Open map[string]json.RawMessage
	// OnRequest gets every request of the CLI that is new, on the read loop and
	// before its callback is called; body is borrowed.
	OnRequest func(requestID, subtype string, body json.RawMessage)
	// OnWithdrawn gets the id of every request that the CLI waits for no longer, on
	// the read loop; also of one that an earlier client of the same CLI was asked.
	OnWithdrawn func(requestID string)
	// OnMessage gets every message in order, on the read loop: while it runs
	// nothing else is read. Raw parts of m are borrowed, see [Header].
	OnMessage func(m Message)
	// OnUnreadable gets a line that is no message, and why: [ErrMalformed],
	// [ErrTooLarge] with no line, or [ErrInvalidUTF8] for a line that was used all
	// the same. It runs on the read loop and line is borrowed.
	OnUnreadable func(line []byte, err error)
	// OnCallbackError gets what a callback returned or panicked with, a
	// *[PanicError], and the failures to send an answer. It runs in the
	// callback's goroutine.
	OnCallbackError func(subtype, requestID string, err error)
}

// Client is a conversation with one CLI.
//
// # Concurrency
//
// Run reads; every other method may be called from any goroutine while it
// runs, callbacks included, but not from OnMessage or OnUnreadable when it waits
// for the CLI: those hold up the reading.
type Client struct {
	transport Transport
	options   Options
	idPrefix  string // keeps our request ids apart from those of an earlier client of the same CLI

	mu       sync.Mutex
	started  bool
	closed   bool
	lastID   int
	waiting  map[string]waitingReply // our requests
	calls    map[string]*call        // the CLI's requests that nobody has settled
	answered answeredIDs
}

// reply is what the CLI said to one of our requests.
type reply struct {
	response json.RawMessage // the inner response of a success
	outer    json.RawMessage // the object that holds it and its siblings
	err      error
}

// NewClient returns a client over t. It starts nothing.
func NewClient(t Transport, o Options) *Client {
	return &Client{
		transport: t,
		options:   o,
		idPrefix:  "sayso-" + rand.Text()[:8] + "-",
		waiting:   make(map[string]waitingReply),
		calls:     make(map[string]*call),
	}
}

// Run reads until the transport ends or ctx does, and closes the transport. It
// returns nil at a clean end, the cause of ctx, or what broke the transport.
// When it returns, the context of every callback has ended, every callback has
// returned, and every call that waited has failed with [ErrClosed].
func (c *Client) Run(ctx context.Context) error {
	c.mu.Lock()
	if c.started {
		c.mu.Unlock()
		return errors.New("claude: a client runs once")
	}
	c.started = true
	c.mu.Unlock()

	var callbacks sync.WaitGroup
	// The values of ctx, not its end: the cause that callbacks see is ErrClosed.
	life, endLife := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { c.transport.Close() })

	loop := readLoop{client: c, life: life, callbacks: &callbacks}
	err := loop.run()

	stop()
	c.close()
	endLife(ErrClosed)
	// A callback may be stuck in Send because the CLI stopped reading.
	closeErr := c.transport.Close()
	callbacks.Wait()

	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("claude: receive: %w", err)
	case closeErr != nil:
		return fmt.Errorf("claude: close: %w", closeErr)
	}
	return nil
}

// close fails every waiting call and withdraws every callback.
func (c *Client) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for id, w := range c.waiting {
		w.reply <- reply{err: ErrClosed}
		delete(c.waiting, id)
	}
	for _, k := range c.calls {
		k.ended = ErrClosed
	}
	clear(c.calls)
}

// readLoop is the state of Run.
type readLoop struct {
	client    *Client
	life      context.Context
	callbacks *sync.WaitGroup
	envelope  Envelope // its memory serves every line
}

func (l *readLoop) run() error {
	for id, body := range l.client.options.Open {
		if err := l.dispatch(id, body, false); err != nil {
			l.unreadable(body, err)
		}
	}
	for {
		line, err := l.client.transport.Recv()
		if errors.Is(err, ErrTooLarge) {
			l.unreadable(nil, err)
			continue
		}
		if err != nil {
			return err
		}
		if skipSpace(line, 0) == len(line) {
			continue
		}
		l.line(line)
		// What still pointed at the line would keep its memory while the CLI idles.
		l.envelope.forget()
	}
}

func (l *readLoop) unreadable(line []byte, err error) {
	if f := l.client.options.OnUnreadable; f != nil {
		f(line, err)
	}
}

func (l *readLoop) line(line []byte) {
	e := &l.envelope
	if err := e.read(line); err != nil {
		l.unreadable(line, err)
		return
	}
	if e.InvalidUTF8 {
		l.unreadable(line, ErrInvalidUTF8)
	}
	switch e.Type {
	case "control_request":
		if err := l.dispatch(e.RequestID, e.Request, true); err != nil {
			l.unreadable(line, err)
		}
	case "control_response":
		if err := l.response(e.Response); err != nil {
			l.unreadable(line, err)
		}
	case "control_cancel_request":
		if f := l.client.options.OnWithdrawn; f != nil {
			f(e.RequestID)
		}
		l.client.withdraw(e.RequestID)
	default:
		if l.client.options.OnMessage == nil {
			return
		}
		m, err := e.decode()
		if err != nil {
			l.unreadable(line, err)
			return
		}
		l.client.options.OnMessage(m)
	}
}

// response gives the CLI's answer to whoever waits for it. An id that nobody
// waits for is no fault: its caller may have given up, or it belongs to an
// earlier client of the same CLI.
func (l *readLoop) response(body json.RawMessage) error {
	fields, err := appendFields(nil, body)
	if err != nil {
		return err
	}
	c := l.client
	id := text(lookup(fields, "request_id"))
	c.mu.Lock()
	w, known := c.waiting[id]
	delete(c.waiting, id)
	c.mu.Unlock()
	if !known {
		return nil
	}
	r := reply{outer: clone(body)}
	if text(lookup(fields, "subtype")) == "error" {
		r.err = &RequestError{Sentence: text(lookup(fields, "error")), Code: text(lookup(fields, "error_code"))}
	} else {
		r.response = clone(lookup(fields, "response"))
	}
	// Here and not in Initialize: a cancel may be the very next line. A CLI
	// before 2.1.161 has the list on the error of a second initialize.
	for _, key := range []string{"pending_permission_requests", "pending_elicitation_requests", "pending_user_dialog_requests"} {
		if w.listOnly {
			break
		}
		if err := l.dispatchList(lookup(fields, key)); err != nil {
			l.unreadable(body, err)
		}
	}
	w.reply <- r
	return nil
}

// waitingReply is where the answer to a request of ours goes.
type waitingReply struct {
	reply    chan<- reply // capacity 1, filled at most once
	listOnly bool         // what the CLI lists as open is not dispatched
}

// dispatchList dispatches open requests that the CLI lists.
func (l *readLoop) dispatchList(list []byte) error {
	if len(list) == 0 || list[0] != '[' {
		return nil
	}
	requests, err := appendElements(nil, list)
	if err != nil {
		return err
	}
	var all error
	for _, v := range requests {
		fields, err := appendFields(nil, v)
		if err == nil {
			err = l.dispatch(text(lookup(fields, "request_id")), lookup(fields, "request"), true)
		}
		if errors.Is(err, ErrReusedAnswered) {
			err = nil // its answer is on the way, and a list need not say all that was asked
		}
		all = errors.Join(all, err)
	}
	return all
}

// nextID makes the id of a request of ours; c.mu is held.
func (c *Client) nextID() string {
	c.lastID++
	return c.idPrefix + strconv.Itoa(c.lastID)
}

// send hands one line to the transport.
func (c *Client) send(line []byte) error {
	line = escapeSeparators(line)
	if len(line) > MaxSent {
		return fmt.Errorf("claude: send %d bytes: %w", len(line), ErrTooLarge)
	}
	if err := c.transport.Send(line); err != nil {
		return fmt.Errorf("claude: send: %w", err)
	}
	return nil
}

func clone(v []byte) json.RawMessage {
	if v == nil {
		return nil
	}
	return append(make(json.RawMessage, 0, len(v)), v...)
}
