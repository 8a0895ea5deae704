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

// call is a request of the CLI that awaits its answer. It is settled once: when it is
// answered, when the CLI withdraws it, or when the conversation ends. The code that removes it
// from Client.calls settles it.
type call struct {
	id, subtype string
	requestHash uint64 // hash of the request; 0 when an earlier client received it
	cancel      context.CancelCauseFunc
	endErr      error // why it is settled: ErrWithdrawn, ErrClosed or errSettled; protected by Client.mu
}

// answeredIDs remembers the latest answered ids with the hashes of their requests. The CLI
// may list a request as open while its answer is in flight.
type answeredIDs struct {
	set  map[string]uint64
	ring []string
	next int
}

const maxAnsweredIDs = 1024

// requestSeed seeds the hashes that distinguish two requests with the same id.
var requestSeed = maphash.MakeSeed()

func (a *answeredIDs) add(id string, asked uint64) {
	if a.set == nil {
		a.set = make(map[string]uint64)
	}
	if len(a.ring) < maxAnsweredIDs {
		a.ring = append(a.ring, id)
	} else {
		delete(a.set, a.ring[a.next])
		a.ring[a.next] = id
		a.next = (a.next + 1) % maxAnsweredIDs
	}
	a.set[id] = asked
}

// PanicError is a panic of a callback, or of the code that decodes a line.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panicked: %v", e.Value) }

// protect calls f and returns its panic as a *[PanicError], or nil. Neither a callback nor a line
// may crash the program.
func protect(f func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	f()
	return nil
}

var errCallbackGone = errors.New("callback ended its goroutine")

// dispatch starts the callback for a request of the CLI, unless the same request is in flight
// or was answered. It copies what it needs of body. With notify, it calls OnRequest.
func (l *readLoop) dispatch(id string, body json.RawMessage, notify bool) error {
	if id == "" {
		// It cannot be answered without an id.
		return fmt.Errorf("%w: a control_request without request_id", ErrMalformed)
	}
	fields, err := appendFields(nil, body)
	if err != nil {
		fields = nil // answered as an unknown subtype, because the CLI waits for an answer
	}
	subtype := text(lookup(fields, "subtype"))
	handle, known := handlers[subtype]
	if !known {
		handle = refuseUnknown
	}
	var answer answerer
	if panicked := protect(func() { answer = handle(&l.client.options, id, body, fields) }); panicked != nil {
		answer, err = refuse("the host failed to read this request", "unreadable_request"), panicked
	}

	ctx, cancel := context.WithCancelCause(l.lifetime)
	k := &call{id: id, subtype: subtype, cancel: cancel}
	if notify {
		k.requestHash = maphash.Bytes(requestSeed, body)
	}
	c := l.client
	c.mu.Lock()
	asked, known := c.answered.set[id]
	reused := ErrReusedAnswered
	if open := c.calls[id]; open != nil {
		asked, known, reused = open.requestHash, true, ErrReused
	}
	if c.closed { // nothing can be answered any more
		c.mu.Unlock()
		cancel(nil)
		return err
	}
	if known {
		c.mu.Unlock()
		cancel(nil)
		if asked != 0 && k.requestHash != 0 && asked != k.requestHash {
			return reused
		}
		return err
	}
	c.calls[id] = k
	c.mu.Unlock()
	if notify && c.options.OnRequest != nil {
		if panicked := protect(func() { c.options.OnRequest(id, subtype, body) }); panicked != nil {
			err = panicked
		}
	}
	l.callbacks.Go(func() {
		defer cancel(nil)
		c.answer(ctx, k, answer)
	})
	return err
}

// answerer answers a request of the CLI. run calls the callback and returns the response; failed
// turns an error of the callback into a response.
type answerer struct {
	run     func(ctx context.Context) (response, error)
	failed  func(err error) response
	timeout time.Duration // after which failed answers, although run continues; 0 for none
}

// response is the answer to a request of the CLI: a payload, or an error.
type response struct {
	payload json.RawMessage // one JSON value without newlines
	problem string
	code    string
	sent    func(error)
}

func (c *Client) answer(ctx context.Context, k *call, a answerer) {
	sending := ctx // without the time limit of the callback: an answer that was given is sent
	if a.timeout > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, a.timeout, ErrHookTimeout)
		defer cancel()
		answered := make(chan struct{})
		stop := context.AfterFunc(limited, func() {
			defer close(answered)
			if errors.Is(context.Cause(limited), ErrHookTimeout) {
				c.reportError(k, ErrHookTimeout)
				c.sendUnlessSettled(sending, k, a.failed(ErrHookTimeout))
			}
		})
		defer func() {
			if !stop() {
				<-answered
			}
		}()
		ctx = limited
	}
	returned := false
	defer func() {
		if !returned { // runtime.Goexit, as called by testing.T.FailNow
			c.reportError(k, errCallbackGone)
			c.sendUnlessSettled(sending, k, a.failed(errCallbackGone))
		}
	}()
	r, err := guard(ctx, a.run)
	returned = true
	if errors.Is(err, ErrNoAnswer) {
		_ = c.settle(k, false) // an error means that it was already settled
		return
	}
	if err != nil {
		if ctx.Err() == nil {
			c.reportError(k, err)
		}
		r = a.failed(err)
	}
	c.sendUnlessSettled(sending, k, r)
}

// sendUnlessSettled sends the answer unless the call is settled.
func (c *Client) sendUnlessSettled(ctx context.Context, k *call, r response) {
	outcome := c.settle(k, true)
	if outcome == nil {
		outcome = c.sendUntilAccepted(ctx, k, appendResponse(nil, k.id, r))
		if outcome != nil && !errors.Is(outcome, ErrRepeated) {
			c.forgetAnswered(k.id)
		}
	}
	if r.sent != nil {
		if _, err := guard(ctx, func(context.Context) (response, error) {
			r.sent(outcome)
			return response{}, nil
		}); err != nil {
			c.reportError(k, err)
		}
	}
}

// resendDelay is the pause before an answer is sent again.
const resendDelay = time.Second

// sendUntilAccepted sends an answer, and sends it again until the transport accepts it or ctx ends,
// unless it is too large. The CLI waits for the answer, and nothing else would send it.
func (c *Client) sendUntilAccepted(ctx context.Context, k *call, line []byte) error {
	for reported := false; ; reported = true {
		err := failpoint.Hit("decision.before_send")
		if err == nil {
			err = failpoint.After("decision.after_send", c.send(line))
		}
		if err == nil || errors.Is(err, ErrRepeated) {
			return err
		}
		if !reported {
			c.reportError(k, err)
		}
		if errors.Is(err, ErrTooLarge) {
			return err
		}
		select {
		case <-time.After(resendDelay):
		case <-ctx.Done():
			return err
		}
	}
}

// guard calls f and turns a panic into an error, because the CLI needs an answer.
func guard(ctx context.Context, f func(context.Context) (response, error)) (r response, err error) {
	if panicked := protect(func() { r, err = f(ctx) }); panicked != nil {
		return response{}, panicked
	}
	return r, err
}

func (c *Client) reportError(k *call, err error) {
	if l := c.options.Logger; l != nil {
		l.Error("callback failed", "subtype", k.subtype, "request_id", k.id, "error", err)
	}
	if f := c.options.OnCallbackError; f != nil {
		if panicked := protect(func() { f(k.subtype, k.id, err) }); panicked != nil && c.options.Logger != nil {
			c.options.Logger.Error("callback failed", "callback", "OnCallbackError", "error", panicked)
		}
	}
}

// errSettled means that a call was already answered, by its callback or because of its time limit.
var errSettled = errors.New("the request was answered before")

// settle settles k and returns nil, or returns why k is already settled: ErrWithdrawn, ErrClosed
// or errSettled.
func (c *Client) settle(k *call, answered bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k.endErr != nil {
		return k.endErr
	}
	k.endErr = errSettled
	delete(c.calls, k.id)
	if answered {
		c.answered.add(k.id, k.requestHash)
	}
	return nil
}

// forgetAnswered removes an id whose answer could not be sent.
func (c *Client) forgetAnswered(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.answered.set, id)
}

// withdraw settles a call that the CLI cancelled.
func (c *Client) withdraw(id string) {
	c.mu.Lock()
	k := c.calls[id]
	if k != nil {
		k.endErr = ErrWithdrawn
		delete(c.calls, id)
	}
	c.mu.Unlock()
	if k != nil {
		k.cancel(ErrWithdrawn)
	}
}

// AnswerTo returns the id of the request that a line to the CLI answers. ok is false for any
// other line.
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
