package shim

import (
	"bytes"
	"os"
	"syscall"
	"unsafe"
)

const waitPidfd = 3 // P_PIDFD

// detachedAttr describes a shim, which outlives whoever starts it, and returns what waits
// for the end of the started process. That occupies no thread: each takes memory, and
// [os.Process.Wait] blocks one.
func detachedAttr() (attr *syscall.SysProcAttr, reap func(*os.Process)) {
	fd := -1
	return &syscall.SysProcAttr{Setsid: true, PidFD: &fd}, func(p *os.Process) {
		if fd >= 0 {
			_ = syscall.SetNonblock(fd, true) // else, or without epoll, Wait waits
			pidfd := os.NewFile(uintptr(fd), "pidfd")
			if raw, err := pidfd.SyscallConn(); err == nil {
				_ = raw.Read(hasEnded)
			}
			pidfd.Close()
		}
		_, _ = p.Wait()
	}
}

// hasEnded reports whether the process of a pidfd can be reaped, or cannot be waited for.
func hasEnded(pidfd uintptr) bool {
	var info [128]byte // siginfo_t, which begins with the signal, 0 while it runs
	_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, waitPidfd, pidfd, uintptr(unsafe.Pointer(&info)),
		syscall.WEXITED|syscall.WNOWAIT|syscall.WNOHANG, 0, 0)
	return errno != 0 || !bytes.Equal(info[:4], make([]byte, 4))
}
