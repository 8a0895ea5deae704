//go:build !linux

package workspace

import (
	"syscall"
	"time"
)

func changedAt(s *syscall.Stat_t) time.Time { return time.Unix(s.Ctimespec.Unix()) }
