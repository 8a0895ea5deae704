//go:build !linux

package storetest

import "os"

func datasync(file *os.File) error { return file.Sync() }
