// Package link carries calls and streams of bytes between a server and a runner over one
// connection. Each call has a channel of its own, with a limit for what the receiver has not taken
// yet, so that no channel holds up another and memory is bounded. The frames are in frame.go and
// docs/contributing/runners.md.
//
// The package knows no names of calls and nothing of processes.
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

	// pingInterval is the time between pings; after maxMissed of them without a byte from the other
	// side the connection is lost. So a server that is gone is noticed within 4 s.
	pingInterval = time.Second
	maxMissed    = 3

	// window is what a channel may carry, in bytes, before its receiver has taken any of it. The
	// receiver grants more when it has taken half of it.
	window = 1 << 20
	// batch bounds the data in one write, in bytes, so that control frames wait for no more.
	batch = maxFrame
	// maxControl bounds the encoded control frames, in bytes, at which new calls wait; replies to
	// frames that a sound peer does not send may double it, then the connection ends.
	maxControl = 256 << 10
	// maxCalls bounds the calls of the other side at once. Each may occupy its window of memory.
	maxCalls = 1024
	// maxInline bounds arguments and results in one frame, in bytes; longer ones are sent as data.
	maxInline = maxFrame - 8<<10
	// maxMessage bounds arguments and results, in bytes.
	maxMessage = 64 << 20
	// maxName bounds the name of a call, in bytes.
	maxName = 256
	// maxSpare bounds the buffers that are kept for reuse, of maxFrame bytes each.
	maxSpare = 16
	// closeTimeout is how long the other side may take to read why the connection is closed.
	closeTimeout = time.Second
)

// Options configures one side of a connection.
type Options struct {
	// Serve answers the calls of the other side, each in a goroutine of its own; nil refuses them
	// with [ErrUnknown]. It returns a result for encoding/json, or an error, soon after ctx has ended.
	Serve func(ctx context.Context, call *Call) (result any, err error)
	// Errors lists the errors that keep their identity, in both directions.
	Errors []ErrorCode
	// MaxCalls bounds the calls of the other side at once; 0 means 1024. More get [ErrBusy].
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
	dialed  bool // this side sent the hello; its channels are odd
	missed  atomic.Int32

	wake  chan struct{} // capacity 1: there may be something to write
	ended chan struct{} // closed when err is set

	serving sync.WaitGroup // calls of the other side

	mu       sync.Mutex
	err      error // why the connection ended
	closing  error // the other side is to be told, then the connection ends; nil while open
	channels map[uint16]*Channel
	theirs   int    // channels that the other side opened
	next     uint16 // channel to be tried first
	number   uint64 // of the last call or ping

	control     []byte        // frames that go before data
	controlFree chan struct{} // closed when control has been taken; nil while nobody waits
	ping, pong  *uint64       // to be sent
	credits     []*Channel    // whose limit is to be sent
	first, last *Channel      // have data to send, in the order of their turns
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
	c.reader = bufio.NewReaderSize(lively{c}, maxFrame)
	return c
}

// Greet makes a connection of a stream, as the side that dialed: it sends hello and waits for the
// welcome, which it decodes; nil drops it. The stream delivers bytes in order, and its Close ends its Read and
// Write. Greet closes it when it returns an error: [ErrVersion], one of Options.Errors that the
// other side returned, [ErrLost], or the cause of ctx. Otherwise Run closes it.
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

// exchange writes the first frame and reads the second.
func (c *Conn) exchange(f frame) (frame, error) {
	f.version = byte(c.o.versions[1])
	if _, err := c.stream.Write(appendFrame(nil, f)); err != nil {
		return frame{}, lost(err)
	}
	f, err := readFrame(c.reader, make([]byte, maxFrame))
	return f, lost(err)
}

// Accept makes a connection of a stream, as the side that was dialed: it waits for the hello and
// sends what answer returns, the welcome or an error. It closes the stream when it returns an
// error, which is that of answer, [ErrVersion], [ErrProtocol], [ErrLost], or the cause of ctx.
func Accept(ctx context.Context, s io.ReadWriteCloser, answer func(ctx context.Context, hello json.RawMessage) (welcome any, err error), o Options) (*Conn, error) {
	c := newConn(s, o)
	c.next = 2
	err := c.whileOpen(ctx, func() error {
		f, err := readFrame(c.reader, make([]byte, maxFrame))
		if err != nil {
			return lost(err)
		}
		reply, err := c.welcome(ctx, f, answer)
		if err != nil {
			reply = encodeError(o.Errors, err)
		}
		reply.version, reply.number = byte(c.o.versions[1]), f.number
		if _, e := c.stream.Write(appendFrame(nil, reply)); e != nil && err == nil {
			return lost(e)
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
	said, err := answer(ctx, json.RawMessage(f.body))
	if err != nil {
		return frame{}, err
	}
	body, err := json.Marshal(said)
	if err == nil && len(body) > maxInline {
		err = ErrTooLarge
	}
	return frame{kind: kindReply, head: head{Version: agreed}, body: body}, err
}

// whileOpen calls do and closes the stream when it fails or ctx ends.
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

// lost returns the error of a stream as [ErrLost], and one of the protocol unchanged.
func lost(err error) error {
	if err == nil || errors.Is(err, ErrProtocol) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrLost, err)
}

// Run carries the channels until the connection ends, and returns why: [ErrLost], [ErrProtocol],
// what this side gave to Close, [ErrClosed] with what the other side gave to it, or the cause of
// ctx. It returns when all calls of Options.Serve have
// returned; their ctx is derived from this one. Call it once.
func (c *Conn) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { c.fail(context.Cause(ctx)) })
	defer stop()
	var own sync.WaitGroup
	own.Go(func() { c.fail(c.write()) })
	own.Go(func() { c.fail(c.watch()) })
	c.fail(c.read(ctx))
	stop() // the reason is known
	cancel()
	own.Wait()
	c.serving.Wait()
	return c.reason()
}

// Close ends the connection within a second. The other side is told why, if it reads: its Run
// returns reason, as one of Options.Errors, with [ErrClosed]. Close does not wait.
func (c *Conn) Close(reason error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing != nil || c.err != nil {
		return
	}
	reason = cmp.Or(reason, ErrClosed)
	c.closing = reason
	time.AfterFunc(closeTimeout, func() { c.fail(reason) }) // it may not read
	c.wakeWriter()
}

// Ended reports whether the connection carries nothing any more, or is being closed from here.
func (c *Conn) Ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err != nil || c.closing != nil
}

// Done is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.ended }

// reason returns why the connection ended, nil while it is open.
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

// wakeWriter makes the writer look for something to write.
func (c *Conn) wakeWriter() { signal(c.wake) }

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// lively is the stream; what it reads shows that the other side lives, whole frame or not.
type lively struct{ c *Conn }

func (l lively) Read(p []byte) (int, error) {
	n, err := l.c.stream.Read(p)
	if n > 0 {
		l.c.missed.Store(0)
	}
	return n, err
}

// watch sends pings. It counts them, not time: a machine that was asleep has missed none.
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
				select { // the other side may have said why
				case <-c.ended:
				case <-time.After(closeTimeout):
				}
				return lost(err)
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

// collect encodes what can be sent now: control frames first, then one frame of each channel in
// turn. It returns why the connection ends after it, if it does.
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

// queue gives a channel a turn if it has something to send.
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

// say sends a control frame before all data.
func (c *Conn) say(f frame) {
	f.version = c.version
	c.control = appendFrame(c.control, f)
	c.wakeWriter()
}

// read reads frames until the connection ends. It never writes and waits for nobody but the other
// side, so two sides with full sockets never wait for each other.
func (c *Conn) read(ctx context.Context) error {
	buf := make([]byte, maxFrame)
	for {
		f, err := readFrame(c.reader, buf)
		if err != nil {
			return lost(err)
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
	ch := c.channels[f.channel] // nil also when its end and this frame have crossed
	switch f.kind {
	case kindPing:
		number := f.number
		c.pong = &number
		c.wakeWriter()
	case kindPong: // it was a sign of life
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
			return goodbye{decodeError(c.o.Errors, f)}
		}
	default:
		unknown := encodeError(nil, ErrUnknown)
		unknown.channel, unknown.number = f.channel, f.number
		c.say(unknown)
	}
	if len(c.control) > 2*maxControl {
		return fmt.Errorf("%w: it does not read the replies to its frames", ErrProtocol)
	}
	return nil
}

// goodbye is why the other side closed the connection.
type goodbye struct{ error }

func (g goodbye) Unwrap() []error { return []error{ErrClosed, g.error} }
