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

// becomeReaper: there are no subreapers; orphans are found by their environment.
func becomeReaper() (how string, err error) { return "scan", nil }

// childAttr describes the CLI. That it ends with its shim is up to the CLI, which
// sees the end of its input.
func childAttr(*os.File) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func cgroupDir(string) string { return "" }

// reap waits for the CLI, and then kills its tree until none of it is seen.
func (k *supervisor) reap() {
	for !k.exited {
		// Left as it is until the lock is held, so that no signal goes to a pid
		// that is another's.
		time.Sleep(20 * time.Millisecond)
		k.mu.Lock()
		pid, err := syscall.Wait4(k.meta.CLI, &k.status, syscall.WNOHANG, nil)
		k.exited = pid == k.meta.CLI || err == syscall.ECHILD
		k.mu.Unlock()
	}
	for targets := k.killTargets(); len(targets) > 0; targets = k.killTargets() {
		for _, p := range targets {
			p.signal(syscall.SIGKILL)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (k *supervisor) killTargets() []process {
	all, _ := stray(k.meta) // what is wrong this time may be right the next
	return all
}

// processes lists what runs, and whether it has the marker.
func processes(marker string) ([]process, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	ps, err := os.StartProcess("/bin/ps", []string{"ps", "-axEww", "-o", "pid=,ppid=,pgid=,rss=,time=,state=,lstart=,command="},
		&os.ProcAttr{Env: []string{"LC_ALL=C"}, Files: []*os.File{nil, w, nil}})
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

// clock reads [hours:]minutes:seconds[.hundredths].
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

// signal sends a signal to a process that was listed a moment ago.
func (p process) signal(s syscall.Signal) {
	_ = syscall.Kill(p.pid, s) // it may have gone
}

// peerUID is the uid of who connected.
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

// shortPath names a socket in a folder whose path may be longer than the address
// of a socket can be: by a link that is there for a moment.
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
