package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/failpoint"
	"github.com/sayso-dev/sayso/internal/procfs"
	"github.com/sayso-dev/sayso/shim"
)

// Shims launches CLIs under shims, which outlive the server. It implements [Commands].
type Shims struct {
	Exe string // path of sayso, absolute
	// Program returns the path of sayso-shim, "" for none. If it cannot be executed, Exe serves
	// as the shim.
	Program func() string
	Root    string // folder of the bundles, inside the state folder
	// Epoch is the epoch of the runner's lease. Shims refuse writes with lower epochs.
	Epoch uint64
	// Ahead has the ids of the processes that a server with a newer database has driven.
	Ahead map[string]bool
	// Private is a folder outside Root for the files that a CLI reads if it runs as another
	// user, RunAs, who may enter but not list the folder. It is "" when CLIs run as the server's
	// user. It may contain folders of processes that were started before a change of RunAs.
	Private string
	RunAs   *claude.RunAs
	// Redact removes secrets from what CLIs print on stderr; see [CLI.Redact]. nil removes none.
	Redact func(text string) string

	mu        sync.Mutex // protects following
	connected map[*shimConn]bool
}

func (s *Shims) disconnected(c *shimConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.connected, c)
}

func (s *Shims) redact(stderr string) string {
	if s.Redact == nil {
		return stderr
	}
	return s.Redact(stderr)
}

// running returns the connections to the running CLIs.
func (s *Shims) running() []*shimConn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Collect(maps.Keys(s.connected)), (*shimConn).isOver)
}

// Vitals implements [Commands].
func (s *Shims) Vitals(context.Context) ([]Vitals, error) {
	running := s.running()
	if len(running) == 0 {
		return nil, nil
	}
	table, err := procfs.Table()
	if err != nil {
		return nil, fmt.Errorf("launch: process table: %w", err)
	}
	roots := make([]int, len(running))
	for i, c := range running {
		roots[i] = c.PID()
	}
	sums := procfs.Sum(table, roots)
	vitals := make([]Vitals, len(running))
	for i, c := range running {
		u := sums[roots[i]]
		vitals[i] = Vitals{ProcessID: c.shim.Meta().ProcessID, Memory: u.Memory, CPU: u.CPU, Processes: u.Processes, Blocked: c.shim.TakeBlocked()}
		if vitals[i].Blocked == shim.ErrJournalFull.Error() {
			vitals[i].Blocked = JournalFull
		}
	}
	return vitals, nil
}

// Waiting returns the number of running processes that wait because their output cannot be stored.
func (s *Shims) Waiting() (n int) {
	for _, c := range s.running() {
		if c.shim.Blocked() != "" {
			n++
		}
	}
	return n
}

// Damaged implements [Commands].
func (s *Shims) Damaged(context.Context) (processIDs []string, err error) {
	for _, c := range s.running() {
		if !c.IsIntact() && !c.isOver() { // a process that is over is being removed
			processIDs = append(processIDs, c.shim.Meta().ProcessID)
		}
	}
	return processIDs, nil
}

// callTimeout bounds one call to a shim. Calls are local, and shims do nothing slow.
const callTimeout = 10 * time.Second

// attachTimeout is how long a new shim may take to answer before the start fails and its CLI is
// ended.
const attachTimeout = 10 * time.Second

// Folder implements [Commands].
func (s *Shims) Folder(id ID) string {
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

func (s *Shims) bundle(id ID) string { return filepath.Join(s.Root, id.ProcessID) }

// private returns the private folder of a bundle, "" if there are no private folders.
func (s *Shims) private(bundle string) string {
	if s.Private == "" {
		return ""
	}
	return filepath.Join(s.Private, filepath.Base(bundle))
}

// writeFiles writes the files of a process to a new folder, so that only the user of CLIs can read
// them.
func (s *Shims) writeFiles(dir string, files map[string][]byte) error {
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

// Launch implements [Commands].
func (s *Shims) Launch(ctx context.Context, id ID, c claude.Command, files map[string][]byte) (Conn, error) {
	dir := s.bundle(id)
	if err := os.MkdirAll(s.Root, 0o700); err != nil {
		return nil, fmt.Errorf("launch: folder of the shims: %w", err)
	}
	if err := failpoint.Hit("launch.before_start"); err != nil {
		return nil, err
	}
	if s.RunAs != nil && len(files) > 0 {
		if err := s.writeFiles(s.private(dir), files); err != nil {
			return nil, errors.Join(fmt.Errorf("launch: folder of a process: %w", err), os.RemoveAll(s.private(dir)))
		}
		files = nil
	}
	params := shim.Params{
		SessionID: id.SessionID, ProcessID: id.ProcessID, Dir: dir,
		Path: c.Path, Args: c.Args, Env: c.Env, Cwd: c.Dir, Files: files,
	}
	program := s.Exe
	if s.Program != nil {
		program = cmp.Or(s.Program(), s.Exe)
	}
	_, err := shim.Start(ctx, program, params)
	if errors.Is(err, shim.ErrProgram) && program != s.Exe {
		_, err = shim.Start(ctx, s.Exe, params)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("launch: start shim: %w", startError(err)), s.removePrivate(dir))
	}
	left := leftoverShim{s, attachTimeout, shim.Bundle{Dir: dir, State: shim.Alive, Shim: true, Meta: shim.Meta{SessionID: id.SessionID, ProcessID: id.ProcessID}}}
	conn, err := left.Attach(ctx, 0)
	if err = failpoint.After("launch.after_start", err); err != nil {
		return nil, errors.Join(err, left.Remove(context.WithoutCancel(ctx)))
	}
	return conn, nil
}

// startError converts errors of package shim to those of package claude.
func startError(err error) error {
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

// maxStatReads bounds how many shims Fences asks at once, and fencesTimeout how long Fences takes.
const (
	maxStatReads  = 64
	fencesTimeout = 2 * time.Second
)

// Fences returns the highest epoch that has attached to each running shim, by process id, and the
// number of shims that wait because the output of their CLI cannot be stored. It leaves out shims
// that do not answer in time.
func (s *Shims) Fences(ctx context.Context) (fences map[string]uint64, waiting int, err error) {
	ctx, cancel := context.WithTimeout(ctx, fencesTimeout)
	defer cancel()
	bundles, err := shim.List(s.Root)
	if err != nil {
		return nil, 0, err
	}
	var mu sync.Mutex
	fences = map[string]uint64{}
	var asking sync.WaitGroup
	slots := make(chan struct{}, maxStatReads)
	for _, b := range bundles {
		if !b.Shim {
			continue
		}
		slots <- struct{}{}
		asking.Go(func() {
			defer func() { <-slots }()
			stat, err := shim.ReadStat(ctx, b.Dir)
			if err != nil {
				return // attaching to it will report what is wrong
			}
			mu.Lock()
			defer mu.Unlock()
			fences[b.Meta.ProcessID] = stat.Epoch
			if stat.Blocked != "" {
				waiting++
			}
		})
	}
	asking.Wait()
	return fences, waiting, nil
}

// Leftovers implements [Commands].
func (s *Shims) Leftovers(context.Context) ([]Leftover, error) {
	bundles, err := shim.List(s.Root)
	if err != nil {
		return nil, err
	}
	if err := s.removeStray(bundles); err != nil {
		return nil, err
	}
	left := make([]Leftover, 0, len(bundles))
	for _, b := range bundles {
		left = append(left, leftoverShim{s, 0, b})
	}
	return left, nil
}

// removeStray removes private folders without a bundle, which are left if a server dies between
// creating the two.
func (s *Shims) removeStray(bundles []shim.Bundle) error {
	if s.Private == "" {
		return nil
	}
	entries, err := os.ReadDir(s.Private)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("launch: folders of processes: %w", err)
	}
	for _, e := range entries {
		known := func(b shim.Bundle) bool { return filepath.Base(b.Dir) == e.Name() }
		if uuid.Validate(e.Name()) == nil && !slices.ContainsFunc(bundles, known) {
			if err := s.removePrivate(e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

// removePrivate removes the private folder of a bundle, if there is one.
func (s *Shims) removePrivate(bundle string) error {
	if s.Private == "" {
		return nil
	}
	if err := os.RemoveAll(s.private(bundle)); err != nil {
		return fmt.Errorf("launch: folder of a process: %w", err)
	}
	return nil
}

// leftoverShim is an existing bundle. It implements [Leftover].
type leftoverShim struct {
	shims  *Shims
	wait   time.Duration // how long Attach waits for a slow shim; 0 when the caller itself retries
	bundle shim.Bundle
}

func (l leftoverShim) ID() ID {
	return ID{SessionID: l.bundle.Meta.SessionID, ProcessID: l.bundle.Meta.ProcessID}
}

// Origin implements [Leftover]. Shims of earlier releases did not record the folder; on Linux,
// /proc has it.
func (l leftoverShim) Origin() Origin {
	m := l.bundle.Meta
	o := Origin{Alive: l.bundle.State == shim.Alive && m.CLI != 0, Folder: m.Cwd}
	o.StartedAt, _ = time.Parse(time.RFC3339, m.Started) // zero, which means unknown, if it fails
	if o.Alive && o.Folder == "" {
		o.Folder, _ = os.Readlink(fmt.Sprintf("/proc/%d/cwd", m.CLI))
	}
	return o
}

func (l leftoverShim) Attach(ctx context.Context, offset int64) (Conn, error) {
	if !l.bundle.Shim {
		if l.bundle.State == shim.NeverStarted {
			return nil, shim.ErrGone
		}
		return l.readJournal(ctx, offset)
	}
	c, err := shim.Attach(ctx, l.bundle.Dir, l.shims.Epoch, offset)
	// A shim that does not answer may only be waiting for a processor.
	for began := time.Now(); errors.Is(err, shim.ErrHung) && ctx.Err() == nil && time.Since(began) < l.wait; {
		c, err = shim.Attach(ctx, l.bundle.Dir, l.shims.Epoch, offset)
	}
	if errors.Is(err, shim.ErrGone) {
		return l.readJournal(ctx, offset)
	}
	if err != nil {
		return nil, err
	}
	c.Shorten(func() shim.Shortener { return &claude.Abridger{} })
	conn := &shimConn{shims: l.shims, shim: c, dir: l.bundle.Dir, ahead: l.shims.Ahead[l.bundle.Meta.ProcessID], done: make(chan struct{})}
	l.shims.mu.Lock()
	defer l.shims.mu.Unlock()
	if l.shims.connected == nil {
		l.shims.connected = map[*shimConn]bool{}
	}
	l.shims.connected[conn] = true
	return conn, nil
}

func (l leftoverShim) End(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return shim.Destroy(ctx, l.bundle.Dir)
}

func (l leftoverShim) Wrote(_ context.Context, requestID string) (bool, error) {
	return shim.Wrote(l.bundle.Dir, answerKey(requestID))
}

func (l leftoverShim) Remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return l.shims.remove(ctx, l.bundle.Dir)
}

// remove ends what is still alive of a bundle and deletes its folders.
func (s *Shims) remove(ctx context.Context, dir string) error {
	if err := shim.Destroy(ctx, dir); err != nil {
		return err
	}
	return errors.Join(shim.Remove(dir), s.removePrivate(dir))
}
