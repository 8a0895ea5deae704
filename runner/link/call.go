package link

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// A Call is a call that the other side made. Its Channel carries data in both directions. The value
// that [Options].Serve returns is the result, which is sent after the data.
type Call struct {
	*Channel
	Name string
	Args json.RawMessage // belongs to the callee
}

// receiveCall starts serving a call of the other side.
func (c *Conn) receiveCall(ctx context.Context, f frame) error {
	if f.channel == 0 || (f.channel%2 == 1) == c.dialed || c.channels[f.channel] != nil {
		return fmt.Errorf("%w: a call on channel %d", ErrProtocol, f.channel)
	}
	if err := c.refusal(); err != nil {
		reply := encodeError(nil, err)
		reply.channel, reply.number = f.channel, f.number
		c.queueControl(reply)
		return nil
	}
	ch := c.newChannel(f.channel, false, f.number)
	c.theirs++
	if ms := f.head.DeadlineMS; ms > 0 {
		ctx, ch.cancel = context.WithTimeout(ctx, time.Duration(min(ms, math.MaxInt64/int64(time.Millisecond)))*time.Millisecond)
	} else {
		ctx, ch.cancel = context.WithCancel(ctx)
	}
	call := &Call{Channel: ch, Name: f.head.Name, Args: bytes.Clone(f.body)}
	long := f.head.Long
	c.serving.Go(func() {
		defer ch.cancel()
		result, err := c.serve(ctx, call, long)
		ch.reply(ctx, result, err)
	})
	return nil
}

// refusal returns why another call of the other side must be refused, or nil.
func (c *Conn) refusal() error {
	switch {
	case c.o.Serve == nil:
		return ErrUnknown
	case c.theirs >= c.o.MaxCalls:
		return ErrBusy
	}
	return nil
}

// serve returns the result of a call.
func (c *Conn) serve(ctx context.Context, call *Call, long bool) (result any, err error) {
	if long {
		if call.Args, err = call.gather(ctx, c.o.MaxArgs); err != nil {
			return nil, err
		}
	}
	return c.o.Serve(ctx, call)
}

// reply sends the result of a call, after the data.
func (ch *Channel) reply(ctx context.Context, result any, err error) {
	c := ch.c
	f := frame{kind: kindReply}
	if err == nil {
		f.body, err = json.Marshal(result)
	}
	if err == nil && len(f.body) > maxInline {
		err = ch.sendLong(ctx, f.body)
		f.body, f.head.Long = nil, true
	}
	if err != nil {
		f = encodeError(c.o.Errors, err)
	}
	f.version, f.channel, f.number = c.version, ch.id, ch.call
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	ch.discard = true // Serve has returned and receives no more
	ch.recvErr = cmp.Or(ch.recvErr, ErrClosed)
	ch.sendErr = cmp.Or(ch.sendErr, ErrClosed)
	ch.final = appendFrame(nil, f)
	c.queue(ch)
}

// sendLong sends a long result as data.
func (ch *Channel) sendLong(ctx context.Context, text []byte) error {
	ch.c.mu.Lock()
	carried := ch.sent > 0 || len(ch.out) > 0
	ch.c.mu.Unlock()
	if carried || len(text) > maxMessage {
		return ErrTooLarge // the receiver could not tell the result from the call's own data
	}
	return ch.Send(ctx, 0, text)
}
