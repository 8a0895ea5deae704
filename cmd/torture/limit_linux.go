package main

import (
	"fmt"
	"syscall"
	"unsafe"
)

// limitFiles keeps the files of a process from growing beyond a number of bytes. To that process
// the disk looks full; no other process is affected.
func limitFiles(pid int, bytes uint64) error {
	limit := syscall.Rlimit{Cur: bytes, Max: ^uint64(0)}
	if _, _, err := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), syscall.RLIMIT_FSIZE, uintptr(unsafe.Pointer(&limit)), 0, 0, 0); err != 0 {
		return fmt.Errorf("limit the files of process %d: %w", pid, err)
	}
	return nil
}
