package shim

import (
	"bytes"
	"os"
	"syscall"
	"unsafe"
)

const waitPidfd = 3 // P_PIDFD

// detachedAttr returns the attributes of a shim, which outlives the process that starts it, and a
// function that waits for the started process to end. Unlike [os.Process.Wait], reap does not block a
// thread, because each thread takes memory.
func detachedAttr() (attr *syscall.SysProcAttr, reap func(*os.Process)) {
	fd := -1
	return &syscall.SysProcAttr{Setsid: true, PidFD: &fd}, func(p *os.Process) {
		if fd >= 0 {
			_ = syscall.SetNonblock(fd, true) // if it fails, or without epoll, p.Wait blocks below
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
	var info [128]byte // siginfo_t, which begins with the signal number; 0 while the process runs
	_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, waitPidfd, pidfd, uintptr(unsafe.Pointer(&info)),
		syscall.WEXITED|syscall.WNOWAIT|syscall.WNOHANG, 0, 0)
	return errno != 0 || !bytes.Equal(info[:4], make([]byte, 4))
}
