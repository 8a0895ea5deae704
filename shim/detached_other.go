//go:build !linux

package shim

import (
	"os"
	"syscall"
)

// detachedAttr returns the attributes of a shim, which outlives the process that starts it, and a
// function that waits for the started process to end.
func detachedAttr() (attr *syscall.SysProcAttr, reap func(*os.Process)) {
	return &syscall.SysProcAttr{Setsid: true}, func(p *os.Process) { _, _ = p.Wait() }
}
