//go:build !linux

package shim

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// becomeReaper does nothing, because there are no subreapers. Orphans are found by their environment.
func becomeReaper() (how string, err error) { return "scan", nil }

// childAttr returns the attributes of the CLI: it has its own process group. When its shim dies, the
// CLI sees the end of its input, and is expected to exit.
func childAttr(*os.File) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func cgroupDir(string) string { return "" }

// reap waits for the CLI, and then kills its tree until no process of it is found.
func (k *supervisor) reap() {
	for !k.exited {
		// The CLI is reaped under the lock, so that no signal reaches a reused pid.
		time.Sleep(20 * time.Millisecond)
		k.mu.Lock()
		pid, err := syscall.Wait4(k.meta.CLI, &k.status, syscall.WNOHANG, nil)
		k.exited = pid == k.meta.CLI || err == syscall.ECHILD
		k.mu.Unlock()
	}
	for {
		targets, err := stray(k.meta)
		// An error does not mean that the tree is empty: for example, no process can be started now.
		// If the processes could not be listed at the start either, as in a sandbox, trying again
		// would only keep the exit from being recorded.
		if len(targets) == 0 && (err == nil || k.meta.Start == "") {
			return
		}
		for _, p := range targets {
			p.signal(syscall.SIGKILL)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (k *supervisor) killTargets() []process {
	all, _ := stray(k.meta) // an error may be temporary
	return all
}

// processes lists the running processes. Unless marker is "", it also finds out which of them have it
// as the value of [Marker].
func processes(marker string) ([]process, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	// In local time, the start time of a process would change with the time zone.
	ps, err := os.StartProcess("/bin/ps", []string{"ps", "-axEww", "-o", "pid=,ppid=,pgid=,rss=,time=,state=,lstart=,command="},
		&os.ProcAttr{Env: []string{"LC_ALL=C", "TZ=UTC"}, Files: []*os.File{nil, w, nil}})
	w.Close()
	if err != nil {
		return nil, err
	}
	out, err := io.ReadAll(r)
	_, waitErr := ps.Wait()
	if err := errors.Join(err, waitErr); err != nil {
		return nil, err
	}
	var all []process
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line) // lstart: Mon Jan 2 15:04:05 2006
		if len(f) < 11 || strings.HasPrefix(f[5], "Z") {
			continue
		}
		var p process
		p.pid, _ = strconv.Atoi(f[0])
		p.ppid, _ = strconv.Atoi(f[1])
		p.group, _ = strconv.Atoi(f[2])
		p.rss, _ = strconv.ParseInt(f[3], 10, 64)
		p.rss <<= 10
		p.cpu = clock(f[4])
		p.start = strings.Join(f[6:11], " ")
		p.marked = marker != "" && strings.Contains(line, Marker+"="+marker)
		all = append(all, p)
	}
	return all, nil
}

// clock parses [hours:]minutes:seconds[.hundredths].
func clock(text string) time.Duration {
	var seconds float64
	for part := range strings.SplitSeq(text, ":") {
		n, _ := strconv.ParseFloat(part, 64)
		seconds = seconds*60 + n
	}
	return time.Duration(seconds * float64(time.Second))
}

func processOf(pid int) (process, bool) {
	all, _ := processes("")
	for _, p := range all {
		if p.pid == pid {
			return p, true
		}
	}
	return process{}, false
}

// signal sends a signal to a process. Call it right after listing the process, before its pid can be
// reused.
func (p process) signal(s syscall.Signal) {
	_ = syscall.Kill(p.pid, s) // fails if the process has ended
}

// peerUID returns the uid of the process at the other end of a connection.
func peerUID(c *net.UnixConn) (int, error) {
	const solLocal, localPeercred = 0, 1
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred struct { // xucred
		version, uid uint32
		groups       int16
		group        [16]uint32
	}
	size := uint32(unsafe.Sizeof(cred))
	var errno syscall.Errno
	if err := raw.Control(func(fd uintptr) {
		_, _, errno = syscall.Syscall6(syscall.SYS_GETSOCKOPT, fd, solLocal, localPeercred,
			uintptr(unsafe.Pointer(&cred)), uintptr(unsafe.Pointer(&size)), 0)
	}); err != nil {
		return 0, err
	}
	if errno != 0 {
		return 0, errno
	}
	return int(cred.uid), nil
}

func duplicate(from, to int) error { return syscall.Dup2(from, to) }

// shortPath returns a short path for the socket in dir, because the path of dir may exceed the maximum
// length of a socket address. If need be it creates a temporary symbolic link, which free removes.
func shortPath(dir string) (path string, free func(), err error) {
	if path = filepath.Join(dir, socketName); len(path) < 104 {
		return path, func() {}, nil
	}
	short, err := os.MkdirTemp("/tmp", "s")
	if err != nil {
		return "", nil, err
	}
	free = func() { os.RemoveAll(short) }
	if err := os.Symlink(dir, filepath.Join(short, "d")); err != nil {
		free()
		return "", nil, err
	}
	return filepath.Join(short, "d", socketName), free, nil
}
