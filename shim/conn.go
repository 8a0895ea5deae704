package shim

import (
	"bufio"
	"bytes"
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
	// attachTimeout is how long a shim may take to be attached; one that hangs must
	// not hold up the start of a server.
	attachTimeout = 500 * time.Millisecond
	// frameTimeout is how long a shim may take to read one frame.
	frameTimeout = 10 * time.Second
	// window is how much of the journal may be under way, in bytes.
	window = 1 << 20
	// stderrTimeout is how long Stderr asks.
	stderrTimeout = time.Second
)

// Conn is a connection to one shim. All but Recv may be called by several
// goroutines at once.
type Conn struct {
	meta  Meta
	epoch uint64
	sock  *net.UnixConn
	speak byte          // the version
	turn  chan struct{} // capacity 1: held by who writes a frame
	read  chan struct{} // closed when the reading goroutine has returned

	offset atomic.Int64

	// Of Recv.
	lines parser
	mark  Mark
	told  int64 // the offset of the last kindConsumed

	mu      sync.Mutex
	number  uint64 // of the last call
	calls   map[uint64]chan frame
	data    []frame       // for Recv, the oldest first
	arrived chan struct{} // capacity 1: data, exit or err is new
	err     error         // why the connection has ended
	exit    *ExitRecord
	done    chan struct{} // closed when exit is set
}

// Attach takes a shim over: lines come from the offset on, and whoever was
// attached with a lower epoch is fenced. It takes at most half a second. The
// error is [ErrGone] when the shim is dead or another sits behind its socket,
// [ErrHung] when it does not answer in time, [ErrFenced] when the epoch is not
// above all before it, [ErrOffset], or [ErrVersion]. Detach ends the connection.
func Attach(ctx context.Context, dir string, epoch uint64, from int64) (*Conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, attachTimeout, ErrHung)
	defer cancel()
	c, err := attach(ctx, dir, epoch, from)
	if err != nil {
		return nil, fmt.Errorf("shim: attach %s: %w", dir, err)
	}
	return c, nil
}

// Look asks a shim how it is, without taking it over. It takes at most half a second.
// The errors are those of [Attach].
func Look(ctx context.Context, dir string) (Stat, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, attachTimeout, ErrHung)
	defer cancel()
	c, err := connect(ctx, dir, 0, 0, func(c *Conn, token string) error { return c.hello(ctx, token) })
	if err != nil {
		return Stat{}, fmt.Errorf("shim: look at %s: %w", dir, err)
	}
	defer c.Detach()
	return c.Stat(ctx)
}

func attach(ctx context.Context, dir string, epoch uint64, from int64) (*Conn, error) {
	return connect(ctx, dir, epoch, from, func(c *Conn, token string) error { return c.takeOver(ctx, token, from) })
}

// connect connects to a shim and says what it is told to.
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
		lines: parser{good: from, at: from, limit: meta.Limits.orDefault().Line}, told: from,
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

// takeOver says who we are and takes the shim over.
func (c *Conn) takeOver(ctx context.Context, token string, from int64) error {
	if err := c.hello(ctx, token); err != nil {
		return err
	}
	attached, err := c.call(ctx, kindAttach, head{Epoch: c.epoch, From: from, Window: window}, nil)
	c.lines.salt = attached.head.Salt
	return err
}

// hello says who we are.
func (c *Conn) hello(ctx context.Context, token string) error {
	hello, err := c.call(ctx, kindHello, head{Version: Version, Token: token}, nil)
	switch {
	case errors.Is(err, ErrRefused):
		return errors.Join(ErrGone, err) // the socket is another's
	case err != nil:
		return err
	case hello.head.Version < oldest || hello.head.Version > Version:
		return ErrVersion
	case hello.head.ProcessID != c.meta.ProcessID || hello.head.SessionID != c.meta.SessionID:
		return ErrGone
	}
	c.speak = byte(hello.head.Version)
	return nil
}

// dial connects. A socket that somebody removed is made again by a shim that lives.
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
		case <-ctx.Done(): // also when more wait to be accepted than the system holds
			return nil, errors.Join(context.Cause(ctx), err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Recv returns the next line, without its newline and valid until the next Recv.
// After the exit of the CLI it returns io.EOF. One goroutine receives at a time.
//
// An error that is [ErrTooLarge] or [ErrDamaged] stands for one line, or a part of
// the journal: the next Recv goes on behind it. With ErrTooLarge comes the
// beginning of the line.
func (c *Conn) Recv() ([]byte, error) {
	for {
		line, mark, ok := c.lines.next()
		if !ok {
			f, err := c.next()
			if err == nil {
				c.lines.feed(int64(f.number), f.body)
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

// next waits for bytes of the journal.
func (c *Conn) next() (frame, error) {
	for {
		c.mu.Lock()
		err, exit := c.err, c.exit
		var f frame
		got := len(c.data) > 0
		if got {
			f, c.data = c.data[0], c.data[1:]
		}
		c.mu.Unlock()
		switch {
		case errors.Is(err, ErrDetached), errors.Is(err, ErrFenced):
			return frame{}, err
		case got:
			return f, nil
		case exit != nil && c.lines.end() >= exit.Offset:
			return frame{}, io.EOF
		case err != nil:
			return frame{}, err
		}
		<-c.arrived
	}
}

// consumed lets the shim send more.
func (c *Conn) consumed() {
	if end := c.lines.end(); end-c.told >= window/4 {
		c.told = end
		_ = c.send(context.Background(), frame{kind: kindConsumed, number: uint64(end + window)}) // the next Recv says why
	}
}

// Shorten has the lines to come that are longer than a record shortened, each by a
// Shortener of its own. It is called before Recv.
func (c *Conn) Shorten(by func() Shortener) { c.lines.shorten = by }

// Offset is where the journal goes on after what Recv returned last.
func (c *Conn) Offset() int64 { return c.offset.Load() }

// Mark is what is remarkable about what Recv returned last. It belongs to the
// goroutine that receives.
func (c *Conn) Mark() Mark { return c.mark }

// Meta is what the shim wrote down about itself.
func (c *Conn) Meta() Meta { return c.meta }

// Write writes one line, without its newline, to the CLI, and returns once all of
// it is in the pipe. A key that was written before, by whomever, is not written
// again; "" is no key. When ctx ends first the line may or may not be written, and
// may be given again with its key.
func (c *Conn) Write(ctx context.Context, key string, line []byte) error {
	_, err := c.WriteOnce(ctx, key, line)
	return err
}

// WriteOnce is [Conn.Write] that also tells whether the key was written before.
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

// Commit says that all below offset is stored, so that the shim may remove it.
func (c *Conn) Commit(offset int64) error {
	return c.send(context.Background(), frame{kind: kindCommit, number: uint64(offset)})
}

// CloseInput ends the input of the CLI, which then exits by itself. Lines that
// wait may still be written for a second.
func (c *Conn) CloseInput(ctx context.Context) error {
	_, err := c.call(ctx, kindCloseInput, head{}, nil)
	return err
}

// Signal sends a signal to the process group of the CLI, unless it has exited.
func (c *Conn) Signal(ctx context.Context, s syscall.Signal) error {
	_, err := c.call(ctx, kindSignal, head{Signal: int(s)}, nil)
	return err
}

// Kill ends the whole tree, and returns when nothing of it is left: by SIGTERM
// first, after grace by SIGKILL; with force at once.
func (c *Conn) Kill(ctx context.Context, grace time.Duration, force bool) error {
	_, err := c.call(ctx, kindKill, head{GraceMS: grace.Milliseconds(), Force: force}, nil)
	return err
}

// Ping returns once the shim gives a sign of life.
func (c *Conn) Ping(ctx context.Context) error {
	_, err := c.call(ctx, kindStderr, head{}, nil)
	return err
}

// Stat asks how the shim is.
func (c *Conn) Stat(ctx context.Context) (Stat, error) {
	reply, err := c.call(ctx, kindStat, head{}, nil)
	if err != nil || reply.head.Stat == nil {
		return Stat{}, err
	}
	return *reply.head.Stat, nil
}

// Done is closed once the CLI has exited and all it printed is in the journal.
// Lines may still wait in Recv.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Exit says how the CLI ended. It may be called only after Done.
func (c *Conn) Exit() ExitRecord {
	c.mu.Lock()
	defer c.mu.Unlock()
	return *c.exit
}

// Stderr is the end of what the CLI printed there, at most 64 KiB; "" when the
// shim does not say.
func (c *Conn) Stderr() string {
	c.mu.Lock()
	exit := c.exit
	c.mu.Unlock()
	if exit != nil {
		return exit.Stderr
	}
	ctx, cancel := context.WithTimeout(context.Background(), stderrTimeout)
	defer cancel()
	reply, _ := c.call(ctx, kindStderr, head{}, nil) // "" then
	return string(reply.body)
}

// AckExit says that the exit is stored: the shim goes away. Before that, Recv
// should have returned io.EOF; what it has not returned is in [ReadJournal].
func (c *Conn) AckExit(ctx context.Context) error {
	_, err := c.call(ctx, kindAckExit, head{}, nil)
	return err
}

// Detach ends the connection and leaves the shim and its CLI running. It unblocks
// everything else.
func (c *Conn) Detach() {
	c.fail(ErrDetached)
	<-c.read
	c.turn <- struct{}{} // whoever writes a frame is done
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

// reason is why the connection has ended, nil while it has not.
func (c *Conn) reason() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// call sends a frame and waits for its reply.
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

// send writes one frame. When ctx ends meanwhile the frame is written all the
// same: half of one would end the connection.
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
	f.version = max(c.speak, oldest) // the first frame says which in its head
	text := f.append(nil, 0)         // what we were given is the caller's again
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
			<-c.read // it knows why
			return c.reason()
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// writeNow writes what the socket takes at once, which is nearly always all, and
// returns how many bytes that were. What is wrong with the socket the next write
// says.
func (c *Conn) writeNow(text []byte) (n int) {
	raw, err := c.sock.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Write(func(fd uintptr) bool {
		n, _ = syscall.Write(int(fd), text)
		return true // whatever it was, it is not waited for
	})
	return max(n, 0)
}

// receive reads frames until the connection ends.
func (c *Conn) receive() {
	defer close(c.read)
	r := bufio.NewReaderSize(c.sock, 64<<10)
	for {
		f, err := readFrame(r, window)
		if err != nil {
			c.fail(ErrGone)
			return
		}
		c.mu.Lock()
		reply := c.calls[f.number]
		switch f.kind {
		case kindData:
			c.data = append(c.data, f)
		case kindExit:
			if c.exit == nil && f.head.Exit != nil {
				c.exit = f.head.Exit
				close(c.done)
			}
		case kindReply, kindError:
			if reply != nil {
				delete(c.calls, f.number)
				reply <- f
			}
		case kindFenced:
			if c.err == nil {
				c.err = ErrFenced
			}
		}
		c.mu.Unlock()
		c.signal()
	}
}
