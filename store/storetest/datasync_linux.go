package storetest

import (
	"os"
	"syscall"
)

func datasync(file *os.File) error { return syscall.Fdatasync(int(file.Fd())) }
