package shim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sayso-dev/sayso/internal/failpoint"
)

const (
	// maxParams bounds the message on stdin, in bytes.
	maxParams = 16 << 20
	// termGracePeriod is how long the CLI may take to end after the shim received SIGTERM, for
	// example because the machine shuts down.
	termGracePeriod = 3 * time.Second
	// drainTimeout bounds each read of output after the tree is gone. Then only a process outside
	// the tree can still have the pipe open.
	drainTimeout = 50 * time.Millisecond
	// pipeCapacity is the maximum capacity of a pipe.
	pipeCapacity = 1 << 20
	// killDelay is the pause between two checks of a tree that is being killed.
	killDelay = 5 * time.Millisecond
	// folderCheckInterval bounds how long it takes to notice that the shim's folder is gone.
	folderCheckInterval = 30 * time.Second
	// maxUnidentified bounds the connections of clients that have not identified themselves yet.
	maxUnidentified = 16
	stderrMax       = 64 << 10 // bytes of stderr that are kept
)

// handshake is the only line that a shim prints.
type handshake struct {
	Version int    `json:"version"`
	PID     int    `json:"pid,omitempty"`
	CLI     int    `json:"cli_pid,omitempty"`
	Socket  string `json:"socket,omitempty"`
	Error   *head  `json:"error,omitempty"` // Code, Message
}

// supervisor is the shim itself.
type supervisor struct {
	token  string
	meta   Meta
	limits Limits
	cgroup *os.File // nil for none
	lock   *os.File // open while this process runs

	input          *input
	journal        *journal
	stdout, stderr *os.File
	tail           tail // end of stderr

	listener     *net.UnixListener
	unidentified chan struct{} // one value for each unidentified client

	status syscall.WaitStatus // of the CLI; set before empty is closed
	empty  chan struct{}      // closed when the tree is empty
	quit   chan struct{}      // closed when the shim ends

	ackExit func()        // closes acked
	acked   chan struct{} // closed when the server has stored how the CLI ended

	mu      sync.Mutex
	exited  bool        // the CLI was reaped
	epoch   uint64      // the highest that has attached
	current *peer       // the attached server; nil for none
	exit    *ExitRecord // nil until the end of the CLI is recorded
}

// Main runs the shim: it reads its [Params] from stdin, answers with one line on stdout, and
// returns when it is no longer needed.
func Main(stdin, stdout *os.File) error {
	// The kernel would kill the CLI if the thread that started it ended.
	runtime.LockOSThread()
	// The shim mostly moves single lines between descriptors. Waking a second thread for the
	// next step takes longer than the step itself.
	runtime.GOMAXPROCS(1)
	// There is one shim per session. It uses less than 1 MB of memory, so frequent collections
	// cost little, and keep a busy shim about as small as an idle one.
	debug.SetGCPercent(25)
	signals := make(chan os.Signal, 4)
	// SIGPIPE is ignored, because a server may die before it reads the line.
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
	k, err := start(stdin)
	answer := handshake{Version: Version}
	if err != nil {
		refusal := wire(err)
		answer.Error = &refusal
	} else {
		answer.PID, answer.CLI = k.meta.PID, k.meta.CLI
		dir, _ := os.Getwd() // only for the message
		answer.Socket = filepath.Join(dir, socketName)
	}
	line, _ := json.Marshal(answer)         // our own type can be encoded
	_, _ = stdout.Write(append(line, '\n')) // the server may be gone: the next one finds us
	if e := detach(stdin, stdout); e != nil && err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	// Most memory allocated so far is garbage, which an idle shim would keep.
	debug.FreeOSMemory()
	k.run(signals)
	return nil
}

// detach releases the descriptors that the shim inherited from the server. Numbers 0 to 2 stay open,
// so that no other file gets them.
func detach(stdin, stdout *os.File) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	for _, f := range []*os.File{stdin, stdout} {
		if err := duplicate(int(null.Fd()), int(f.Fd())); err != nil {
			return err
		}
	}
	return nil
}

// start reads the parameters, locks the folder and starts the CLI.
func start(stdin io.Reader) (*supervisor, error) {
	text, err := io.ReadAll(io.LimitReader(stdin, maxParams))
	if err != nil {
		return nil, err
	}
	var p Params
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, fmt.Errorf("params: %w", err)
	}
	if p.Version < oldest {
		return nil, fmt.Errorf("params of version %d: %w", p.Version, ErrVersion)
	}
	_, _ = syscall.Setsid() // fails only if this process already leads a session
	seal()
	info, err := os.Lstat(p.Dir)
	if err != nil {
		return nil, err
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); !info.IsDir() || info.Mode().Perm() != 0o700 || !ok || int(owner.Uid) != os.Geteuid() {
		return nil, fmt.Errorf("%s is not a private folder of this user", p.Dir)
	}
	// From here on all paths are relative, so that none is too long for a socket, and the folder
	// may be moved.
	if err := os.Chdir(p.Dir); err != nil {
		return nil, err
	}
	how, err := becomeReaper()
	if err != nil {
		return nil, err
	}
	self, _ := processOf(os.Getpid()) // without a start time if that fails
	k := &supervisor{
		token: p.Token, limits: p.Limits.orDefault(),
		meta: Meta{
			Version: Version, SessionID: p.SessionID, ProcessID: p.ProcessID, PID: os.Getpid(), Start: self.start,
			Marker: randomHex(16), Kill: how, Started: time.Now().Format(time.RFC3339Nano), Cwd: p.Cwd, Limits: p.Limits,
		},
		unidentified: make(chan struct{}, maxUnidentified), empty: make(chan struct{}), acked: make(chan struct{}), quit: make(chan struct{}),
	}
	k.ackExit = sync.OnceFunc(func() { close(k.acked) })
	k.journal = &journal{salt: crc32.ChecksumIEEE([]byte(k.meta.Marker)), limits: k.limits, notify: k.notify, freed: make(chan struct{}, 1)}
	if k.lock, err = os.OpenFile(lockName, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600); err != nil {
		return nil, err
	}
	if err := syscall.FcntlFlock(k.lock.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK}); err != nil {
		return nil, err
	}
	if log, err := os.OpenFile(logName, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
		return nil, err
	} else if err := duplicate(int(log.Fd()), 2); err != nil {
		return nil, err
	} else {
		log.Close()
	}
	if !p.NoCgroup {
		k.meta.Cgroup = cgroupDir("sayso-" + k.meta.Marker)
	}
	if err := k.open(p); err != nil {
		return nil, errors.Join(err, removeCgroup(k.meta.Cgroup))
	}
	return k, nil
}

// open records what Clean needs if the shim dies, and starts the CLI.
func (k *supervisor) open(p Params) error {
	if err := os.WriteFile(tokenName, []byte(k.token), 0o600); err != nil {
		return err
	}
	if err := writeJSON(metaName, k.meta); err != nil {
		return err
	}
	keys, err := os.OpenFile(keysName, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := k.listen(); err != nil {
		return err
	}
	if k.meta.Cgroup != "" { // created after it was recorded, so that Clean finds it
		var err error
		if k.cgroup, err = newCgroup(k.meta.Cgroup); err != nil {
			k.meta.Cgroup = ""
		}
	}
	if err := failpoint.Hit("shim.start.before"); err != nil {
		return err
	}
	if err := failpoint.After("shim.start.after", k.startCLI(p, keys)); err != nil {
		return err
	}
	return writeJSON(metaName, k.meta)
}

// seal makes sure that the CLI does not inherit descriptors that this process has inherited.
func seal() {
	entries, _ := os.ReadDir("/dev/fd") // without it, assume that nothing was inherited by accident
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}

func (k *supervisor) startCLI(p Params, keys *os.File) error {
	if !filepath.IsAbs(p.Path) {
		return fmt.Errorf("%q is not an absolute path: %w", p.Path, ErrCLIMissing)
	}
	bundle, err := os.Open(".")
	if err != nil {
		return err
	}
	defer bundle.Close()
	defer func() { _ = bundle.Chdir() }() // cannot fail, because the folder is open
	if err := Enter(p.Cwd); err != nil {
		return fmt.Errorf("%q: %w: %w", p.Cwd, ErrFolderMissing, err)
	}
	var ours, theirs [3]*os.File
	defer func() {
		for _, f := range theirs {
			f.Close() // returns an error for nil
		}
	}()
	for i := range ours {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		if ours[i], theirs[i] = r, w; i == 0 {
			ours[i], theirs[i] = w, r
		}
	}
	attr := &os.ProcAttr{Env: append(p.Env[:len(p.Env):len(p.Env)], Marker+"="+k.meta.Marker), Files: theirs[:], Sys: childAttr(k.cgroup)}
	cli, err := os.StartProcess(p.Path, append([]string{p.Path}, p.Args...), attr)
	if err != nil && k.cgroup != nil { // perhaps a cgroup may be created, but not entered
		_ = removeCgroup(k.meta.Cgroup) // if it fails, an empty folder stays
		k.cgroup, k.meta.Cgroup = nil, ""
		attr.Sys = childAttr(nil)
		cli, err = os.StartProcess(p.Path, append([]string{p.Path}, p.Args...), attr)
	}
	if err != nil {
		return startError(p.Path, err)
	}
	k.meta.CLI = cli.Pid
	if k.cgroup != nil {
		k.meta.Kill = "cgroup"
	}
	if started, ok := processOf(cli.Pid); ok {
		k.meta.CLIStart = started.start
	}
	_ = cli.Release() // reap waits for it, as for the rest of its tree
	k.input, k.stdout, k.stderr = newInput(ours[0], keys, k.limits.Input), ours[1], ours[2]
	return nil
}

// Enter changes the working directory, which the CLI inherits. path was resolved earlier: it must
// still lead to the folder without symbolic links, in case something has replaced it since.
func Enter(path string) error {
	if !filepath.IsAbs(path) {
		return errors.New("not an absolute path")
	}
	if err := os.Chdir(path); err != nil {
		return err
	}
	here, err := syscall.Getwd()
	if err == nil && here != filepath.Clean(path) && (runtime.GOOS != "darwin" || !strings.EqualFold(here, filepath.Clean(path))) {
		err = fmt.Errorf("it now leads to %q", here)
	}
	return err
}

func startError(path string, err error) error {
	why := error(nil)
	switch _, missing := os.Stat(path); {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOEXEC), errors.Is(err, syscall.EISDIR),
		errors.Is(err, fs.ErrNotExist) && missing == nil: // the interpreter of the file is missing
		why = ErrCLINotExecutable
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		why = ErrCLIMissing
	default:
		return err
	}
	return fmt.Errorf("%w: %w", err, why)
}

// run supervises the CLI until it has ended and either a server has recorded that, or none has within
// [Limits].LingerMS.
func (k *supervisor) run(signals <-chan os.Signal) {
	var reading sync.WaitGroup
	reading.Go(k.readOutput)
	reading.Go(func() { _, _ = io.Copy(&k.tail, &pipe{file: k.stderr}) }) // ends with the tree
	go k.input.run()
	go k.accept(k.listener)
	go func() {
		k.reap()
		past := time.Now()
		_ = k.stdout.SetReadDeadline(past) // both fail only when closed
		_ = k.stderr.SetReadDeadline(past)
		close(k.empty)
		k.input.close()
	}()
	recorded := make(chan struct{})
	go func() {
		<-k.empty
		reading.Wait()
		k.record()
		close(recorded)
	}()

	var linger, leave <-chan time.Time
	goneTimeout := time.Duration(k.limits.GoneMS) * time.Millisecond
	folderCheck := time.NewTicker(min(goneTimeout, folderCheckInterval))
	reachable := time.Now()
	for waiting := true; waiting; {
		select {
		case now := <-folderCheck.C:
			if k.isReachable() {
				reachable = now
			} else if leave == nil && now.Sub(reachable) >= goneTimeout {
				go k.kill(termGracePeriod, false)
				leave = time.After(2 * termGracePeriod)
			}
		case s := <-signals:
			switch s {
			case syscall.SIGHUP: // a server found no socket
				if k.listen() == nil {
					go k.accept(k.listener)
				}
			case syscall.SIGTERM, syscall.SIGINT:
				go k.kill(termGracePeriod, false)
				leave = time.After(2 * termGracePeriod)
				waiting = k.exitRecord() == nil
			}
		case <-recorded:
			recorded = nil
			linger = time.After(time.Duration(k.limits.LingerMS) * time.Millisecond)
			if leave != nil {
				linger = time.After(drainTimeout)
			}
		case <-k.acked:
			waiting = false
		case <-linger:
			waiting = false
		case <-leave:
			waiting = false
		}
	}
	close(k.quit)
	k.listener.Close() // also deletes the socket
	k.mu.Lock()
	p := k.current
	k.mu.Unlock()
	if p != nil {
		p.end()
		<-p.done
	}
	_ = removeCgroup(k.meta.Cgroup) // if it fails, an empty folder stays
}

// isReachable reports whether a server is attached or can find the shim.
func (k *supervisor) isReachable() bool {
	k.mu.Lock()
	attached := k.current != nil
	k.mu.Unlock()
	_, err := os.Lstat(metaName) // in the shim's folder, even if that was moved
	return attached || err == nil
}

// listen creates the socket, replacing an existing one.
func (k *supervisor) listen() error {
	if k.listener != nil {
		k.listener.Close() // also deletes the socket, whoever created it
	}
	mask := syscall.Umask(0o177)
	defer syscall.Umask(mask)
	var err error
	k.listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: socketName, Net: "unix"})
	return err
}

func (k *supervisor) accept(l *net.UnixListener) {
	for {
		k.unidentified <- struct{}{}
		c, err := l.AcceptUnix()
		known := sync.OnceFunc(func() { <-k.unidentified })
		switch {
		case errors.Is(err, net.ErrClosed):
			known()
			return
		case err != nil:
			known()
			time.Sleep(retryDelay) // no descriptor is free
		default:
			go func() {
				defer known()
				k.serve(c, known)
			}()
		}
	}
}

// A pipe reads the CLI's output. It returns io.EOF when all writers have closed it or, once the tree
// is gone and a deadline is set, when it is empty.
type pipe struct {
	file    *os.File
	drained int // bytes read since the deadline
}

func (p *pipe) Read(b []byte) (int, error) {
	n, err := p.file.Read(b)
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	// A deadline in the past hides what is left in the pipe.
	if p.drained >= pipeCapacity {
		return 0, io.EOF
	}
	_ = p.file.SetReadDeadline(time.Now().Add(drainTimeout)) // fails only when closed
	n, err = p.file.Read(b)
	p.drained += n
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = io.EOF
	}
	return n, err
}

// readOutput writes the CLI's output to the journal until its end.
func (k *supervisor) readOutput() {
	from := &pipe{file: k.stdout}
	lines := recorder{salt: k.journal.salt, limit: k.limits.Line}
	buf, held := make([]byte, maxRecord), 0 // buf[:held] is the start of a line whose rest has not arrived
	var records []byte
	for ended := false; !ended; {
		n, err := from.Read(buf[held:])
		rest, searched := buf[:held+n], held
		records, ended = records[:0], err != nil
		for {
			i := bytes.IndexByte(rest[searched:], '\n')
			if i < 0 {
				break
			}
			records = lines.add(records, rest[:searched+i], true, false)
			rest, searched = rest[searched+i+1:], 0
		}
		switch {
		case ended && (len(rest) > 0 || lines.begun):
			records = lines.add(records, rest, true, true)
		case len(rest) == len(buf):
			records, rest = lines.add(records, rest, false, false), nil
		}
		held = copy(buf, rest)
		if len(records) > 0 {
			k.journal.store(records, k.quit)
		}
	}
}

// notify wakes the connection to the server, if one is attached.
func (k *supervisor) notify() {
	k.mu.Lock()
	p := k.current
	k.mu.Unlock()
	if p != nil {
		p.signal()
	}
}

// record tells the server how the CLI ended, and writes that to the folder. It retries until it has
// succeeded or the shim ends or cannot be reached.
func (k *supervisor) record() {
	_, end := k.journal.bounds()
	exit := &ExitRecord{Status: k.status.ExitStatus(), At: time.Now(), Offset: end, Stderr: k.tail.String()}
	if k.status.Signaled() {
		exit.Signal = int(k.status.Signal())
	}
	err := failpoint.Hit("shim.exit.before_record")
	if err == nil {
		err = failpoint.After("shim.exit.after_record", writeJSON(exitName, exit))
	}
	k.mu.Lock()
	k.exit = exit
	k.mu.Unlock()
	k.notify()
	for err != nil && k.isReachable() { // on a full disk, the server has been told already
		select {
		case <-time.After(retryDelay):
			err = writeJSON(exitName, exit)
		case <-k.quit:
			return
		}
	}
}

func (k *supervisor) exitRecord() *ExitRecord {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.exit
}

func (k *supervisor) isCurrent(p *peer) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.current == p
}

// signal sends a signal to the CLI's process group, unless the CLI was reaped.
func (k *supervisor) signal(s syscall.Signal) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.exited {
		return nil
	}
	return os.NewSyscallError("kill", syscall.Kill(-k.meta.CLI, s))
}

// kill ends the tree and returns when it is gone: with SIGTERM first unless force is set, and after
// grace with SIGKILL.
func (k *supervisor) kill(grace time.Duration, force bool) {
	if !force {
		_ = k.signal(syscall.SIGTERM) // processes that ignore it are killed below
		select {
		case <-k.empty:
			return
		case <-time.After(grace):
		}
	}
	k.killTree()
}

func (k *supervisor) killTree() {
	for delay := killDelay; ; delay = min(2*delay, time.Second) {
		killCgroup(k.meta.Cgroup)
		for _, p := range k.killTargets() {
			p.signal(syscall.SIGKILL)
		}
		select {
		case <-k.empty:
			return
		case <-time.After(delay):
		}
	}
}

func (k *supervisor) stat() Stat {
	first, end := k.journal.bounds()
	k.mu.Lock()
	s := Stat{
		PID: k.meta.PID, CLI: k.meta.CLI, Alive: !k.exited, State: "running", Epoch: k.epoch,
		First: first, End: end, Kill: k.meta.Kill,
	}
	ended := k.exit != nil
	k.mu.Unlock()
	s.Committed, s.Blocked = k.journal.state()
	switch {
	case ended:
		s.State = "exited"
	case s.Blocked != "":
		s.State = "blocked"
	}
	var waiting time.Duration
	s.InputBytes, waiting = k.input.waiting()
	s.InputMS = waiting.Milliseconds()
	for _, p := range k.killTargets() {
		s.Processes++
		s.RSS += p.rss
		s.CPUMS += p.cpu.Milliseconds()
	}
	self, _ := processOf(os.Getpid()) // 0 when unknown
	s.ShimRSS = self.rss
	return s
}
