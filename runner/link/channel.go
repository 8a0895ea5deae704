package link

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"time"
)

// maxChunks bounds the chunks that wait for Recv, and so their buffers. Data without gaps needs at
// most 33, because adjacent chunks are merged as long as they fit into a buffer.
const maxChunks = 40

// A Channel is a call in progress, on either side: its arguments, data in both directions, and its
// result. One goroutine may send while another receives.
type Channel struct {
	c      *Conn
	id     uint16
	own    bool   // this side made the call
	call   uint64 // number of the call
	cancel context.CancelFunc

	drained chan struct{} // capacity 1: data was sent, or Send fails
	arrived chan struct{} // capacity 1: data has arrived, or Recv fails

	// The rest is guarded by c.mu.

	next   *Channel // in the queue of channels with something to send
	queued bool

	out         []byte // data to be sent, from outAt on
	outAt       int
	outOffset   uint64 // the application's offset of out[outAt]
	sent, limit uint64 // bytes sent, and the maximum that the other side has granted
	endDue      bool   // an end frame follows the data; only for the caller
	final       []byte // the reply, which follows the data
	sendErr     error  // why Send fails

	in             []chunk
	lastReceived   []byte // data that the last Recv returned
	received       uint64 // bytes
	taken, granted uint64 // bytes that Recv has consumed, and the maximum granted to the other side
	creditDue      bool   // in c.credits
	discard        bool   // received data is dropped
	recvErr        error  // returned by Recv after in; io.EOF at the end of the data

	finished bool // no more frames are sent or received
	result   []byte
	long     bool // the result was sent as data
}

// chunk is a part of the data.
type chunk struct {
	offset uint64
	bytes  []byte
}

func (c *Conn) newChannel(id uint16, own bool, call uint64) *Channel {
	ch := &Channel{
		c: c, id: id, own: own, call: call, limit: window, granted: window,
		drained: make(chan struct{}, 1), arrived: make(chan struct{}, 1), cancel: func() {},
	}
	c.channels[id] = ch
	return ch
}

// Call calls name with args, which encoding/json encodes, waits for the result and decodes it into
// result, or drops it if result is nil. The other side's context has the same deadline as ctx, and
// is canceled when ctx ends. The other side may still have carried out a canceled call, as after
// [ErrLost]. An error that the other side returns is a [RemoteError], which unwraps to one of
// Options.Errors, [ErrUnknown] or [ErrBusy].
func (c *Conn) Call(ctx context.Context, name string, args, result any) error {
	ch, err := c.Open(ctx, name, args)
	if err != nil {
		return err
	}
	defer ch.Close()
	if result == nil {
		result = new(json.RawMessage)
	}
	return ch.Result(ctx, result)
}

// Open calls name and returns the channel of the call, for a call with data or a long one. It does
// not wait for the result; it blocks only while too many earlier calls are unwritten and, if args
// exceed 56 KiB, until they are queued. After such args, no data can be sent. The deadline of ctx is
// that of the call. The caller must close the channel.
func (c *Conn) Open(ctx context.Context, name string, args any) (*Channel, error) {
	text, err := json.Marshal(args)
	switch {
	case err != nil:
		return nil, fmt.Errorf("link: call %s: %w", name, err)
	case len(text) > maxMessage || len(name) > maxName:
		return nil, fmt.Errorf("link: call %s: %w", name, ErrTooLarge)
	}
	h := head{Name: name, Long: len(text) > maxInline}
	if end, ok := ctx.Deadline(); ok {
		h.DeadlineMS = max(1, time.Until(end).Milliseconds())
	}
	inline := text
	if h.Long {
		inline = nil
	}
	ch, err := c.open(ctx, h, inline)
	if err != nil {
		return nil, fmt.Errorf("link: call %s: %w", name, err)
	}
	if h.Long {
		if err := ch.Send(ctx, 0, text); err != nil && ctx.Err() != nil {
			ch.Close()
			return nil, fmt.Errorf("link: call %s: %w", name, err)
		} // Recv returns any other error, too
		ch.CloseSend()
	}
	return ch, nil
}

// open sends a call frame.
func (c *Conn) open(ctx context.Context, h head, args []byte) (*Channel, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.err == nil && c.closing == nil && len(c.control) > maxControl {
		if c.controlFree == nil {
			c.controlFree = make(chan struct{})
		}
		free := c.controlFree
		c.mu.Unlock()
		select {
		case <-free:
			c.mu.Lock()
		case <-ctx.Done():
			c.mu.Lock()
			return nil, context.Cause(ctx)
		}
	}
	if err := cmp.Or(c.err, c.closing); err != nil {
		return nil, err
	}
	for range math.MaxUint16 / 2 {
		id := c.next
		c.next += 2
		if id == 0 || c.channels[id] != nil {
			continue
		}
		c.number++
		c.queueControl(frame{kind: kindCall, channel: id, number: c.number, head: h, body: args})
		return c.newChannel(id, true, c.number), nil
	}
	return nil, ErrBusy
}

// Send sends p. offset is the position of its first byte, in units of the application; there may be
// gaps between the data of two calls of Send. Send returns once p is copied, and blocks while 64 KiB
// wait for the connection or the receiver. Data may be lost with the connection even if Send has
// returned nil. Send fails when the call has ended or was canceled, when the connection has ended,
// and with the cause of ctx.
func (ch *Channel) Send(ctx context.Context, offset uint64, p []byte) error {
	c := ch.c
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(p) > 0 {
		waiting := len(ch.out) - ch.outAt
		switch {
		case ch.sendErr != nil:
			return ch.sendErr
		case waiting > 0 && (waiting >= maxFrame || ch.outOffset+uint64(waiting) != offset):
			c.mu.Unlock()
			select {
			case <-ch.drained:
				c.mu.Lock()
				continue
			case <-ctx.Done():
				c.mu.Lock()
				return context.Cause(ctx)
			}
		case waiting == 0:
			ch.outOffset = offset
		}
		n := min(len(p), maxFrame-waiting)
		if ch.outAt > 0 && len(ch.out)+n > cap(ch.out) {
			ch.out = ch.out[:copy(ch.out, ch.out[ch.outAt:])]
			ch.outAt = 0
		}
		ch.out = c.extend(ch.out, p[:n])
		p, offset = p[n:], offset+uint64(n)
		c.queue(ch)
	}
	return nil
}

// CloseSend tells the other side that no more data will come. Only the caller's side may use it. It
// does not wait.
func (ch *Channel) CloseSend() {
	ch.c.mu.Lock()
	defer ch.c.mu.Unlock()
	if ch.own && ch.sendErr == nil {
		ch.endDue, ch.sendErr = true, ErrClosed
		ch.c.queue(ch)
	}
}

// Recv waits for data and returns it with the application's offset of its first byte. p has at most
// 64 KiB and is valid until the next Recv, which counts it as consumed, so that the other side may
// send more. At the end of the data, Recv returns io.EOF or the reason why the call failed: a
// [RemoteError], the error of the connection, or, on the side that was called, context.Canceled.
// When ctx ends, Recv returns its cause and loses no data.
func (ch *Channel) Recv(ctx context.Context) (offset uint64, p []byte, err error) {
	c := ch.c
	c.mu.Lock()
	defer c.mu.Unlock()
	ch.take()
	for len(ch.in) == 0 {
		if ch.recvErr != nil {
			return 0, nil, ch.recvErr
		}
		c.mu.Unlock()
		select {
		case <-ch.arrived:
			c.mu.Lock()
		case <-ctx.Done():
			c.mu.Lock()
			return 0, nil, context.Cause(ctx)
		}
	}
	first := ch.in[0]
	rest := copy(ch.in, ch.in[1:])
	ch.in[rest] = chunk{}
	ch.in = ch.in[:rest]
	ch.lastReceived = first.bytes
	return first.offset, first.bytes, nil
}

// take counts the data of the last Recv as consumed, and grants the other side more.
func (ch *Channel) take() {
	ch.taken += uint64(len(ch.lastReceived))
	ch.c.release(ch.lastReceived)
	ch.lastReceived = nil
	if ch.recvErr != nil || ch.granted-ch.taken > window/2 {
		return
	}
	ch.granted = ch.taken + window
	if !ch.creditDue {
		ch.creditDue = true
		ch.c.credits = append(ch.c.credits, ch)
		ch.c.wakeWriter()
	}
}

// Result waits for the end of the call and decodes the result. It drops data that Recv has not
// returned. Only the caller's side may use it.
func (ch *Channel) Result(ctx context.Context, result any) error {
	data, err := ch.gather(ctx, maxMessage)
	if err != nil {
		return err
	}
	ch.c.mu.Lock()
	text := ch.result
	if ch.long {
		text = data
	}
	ch.c.mu.Unlock()
	return json.Unmarshal(text, result)
}

// gather receives all data, or fails with [ErrTooLarge] above limit, in bytes.
func (ch *Channel) gather(ctx context.Context, limit int) ([]byte, error) {
	var all []byte
	for {
		_, p, err := ch.Recv(ctx)
		switch {
		case err == io.EOF:
			return all, nil
		case err != nil:
			return nil, err
		case len(all)+len(p) > limit:
			return nil, ErrTooLarge
		}
		all = append(all, p...)
	}
}

// Close ends the call on the caller's side, and cancels the other side's ctx if the call has no
// reply yet. It does not wait, and does not undo what the other side has done.
func (ch *Channel) Close() {
	c := ch.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if !ch.own || ch.finished || ch.discard {
		return
	}
	ch.stop(context.Canceled)
	c.queueControl(frame{kind: kindCancel, channel: ch.id, number: ch.call})
}

// stop drops all data, in both directions. The channel stays registered until the reply.
func (ch *Channel) stop(err error) {
	ch.discard = true
	ch.dropOut(err)
	for _, chunk := range ch.in {
		ch.c.release(chunk.bytes)
	}
	ch.in = nil
	ch.recvErr = cmp.Or(ch.recvErr, err)
	signal(ch.arrived)
}

// dropOut drops the data to be sent, but not the reply, and makes Send fail with err.
func (ch *Channel) dropOut(err error) {
	ch.c.release(ch.out)
	ch.out, ch.outAt, ch.endDue = nil, 0, false
	ch.sendErr = cmp.Or(ch.sendErr, err)
	signal(ch.drained)
}

// abort ends the channel with its connection. Recv still returns data that has arrived.
func (ch *Channel) abort(err error) {
	ch.finished = true
	ch.dropOut(err)
	ch.recvErr = cmp.Or(ch.recvErr, err)
	signal(ch.arrived)
	ch.cancel()
}

func (ch *Channel) canSend() bool {
	if len(ch.out) > ch.outAt {
		return ch.sent < ch.limit
	}
	return !ch.finished && (ch.endDue || ch.final != nil)
}

// appendNext encodes the next frame.
func (ch *Channel) appendNext(b []byte) []byte {
	c := ch.c
	waiting := len(ch.out) - ch.outAt
	switch {
	case waiting > 0 && ch.sent < ch.limit:
		n := int(min(uint64(waiting), ch.limit-ch.sent))
		b = appendFrame(b, frame{version: c.version, kind: kindData, channel: ch.id, number: ch.outOffset, body: ch.out[ch.outAt : ch.outAt+n]})
		ch.outAt, ch.outOffset, ch.sent = ch.outAt+n, ch.outOffset+uint64(n), ch.sent+uint64(n)
		if n == waiting {
			c.release(ch.out)
			ch.out, ch.outAt = nil, 0
		}
		signal(ch.drained)
	case waiting > 0 || ch.finished:
	case ch.final != nil:
		b = append(b, ch.final...)
		ch.finished, ch.final = true, nil
		delete(c.channels, ch.id)
		c.theirs--
	case ch.endDue:
		b = appendFrame(b, frame{version: c.version, kind: kindEnd, channel: ch.id, number: ch.call})
		ch.endDue = false
	}
	return b
}

func (ch *Channel) receiveData(f frame) error {
	if ch.received += uint64(len(f.body)); ch.received > ch.granted {
		return fmt.Errorf("%w: %d bytes on a channel that may carry %d", ErrProtocol, ch.received, ch.granted)
	}
	if ch.discard || ch.recvErr != nil || len(f.body) == 0 {
		return nil
	}
	signal(ch.arrived)
	if l := len(ch.in); l > 0 {
		last := &ch.in[l-1]
		if last.offset+uint64(len(last.bytes)) == f.number && len(last.bytes)+len(f.body) <= maxFrame {
			last.bytes = ch.c.extend(last.bytes, f.body)
			return nil
		}
		if l == maxChunks {
			return fmt.Errorf("%w: too many gaps", ErrProtocol)
		}
	}
	ch.in = append(ch.in, chunk{f.number, ch.c.extend(nil, f.body)})
	return nil
}

func (ch *Channel) receiveEnd() {
	ch.recvErr = cmp.Or(ch.recvErr, io.EOF)
	signal(ch.arrived)
}

func (ch *Channel) receiveCancel() {
	ch.stop(context.Canceled)
	ch.cancel()
	ch.c.queue(ch) // the reply no longer waits for data
}

func (ch *Channel) receiveResult(f frame) {
	err := io.EOF
	if f.kind == kindError {
		err = decodeError(ch.c.o.Errors, f)
	}
	ch.result, ch.long, ch.finished = bytes.Clone(f.body), f.head.Long, true
	delete(ch.c.channels, ch.id)
	ch.recvErr = cmp.Or(ch.recvErr, err)
	ch.dropOut(ErrClosed)
	signal(ch.arrived)
}

// extend appends p to b, which has at most maxFrame bytes, and returns the result. It takes
// ownership of b.
func (c *Conn) extend(b, p []byte) []byte {
	size := len(b) + len(p)
	if size <= cap(b) {
		return append(b, p...)
	}
	var larger []byte
	switch l := len(c.spare); {
	case size <= maxFrame/64: // most lines, and the last one of an idle session
		larger = make([]byte, 0, maxFrame/64)
	case size <= maxFrame/8:
		larger = make([]byte, 0, maxFrame/8)
	case l > 0:
		larger, c.spare = c.spare[l-1], c.spare[:l-1]
	default:
		larger = make([]byte, 0, maxFrame)
	}
	larger = append(append(larger, b...), p...)
	c.release(b)
	return larger
}

// release keeps b for reuse if it is a large buffer.
func (c *Conn) release(b []byte) {
	if cap(b) == maxFrame && len(c.spare) < maxSpare && c.err == nil {
		c.spare = append(c.spare, b[:0])
	}
}
