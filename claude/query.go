package claude

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
)

// Query starts a CLI, sends it a prompt, and iterates over its messages in order. The iteration ends
// after the last result, once all background agents that the query started have finished. The CLI
// has then exited. The optional o configures the session.
//
// A failure ends the iteration with a nil Message and an error: that of [Start] or [Client.Run], or
// a *[ResultError] after the [Result] of a failed turn. Leaving the loop early ends the CLI, and so
// does the end of ctx. Raw parts of the messages may be kept.
//
// Nothing happens until the iteration starts, and each iteration runs a new query.
func Query(ctx context.Context, prompt string, o ...Options) iter.Seq2[Message, error] {
	return QueryMessage(ctx, UserMessage{Text: prompt}, o...)
}

// QueryMessage is [Query] for a prompt with images or documents.
func QueryMessage(ctx context.Context, prompt UserMessage, o ...Options) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		if len(o) > 1 {
			yield(nil, errors.New("claude: a query has one Options"))
			return
		}
		var options Options
		if len(o) == 1 {
			options = o[0]
		}
		query(ctx, &prompt, options, yield)
	}
}

// Continue is [Query] without a prompt, for a session (o.Resume) whose last turn was deferred, see
// [HookDefer]: the CLI calls the hook again. It fails with [ErrTooOld] before 2.1.261, because an
// older CLI may continue before it knows the hook.
func Continue(ctx context.Context, o Options) iter.Seq2[Message, error] {
	if o.MinVersion == "" || olderThan(o.MinVersion, awaitsInitialize) {
		o.MinVersion = awaitsInitialize
	}
	return func(yield func(Message, error) bool) { query(ctx, nil, o, yield) }
}

func query(ctx context.Context, prompt *UserMessage, o Options, yield func(Message, error) bool) {
	c, err := Start(ctx, o)
	if err != nil {
		yield(nil, err)
		return
	}
	messages := newQueue()
	c.started.turn = messages
	var running sync.WaitGroup
	running.Go(func() { _ = c.Run(ctx) }) // its error ends the queue
	defer running.Wait()
	c.query(ctx, prompt, messages, running.Wait, yield)
}

// query sends the prompt, if any, yields the messages until nothing is left to do, and closes the
// client. wait returns when Run has returned.
func (c *Client) query(ctx context.Context, prompt *UserMessage, messages *queue, wait func(), yield func(Message, error) bool) {
	defer c.Close()
	if prompt != nil {
		if err := c.SendUser(ctx, *prompt); err != nil {
			c.started.stop() // unlike after Close, Run then returns why the CLI ended
			wait()
			yield(nil, c.failure(err))
			return
		}
	}
	var run runState
	var failed *ResultError
	limit := c.started.backgroundWait
	var expired <-chan time.Time // set while only background agents run
	for {
		switch waits := limit > 0 && run.result && !run.turn && !run.over(); {
		case !waits:
			expired = nil
		case expired == nil:
			expired = time.After(limit)
		}
		m, ok, err := messages.next(expired)
		if !ok {
			break
		}
		if errors.Is(err, errBackground) {
			if expired = nil; c.decides() {
				continue
			}
			err = &BackgroundError{Tasks: run.tasks.Running(), After: limit}
			if failed != nil {
				err = errors.Join(failed, err)
			}
			yield(nil, err)
			return
		}
		if err != nil {
			// After a failed turn the CLI exits with status 1; the error of the result is more precise.
			var lost *SessionStoreError
			switch {
			case failed == nil:
				yield(nil, err)
				return
			case errors.As(err, &lost):
				yield(nil, errors.Join(failed, lost))
				return
			}
			break
		}
		if e := run.apply(m); e != nil {
			failed = e
		} else if _, isResult := m.(*Result); isResult {
			failed = nil
		}
		if !yield(m, nil) {
			return
		}
		if run.over() {
			_ = c.Close() // messages that the CLI still prints are delivered
		}
	}
	if failed != nil {
		yield(nil, failed)
	}
}

// errBackground means that background agents have run for too long.
var errBackground = errors.New("background agents still run")

// decides reports whether a callback is deciding about a request of the CLI.
func (c *Client) decides() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.calls) > 0
}

// failure returns why the client ended if err is a consequence of that, else err.
func (c *Client) failure(err error) error {
	c.started.mu.Lock()
	defer c.started.mu.Unlock()
	ended := errors.Is(err, ErrClosed) || errors.Is(err, syscall.EPIPE) || errors.Is(err, fs.ErrClosed)
	if c.started.err != nil && ended {
		return c.started.err
	}
	return err
}

// Ask runs a [Query] and returns only its last result. After a failed turn it returns the Result
// together with its *[ResultError].
func Ask(ctx context.Context, prompt string, o ...Options) (*Result, error) {
	var last *Result
	for m, err := range Query(ctx, prompt, o...) {
		if err != nil {
			return last, err
		}
		if r, ok := m.(*Result); ok {
			last = r
		}
	}
	if last == nil {
		return nil, ErrClosed
	}
	return last, nil
}

// Turn sends a message and iterates over the messages up to the result of its turn. The client must
// come from [Start], with [Client.Run] running. Only one turn can be iterated at a time; another one
// fails with [ErrBusy]. Background agents may continue after the turn: the messages that they send
// during the next turn are part of it. [Options.OnMessage] receives all messages, including those
// between turns.
//
// A failed turn ends with a *[ResultError]. Leaving the loop early does not end the turn, see
// [Client.Interrupt]. Raw parts of the messages may be kept.
func (c *Client) Turn(ctx context.Context, prompt UserMessage) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		if c.started == nil {
			yield(nil, errors.New("claude: Turn is for clients of Start"))
			return
		}
		if prompt.UUID == "" {
			prompt.UUID = uuid.NewString()
		}
		messages := newQueue()
		if err := c.attach(messages); err != nil {
			yield(nil, err)
			return
		}
		defer c.detach(messages)
		stop := context.AfterFunc(ctx, func() { messages.end(context.Cause(ctx)) })
		defer stop()
		if err := c.SendUser(ctx, prompt); err != nil {
			yield(nil, c.failure(err))
			return
		}
		var run runState
		for {
			m, ok, err := messages.next(nil)
			if !ok {
				err = ErrClosed
			}
			if err != nil {
				yield(nil, err)
				return
			}
			failed := run.apply(m)
			if !yield(m, nil) {
				return
			}
			if r, ok := m.(*Result); ok && r.answers(prompt.UUID) {
				if failed != nil {
					yield(nil, failed)
				}
				return
			}
		}
	}
}

func (c *Client) attach(q *queue) error {
	s := c.started
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil {
		return ErrBusy
	}
	s.turn = q
	return nil
}

func (c *Client) detach(q *queue) {
	s := c.started
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn == q {
		s.turn = nil
	}
}

// queue holds messages until they are read. It is unbounded to prevent a deadlock: the body of the
// loop may wait for the CLI, and a full queue would make the CLI wait for the loop.
type queue struct {
	mu      sync.Mutex
	items   []Message
	err     error
	ended   bool
	arrived chan struct{} // capacity 1
}

func newQueue() *queue { return &queue{arrived: make(chan struct{}, 1)} }

func (q *queue) wake() {
	select {
	case q.arrived <- struct{}{}:
	default:
	}
}

func (q *queue) add(m Message) {
	kept := Keep(m)
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.ended {
		q.items = append(q.items, kept)
		q.wake()
	}
}

// end ends the queue after the messages in it, with err. It does nothing on a nil queue.
func (q *queue) end(err error) {
	if q == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.ended {
		q.ended, q.err = true, err
		q.wake()
	}
}

// next waits for the next message, or returns the error with which the queue ended. ok is false
// after an end without an error. If expired fires first, the error is errBackground.
func (q *queue) next(expired <-chan time.Time) (m Message, ok bool, err error) {
	for {
		q.mu.Lock()
		if len(q.items) > 0 {
			m := q.items[0]
			q.items[0] = nil
			q.items = q.items[1:]
			q.mu.Unlock()
			return m, true, nil
		}
		ended, err := q.ended, q.err
		q.mu.Unlock()
		if ended {
			return nil, err != nil, err
		}
		select {
		case <-q.arrived:
		case <-expired:
			return nil, true, errBackground
		}
	}
}
