package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/shim"
)

// journalConn is a [JournaledConn] that reads the journal of a shim that is gone. Send returns
// [claude.ErrClosed].
type journalConn struct {
	left   leftoverShim
	offset int64
	next   func() (journalLine, bool)
	stop   func()
	done   chan struct{}
}

type journalLine struct {
	offset int64
	line   []byte
	err    error // set when the line, or a part of the journal, is lost
}

var errStopReading = errors.New("reading stopped")

func (l leftoverShim) readJournal(_ context.Context, offset int64) (Conn, error) {
	lines := func(yield func(journalLine) bool) {
		err := shim.ReadJournal(l.bundle.Dir, offset, func(offset int64, line []byte, mark shim.Mark) error {
			next := journalLine{offset: offset, line: line}
			if mark.Lost > 0 || mark.Size > 0 {
				next.err = fmt.Errorf("%w: %d bytes before offset %d", claude.ErrTooLarge, max(mark.Lost, mark.Size), offset)
			}
			if !yield(next) {
				return errStopReading
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopReading) {
			yield(journalLine{offset: -1, err: err})
		}
	}
	c := &journalConn{left: l, offset: offset, done: make(chan struct{})}
	c.next, c.stop = iter.Pull(iter.Seq[journalLine](lines))
	close(c.done)
	return c, nil
}

func (c *journalConn) Recv() ([]byte, error) {
	l, ok := c.next()
	switch {
	case !ok:
		return nil, io.EOF
	case l.offset < 0:
		return nil, l.err
	}
	c.offset = l.offset
	return l.line, l.err
}

func (c *journalConn) Close() error {
	c.stop()
	return nil
}

func (c *journalConn) ExitError() error {
	if e := c.left.bundle.Exit; e != nil {
		return exitError(*e)
	}
	return errors.New("its shim was killed")
}

func (c *journalConn) Stderr(context.Context) (string, error) {
	if e := c.left.bundle.Exit; e != nil {
		return c.left.shims.redact(e.Stderr), nil
	}
	return "", nil
}

func (c *journalConn) Send([]byte) error                        { return claude.ErrClosed }
func (c *journalConn) PID() int                                 { return 0 }
func (c *journalConn) CloseInput() error                        { return nil }
func (c *journalConn) Terminate() error                         { return nil }
func (c *journalConn) Kill() error                              { return nil } // Remove kills what may be left of the tree
func (c *journalConn) Done() <-chan struct{}                    { return c.done }
func (c *journalConn) Offset() int64                            { return c.offset }
func (c *journalConn) Commit(int64)                             {}
func (c *journalConn) Detach() error                            { return nil }
func (c *journalConn) Committed(context.Context) (int64, error) { return 0, nil }

func (c *journalConn) IsAhead() bool                    { return false }
func (c *journalConn) Remove(ctx context.Context) error { return c.left.Remove(ctx) }

func (c *journalConn) Wrote(ctx context.Context, requestID string) (bool, error) {
	return c.left.Wrote(ctx, requestID)
}
