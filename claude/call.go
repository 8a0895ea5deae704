package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"runtime/debug"
	"time"

	"github.com/sayso-dev/sayso/internal/failpoint"
)

// call is a request of the CLI that waits for its answer. It is settled once:
// by its answer, by a cancel of the CLI, or by the end. Who removes it from
// Client.calls has settled it.
type call struct {
	id, subtype string
	asked       uint64 // hash of what came from the CLI; 0 when an earlier client had it
	cancel      context.CancelCauseFunc
	ended       error // ErrWithdrawn or ErrClosed when settled so; protected by Client.mu
}

// answeredIDs remembers the last ids that were answered, with the hash of what was
// asked: the CLI may list a request as open although its answer is on the way.
type answeredIDs struct {
	set  map[string]uint64
	ring []string
	next int
}

const answeredKept = 1024

// askedSeed is that of the hashes that tell two requests of one id apart.
var askedSeed = maphash.MakeSeed()

func (a *answeredIDs) add(id string, asked uint64) {
	if a.set == nil {
		a.set = make(map[string]uint64)
	}
	if len(a.ring) < answeredKept {
		a.ring = append(a.ring, id)
	} else {
		delete(a.set, a.ring[a.next])
		a.ring[a.next] = id
		a.next = (a.next + 1) % answeredKept
	}
	a.set[id] = asked
}

// PanicError is what a callback panicked with.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("callback panicked: %v", e.Value) }

var errCallbackGone = errors.New("callback ended its goroutine")

// dispatch starts the callback for a request of the CLI, unless the same
// request is in flight or was answered. What it needs of body it copies. tell
// says whether OnRequest is told.
func (l *readLoop) dispatch(id string, body json.RawMessage, tell bool) error {
	if id == "" {
		// Nothing can be answered without an id.
		return fmt.Errorf("%w: a control_request without request_id", ErrMalformed)
	}
	fields, err := appendFields(nil, body)
	if err != nil {
		fields = nil // answered as an unknown subtype: the CLI must not wait
	}
	subtype := text(lookup(fields, "subtype"))
	handle, known := handlers[subtype]
	if !known {
		handle = refuseUnknown
	}
	answer := handle(&l.client.options, id, body, fields)

	ctx, cancel := context.WithCancelCause(l.life)
	k := &call{id: id, subtype: subtype, cancel: cancel}
	if tell {
		k.asked = maphash.Bytes(askedSeed, body)
	}
	c := l.client
	c.mu.Lock()
	asked, known := c.answered.set[id]
	reused := ErrReusedAnswered
	if open := c.calls[id]; open != nil {
		asked, known, reused = open.asked, true, ErrReused
	}
	if known {
		c.mu.Unlock()
		cancel(nil)
		if asked != 0 && k.asked != 0 && asked != k.asked {
			return reused
		}
		return err
	}
	c.calls[id] = k
	c.mu.Unlock()
	if tell && c.options.OnRequest != nil {
		c.options.OnRequest(id, subtype, body)
	}
	l.callbacks.Go(func() {
		defer cancel(nil)
		c.answer(ctx, k, answer)
	})
	return err
}

// answerer runs a callback and returns what goes to the CLI. Its failed method
// turns a failure of the callback into an answer.
type answerer struct {
	run    func(ctx context.Context) (response, error)
	failed func(err error) response
}

// response is the answer to a request of the CLI: a payload, or an error.
type response struct {
	payload json.RawMessage // one JSON value without newlines
	problem string
	code    string
	sent    func(error)
}

func (c *Client) answer(ctx context.Context, k *call, a answerer) {
	returned := false
	defer func() {
		if !returned { // runtime.Goexit, as by testing.T.FailNow
			c.failed(k, errCallbackGone)
			c.finish(ctx, k, a.failed(errCallbackGone))
		}
	}()
	r, err := guard(ctx, a.run)
	returned = true
	if errors.Is(err, ErrNoAnswer) {
		_ = c.settle(k, false) // settled before: as well
		return
	}
	if err != nil {
		if ctx.Err() == nil {
			c.failed(k, err)
		}
		r = a.failed(err)
	}
	c.finish(ctx, k, r)
}

// finish sends the answer unless the call is settled.
func (c *Client) finish(ctx context.Context, k *call, r response) {
	outcome := c.settle(k, true)
	if outcome == nil {
		outcome = c.insist(ctx, k, appendResponse(nil, k.id, r))
		if outcome != nil && !errors.Is(outcome, ErrRepeated) {
			c.forget(k.id)
		}
	}
	if r.sent != nil {
		if _, err := guard(ctx, func(context.Context) (response, error) {
			r.sent(outcome)
			return response{}, nil
		}); err != nil {
			c.failed(k, err)
		}
	}
}

// resendPause is how long an answer waits that could not be sent.
const resendPause = time.Second

// insist sends an answer until the transport has taken it or the CLI is gone:
// the CLI waits for it, and nobody else would say it again.
func (c *Client) insist(ctx context.Context, k *call, line []byte) error {
	for told := false; ; told = true {
		err := failpoint.Hit("decision.before_send")
		if err == nil {
			err = failpoint.After("decision.after_send", c.send(line))
		}
		if err == nil || errors.Is(err, ErrRepeated) {
			return err
		}
		if !told {
			c.failed(k, err)
		}
		if errors.Is(err, ErrTooLarge) {
			return err
		}
		select {
		case <-time.After(resendPause):
		case <-ctx.Done():
			return err
		}
	}
}

// guard turns a panic into an error: a callback must not end the process, and
// the CLI must have its answer.
func guard(ctx context.Context, f func(context.Context) (response, error)) (r response, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return f(ctx)
}

func (c *Client) failed(k *call, err error) {
	if f := c.options.OnCallbackError; f != nil {
		f(k.subtype, k.id, err)
	}
}

// settle returns nil if k was still unsettled, else why it was settled before:
// ErrWithdrawn or ErrClosed.
func (c *Client) settle(k *call, answered bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k.ended != nil {
		return k.ended
	}
	delete(c.calls, k.id)
	if answered {
		c.answered.add(k.id, k.asked)
	}
	return nil
}

// forget makes a request whose answer could not be sent known as unanswered.
func (c *Client) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.answered.set, id)
}

// withdraw settles a call because the CLI cancelled it.
func (c *Client) withdraw(id string) {
	c.mu.Lock()
	k := c.calls[id]
	if k != nil {
		k.ended = ErrWithdrawn
		delete(c.calls, id)
	}
	c.mu.Unlock()
	if k != nil {
		k.cancel(ErrWithdrawn)
	}
}

// AnswerTo reads from a line to the CLI the id of the request that it answers. It
// is not ok for a line that is no answer.
func AnswerTo(line []byte) (requestID string, ok bool) {
	e, err := ReadEnvelope(line)
	if err != nil || e.Type != "control_response" {
		return "", false
	}
	fields, err := appendFields(nil, e.Response)
	if err != nil {
		return "", false
	}
	requestID = text(lookup(fields, "request_id"))
	return requestID, requestID != ""
}

func appendResponse(b []byte, id string, r response) []byte {
	b = append(b, `{"type":"control_response","response":{"subtype":`...)
	if r.problem != "" {
		b = append(b, `"error","request_id":`...)
		b = appendString(b, id)
		b = append(b, `,"error":`...)
		b = appendString(b, r.problem)
		if r.code != "" {
			b = append(b, `,"error_code":`...)
			b = appendString(b, r.code)
		}
	} else {
		b = append(b, `"success","request_id":`...)
		b = appendString(b, id)
		b = append(b, `,"response":`...)
		b = append(b, r.payload...)
	}
	return append(b, `}}`...)
}
