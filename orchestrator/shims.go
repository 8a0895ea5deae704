package orchestrator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/failpoint"
	"github.com/sayso-dev/sayso/shim"
)

// Shims launches CLIs under shims, which outlive the server.
type Shims struct {
	Exe  string // of sayso, absolute
	Root string // folder of the bundles, inside the state folder
	// Epoch is above that of every server before; what an older one still does is
	// refused.
	Epoch uint64
	// Private is a folder outside of Root for what a CLI itself reads when it runs as
	// another user, RunAs, who may go through it and not list it; "" when CLIs run as
	// we do. It may have folders of processes that were started otherwise.
	Private string
	RunAs   *claude.RunAs
}

// callTime bounds one call to a shim, which lives on this machine and does
// nothing that takes long; a CLI that does not read is no reason to wait.
const callTime = 10 * time.Second

// attachTime is how long a shim may take to answer before it is given up and its
// CLI ended.
const attachTime = 10 * time.Second

// Folder implements [Launcher].
func (s Shims) Folder(id Incarnation) string {
	own := s.private(s.bundle(id))
	if own == "" {
		return s.bundle(id)
	}
	if _, err := os.Lstat(own); err == nil {
		return own
	}
	if _, err := os.Lstat(s.bundle(id)); err == nil || s.RunAs == nil {
		return s.bundle(id)
	}
	return own
}

func (s Shims) bundle(id Incarnation) string { return filepath.Join(s.Root, id.ProcessID) }

// private is the folder that goes with a bundle.
func (s Shims) private(bundle string) string {
	if s.Private == "" {
		return ""
	}
	return filepath.Join(s.Private, filepath.Base(bundle))
}

// put writes the files of a process where its user can read them, and nobody else.
func (s Shims) put(dir string, files map[string][]byte) error {
	return s.RunAs.InGroup(func() error {
		if err := os.Mkdir(dir, 0o750); err != nil {
			return err
		}
		if err := os.Chmod(dir, 0o750); err != nil { // whatever the umask
			return err
		}
		for name, content := range files {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, content, 0o640); err != nil {
				return err
			}
			if err := os.Chmod(path, 0o640); err != nil {
				return err
			}
		}
		return nil
	})
}

// Launch implements [Launcher].
func (s Shims) Launch(ctx context.Context, id Incarnation, c claude.Command, files map[string][]byte) (Conn, error) {
	dir := s.bundle(id)
	if err := os.MkdirAll(s.Root, 0o700); err != nil {
		return nil, fmt.Errorf("orchestrator: folder of the shims: %w", err)
	}
	if err := failpoint.Hit("launch.before_start"); err != nil {
		return nil, err
	}
	if s.RunAs != nil && len(files) > 0 {
		if err := s.put(s.private(dir), files); err != nil {
			return nil, errors.Join(fmt.Errorf("orchestrator: folder of a process: %w", err), os.RemoveAll(s.private(dir)))
		}
		files = nil
	}
	_, err := shim.Start(ctx, s.Exe, shim.Params{
		SessionID: id.SessionID, ProcessID: id.ProcessID, Dir: dir,
		Path: c.Path, Args: c.Args, Env: c.Env, Cwd: c.Dir, Files: files,
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("orchestrator: start shim: %w", launchError(err)), s.forget(dir))
	}
	left := leftShim{s, shim.Bundle{Dir: dir, State: shim.Alive, Shim: true, Meta: shim.Meta{SessionID: id.SessionID, ProcessID: id.ProcessID}}}
	conn, err := left.Attach(ctx, 0)
	if err = failpoint.After("launch.after_start", err); err != nil {
		return nil, errors.Join(err, left.Remove(context.WithoutCancel(ctx)))
	}
	return conn, nil
}

// launchError says what is missing in the words of the other launchers.
func launchError(err error) error {
	for from, to := range map[error]error{
		shim.ErrCLIMissing: claude.ErrCLIMissing, shim.ErrCLINotExecutable: claude.ErrCLINotExecutable,
		shim.ErrFolderMissing: claude.ErrFolderMissing,
	} {
		if errors.Is(err, from) {
			return fmt.Errorf("%w: %w", to, err)
		}
	}
	return err
}

// Left implements [Launcher].
func (s Shims) Left(context.Context) ([]Left, error) {
	bundles, err := shim.List(s.Root)
	if err != nil {
		return nil, err
	}
	if err := s.sweep(bundles); err != nil {
		return nil, err
	}
	left := make([]Left, 0, len(bundles))
	for _, b := range bundles {
		left = append(left, leftShim{s, b})
	}
	return left, nil
}

// sweep removes private folders whose bundle is not there: a server died between
// the two.
func (s Shims) sweep(bundles []shim.Bundle) error {
	if s.Private == "" {
		return nil
	}
	entries, err := os.ReadDir(s.Private)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("orchestrator: folders of processes: %w", err)
	}
	for _, e := range entries {
		known := func(b shim.Bundle) bool { return filepath.Base(b.Dir) == e.Name() }
		if uuid.Validate(e.Name()) == nil && !slices.ContainsFunc(bundles, known) {
			if err := s.forget(e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

// forget removes the private folder that goes with a bundle, if there is one.
func (s Shims) forget(bundle string) error {
	if s.Private == "" {
		return nil
	}
	if err := os.RemoveAll(s.private(bundle)); err != nil {
		return fmt.Errorf("orchestrator: folder of a process: %w", err)
	}
	return nil
}

// leftShim is a bundle that is there.
type leftShim struct {
	shims  Shims
	bundle shim.Bundle
}

func (l leftShim) Incarnation() Incarnation {
	return Incarnation{SessionID: l.bundle.Meta.SessionID, ProcessID: l.bundle.Meta.ProcessID}
}

func (l leftShim) Attach(ctx context.Context, offset int64) (Conn, error) {
	if !l.bundle.Shim {
		if l.bundle.State == shim.NeverStarted {
			return nil, shim.ErrGone
		}
		return l.readJournal(ctx, offset)
	}
	c, err := shim.Attach(ctx, l.bundle.Dir, l.shims.Epoch, offset)
	// A shim that does not answer at once may only be waiting for a processor; each
	// is attached by a goroutine of its own, so none waits for this one.
	for began := time.Now(); errors.Is(err, shim.ErrHung) && ctx.Err() == nil && time.Since(began) < attachTime; {
		c, err = shim.Attach(ctx, l.bundle.Dir, l.shims.Epoch, offset)
	}
	if errors.Is(err, shim.ErrGone) {
		return l.readJournal(ctx, offset)
	}
	if err != nil {
		return nil, err
	}
	return &shimConn{shims: l.shims, shim: c, dir: l.bundle.Dir, done: make(chan struct{})}, nil
}

func (l leftShim) End(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return shim.Destroy(ctx, l.bundle.Dir)
}

func (l leftShim) Heard(requestID string) (bool, error) {
	return shim.Wrote(l.bundle.Dir, answerKey(requestID))
}

func (l leftShim) Remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return l.shims.remove(ctx, l.bundle.Dir)
}

// remove ends whatever lives of a bundle and takes its folders away.
func (s Shims) remove(ctx context.Context, dir string) error {
	if err := shim.Destroy(ctx, dir); err != nil {
		return err
	}
	return errors.Join(shim.Remove(dir), s.forget(dir))
}

// shimConn is a CLI under a shim.
type shimConn struct {
	shims Shims
	shim  *shim.Conn
	dir   string
	once  sync.Once
	done  chan struct{} // closed by Recv at the end: exited, and all is read
}

var _ Kept = (*shimConn)(nil)

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
		return nil, fmt.Errorf("%w: %w", claude.ErrTooLarge, err) // one line is lost, the next goes on
	}
	select {
	case <-c.shim.Done():
		c.once.Do(func() { close(c.done) })
	default:
	}
	return nil, err
}

// answerKey is the key of the line that answers a request of the CLI. However the
// answer is put by the server that gives it, the CLI hears one.
func answerKey(requestID string) string { return "answer " + requestID }

// keyOf gives a line that is no answer its own hash as key. Every line of ours is
// one of a kind (an id of a request, of a message, of an asker), so the same line
// is the same thing said again by a server that does not know whether it was heard.
func keyOf(line []byte) string {
	if requestID, ok := claude.AnswerTo(line); ok {
		return answerKey(requestID)
	}
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:16])
}

func (c *shimConn) Send(line []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	repeated, err := c.shim.WriteOnce(ctx, keyOf(line), line)
	if err == nil && repeated {
		return ErrRepeated
	}
	return err
}

func (c *shimConn) call(do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	err := do(ctx)
	select {
	case <-c.shim.Done():
		return nil // what is gone need not be ended
	default:
		return err
	}
}

func (c *shimConn) CloseInput() error { return c.call(c.shim.CloseInput) }

func (c *shimConn) Terminate() error {
	return c.call(func(ctx context.Context) error { return c.shim.Signal(ctx, syscall.SIGTERM) })
}

// Kill ends the tree by its shim, and the shim with it when that one does not
// answer: a session that cannot be ended is impossible.
func (c *shimConn) Kill() error {
	err := c.call(func(ctx context.Context) error { return c.shim.Kill(ctx, 0, true) })
	if err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	if failed := shim.Destroy(ctx, c.dir); failed != nil {
		err = errors.Join(err, failed)
	} else {
		err = nil
	}
	return errors.Join(err, c.Close())
}

// Close ends the connection, but for one whose CLI is gone: Forget has something
// to say there.
func (c *shimConn) Close() error {
	select {
	case <-c.shim.Done():
	default:
		c.shim.Detach()
	}
	c.once.Do(func() { close(c.done) })
	return nil
}

func (c *shimConn) Detach() error {
	c.shim.Detach()
	return nil
}

func (c *shimConn) PID() int              { return c.shim.Meta().CLI }
func (c *shimConn) Done() <-chan struct{} { return c.done }
func (c *shimConn) Stderr() string        { return c.shim.Stderr() }
func (c *shimConn) Offset() int64         { return c.shim.Offset() }

func (c *shimConn) Heard(requestID string) (bool, error) {
	return shim.Wrote(c.dir, answerKey(requestID))
}

func (c *shimConn) Commit(offset int64) {
	_ = c.shim.Commit(offset) // lost with the connection, said again with the next
}

func (c *shimConn) ExitError() error {
	select {
	case <-c.shim.Done():
		return exitError(c.shim.Exit())
	default:
		return errors.New("its keeper was killed")
	}
}

// Forget lets the shim go and takes its folder away.
func (c *shimConn) Forget(ctx context.Context) error {
	if err := failpoint.Hit("forget.before"); err != nil {
		return err
	}
	asking, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	// A shim that does not go by itself is ended with what is left of its tree.
	err := c.shim.AckExit(asking)
	if errors.Is(err, shim.ErrGone) || errors.Is(err, shim.ErrDetached) {
		err = nil
	}
	removing, cancel := context.WithTimeout(ctx, callTime)
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
