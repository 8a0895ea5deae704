package launch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/failpoint"
	"github.com/sayso-dev/sayso/shim"
)

// hungBudget is how long a shim that was told to kill its tree may take to answer a ping before
// the shim itself is killed.
const hungBudget = 500 * time.Millisecond

// shimConn is the connection to a CLI under a shim.
type shimConn struct {
	shims *Shims
	shim  *shim.Conn
	dir   string
	ahead bool // see IsAhead
	once  sync.Once
	done  chan struct{} // closed by Recv once the CLI has exited and its output is read, or by Close
}

var _ JournalReader = (*shimConn)(nil)

func (c *shimConn) Recv() ([]byte, error) {
	if err := failpoint.Hit("ingest.before"); err != nil {
		return nil, err
	}
	line, err := c.shim.Recv()
	err = failpoint.After("ingest.after", err)
	switch {
	case err == nil:
		return line, nil
	case errors.Is(err, shim.ErrTooLarge), errors.Is(err, shim.ErrDamaged):
		return nil, fmt.Errorf("%w: %w", claude.ErrTooLarge, err) // only this line is lost
	}
	select {
	case <-c.shim.Done():
		c.once.Do(func() { close(c.done) })
	default:
	}
	return nil, err
}

// answerKey returns the key of the line that answers a request of the CLI. It makes the shim
// write only one answer, however many servers send one.
func answerKey(requestID string) string { return "answer " + requestID }

// keyOf returns the key of a line; for a line that is no answer, that is a hash. Every such line
// contains a unique id, so an equal line is a repetition by a server that does not know whether
// the first one was written.
func keyOf(line []byte) string {
	if requestID, ok := claude.AnswerTo(line); ok {
		return answerKey(requestID)
	}
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:16])
}

// Send sends a line. An answer blocks for as long as the CLI and the connection live, because
// nothing would send it again; any other line blocks for at most callTimeout.
func (c *shimConn) Send(line []byte) error {
	ctx, cancel := context.WithCancel(context.Background())
	var limiting sync.WaitGroup
	defer limiting.Wait()
	defer cancel()
	begin := c.shim.Done()
	if _, isAnswer := claude.AnswerTo(line); !isAnswer {
		now := make(chan struct{})
		close(now)
		begin = now
	}
	limiting.Go(func() {
		select {
		case <-begin:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(callTimeout):
			cancel()
		case <-ctx.Done():
		}
	})
	repeated, err := c.shim.WriteOnce(ctx, keyOf(line), line)
	if err == nil && repeated {
		return ErrRepeated
	}
	return err
}

func (c *shimConn) call(do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	err := do(ctx)
	select {
	case <-c.shim.Done():
		return nil // the CLI has already exited
	default:
		return err
	}
}

func (c *shimConn) CloseInput() error { return c.call(c.shim.CloseInput) }

func (c *shimConn) Terminate() error {
	return c.call(func(ctx context.Context) error { return c.shim.Signal(ctx, syscall.SIGTERM) })
}

// Kill kills the tree through its shim. If the shim does not answer, Kill also kills the shim, so
// that every session can be ended.
func (c *shimConn) Kill() error {
	err := c.call(func(ctx context.Context) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		var pinging sync.WaitGroup
		defer pinging.Wait()
		pinging.Go(func() {
			limited, end := context.WithTimeoutCause(ctx, hungBudget, shim.ErrHung)
			defer end()
			if err := c.shim.Ping(limited); errors.Is(err, shim.ErrHung) {
				cancel(err)
			}
		})
		err := c.shim.Kill(ctx, 0, true)
		cancel(nil)
		return err
	})
	if err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	if failed := shim.Destroy(ctx, c.dir); failed != nil {
		err = errors.Join(err, failed)
	} else {
		err = nil
	}
	return errors.Join(err, c.Close())
}

// Close ends the connection, unless the CLI has exited: then Remove still needs the connection to
// acknowledge the exit.
func (c *shimConn) Close() error {
	c.shims.disconnected(c)
	select {
	case <-c.shim.Done():
	default:
		c.shim.Detach()
	}
	c.once.Do(func() { close(c.done) })
	return nil
}

func (c *shimConn) Detach() error {
	c.shims.disconnected(c)
	c.shim.Detach()
	return nil
}

// IsIntact reports whether the files that another server needs to adopt the process still exist.
func (c *shimConn) IsIntact() bool { return shim.IsIntact(c.dir, c.shim.Offset() > 0) }

// isOver reports whether the CLI has exited and its output is read, or Close was called.
func (c *shimConn) isOver() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

func (c *shimConn) PID() int              { return c.shim.Meta().CLI }
func (c *shimConn) Done() <-chan struct{} { return c.done }
func (c *shimConn) Offset() int64         { return c.shim.Offset() }

func (c *shimConn) Stderr(context.Context) (string, error) {
	return c.shims.redact(c.shim.Stderr()), nil
}

func (c *shimConn) Wrote(_ context.Context, requestID string) (bool, error) {
	return shim.Wrote(c.dir, answerKey(requestID))
}

func (c *shimConn) OpenRequests(ctx context.Context) (requestIDs []string, whole bool, err error) {
	start, err := shim.JournalStart(c.dir)
	if err != nil {
		return nil, false, err
	}
	open := map[string]bool{}
	err = shim.ReadJournal(c.dir, start, func(_ int64, line []byte, mark shim.Mark) error {
		if mark.Lost == 0 && mark.Size == 0 {
			change := claude.ReadRequestChange(line)
			if change.Opened != "" {
				open[change.Opened] = true
			}
			delete(open, change.Withdrawn)
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, false, err
	}
	requestIDs = []string{}
	for id := range open {
		answered, err := c.Wrote(ctx, id)
		if err != nil {
			return nil, false, err
		}
		if !answered {
			requestIDs = append(requestIDs, id)
		}
	}
	return requestIDs, start == 0, nil
}

func (c *shimConn) IsAhead() bool { return c.ahead }

func (c *shimConn) Committed(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	s, err := c.shim.Stat(ctx)
	return s.Committed, err
}

func (c *shimConn) Commit(offset int64) {
	_ = c.shim.Commit(offset) // if it fails, the next connection commits again
}

func (c *shimConn) ExitError() error {
	select {
	case <-c.shim.Done():
		return exitError(c.shim.Exit())
	default:
		return errors.New("its shim was killed")
	}
}

// Remove lets the shim exit and deletes its folder.
func (c *shimConn) Remove(ctx context.Context) error {
	if err := failpoint.Hit("forget.before"); err != nil {
		return err
	}
	asking, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	// If the shim does not exit by itself, remove kills it with what is left of its tree.
	err := c.shim.AckExit(asking)
	if errors.Is(err, shim.ErrGone) || errors.Is(err, shim.ErrDetached) {
		err = nil
	}
	removing, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return errors.Join(err, failpoint.After("forget.after", c.shims.remove(removing, c.dir)))
}

func exitError(e shim.ExitRecord) error {
	switch {
	case e.Signal != 0:
		return fmt.Errorf("signal: %s", syscall.Signal(e.Signal))
	case e.Status != 0:
		return fmt.Errorf("exit status %d", e.Status)
	}
	return nil
}
