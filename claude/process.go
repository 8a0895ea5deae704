package claude

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Reasons why a CLI cannot be started.
var (
	ErrCLIMissing       = errors.New("the CLI does not exist")
	ErrCLINotExecutable = errors.New("the CLI cannot be executed")
	ErrFolderMissing    = errors.New("the folder to work in does not exist")
)

const (
	// MaxLine bounds a line of the CLI unless [Command.MaxLine] is set, in bytes. Real lines
	// contain PDFs and whole tool results. A larger line is a fault or an attack, and is dropped
	// so that the host survives.
	MaxLine = 256 << 20
	// drainTimeout bounds the wait for output after the CLI has exited, because a grandchild
	// may keep the pipes open forever.
	drainTimeout = time.Second
	// pipeCapacity is the maximum capacity of a pipe, in bytes. Output that the CLI wrote before
	// it exited is within that many bytes; later bytes come from a grandchild.
	pipeCapacity = 1 << 20
	// inputGracePeriod is how long CloseInput waits for a line that is being written.
	inputGracePeriod = time.Second
)

// Command is a program to start as a [Process].
type Command struct {
	Path    string   // of the program, relative to the current folder; a bare name is looked up in PATH
	Args    []string // after the program's name
	Dir     string   // folder to work in; "" for the current one
	Env     []string // KEY=value; the whole environment, nothing is inherited
	MaxLine int      // bytes; 0 for MaxLine
	// OnStderr, if not nil, receives the program's stderr in chunks, from one goroutine. It must
	// not keep text.
	OnStderr func(text []byte)
}

// Process is a CLI that runs as a child of this process, in its own process group, with only
// the descriptors 0 to 2. It is a [Transport] over its standard input and output.
//
// The caller of [StartProcess] must read a Process to its end, with [Client.Run] or Recv, and end it
// with CloseInput, Terminate or Kill. Close alone ends the conversation, not the program. When the
// CLI exits, the rest of its group is killed.
type Process struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	lines  lineReader
	stderr tail

	draining bool // drainTimeout has passed; only Recv uses draining and drained
	drained  int  // bytes read since draining was set

	writing sync.Mutex // held while a line is written
	tornErr error      // set while writing is held: a line is incomplete, so no other may follow

	closed chan struct{} // closed by the first Close
	once   sync.Once

	alive   sync.Mutex // held while a signal is sent, so that it never reaches a reaped pid
	exited  bool
	done    chan struct{} // closed after exitErr is set and stderr is read
	exitErr error
}

// StartProcess starts a program. If the cause is known, the error is [ErrCLIMissing],
// [ErrCLINotExecutable] or [ErrFolderMissing].
func StartProcess(c Command) (*Process, error) {
	if c.Dir != "" {
		if info, err := os.Stat(c.Dir); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("claude: start in %s: %w", c.Dir, ErrFolderMissing)
		}
	}
	path, err := exec.LookPath(c.Path)
	if err == nil {
		// A relative path would name another program in Dir, perhaps one of a repository.
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return nil, startError(c, err)
	}

	sealDescriptors()
	var ours, theirs [3]*os.File
	closeAll := func(files []*os.File) {
		for _, f := range files {
			if f != nil {
				f.Close()
			}
		}
	}
	for i := range ours {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(ours[:])
			closeAll(theirs[:])
			return nil, fmt.Errorf("claude: start: %w", err)
		}
		ours[i], theirs[i] = r, w
		if i == 0 {
			ours[i], theirs[i] = w, r
		}
	}
	if c.MaxLine == 0 {
		c.MaxLine = MaxLine
	}
	p := &Process{
		stdin: ours[0], stdout: ours[1],
		closed: make(chan struct{}),
		done:   make(chan struct{}),
	}
	p.lines = lineReader{r: outputReader{p}, max: c.MaxLine}
	// Passed as files, so that exec starts no copying goroutines, which would wait for a
	// grandchild.
	p.cmd = &exec.Cmd{
		Path: path, Args: append([]string{c.Path}, c.Args...), Dir: c.Dir, Env: append([]string{}, c.Env...),
		Stdin: theirs[0], Stdout: theirs[1], Stderr: theirs[2],
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	err = p.cmd.Start()
	closeAll(theirs[:])
	if err != nil {
		closeAll(ours[:])
		return nil, startError(c, err)
	}
	go p.reap(ours[2], c.OnStderr)
	return p, nil
}

// sealDescriptors prevents the CLI from inheriting the descriptors that this process itself inherited.
// Go marks the descriptors that it opens as close-on-exec.
var sealDescriptors = sync.OnceFunc(func() {
	dir, err := os.Open("/dev/fd")
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if fd, err := strconv.Atoi(name); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
})

func startError(c Command, err error) error {
	why := fmt.Errorf("claude: start %s: %w", c.Path, err)
	var path *fs.PathError
	switch {
	case errors.As(err, &path) && path.Op == "chdir":
		return fmt.Errorf("%w: %w", why, ErrFolderMissing)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOEXEC), errors.Is(err, syscall.EISDIR):
		return fmt.Errorf("%w: %w", why, ErrCLINotExecutable)
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		if _, statErr := os.Stat(c.Path); statErr == nil {
			// The file exists, so its interpreter is missing.
			return fmt.Errorf("%w: %w", why, ErrCLINotExecutable)
		}
		return fmt.Errorf("%w: %w", why, ErrCLIMissing)
	}
	return why
}

// reap waits for the exit, reads stderr to its end, and closes done.
func (p *Process) reap(stderr *os.File, tell func([]byte)) {
	defer close(p.done)
	read := make(chan struct{})
	go func() {
		defer close(read)
		var out io.Writer = &p.stderr
		if tell != nil {
			out = io.MultiWriter(&p.stderr, writerFunc(tell))
		}
		_, _ = io.Copy(out, stderr) // ends no later than the deadline below
		stderr.Close()
	}()
	err := p.cmd.Wait()
	p.alive.Lock()
	p.exited = true
	_ = killGroup(p.PID(), syscall.SIGKILL) // usually the group is empty
	p.alive.Unlock()
	deadline := time.Now().Add(drainTimeout)
	_ = p.stdout.SetReadDeadline(deadline) // fails only when closed
	_ = stderr.SetReadDeadline(deadline)
	<-read
	p.exitErr = err
}

type writerFunc func([]byte)

func (f writerFunc) Write(b []byte) (int, error) {
	f(b)
	return len(b), nil
}

// Recv implements [Transport].
func (p *Process) Recv() ([]byte, error) {
	line, err := p.lines.next()
	if err != nil && p.isClosed() {
		return nil, ErrClosed
	}
	return line, err
}

// outputReader is the stdout of a process. It ends when all writers have closed it or, after
// the CLI has exited, when all of the CLI's output has been read.
type outputReader struct{ p *Process }

func (r outputReader) Read(b []byte) (int, error) {
	p := r.p
	if !p.draining {
		n, err := p.stdout.Read(b)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		// The CLI has exited and drainTimeout has passed. A past deadline would hide what is
		// left in the pipe, and the receiver may have been slow.
		if err := p.stdout.SetReadDeadline(time.Time{}); err != nil {
			return 0, err
		}
		p.draining = true
	}
	// Read without waiting, because a grandchild that keeps writing could delay the end forever.
	if p.drained >= pipeCapacity {
		return 0, io.EOF
	}
	raw, err := p.stdout.SyscallConn()
	if err != nil {
		return 0, err
	}
	var n int
	var readErr error
	err = raw.Read(func(fd uintptr) bool {
		n, readErr = syscall.Read(int(fd), b)
		return true
	})
	switch {
	case err != nil:
		return 0, err
	case errors.Is(readErr, syscall.EINTR):
		return 0, nil
	case n <= 0:
		return 0, io.EOF
	}
	p.drained += n
	return n, nil
}

// Send implements [Transport]. It blocks while the CLI does not read; Close unblocks it.
func (p *Process) Send(line []byte) error {
	p.writing.Lock()
	defer p.writing.Unlock()
	if p.tornErr != nil {
		return p.tornErr
	}
	if p.isClosed() {
		return ErrClosed
	}
	// One write, so that a short line is one system call and atomic.
	n, err := p.stdin.Write(append(line[:len(line):len(line)], '\n'))
	if err != nil {
		err = fmt.Errorf("claude: write to the CLI: %w", err)
		if n > 0 {
			p.tornErr = err
		}
	}
	return err
}

// CloseInput closes the CLI's input. The CLI then ends its turn and exits. A line that is being written
// has one second to finish.
func (p *Process) CloseInput() error {
	_ = p.stdin.SetWriteDeadline(time.Now().Add(inputGracePeriod)) // fails only when closed
	p.writing.Lock()
	defer p.writing.Unlock()
	if p.tornErr == nil {
		p.tornErr = ErrClosed
	}
	if err := p.stdin.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("claude: close input: %w", err)
	}
	return nil
}

// Close implements [Transport]. It does not end the program.
func (p *Process) Close() error {
	p.once.Do(func() {
		close(p.closed)
		p.stdin.Close()
		p.stdout.Close()
	})
	return nil
}

func (p *Process) isClosed() bool {
	select {
	case <-p.closed:
		return true
	default:
		return false
	}
}

// PID returns the id of the process and of its group.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done returns a channel that is closed after the program has exited and its stderr has been read.
// Recv may still return output.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits for [Process.Done] and returns [Process.ExitError].
func (p *Process) Wait() error {
	<-p.done
	return p.exitErr
}

// ExitError returns how the program exited: nil for status 0, else usually an
// *exec.ExitError. Call it only after Done.
func (p *Process) ExitError() error { return p.exitErr }

// Stderr returns the last lines of the program's stderr, up to 64 KiB.
func (p *Process) Stderr() string { return p.stderr.String() }

// Signal sends a signal to the process group. It does nothing after the program has exited.
func (p *Process) Signal(s syscall.Signal) error {
	p.alive.Lock()
	defer p.alive.Unlock()
	if p.exited {
		return nil
	}
	return killGroup(p.PID(), s)
}

// Terminate sends SIGTERM to the process group.
func (p *Process) Terminate() error { return p.Signal(syscall.SIGTERM) }

// Kill kills the process group and every descendant that has left it.
func (p *Process) Kill() error {
	p.alive.Lock()
	defer p.alive.Unlock()
	if p.exited {
		return nil
	}
	return killTree(p.PID())
}

func killGroup(pgid int, s syscall.Signal) error {
	if err := syscall.Kill(-pgid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("claude: signal process group %d: %w", pgid, err)
	}
	return nil
}
