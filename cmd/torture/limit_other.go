//go:build !linux

package main

import "errors"

func limitFiles(int, uint64) error {
	return errors.New("on this system no limit can be set on another process; try -database postgres")
}
