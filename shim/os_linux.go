package shim

import (
	"bytes"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// Constants of the kernel that package syscall lacks. They are the same on all architectures that
// Go supports.
const (
	sysPidfdSendSignal  = 424
	sysPidfdOpen        = 434
	prSetChildSubreaper = 36
	waitAll             = 0 // P_ALL
	tick                = time.Second / 100
)

// becomeReaper makes this process the parent of all orphans of its tree.
func becomeReaper() (how string, err error) {
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0, 0, 0, 0); errno != 0 {
		return "", os.NewSyscallError("prctl", errno)
	}
	return "subreaper", nil
}

// childAttr returns the attributes of the CLI: it has its own process group, is killed when the
// thread that starts it ends, and is in the cgroup if there is one.
func childAttr(cgroup *os.File) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if cgroup != nil {
		a.UseCgroupFD, a.CgroupFD = true, int(cgroup.Fd())
	}
	return a
}

// cgroupDir returns the folder that a child of this process's cgroup would have, "" if cgroups are
// not available.
func cgroupDir(name string) string {
	own, _ := os.ReadFile("/proc/self/cgroup") // if this or the next file is missing, there is no cgroup
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	var below, root string
	for line := range strings.Lines(string(own)) {
		if path, ok := strings.CutPrefix(line, "0::"); ok {
			below = strings.TrimSuffix(path, "\n")
		}
	}
	for line := range strings.Lines(string(mounts)) {
		// id parent device root mountpoint … - type …
		if f := strings.Fields(line); strings.Contains(line, " - cgroup2 ") && len(f) > 4 {
			root = f[4]
			below = strings.TrimPrefix(below, strings.TrimSuffix(f[3], "/"))
		}
	}
	if root == "" || below == "" {
		return ""
	}
	return filepath.Join(root, below, name)
}

// reap waits for every process of the tree, including the CLI. Once the CLI has exited, it has the
// rest killed. It returns when no process is left, and none can appear again.
func (k *supervisor) reap() {
	for {
		var info [128]byte // siginfo_t
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, waitAll, 0, uintptr(unsafe.Pointer(&info)), syscall.WEXITED|syscall.WNOWAIT, 0, 0)
		if errno == syscall.EINTR {
			continue
		}
		if errno != 0 {
			return // ECHILD
		}
		// The process is reaped under the lock, so that no signal reaches a reused pid.
		k.mu.Lock()
		var status syscall.WaitStatus
		pid, _ := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		k.exited = k.exited || pid == k.meta.CLI
		k.mu.Unlock()
		if pid == k.meta.CLI {
			k.status = status
			go k.killTree() // until reap returns
		}
	}
}

// killTargets returns the processes to kill: all descendants of this one.
func (k *supervisor) killTargets() []process {
	all, _ := processes("") // an error may be temporary
	return tree(all, func(p process) bool { return p.ppid == os.Getpid() })
}

// boot returns an id of the current boot of the machine.
var boot = sync.OnceValue(func() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // with "", start times are unique only within one boot
	return strings.TrimSpace(string(id))
})

// processes lists the running processes. Unless marker is "", it also finds out which of them have it
// as the value of [Marker].
func processes(marker string) ([]process, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var all []process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		p, ok := processOf(pid)
		if !ok {
			continue
		}
		if marker != "" {
			env, _ := os.ReadFile("/proc/" + name + "/environ") // unreadable for processes of other users
			p.marked = bytes.Contains(env, []byte(Marker+"="+marker))
		}
		all = append(all, p)
	}
	return all, nil
}

// processOf returns one process; a dead one counts as missing.
func processOf(pid int) (process, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	// pid (any name) state ppid group … utime(11) stime cutime cstime … threads(17) … start(19) vsize rss(21)
	f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	// A zombie with more than one thread is not dead: only its first thread is.
	if err != nil || len(f) < 22 || f[0] == "X" || f[0] == "Z" && f[17] <= "1" {
		return process{}, false
	}
	number := func(i int) int64 { n, _ := strconv.ParseInt(f[i], 10, 64); return n }
	return process{
		pid: pid, ppid: int(number(1)), group: int(number(2)), start: boot() + ":" + f[19],
		rss: number(21) * int64(os.Getpagesize()),
		cpu: time.Duration(number(11)+number(12)+number(13)+number(14)) * tick,
	}, true
}

// signal sends a signal to the process, unless another process has its pid now.
func (p process) signal(s syscall.Signal) {
	fd, _, errno := syscall.Syscall(sysPidfdOpen, uintptr(p.pid), 0, 0)
	if errno == 0 {
		defer syscall.Close(int(fd))
	}
	if now, ok := processOf(p.pid); !ok || now.start != p.start {
		return
	}
	if errno == 0 {
		_, _, errno = syscall.Syscall6(sysPidfdSendSignal, fd, uintptr(s), 0, 0, 0, 0)
	}
	if errno == syscall.ENOSYS || errno == syscall.EPERM { // an old kernel, or a sandbox that forbids pidfds
		_ = syscall.Kill(p.pid, s) // fails if the process has ended
	}
}

// peerUID returns the uid of the process at the other end of a connection.
func peerUID(c *net.UnixConn) (int, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *syscall.Ucred
	if e := raw.Control(func(fd uintptr) {
		cred, err = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); e != nil || err != nil {
		return 0, errors.Join(e, err)
	}
	return int(cred.Uid), nil
}

func duplicate(from, to int) error { return syscall.Dup3(from, to, 0) }

// shortPath returns a short path for the socket in dir, because the path of dir may exceed the maximum
// length of a socket address. The caller calls free when it no longer needs the path.
func shortPath(dir string) (path string, free func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) + "/" + socketName, func() { f.Close() }, nil
}
