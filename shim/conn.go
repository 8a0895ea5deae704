package shim

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// attachTimeout bounds Attach, because a shim that hangs must not delay the start of a server.
	attachTimeout = 500 * time.Millisecond
	// frameTimeout is how long a shim may take to read one frame.
	frameTimeout = 10 * time.Second
	// window bounds the unacknowledged bytes of the journal.
	window = 1 << 20
	// stderrTimeout bounds Stderr.
	stderrTimeout = time.Second
)

// Conn is a connection to one shim. All methods but Recv may be called concurrently.
type Conn struct {
	meta    Meta
	epoch   uint64
	sock    *net.UnixConn
	version byte          // the version that both sides speak
	turn    chan struct{} // capacity 1: holds a value while a frame is being written
	read    chan struct{} // closed when the reading goroutine has returned

	offset atomic.Int64

	// Used by Recv.
	lines        parser
	mark         Mark
	acknowledged int64 // end of the consumed part at the last kindConsumed

	mu      sync.Mutex
	number  uint64 // of the last call
	calls   map[uint64]chan frame
	data    []chunk       // for Recv, the oldest first
	arrived chan struct{} // capacity 1: data, exit or err has changed
	err     error         // why the connection ended
	exit    *ExitRecord
	done    chan struct{} // closed when exit is set
	blocked string        // why the journal cannot be written now; "" if it can
	waited  string        // the last such reason since TakeBlocked was called
}

// chunk is a part of the journal.
type chunk struct {
	offset int64
	bytes  []byte
}

// Attach connects to a shim and takes it over: lines start at the offset from, and a server that is
// attached with a lower epoch is fenced. It takes at most half a second. It returns [ErrGone] if the
// shim is dead or another process has its socket, [ErrHung] if the shim does not answer in time,
// [ErrFenced] if the epoch is below the highest so far, or equal to it while that connection lives,
// [ErrOffset] if the journal does not reach from, or [ErrVersion]. Detach ends the connection.
func Attach(ctx context.Context, dir string, epoch uint64, from int64) (*Conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, attachTimeout, ErrHung)
	defer cancel()
	c, err := attach(ctx, dir, epoch, from)
	if err != nil {
		return nil, fmt.Errorf("shim: attach %s: %w", dir, err)
	}
	return c, nil
}

// ReadStat returns the state of a shim without taking it over. It takes at most half a second.
// The errors are those of [Attach].
func ReadStat(ctx context.Context, dir string) (Stat, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, attachTimeout, ErrHung)
	defer cancel()
	c, err := connect(ctx, dir, 0, 0, func(c *Conn, token string) error { return c.hello(ctx, token) })
	if err != nil {
		return Stat{}, fmt.Errorf("shim: inspect %s: %w", dir, err)
	}
	defer c.Detach()
	return c.Stat(ctx)
}

func attach(ctx context.Context, dir string, epoch uint64, from int64) (*Conn, error) {
	return connect(ctx, dir, epoch, from, func(c *Conn, token string) error { return c.takeOver(ctx, token, from) })
}

// connect connects to a shim and calls say, which sends the first frames.
func connect(ctx context.Context, dir string, epoch uint64, from int64, say func(c *Conn, token string) error) (*Conn, error) {
	meta, err := readMeta(dir)
	if err != nil {
		return nil, errors.Join(ErrGone, err)
	}
	token, err := os.ReadFile(filepath.Join(dir, tokenName))
	if err != nil {
		return nil, errors.Join(ErrGone, err)
	}
	sock, err := dial(ctx, dir)
	if err != nil {
		return nil, err
	}
	c := &Conn{
		meta: meta, epoch: epoch, sock: sock, turn: make(chan struct{}, 1), read: make(chan struct{}),
		lines: parser{good: from, at: from, limit: meta.Limits.orDefault().Line}, acknowledged: from,
		calls: map[uint64]chan frame{}, arrived: make(chan struct{}, 1), done: make(chan struct{}),
	}
	c.offset.Store(from)
	go c.receive()
	if err := say(c, string(token)); err != nil {
		c.Detach()
		return nil, err
	}
	return c, nil
}

// takeOver sends hello and takes the shim over.
func (c *Conn) takeOver(ctx context.Context, token string, from int64) error {
	if err := c.hello(ctx, token); err != nil {
		return err
	}
	attached, err := c.call(ctx, kindAttach, head{Epoch: c.epoch, From: from, Window: window}, nil)
	c.lines.salt = attached.head.Salt
	return err
}

// hello identifies the server.
func (c *Conn) hello(ctx context.Context, token string) error {
	hello, err := c.call(ctx, kindHello, head{Version: Version, Token: token}, nil)
	switch {
	case errors.Is(err, ErrRefused):
		return errors.Join(ErrGone, err) // another process has created the socket
	case err != nil:
		return err
	case hello.head.Version < oldest || hello.head.Version > Version:
		return ErrVersion
	case hello.head.ProcessID != c.meta.ProcessID || hello.head.SessionID != c.meta.SessionID:
		return ErrGone
	}
	c.version = byte(hello.head.Version)
	return nil
}

// dial connects to the socket of a shim. If the socket was deleted, it makes a running shim create it
// again.
func dial(ctx context.Context, dir string) (*net.UnixConn, error) {
	for asked := false; ; {
		path, free, err := shortPath(dir)
		if err != nil {
			return nil, errors.Join(ErrGone, err)
		}
		sock, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
		free()
		if err == nil {
			return sock.(*net.UnixConn), nil
		}
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
			p, ok := processOf(lockHolder(dir))
			if !ok {
				return nil, errors.Join(ErrGone, err)
			}
			if !asked {
				p.signal(syscall.SIGHUP)
				asked = true
			}
		}
		select {
		case <-ctx.Done(): // for example because the socket's backlog is full
			return nil, errors.Join(context.Cause(ctx), err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Recv returns the next line, without its newline and valid until the next Recv. After the
// exit of the CLI it returns io.EOF. Only one goroutine may receive.
//
// [ErrTooLarge] stands for one line, and comes with the beginning of that line. [ErrDamaged] stands
// for an unreadable part of the journal. After either, the next Recv continues behind it.
func (c *Conn) Recv() ([]byte, error) {
	for {
		line, mark, ok := c.lines.next()
		if !ok {
			data, err := c.next()
			if err == nil {
				c.lines.feed(data.offset, data.bytes)
				c.consumed()
				continue
			}
			if err != io.EOF {
				return nil, err
			}
			if mark = c.lines.rest(); mark.Lost == 0 {
				return nil, io.EOF
			}
		}
		c.mark = mark
		c.offset.Store(c.lines.good)
		switch {
		case mark.Lost > 0:
			return nil, fmt.Errorf("shim: %d bytes before offset %d: %w", mark.Lost, c.lines.good, ErrDamaged)
		case mark.Size > 0:
			return line, fmt.Errorf("shim: %d bytes: %w", mark.Size, ErrTooLarge)
		}
		return line, nil
	}
}

// next waits for data of the journal.
func (c *Conn) next() (data chunk, err error) {
	for {
		c.mu.Lock()
		err, exit := c.err, c.exit
		got := len(c.data) > 0
		if got {
			data, c.data = c.data[0], c.data[1:]
			if len(c.data) == 0 {
				c.data = nil // so that an idle session holds no memory
			}
		}
		c.mu.Unlock()
		switch {
		case errors.Is(err, ErrDetached), errors.Is(err, ErrFenced):
			return chunk{}, err
		case got:
			return data, nil
		case exit != nil && c.lines.end() >= exit.Offset:
			return chunk{}, io.EOF
		case err != nil:
			return chunk{}, err
		}
		<-c.arrived
	}
}

// consumed allows the shim to send more, whenever a quarter of the window is consumed.
func (c *Conn) consumed() {
	if end := c.lines.end(); end-c.acknowledged >= window/4 {
		c.acknowledged = end
		_ = c.send(context.Background(), frame{kind: kindConsumed, number: uint64(end + window)}) // the next Recv returns any error
	}
}

// Shorten makes Recv shorten lines that are longer than a record, each with a new Shortener from by.
// Call it before Recv.
func (c *Conn) Shorten(by func() Shortener) { c.lines.shorten = by }

// Offset returns the position in the journal after the line that Recv returned last.
func (c *Conn) Offset() int64 { return c.offset.Load() }

// Mark describes the line that Recv returned last. Only the receiving goroutine may call it.
func (c *Conn) Mark() Mark { return c.mark }

// Meta returns the metadata of the shim.
func (c *Conn) Meta() Meta { return c.meta }

// Write writes one line, given without its newline, to the CLI, and returns when all of it is in
// the pipe. A line whose key was written before, by any server, is not written again; the key ""
// stands for none. If ctx ends first, the line may or may not be written; repeating it with its key
// is safe.
func (c *Conn) Write(ctx context.Context, key string, line []byte) error {
	_, err := c.WriteOnce(ctx, key, line)
	return err
}

// WriteOnce is like [Conn.Write], and also reports whether the key was written before.
func (c *Conn) WriteOnce(ctx context.Context, key string, line []byte) (repeated bool, err error) {
	if bytes.IndexByte(line, '\n') >= 0 {
		return false, fmt.Errorf("shim: write: %w", ErrBadLine)
	}
	if int64(len(line)) >= c.meta.Limits.orDefault().Input {
		return false, fmt.Errorf("shim: write %d bytes: %w", len(line), ErrInputFull)
	}
	reply, err := c.call(ctx, kindWrite, head{Epoch: c.epoch, Key: key}, line)
	return reply.head.Dup, err
}

// Commit declares that everything below offset is stored, so that the shim may delete it.
func (c *Conn) Commit(offset int64) error {
	return c.send(context.Background(), frame{kind: kindCommit, number: uint64(offset)})
}

// CloseInput closes the stdin of the CLI, which then exits, and returns when it is closed. Queued
// lines may still be written for a second.
func (c *Conn) CloseInput(ctx context.Context) error {
	_, err := c.call(ctx, kindCloseInput, head{}, nil)
	return err
}

// Signal sends a signal to the process group of the CLI, unless it has exited.
func (c *Conn) Signal(ctx context.Context, s syscall.Signal) error {
	_, err := c.call(ctx, kindSignal, head{Signal: int(s)}, nil)
	return err
}

// Kill ends the whole tree and returns when it is gone: by SIGTERM, then after grace by
// SIGKILL; with force by SIGKILL at once.
func (c *Conn) Kill(ctx context.Context, grace time.Duration, force bool) error {
	_, err := c.call(ctx, kindKill, head{GraceMS: grace.Milliseconds(), Force: force}, nil)
	return err
}

// Ping returns when the shim has answered.
func (c *Conn) Ping(ctx context.Context) error {
	_, err := c.call(ctx, kindStderr, head{}, nil)
	return err
}

// Stat returns the state of the shim.
func (c *Conn) Stat(ctx context.Context) (Stat, error) {
	reply, err := c.call(ctx, kindStat, head{}, nil)
	if err != nil || reply.head.Stat == nil {
		return Stat{}, err
	}
	return *reply.head.Stat, nil
}

// Blocked returns why the journal cannot be written, so that the CLI waits; "" if it can. Shims of
// earlier releases do not report it.
func (c *Conn) Blocked() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.blocked
}

// TakeBlocked returns what Blocked returns now or, if that is "", what it returned last since the
// previous call of TakeBlocked, or since the connection began.
func (c *Conn) TakeBlocked() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	why := cmp.Or(c.blocked, c.waited)
	c.waited = ""
	return why
}

// Done returns a channel that is closed when the CLI has exited and all its output is in the journal.
// Recv may still return lines.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Exit returns how the CLI ended. Call it only after Done.
func (c *Conn) Exit() ExitRecord {
	c.mu.Lock()
	defer c.mu.Unlock()
	return *c.exit
}

// Stderr returns the last 64 KiB of the CLI's stderr, "" if the shim does not answer within a second.
func (c *Conn) Stderr() string {
	c.mu.Lock()
	exit := c.exit
	c.mu.Unlock()
	if exit != nil {
		return exit.Stderr
	}
	ctx, cancel := context.WithTimeout(context.Background(), stderrTimeout)
	defer cancel()
	reply, _ := c.call(ctx, kindStderr, head{}, nil) // after an error the body is empty
	return string(reply.body)
}

// AckExit declares that the exit is stored, and ends the shim. Recv should have returned
// io.EOF before; the rest can be read with [ReadJournal].
func (c *Conn) AckExit(ctx context.Context) error {
	_, err := c.call(ctx, kindAckExit, head{}, nil)
	return err
}

// Detach ends the connection; the shim and its CLI keep running. Calls that block return.
func (c *Conn) Detach() {
	c.fail(ErrDetached)
	<-c.read
	c.turn <- struct{}{} // wait for a frame that is being written
	<-c.turn
}

func (c *Conn) fail(err error) {
	c.mu.Lock()
	if c.err == nil {
		c.err = err
	}
	calls := c.calls
	c.calls = nil
	c.mu.Unlock()
	for _, reply := range calls {
		close(reply)
	}
	c.signal()
	c.sock.Close()
}

func (c *Conn) signal() {
	select {
	case c.arrived <- struct{}{}:
	default:
	}
}

// reason returns why the connection ended, nil while it is open.
func (c *Conn) reason() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// call sends a frame and waits for its reply. The error of the shim, if any, is converted.
func (c *Conn) call(ctx context.Context, kind byte, h head, body []byte) (frame, error) {
	reply := make(chan frame, 1)
	c.mu.Lock()
	if err := c.err; err != nil {
		c.mu.Unlock()
		return frame{}, err
	}
	c.number++
	number := c.number
	c.calls[number] = reply
	c.mu.Unlock()
	err := c.send(ctx, frame{kind: kind, number: number, head: h, body: body})
	if err == nil {
		select {
		case <-ctx.Done():
			err = context.Cause(ctx)
		case got, ok := <-reply:
			switch {
			case !ok:
				err = c.reason()
			default:
				if err = got.head.err(); err == nil {
					return got, nil
				}
			}
		}
	}
	c.mu.Lock()
	delete(c.calls, number)
	c.mu.Unlock()
	return frame{}, err
}

// send writes one frame. If ctx ends meanwhile, send returns, but the frame is still written to its
// end, because half a frame would break the connection.
func (c *Conn) send(ctx context.Context, f frame) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.read:
		return c.reason()
	}
	f.version = max(c.version, oldest) // the head of the first frame has our version
	text := f.append(nil, 0)           // the caller may reuse its buffers
	text = text[c.writeNow(text):]
	if len(text) == 0 {
		<-c.turn
		return nil
	}
	written := make(chan error, 1)
	go func() {
		defer func() { <-c.turn }()
		_ = c.sock.SetWriteDeadline(time.Now().Add(frameTimeout)) // fails only when closed
		_, err := c.sock.Write(text)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			c.fail(ErrHung)
		}
		written <- err
	}()
	select {
	case err := <-written:
		if err != nil {
			<-c.read // receive stores the reason
			return c.reason()
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// writeNow writes what the socket accepts without blocking, nearly always everything, and returns
// the number of bytes. It ignores errors, which the next write returns.
func (c *Conn) writeNow(text []byte) (n int) {
	raw, err := c.sock.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Write(func(fd uintptr) bool {
		n, _ = syscall.Write(int(fd), text)
		return true // the next write returns any error
	})
	return max(n, 0)
}

// receive reads frames until the connection ends.
func (c *Conn) receive() {
	defer close(c.read)
	r := inbox{sock: c.sock}
	for {
		// The two steps are functions so that their variables do not stay on the stack while no
		// frame arrives.
		err := r.await()
		if err == nil {
			err = c.receiveFrame(&r)
		}
		if err != nil {
			c.fail(ErrGone)
			return
		}
		c.signal()
	}
}

func (c *Conn) receiveFrame(r *inbox) error {
	f, err := readFrame(r, window)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch f.kind {
	case kindData:
		c.data = append(c.data, chunk{int64(f.number), f.body})
	case kindExit:
		if c.exit == nil && f.head.Exit != nil {
			c.exit = f.head.Exit
			close(c.done)
		}
	case kindReply, kindError:
		if reply := c.calls[f.number]; reply != nil {
			delete(c.calls, f.number)
			reply <- f
		}
	case kindBlocked:
		c.blocked = f.head.Message
		c.waited = cmp.Or(c.blocked, c.waited)
	case kindFenced:
		if c.err == nil {
			c.err = ErrFenced
		}
	}
	return nil
}
