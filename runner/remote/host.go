package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/orchestrator/launch"
	"github.com/sayso-dev/sayso/runner/link"
)

// ErrNoProcess: the runner has no such process or no connection to it.
var ErrNoProcess = errors.New("the runner has no connection to this process")

// A Host serves the processes of a runner to the server of one connection.
type Host struct {
	launcher launch.Launcher

	mu        sync.Mutex
	conns     map[launch.ID]*process
	leftovers map[launch.ID]launch.Leftover
	detached  bool
}

// process is a process to which the host is connected.
type process struct {
	launch.Conn
	reading atomic.Bool // set by the first read, the only one allowed
}

// journal returns the connection if it has a journal, or nil.
func (p *process) journal() launch.JournaledConn {
	if p == nil {
		return nil
	}
	j, _ := p.Conn.(launch.JournaledConn)
	return j
}

// detach ends the connection; the process continues.
func (p *process) detach() {
	if j := p.journal(); j != nil {
		_ = j.Detach() // the process continues even after an error
		return
	}
	_ = p.Close()
}

// NewHost returns the Host of a launcher. The launcher must use the epoch of the server's lease, and
// refuse to start what the runner's settings do not allow the server.
func NewHost(l launch.Launcher) *Host {
	return &Host{launcher: l, conns: map[launch.ID]*process{}, leftovers: map[launch.ID]launch.Leftover{}}
}

// Detach closes the connections to all processes, which continue. Call it when the connection to
// the server has ended.
func (h *Host) Detach() {
	h.mu.Lock()
	conns := h.conns
	h.conns, h.detached = nil, true
	h.mu.Unlock()
	for _, p := range conns {
		p.detach()
	}
}

// Serve answers a call of the server, or returns [link.ErrUnknown].
func (h *Host) Serve(ctx context.Context, call *link.Call) (any, error) {
	if call.Name == callOpen {
		return h.open(ctx, call.Args)
	}
	var t target
	if err := json.Unmarshal(call.Args, &t); err != nil {
		return nil, fmt.Errorf("%w: %w", link.ErrProtocol, err)
	}
	switch call.Name {
	case callLeftovers:
		return h.list(ctx)
	case callMachine:
		return nil, h.launcher.CheckMachine(ctx)
	case callVitals:
		return h.launcher.Vitals(ctx)
	case callDamaged:
		return h.launcher.Damaged(ctx)
	case callAgent:
		return nil, h.connectAgent(ctx, t)
	case callAttach:
		return h.attach(ctx, t)
	case callEnd, callRemove, callWrote:
		return h.dispose(ctx, call.Name, t)
	}
	c, err := h.conn(t)
	if err != nil {
		return nil, err
	}
	switch call.Name {
	case callRead:
		return read(ctx, call, c)
	case callSend:
		return nil, send(ctx, call, c)
	case callInput:
		return nil, c.CloseInput()
	case callTerminate:
		return nil, c.Terminate()
	case callKill:
		return nil, c.Kill()
	case callStderr:
		return c.Stderr(ctx)
	case callDetach:
		h.mu.Lock()
		if h.conns[t.id()] == c { // it may have been attached again meanwhile
			delete(h.conns, t.id())
		}
		h.mu.Unlock()
		c.detach()
		return nil, nil
	}
	return journaled(ctx, call, c, t)
}

// journaled answers calls that need a journal.
func journaled(ctx context.Context, call *link.Call, c *process, t target) (any, error) {
	j := c.journal()
	if j == nil {
		return nil, fmt.Errorf("%w: %s", link.ErrUnknown, call.Name)
	}
	switch call.Name {
	case callCommit:
		j.Commit(t.Offset)
		return nil, nil
	case callCommitted:
		return j.Committed(ctx)
	case callRequests:
		r, ok := c.Conn.(launch.JournalReader)
		if !ok {
			return openRequests{Whole: true}, nil
		}
		ids, whole, err := r.OpenRequests(ctx)
		return openRequests{ids, whole}, err
	}
	return nil, fmt.Errorf("%w: %s", link.ErrUnknown, call.Name)
}

func (h *Host) open(ctx context.Context, args json.RawMessage) (any, error) {
	var p launch.Process
	if err := json.Unmarshal(args, &p); err != nil {
		return nil, fmt.Errorf("%w: %w", link.ErrProtocol, err)
	}
	// The id becomes the name of a folder.
	if err := uuid.Validate(p.ID.ProcessID); err != nil || len(p.ID.ProcessID) != 36 {
		return nil, fmt.Errorf("%w: the id of a process is a UUID, not %q", launch.ErrRefused, p.ID.ProcessID)
	}
	c, err := h.launcher.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	return h.keep(p.ID, c)
}

// connectAgent calls ConnectAgent if the runner has the process.
func (h *Host) connectAgent(ctx context.Context, t target) error {
	if _, err := h.leftover(t); err != nil {
		return err
	}
	return h.launcher.ConnectAgent(ctx, t.id(), t.Token)
}

// keep stores a connection for later calls, in place of the previous one to the same process.
func (h *Host) keep(id launch.ID, c launch.Conn) (any, error) {
	h.mu.Lock()
	p := &process{Conn: c}
	former, detached := h.conns[id], h.detached
	if !detached {
		h.conns[id] = p
	}
	h.mu.Unlock()
	if former != nil {
		former.detach()
	}
	if detached {
		p.detach()
		return nil, link.ErrClosed
	}
	o := opened{PID: c.PID()}
	if j := p.journal(); j != nil {
		o.Ahead = j.IsAhead()
	}
	return o, nil
}

func (h *Host) conn(t target) (*process, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.conns[t.id()]
	if c == nil {
		return nil, ErrNoProcess
	}
	return c, nil
}

func (h *Host) list(ctx context.Context) (any, error) {
	found, err := h.launcher.Leftovers(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]leftover, 0, len(found))
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.leftovers)
	for _, l := range found {
		h.leftovers[l.ID()] = l
		o := l.Origin()
		all = append(all, leftover{Target: targetOf(l.ID()), Alive: o.Alive, Folder: o.Folder, StartedAt: o.StartedAt})
	}
	return all, nil
}

func (h *Host) leftover(t target) (launch.Leftover, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.leftovers[t.id()]
	if l == nil {
		return nil, ErrNoProcess
	}
	return l, nil
}

func (h *Host) attach(ctx context.Context, t target) (any, error) {
	l, err := h.leftover(t)
	if err != nil {
		return nil, err
	}
	c, err := l.Attach(ctx, t.Offset)
	if err != nil {
		return nil, err
	}
	return h.keep(t.id(), c)
}

// dispose answers calls that both a leftover and a connection with a journal can answer, and
// callEnd, which only a leftover can. It prefers the connection.
func (h *Host) dispose(ctx context.Context, name string, t target) (any, error) {
	c, _ := h.conn(t) // nil if there is none
	if j := c.journal(); j != nil && name != callEnd {
		if name == callWrote {
			return j.Wrote(ctx, t.RequestID)
		}
		err := j.Remove(ctx)
		if err == nil {
			h.mu.Lock()
			delete(h.conns, t.id())
			delete(h.leftovers, t.id())
			h.mu.Unlock()
		}
		return nil, err
	}
	l, err := h.leftover(t)
	switch {
	case err != nil:
		return nil, err
	case name == callEnd:
		return nil, l.End(ctx)
	case name == callWrote:
		return l.Wrote(ctx, t.RequestID)
	}
	return nil, l.Remove(ctx)
}

// read sends the lines of a process on the channel of the call until the process has exited or the
// connection to it ends.
func read(ctx context.Context, call *link.Call, c *process) (any, error) {
	if c.reading.Swap(true) {
		return nil, fmt.Errorf("%w: a process is read twice", link.ErrProtocol)
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() }) // so that Recv returns
	defer stop()
	j, out := c.journal(), recordWriter{ch: call.Channel}
	offset := func() int64 {
		if j == nil {
			return 0
		}
		return j.Offset()
	}
	for {
		line, err := c.Recv()
		switch {
		case err == nil:
			err = out.write(ctx, recordLine, offset(), line)
		case errors.Is(err, claude.ErrTooLarge):
			err = out.write(ctx, recordLost, offset(), []byte(err.Error()))
		default:
			return endOf(ctx, c, err)
		}
		if err != nil {
			return nil, err
		}
	}
}

// endOf returns the result of read after Recv has failed with err.
func endOf(ctx context.Context, c *process, err error) (any, error) {
	select {
	case <-c.Done():
	default:
		if err == io.EOF {
			return readResult{}, nil
		}
		return nil, err
	}
	stderr, err := c.Stderr(ctx)
	if err != nil {
		return nil, err
	}
	e := readResult{Exited: true, Stderr: stderr}
	if err := c.ExitError(); err != nil {
		e.Exit = err.Error()
	}
	return e, nil
}

// recordWriter sends records on a channel.
type recordWriter struct {
	ch *link.Channel
	at uint64 // bytes sent
}

func (w *recordWriter) write(ctx context.Context, kind byte, offset int64, text []byte) error {
	var h [recordHeader]byte
	for _, part := range [][]byte{appendRecord(h[:0], kind, offset, len(text)), text} {
		if err := w.ch.Send(ctx, w.at, part); err != nil {
			return err
		}
		w.at += uint64(len(part))
	}
	return nil
}

// send writes a line to a CLI. It blocks until the line is written, with no limit of its own.
func send(ctx context.Context, call *link.Call, c *process) error {
	var line []byte
	for {
		_, p, err := call.Recv(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err // never write half a line
		}
		if len(line)+len(p) > maxLine {
			return link.ErrTooLarge
		}
		line = append(line, p...)
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() }) // so that Send returns
	defer stop()
	return c.Send(line)
}
