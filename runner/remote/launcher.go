package remote

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/runner/link"
)

// callTimeout bounds a call that does not wait for a CLI.
const callTimeout = 15 * time.Second

// A Launcher starts processes on the runner at the other end of a connection, and finds those that
// already run there. It implements [launch.Launcher].
type Launcher struct{ c *link.Conn }

var _ launch.Launcher = (*Launcher)(nil)

// NewLauncher returns the launcher of the runner at the other end of c, which must serve a [Host].
// The Errors of the connection must include [Codes].
func NewLauncher(c *link.Conn) *Launcher { return &Launcher{c} }

// Open implements [launch.Launcher].
func (l *Launcher) Open(ctx context.Context, p launch.Process) (launch.Conn, error) {
	return l.open(ctx, p.ID, callOpen, p, 0)
}

// ConnectAgent implements [launch.Launcher].
func (l *Launcher) ConnectAgent(ctx context.Context, id launch.ID, token string) error {
	t := targetOf(id)
	t.Token = token
	return l.c.Call(ctx, callAgent, t, nil)
}

// CheckMachine implements [launch.Launcher].
func (l *Launcher) CheckMachine(ctx context.Context) error {
	return l.c.Call(ctx, callMachine, target{}, nil)
}

// Vitals implements [launch.Launcher].
func (l *Launcher) Vitals(ctx context.Context) (all []launch.Vitals, err error) {
	err = l.c.Call(ctx, callVitals, target{}, &all)
	return all, err
}

// Damaged implements [launch.Launcher].
func (l *Launcher) Damaged(ctx context.Context) (processIDs []string, err error) {
	err = l.c.Call(ctx, callDamaged, target{}, &processIDs)
	return processIDs, err
}

// open makes the runner connect to a process, and starts reading the lines after offset.
func (l *Launcher) open(ctx context.Context, id launch.ID, name string, args any, offset int64) (launch.Conn, error) {
	c := &conn{link: l.c, target: targetOf(id), done: make(chan struct{})}
	if err := l.c.Call(ctx, name, args, &c.opened); err != nil {
		return nil, unreachable(l.c, err)
	}
	c.offset.Store(offset)
	var err error
	if c.lines, err = l.c.Open(context.WithoutCancel(ctx), callRead, c.target); err != nil {
		return nil, unreachable(l.c, err)
	}
	return c, nil
}

// Leftovers implements [launch.Launcher].
func (l *Launcher) Leftovers(ctx context.Context) ([]launch.Leftover, error) {
	var found []leftover
	if err := l.c.Call(ctx, callLeftovers, target{}, &found); err != nil {
		return nil, unreachable(l.c, err)
	}
	all := make([]launch.Leftover, 0, len(found))
	for _, f := range found {
		all = append(all, remoteLeftover{l, f})
	}
	return all, nil
}

// unreachable adds [launch.ErrUnreachable] to an error if the connection has ended.
func unreachable(c *link.Conn, err error) error {
	if err != nil && c.Ended() {
		return fmt.Errorf("%w: %w", launch.ErrUnreachable, err)
	}
	return err
}

// remoteLeftover implements [launch.Leftover].
type remoteLeftover struct {
	l *Launcher
	leftover
}

func (r remoteLeftover) ID() launch.ID { return r.Target.id() }

func (r remoteLeftover) Origin() launch.Origin {
	return launch.Origin{Alive: r.Alive, Folder: r.Folder, StartedAt: r.StartedAt}
}

func (r remoteLeftover) Attach(ctx context.Context, offset int64) (launch.Conn, error) {
	t := r.Target
	t.Offset = offset
	return r.l.open(ctx, r.ID(), callAttach, t, offset)
}

func (r remoteLeftover) End(ctx context.Context) error {
	return r.l.c.Call(ctx, callEnd, r.Target, nil)
}

func (r remoteLeftover) Remove(ctx context.Context) error {
	return r.l.c.Call(ctx, callRemove, r.Target, nil)
}

func (r remoteLeftover) Wrote(ctx context.Context, requestID string) (bool, error) {
	is, err := wrote(ctx, r.l.c, r.Target, requestID)
	return is, unreachable(r.l.c, err)
}

func wrote(ctx context.Context, c *link.Conn, t target, requestID string) (is bool, err error) {
	t.RequestID = requestID
	err = c.Call(ctx, callWrote, t, &is)
	return is, err
}

// conn is the connection to a CLI on the runner. It implements [launch.JournalReader].
type conn struct {
	link   *link.Conn
	target target
	opened opened
	lines  *link.Channel
	offset atomic.Int64
	done   chan struct{} // closed by Recv when the CLI has exited, or by Close
	once   sync.Once

	records records // used by Recv

	mu     sync.Mutex
	result readResult
}

var _ launch.JournalReader = (*conn)(nil)

// Recv implements [claude.Transport].
func (c *conn) Recv() ([]byte, error) {
	kind, offset, line, err := c.records.next(context.Background(), c.lines) // Close unblocks it
	if err == nil {
		c.offset.Store(offset)
		if kind == recordLost {
			return nil, fmt.Errorf("%w: %s", claude.ErrTooLarge, line)
		}
		return line, nil
	}
	if err != io.EOF {
		return nil, unreachable(c.link, err)
	}
	var e readResult
	if err := c.lines.Result(context.Background(), &e); err != nil {
		return nil, unreachable(c.link, err)
	}
	c.mu.Lock()
	c.result = e
	c.mu.Unlock()
	if e.Exited {
		c.once.Do(func() { close(c.done) })
	}
	return nil, io.EOF
}

// records splits data into records.
type records struct {
	data []byte // of the last Recv
	long []byte // a line that arrived in parts
}

// next returns the next record. text is valid until the following call.
func (r *records) next(ctx context.Context, ch *link.Channel) (kind byte, offset int64, text []byte, err error) {
	var h [recordHeader]byte
	for n := 0; n < len(h); {
		if len(r.data) == 0 {
			if _, r.data, err = ch.Recv(ctx); err != nil {
				return 0, 0, nil, err
			}
		}
		got := copy(h[n:], r.data)
		r.data, n = r.data[got:], n+got
	}
	kind, offset = h[0], int64(binary.BigEndian.Uint64(h[1:]))
	size := int(binary.BigEndian.Uint32(h[9:]))
	if kind > recordLost || size > maxLine {
		return 0, 0, nil, fmt.Errorf("%w: a line of %d bytes", link.ErrProtocol, size)
	}
	if size <= len(r.data) {
		text, r.data = r.data[:size], r.data[size:]
		return kind, offset, text, nil
	}
	if cap(r.long) > 1<<20 && size < 1<<20 {
		r.long = nil // large lines are rare, so do not keep their buffer
	}
	r.long = r.long[:0]
	for {
		part := r.data[:min(len(r.data), size-len(r.long))]
		r.long, r.data = append(r.long, part...), r.data[len(part):]
		if len(r.long) == size {
			return kind, offset, r.long, nil
		}
		if _, r.data, err = ch.Recv(ctx); err != nil {
			return 0, 0, nil, err
		}
	}
}

// Send implements [claude.Transport]. It blocks until the line is written, the CLI has exited, or
// the connection has ended.
func (c *conn) Send(line []byte) error {
	ctx := context.Background()
	ch, err := c.link.Open(ctx, callSend, c.target)
	if err != nil {
		return err
	}
	defer ch.Close()
	stop := make(chan struct{})
	var watching sync.WaitGroup
	defer watching.Wait()
	defer close(stop)
	watching.Go(func() {
		select {
		case <-c.done: // after Close, or the exit of the CLI
			ch.Close()
		case <-stop:
		}
	})
	// Result returns the same error.
	_ = ch.Send(ctx, 0, line)
	ch.CloseSend()
	return ch.Result(ctx, new(json.RawMessage))
}

// Close implements [claude.Transport].
func (c *conn) Close() error {
	c.lines.Close()
	c.once.Do(func() { close(c.done) })
	return nil
}

// Detach implements [launch.JournaledConn].
func (c *conn) Detach() error {
	err := c.call(callDetach, nil)
	c.lines.Close()
	if c.link.Ended() {
		return nil // the runner detaches when the connection ends
	}
	return err
}

// call makes a call about the process that does not wait for the CLI.
func (c *conn) call(name string, result any) error {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	return c.link.Call(ctx, name, c.target, result)
}

func (c *conn) CloseInput() error     { return c.call(callInput, nil) }
func (c *conn) Terminate() error      { return c.call(callTerminate, nil) }
func (c *conn) Kill() error           { return c.call(callKill, nil) }
func (c *conn) PID() int              { return c.opened.PID }
func (c *conn) IsAhead() bool         { return c.opened.Ahead }
func (c *conn) Offset() int64         { return c.offset.Load() }
func (c *conn) Done() <-chan struct{} { return c.done }

// ExitError implements [launch.Conn].
func (c *conn) ExitError() error {
	e := c.end()
	switch {
	case !e.Exited:
		return errors.New("the connection to it was closed")
	case e.Exit != "":
		return errors.New(e.Exit)
	}
	return nil
}

func (c *conn) end() readResult {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.result
}

// Stderr implements [launch.Conn].
func (c *conn) Stderr(ctx context.Context) (text string, err error) {
	if e := c.end(); e.Exited {
		return e.Stderr, nil
	}
	err = c.link.Call(ctx, callStderr, c.target, &text)
	return text, err
}

// Wrote implements [launch.JournaledConn].
func (c *conn) Wrote(ctx context.Context, requestID string) (bool, error) {
	return wrote(ctx, c.link, c.target, requestID)
}

// Commit implements [launch.JournaledConn]. It does not wait for the runner.
func (c *conn) Commit(offset int64) {
	t := c.target
	t.Offset = offset
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	_, _ = c.link.Open(ctx, callCommit, t) // the next connection repeats it; the reply closes the channel
}

// Committed implements [launch.JournaledConn].
func (c *conn) Committed(ctx context.Context) (offset int64, err error) {
	err = c.link.Call(ctx, callCommitted, c.target, &offset)
	return offset, err
}

// Remove implements [launch.JournaledConn].
func (c *conn) Remove(ctx context.Context) error {
	return c.link.Call(ctx, callRemove, c.target, nil)
}

// OpenRequests implements [launch.JournalReader].
func (c *conn) OpenRequests(ctx context.Context) (requestIDs []string, whole bool, err error) {
	var found openRequests
	err = c.link.Call(ctx, callRequests, c.target, &found)
	return found.IDs, found.Whole, err
}
