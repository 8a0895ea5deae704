// Package link multiplexes calls and streams of bytes between a server and a runner over one
// connection. Each call has its own channel. Flow control limits the data that the receiver of a
// channel has not consumed, so that no channel delays another and memory is bounded. The frames are
// described in frame.go and docs/contributing/runners.md.
//
// The package does not interpret calls.
package link

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// oldest and newest are the versions of the protocol that this release speaks.
	oldest, newest = 1, 1

	// pingInterval is the time between pings. After maxMissed of them without a byte from the other
	// side, the connection is lost, so a dead server is noticed within 4 s.
	pingInterval = time.Second
	maxMissed    = 3

	// window bounds the data of a channel, in bytes, that its receiver has not consumed. The receiver
	// grants more when it has consumed half of it.
	window = 1 << 20
	// batch bounds the data in one write, in bytes, and so the delay of control frames.
	batch = maxFrame
	// maxControl is the size of the queued control frames, in bytes, above which new calls wait. A
	// correct peer causes no other control frames; if replies to a faulty one double it, the
	// connection ends.
	maxControl = 256 << 10
	// maxCalls bounds the concurrent calls of the other side. Each may use window bytes of memory.
	maxCalls = 1024
	// maxInline bounds arguments and results within a frame, in bytes. Longer ones are sent as data.
	maxInline = maxFrame - 8<<10
	// maxMessage bounds arguments and results, in bytes.
	maxMessage = 64 << 20
	// maxName bounds the name of a call, in bytes.
	maxName = 256
	// maxSpare bounds the number of buffers kept for reuse, of maxFrame bytes each.
	maxSpare = 16
	// closeTimeout bounds the wait for the other side to read why the connection is closed.
	closeTimeout = time.Second
)

// Options configures one side of a connection.
type Options struct {
	// Serve answers a call of the other side, in its own goroutine. If Serve is nil, calls fail with
	// [ErrUnknown]. It returns a result that encoding/json encodes, or an error, and must return
	// soon after ctx has ended.
	Serve func(ctx context.Context, call *Call) (result any, err error)
	// Errors lists the errors that errors.Is and errors.As recognize on the other side.
	Errors []ErrorCode
	// MaxCalls bounds the concurrent calls of the other side; 0 means 1024. Further calls fail with
	// [ErrBusy].
	MaxCalls int
	// MaxArgs bounds the arguments of one call of the other side, in bytes; 0 means 64 MiB.
	MaxArgs int

	versions [2]int // for tests; zero means oldest and newest
}

// A Conn is one side of a connection. Its methods may be called concurrently. Channels work only
// while Run runs.
type Conn struct {
	o       Options
	stream  io.ReadWriteCloser
	reader  *bufio.Reader
	version byte
	dialed  bool // this side sent the hello and uses the odd channels
	missed  atomic.Int32

	wake  chan struct{} // capacity 1: there may be something to write
	ended chan struct{} // closed when err is set

	serving sync.WaitGroup // calls of the other side

	mu       sync.Mutex
	err      error // why the connection ended
	closing  error // set by Close: the writer sends it, then the connection ends
	channels map[uint16]*Channel
	theirs   int    // channels that the other side opened
	next     uint16 // the id to try first for a new channel
	number   uint64 // of the last call or ping

	control     []byte        // encoded frames, which are sent before data
	controlFree chan struct{} // closed when the writer takes control; nil if no call waits for that
	ping, pong  *uint64       // to be sent; nil for none
	credits     []*Channel    // channels with a credit frame to send
	first, last *Channel      // queue of channels with something to send
	spare       [][]byte      // buffers of maxFrame bytes
}

func newConn(s io.ReadWriteCloser, o Options) *Conn {
	if o.versions == [2]int{} {
		o.versions = [2]int{oldest, newest}
	}
	if o.MaxCalls == 0 {
		o.MaxCalls = maxCalls
	}
	if o.MaxArgs == 0 {
		o.MaxArgs = maxMessage
	}
	c := &Conn{o: o, stream: s, wake: make(chan struct{}, 1), ended: make(chan struct{}), channels: map[uint16]*Channel{}}
	c.reader = bufio.NewReaderSize(livenessReader{c}, maxFrame)
	return c
}

// Greet opens a connection on a stream, as the side that dialed. It sends hello, waits for the reply
// and decodes it into welcome, or drops it if welcome is nil. The stream must deliver bytes in
// order, and its Close must unblock Read and Write.
//
// If Greet fails, it closes the stream and returns [ErrVersion], [ErrProtocol], [ErrTooLarge], one of
// Options.Errors that the other side returned, [ErrLost], or the cause of ctx. Otherwise Run closes
// the stream.
func Greet(ctx context.Context, s io.ReadWriteCloser, hello, welcome any, o Options) (*Conn, error) {
	c := newConn(s, o)
	c.dialed, c.next = true, 1
	err := c.whileOpen(ctx, func() error {
		body, err := json.Marshal(hello)
		if err != nil {
			return err
		}
		if len(body) > maxInline {
			return ErrTooLarge
		}
		f, err := c.exchange(frame{kind: kindHello, head: head{Versions: c.o.versions}, body: body})
		switch {
		case err != nil:
			return err
		case f.kind == kindError:
			return decodeError(o.Errors, f)
		case f.kind != kindReply || f.head.Version < c.o.versions[0] || f.head.Version > c.o.versions[1]:
			return ErrProtocol
		}
		c.version = byte(f.head.Version)
		if welcome == nil {
			return nil
		}
		return json.Unmarshal(f.body, welcome)
	})
	if err != nil {
		return nil, fmt.Errorf("link: greet: %w", err)
	}
	return c, nil
}

// exchange writes a frame and reads the reply.
func (c *Conn) exchange(f frame) (frame, error) {
	f.version = byte(c.o.versions[1])
	if _, err := c.stream.Write(appendFrame(nil, f)); err != nil {
		return frame{}, wrapLost(err)
	}
	f, err := readFrame(c.reader, make([]byte, maxFrame))
	return f, wrapLost(err)
}

// Accept opens a connection on a stream, as the side that was dialed. It waits for the hello, calls
// answer, and sends the welcome or the error that answer returns. If Accept fails, it closes the
// stream and returns the error of answer, [ErrVersion], [ErrProtocol], [ErrTooLarge], [ErrLost], or
// the cause of ctx.
func Accept(ctx context.Context, s io.ReadWriteCloser, answer func(ctx context.Context, hello json.RawMessage) (welcome any, err error), o Options) (*Conn, error) {
	c := newConn(s, o)
	c.next = 2
	err := c.whileOpen(ctx, func() error {
		f, err := readFrame(c.reader, make([]byte, maxFrame))
		if err != nil {
			return wrapLost(err)
		}
		reply, err := c.welcome(ctx, f, answer)
		if err != nil {
			reply = encodeError(o.Errors, err)
		}
		reply.version, reply.number = byte(c.o.versions[1]), f.number
		if _, e := c.stream.Write(appendFrame(nil, reply)); e != nil && err == nil {
			return wrapLost(e)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("link: accept: %w", err)
	}
	return c, nil
}

// welcome returns the reply to a hello.
func (c *Conn) welcome(ctx context.Context, f frame, answer func(context.Context, json.RawMessage) (any, error)) (frame, error) {
	agreed := min(c.o.versions[1], f.head.Versions[1])
	switch {
	case f.kind != kindHello:
		return frame{}, ErrProtocol
	case agreed < max(c.o.versions[0], f.head.Versions[0], 1):
		return frame{}, ErrVersion
	}
	c.version = byte(agreed)
	welcome, err := answer(ctx, json.RawMessage(f.body))
	if err != nil {
		return frame{}, err
	}
	body, err := json.Marshal(welcome)
	if err == nil && len(body) > maxInline {
		err = ErrTooLarge
	}
	return frame{kind: kindReply, head: head{Version: agreed}, body: body}, err
}

// whileOpen calls do, and closes the stream if do fails or ctx ends meanwhile.
func (c *Conn) whileOpen(ctx context.Context, do func() error) error {
	stop := context.AfterFunc(ctx, func() { c.stream.Close() })
	err := do()
	if !stop() {
		return context.Cause(ctx)
	}
	if err != nil {
		c.stream.Close()
	}
	return err
}

// wrapLost adds [ErrLost] to the error of a stream, and returns nil and [ErrProtocol] unchanged.
func wrapLost(err error) error {
	if err == nil || errors.Is(err, ErrProtocol) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrLost, err)
}

// Run carries the channels until the connection ends, and returns the reason: [ErrLost],
// [ErrProtocol], the error that this side passed to Close, [ErrClosed] with the error that the other
// side passed to Close, or the cause of ctx. It waits until all calls of Options.Serve have
// returned, whose contexts are derived from ctx. Call it once.
func (c *Conn) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { c.fail(context.Cause(ctx)) })
	defer stop()
	var own sync.WaitGroup
	own.Go(func() { c.fail(c.write()) })
	own.Go(func() { c.fail(c.watch()) })
	c.fail(c.read(ctx))
	stop() // the reason is set
	cancel()
	own.Wait()
	c.serving.Wait()
	return c.reason()
}

// Close ends the connection within a second, and does not wait for that. If the other side reads in
// time, its Run returns [ErrClosed] with reason, which keeps its identity if Options.Errors lists it.
func (c *Conn) Close(reason error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing != nil || c.err != nil {
		return
	}
	reason = cmp.Or(reason, ErrClosed)
	c.closing = reason
	time.AfterFunc(closeTimeout, func() { c.fail(reason) }) // in case the other side does not read
	c.wakeWriter()
}

// Ended reports whether the connection has ended, or Close was called on this side.
func (c *Conn) Ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err != nil || c.closing != nil
}

// Done returns a channel that is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.ended }

// reason returns why the connection ended, or nil while it is open.
func (c *Conn) reason() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// fail ends the connection and all its channels.
func (c *Conn) fail(err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = err
	for _, ch := range c.channels {
		ch.abort(err)
	}
	c.channels, c.first, c.last, c.credits, c.control, c.spare = nil, nil, nil, nil, nil, nil
	if c.controlFree != nil {
		close(c.controlFree)
		c.controlFree = nil
	}
	close(c.ended)
	c.mu.Unlock()
	c.stream.Close()
}

// wakeWriter tells the writer that there may be something to write. It does not block.
func (c *Conn) wakeWriter() { signal(c.wake) }

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// livenessReader reads the stream. Any byte, not only a whole frame, shows that the other side is alive.
type livenessReader struct{ c *Conn }

func (l livenessReader) Read(p []byte) (int, error) {
	n, err := l.c.stream.Read(p)
	if n > 0 {
		l.c.missed.Store(0)
	}
	return n, err
}

// watch sends pings until the connection ends, and fails after maxMissed without a byte from the
// other side. It counts pings instead of time, so that sleep of the machine does not count.
func (c *Conn) watch() error {
	tick := time.NewTicker(pingInterval)
	defer tick.Stop()
	for {
		select {
		case <-c.ended:
			return nil
		case <-tick.C:
		}
		if c.missed.Add(1) > maxMissed {
			return fmt.Errorf("%w: %d pings without a byte", ErrLost, maxMissed)
		}
		c.mu.Lock()
		c.number++
		number := c.number
		c.ping = &number
		c.mu.Unlock()
		c.wakeWriter()
	}
}

// write writes frames until the connection ends.
func (c *Conn) write() error {
	buf := make([]byte, 0, headerSize+2*maxFrame)
	for {
		out, last := c.collect(buf[:0])
		if len(out) > 0 {
			if _, err := c.stream.Write(out); err != nil && last == nil {
				select { // the reader may still receive the other side's reason
				case <-c.ended:
				case <-time.After(closeTimeout):
				}
				return wrapLost(err)
			}
		}
		if last != nil {
			return last
		}
		if len(out) == 0 {
			select {
			case <-c.wake:
			case <-c.ended:
				return nil
			}
		}
	}
}

// collect encodes the frames that can be sent now: control frames, then a batch of the frames of
// channels, one of each channel in turn. If the connection ends after them, last is the reason.
func (c *Conn) collect(b []byte) (out []byte, last error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pong != nil {
		b = appendFrame(b, frame{version: c.version, kind: kindPong, number: *c.pong})
		c.pong = nil
	}
	if c.ping != nil {
		b = appendFrame(b, frame{version: c.version, kind: kindPing, number: *c.ping})
		c.ping = nil
	}
	for _, ch := range c.credits {
		ch.creditDue = false
		if !ch.finished {
			b = appendFrame(b, frame{version: c.version, kind: kindCredit, channel: ch.id, number: ch.granted})
		}
	}
	c.credits = c.credits[:0]
	b = append(b, c.control...)
	c.control = c.control[:0]
	if c.controlFree != nil {
		close(c.controlFree)
		c.controlFree = nil
	}
	if c.closing != nil {
		f := encodeError(c.o.Errors, c.closing)
		f.version = c.version
		return appendFrame(b, f), c.closing
	}
	for end := len(b) + batch; len(b) < end && c.first != nil; {
		ch := c.first
		c.first, ch.next, ch.queued = ch.next, nil, false
		b = ch.appendNext(b)
		c.queue(ch)
	}
	return b, nil
}

// queue adds a channel to the queue if it has something to send.
func (c *Conn) queue(ch *Channel) {
	if ch.queued || !ch.canSend() {
		return
	}
	ch.queued = true
	if c.first == nil {
		c.first = ch
	} else {
		c.last.next = ch
	}
	c.last = ch
	c.wakeWriter()
}

// queueControl queues a control frame, which is sent before all data.
func (c *Conn) queueControl(f frame) {
	f.version = c.version
	c.control = appendFrame(c.control, f)
	c.wakeWriter()
}

// read reads frames until the connection ends. It never writes and waits only for the other side's
// bytes, so two sides with full send buffers cannot deadlock.
func (c *Conn) read(ctx context.Context) error {
	buf := make([]byte, maxFrame)
	for {
		f, err := readFrame(c.reader, buf)
		if err != nil {
			return wrapLost(err)
		}
		if err := c.receive(ctx, f); err != nil {
			return err
		}
	}
}

// receive handles one frame.
func (c *Conn) receive(ctx context.Context, f frame) error {
	if f.version != c.version {
		return fmt.Errorf("%w: a frame of version %d, not %d", ErrProtocol, f.version, c.version)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	ch := c.channels[f.channel] // nil also if the channel ended while this frame was in flight
	switch f.kind {
	case kindPing:
		number := f.number
		c.pong = &number
		c.wakeWriter()
	case kindPong: // livenessReader has counted it
	case kindCredit:
		if ch != nil {
			ch.limit = max(ch.limit, f.number)
			c.queue(ch)
		}
	case kindData:
		if ch != nil {
			return ch.receiveData(f)
		}
	case kindEnd:
		if ch != nil && !ch.own {
			ch.receiveEnd()
		}
	case kindCancel:
		if ch != nil && !ch.own {
			ch.receiveCancel()
		}
	case kindCall:
		if err := c.receiveCall(ctx, f); err != nil {
			return err
		}
	case kindReply, kindError:
		switch {
		case ch != nil && ch.own && ch.call == f.number:
			ch.receiveResult(f)
		case f.kind == kindError && f.channel == 0 && f.number == 0:
			return remoteCloseError{decodeError(c.o.Errors, f)}
		}
	default:
		unknown := encodeError(nil, ErrUnknown)
		unknown.channel, unknown.number = f.channel, f.number
		c.queueControl(unknown)
	}
	if len(c.control) > 2*maxControl {
		return fmt.Errorf("%w: it does not read the replies to its frames", ErrProtocol)
	}
	return nil
}

// remoteCloseError is the other side's reason for closing the connection.
type remoteCloseError struct{ error }

func (g remoteCloseError) Unwrap() []error { return []error{ErrClosed, g.error} }
