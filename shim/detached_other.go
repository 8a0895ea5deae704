//go:build !linux

package shim

import (
	"os"
	"syscall"
)

// detachedAttr describes a shim, which outlives whoever starts it, and returns what waits
// for the end of the started process.
func detachedAttr() (attr *syscall.SysProcAttr, reap func(*os.Process)) {
	return &syscall.SysProcAttr{Setsid: true}, func(p *os.Process) { _, _ = p.Wait() }
}
