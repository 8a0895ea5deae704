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
	// ErrClosed means that the conversation with the CLI is over. Waiting calls return it, and
	// it is the cause with which the contexts of callbacks are canceled.
	ErrClosed = errors.New("conversation with the CLI is over")
	// ErrWithdrawn is the cause with which a callback's context is canceled when the CLI cancels
	// the request.
	ErrWithdrawn = errors.New("the CLI withdrew the request")
	// ErrNoAnswer is returned by a callback to send no answer, because another client answers.
	ErrNoAnswer = errors.New("no answer is to be sent")
	// ErrInvalidUTF8 reports a line with invalid UTF-8, which is used anyway.
	ErrInvalidUTF8 error = protocolError("line holds bytes that are no UTF-8")
	// ErrTooLarge means that a line exceeds [MaxSent] or [MaxLine], or a limit of the transport.
	ErrTooLarge error = protocolError("line is too large")
	// ErrReused means that a control_request has the id of an open request but different
	// content. The open request stays open; the new one gets no answer.
	ErrReused error = protocolError("the CLI asks something else under the id of another request")
	// ErrReusedAnswered is [ErrReused] for the id of an answered request, whose answer stays
	// valid.
	ErrReusedAnswered = fmt.Errorf("%w, which was answered", ErrReused)
	// ErrRepeated is returned by Send of a [Transport] that outlives its client, for a line
	// that the CLI has already received.
	ErrRepeated = errors.New("the line was sent before")
)

// MaxSent bounds a line to the CLI, in bytes: the CLI exits on a longer one.
const MaxSent = 256 << 20

// Client is a conversation with one CLI.
//
// # Concurrency
//
// Run reads what the CLI sends. While it runs, every other method may be called from any goroutine,
// including callbacks. The callbacks on the read loop, such as OnMessage and OnUnreadable, must not
// call methods that wait for the CLI: nothing is read until they return.
type Client struct {
	transport Transport
	options   callbacks
	idPrefix  string // distinguishes our request ids from those of an earlier client of the same CLI
	// reading is used by Run only. It is not a local variable of Run, whose goroutine waits most
	// of the time: with frames over 1 KB in total, the runtime leaves it twice the stack.
	reading readLoop

	started *started // nil unless Start created the client

	mu       sync.Mutex
	runs     bool
	closed   bool
	lastID   int
	waiting  map[string]waitingReply // our requests, by id
	calls    map[string]*call        // the CLI's unsettled requests
	answered answeredIDs
}

// reply is the CLI's answer to one of our requests.
type reply struct {
	response json.RawMessage // the inner response of a success
	outer    json.RawMessage // the object that holds it and its siblings
	err      error
}

// NewClient returns a client over t, for a CLI that is already running: one from [StartProcess], on
// another host, or in a test. It starts nothing: the caller calls [Client.Run], and, while it runs,
// [Client.Initialize] with [Options.InitializeRequest]. A client from [Start] initializes itself.
func NewClient(t Transport, o Options) *Client {
	c := &Client{
		transport: t,
		options:   o.callbacks(),
		idPrefix:  "sayso-" + rand.Text()[:8] + "-",
		waiting:   make(map[string]waitingReply),
		calls:     make(map[string]*call),
	}
	_, c.options.hooks = registerHooks(o.Hooks)
	for name, server := range o.MCPServers {
		if local, ok := server.(LocalServer); ok {
			if c.options.local == nil {
				c.options.local = map[string]*localServer{}
			}
			c.options.local[name] = newLocalServer(name, local.Serve, c)
		}
	}
	return c
}

// Run reads until the transport or ctx ends, and closes the transport. It returns nil after a
// clean end, the cause of ctx, or the error of the transport. When it returns, the contexts
// of all callbacks have been canceled, all callbacks have returned, and all waiting calls have
// failed with [ErrClosed]. A client runs once.
//
// For a client from [Start], Run also initializes the conversation, and the CLI has exited when Run
// returns. When ctx ends, the CLI gets a few seconds to write its transcript. The error may also be
// an *[ExitError] or the reason why the conversation could not be initialized.
func (c *Client) Run(ctx context.Context) error {
	c.mu.Lock()
	if c.runs {
		c.mu.Unlock()
		return errors.New("claude: a client runs once")
	}
	c.runs = true
	c.mu.Unlock()
	if c.started != nil {
		return c.started.run(ctx, c)
	}
	return c.read(ctx, func() { c.transport.Close() })
}

// read reads until the transport ends. When ctx ends, it calls end, which ends the transport.
func (c *Client) read(ctx context.Context, end func()) error {
	var callbacks sync.WaitGroup
	// Callbacks get the values of ctx but not its cancellation: their cause is ErrClosed.
	lifetime, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if c.started != nil { // the CLI may take seconds to exit
			c.close()
			cancel(ErrClosed)
		}
		end()
	})

	for _, server := range c.options.local {
		callbacks.Go(func() { server.run(lifetime) })
	}

	c.reading = readLoop{client: c, lifetime: lifetime, callbacks: &callbacks}
	err := c.reading.run()

	stop()
	c.close()
	cancel(ErrClosed)
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

// close fails every waiting call and settles every request of the CLI.
func (c *Client) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for id, w := range c.waiting {
		w.reply <- reply{err: ErrClosed}
		delete(c.waiting, id)
	}
	for _, k := range c.calls {
		k.endErr = ErrClosed
	}
	clear(c.calls)
}

// readLoop is the state of Run.
type readLoop struct {
	client    *Client
	lifetime  context.Context
	callbacks *sync.WaitGroup
	envelope  Envelope // its memory is reused for every line
}

func (l *readLoop) run() error {
	l.dispatchOpen()
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
	}
}

func (l *readLoop) dispatchOpen() {
	for id, body := range l.client.options.Open {
		if err := l.dispatch(id, body, false); err != nil {
			l.unreadable(body, err)
		}
	}
}

func (l *readLoop) unreadable(line []byte, err error) {
	if log := l.client.options.Logger; log != nil {
		log.Warn("unreadable line of the CLI", "error", err, "bytes", len(line))
	}
	if f := l.client.options.OnUnreadable; f != nil {
		if panicked := protect(func() { f(line, err) }); panicked != nil && l.client.options.Logger != nil {
			l.client.options.Logger.Error("callback failed", "callback", "OnUnreadable", "error", panicked)
		}
	}
}

// line handles one line. If that panics, the line counts as unreadable and the conversation
// continues. Otherwise a host that reads the line again after a restart would fail at it each time.
func (l *readLoop) line(line []byte) {
	defer l.envelope.reset() // references to the line would keep its memory while the CLI idles
	if panicked := protect(func() { l.route(line) }); panicked != nil {
		l.unreadable(line, panicked)
	}
}

func (l *readLoop) route(line []byte) {
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
		defer l.client.withdraw(e.RequestID) // also if the callback panics
		if f := l.client.options.OnWithdrawn; f != nil {
			f(e.RequestID)
		}
	default:
		f, started := l.client.options.OnMessage, l.client.started
		if f == nil && started == nil {
			return
		}
		m, err := e.decode()
		if err != nil {
			l.unreadable(line, err)
			return
		}
		if started != nil {
			started.deliver(m)
		}
		if f != nil {
			f(m)
		}
	}
}

// response passes the CLI's answer to the caller that waits for it. An unknown id is no
// error: the caller may have stopped waiting, or an earlier client of the same CLI sent the
// request.
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
	defer func() { w.reply <- r }() // also if a callback panics
	// Dispatched here and not in Initialize, because the next line may be a cancel. Before
	// 2.1.161 the list comes with the error of a second initialize.
	for _, key := range []string{"pending_permission_requests", "pending_elicitation_requests", "pending_user_dialog_requests"} {
		if w.listOnly {
			break
		}
		if err := l.dispatchList(lookup(fields, key)); err != nil {
			l.unreadable(body, err)
		}
	}
	if w.read != nil {
		w.read(r)
	}
	return nil
}

// waitingReply is the destination of the answer to one of our requests.
type waitingReply struct {
	reply    chan<- reply // capacity 1, filled at most once
	listOnly bool         // open requests listed in the answer are not dispatched
	sent     func()       // called when our request has been sent; nil for none
	read     func(reply)  // receives a reply of the CLI on the read loop; nil for none
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
			err = nil // its answer is in flight, and the list may omit parts of the request
		}
		all = errors.Join(all, err)
	}
	return all
}

// nextID returns an id for a new request to the CLI. The caller holds c.mu.
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
