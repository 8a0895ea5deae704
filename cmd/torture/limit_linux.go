package main

import (
	"fmt"
	"syscall"
	"unsafe"
)

// limitFiles lets no file of a process grow beyond so many bytes: for that process it is
// a full disk, for everybody else the disk is as it was.
func limitFiles(pid int, bytes uint64) error {
	limit := syscall.Rlimit{Cur: bytes, Max: ^uint64(0)}
	if _, _, err := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), syscall.RLIMIT_FSIZE, uintptr(unsafe.Pointer(&limit)), 0, 0, 0); err != 0 {
		return fmt.Errorf("limit the files of process %d: %w", pid, err)
	}
	return nil
}
